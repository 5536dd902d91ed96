#include "apps/chat_client.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream_base.hpp>
#include <chrono>
#include <utility>

namespace seedance::apps {
namespace {

namespace asio = boost::asio;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;

constexpr std::string_view kSubprotocol = "seedance.v2+json";
constexpr std::chrono::seconds kConnectTimeout{10};
constexpr std::chrono::seconds kIdleTimeout{30};
constexpr int kTimersMs = 1000;  // Between two looks at Beast's.

std::string closing_sentence(const error_code& error, const websocket::close_reason& reason) {
  if (error != websocket::error::closed) return error.message();
  return fmt::format("the server closed the connection ({}{}{})", reason.code,
                     reason.reason.empty() ? "" : " ", std::string_view{reason.reason});
}

std::string refusal_sentence(const websocket::response_type& response, bool tls) {
  const unsigned status = response.result_int();
  if (status == 401 || status == 403) {
    return fmt::format("the server wants another API key (HTTP {}); see --api-key", status);
  }
  const bool wants_tls = !tls && response.body().find("https") != std::string::npos;
  return fmt::format("the server answers with HTTP {}: {}", status,
                     wants_tls ? "that port speaks TLS; use wss://" : "no WebSocket there?");
}

}  // namespace

Result<Url> parse_url(std::string_view text, std::string_view default_path) {
  const std::string_view whole = text;
  const bool tls = text.starts_with("wss://") || text.starts_with("https://");
  for (const std::string_view scheme : {"ws://", "http://", "wss://", "https://"}) {
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  std::string_view authority = text.substr(0, slash);
  const std::string_view path = text.substr(slash);
  Url url{.host = "",
          .port = tls ? "443" : "8080",
          .path = std::string{path.size() > 1 ? path : default_path},
          .tls = tls};
  // The colons of an IPv6 address stand in brackets.
  const std::size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  const std::size_t colon =
      bracket == std::string_view::npos ? bracket : authority.find(':', bracket);
  if (colon != std::string_view::npos) {
    url.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  url.host = authority;
  const bool is_port = !url.port.empty() && url.port.size() <= 5 &&
                       url.port.find_first_not_of("0123456789") == std::string::npos;
  const bool is_host = !url.host.empty() && url.host.find_first_of("[]") == std::string::npos;
  if (!is_host || !is_port || whole.find_first_of(" \t\r\n@") != std::string_view::npos) {
    return fail(Errc::invalid,
                fmt::format("{}: expected ws://HOST:PORT or wss://HOST:PORT", whole));
  }
  return url;
}

ChatClient::ChatClient(const io::TlsClient* tls, const std::string& host)
    : socket_(io_, tls == nullptr ? nullptr : tls->connection_to(host).release()) {}

Result<void> ChatClient::connect(const Url& url, const std::string& api_key, const io::Fd* signal) {
  const std::string place = fmt::format("{}:{}", url.host, url.port);
  socket_.set_option(websocket::stream_base::decorator([&](websocket::request_type& request) {
    request.set(boost::beast::http::field::sec_websocket_protocol, kSubprotocol);
    if (!api_key.empty()) {
      request.set(boost::beast::http::field::authorization, "Bearer " + api_key);
    }
  }));
  websocket::response_type response;
  const error_code error = open(url, place, response, signal);
  if (error == websocket::error::upgrade_declined) {
    // What is overloaded or starts again is there in a moment.
    const bool later = response.result_int() == 503;
    return fail(later ? Errc::disconnected : Errc::invalid,
                fmt::format("{}: {}", place, refusal_sentence(response, url.tls)));
  }
  if (error) return failure(place, error);
  // A peer that is gone without a word is noticed, too.
  socket_.set_option(websocket::stream_base::timeout{.handshake_timeout = kConnectTimeout,
                                                     .idle_timeout = kIdleTimeout,
                                                     .keep_alive_pings = true});
  socket_.read_message_max(std::size_t{64} << 20);
  closed_.reset();
  start_read();
  return {};
}

Result<void> ChatClient::failure(const std::string& place, const error_code& error) {
  if (WebTransport::Tls* const tls = socket_.next_layer().tls(); tls != nullptr && reached_) {
    const bool is_tls = error.category() == asio::error::get_ssl_category();
    const bool ended = error == asio::error::eof || error == asio::error::connection_reset ||
                       error == asio::ssl::error::stream_truncated;
    std::string problem;
    if (is_tls || ended) {
      problem = io::tls_problem(tls->native_handle(),
                                is_tls ? static_cast<unsigned long>(error.value()) : 0, false);
    } else if (error == asio::error::timed_out && !secured_) {
      problem = "the TLS handshake did not end in time";
    }
    // Who is not trusted now will not be in a moment; who hangs up may start again.
    const Errc code = is_tls ? Errc::invalid : Errc::disconnected;
    if (!problem.empty()) return fail(code, fmt::format("{}: {}", place, problem));
  }
  const bool refused = error == asio::error::connection_refused;
  return fail(Errc::disconnected, fmt::format("{}: {}{}", place, error.message(),
                                              refused ? " (is `seedance serve` running?)" : ""));
}

// TLS, where it is spoken, then the WebSocket's.
template <typename Finish>
void ChatClient::shake_hands(const Url& url, const std::string& host,
                             websocket::response_type& response, const Finish& finish) {
  reached_ = true;
  WebTransport::Tls* const tls = socket_.next_layer().tls();
  if (tls == nullptr) return socket_.async_handshake(response, host, url.path, finish);
  tls->async_handshake(asio::ssl::stream_base::client,
                       [=, this, &url, &response](error_code error) {
                         if (error) return finish(error);
                         secured_ = true;
                         socket_.async_handshake(response, host, url.path, finish);
                       });
}

// All of it one after the other, ended early by time or by a signal.
error_code ChatClient::open(const Url& url, const std::string& place,
                            websocket::response_type& response, const io::Fd* signal) {
  error_code error;
  asio::ip::tcp::resolver resolver{io_};
  const auto endpoints = resolver.resolve(url.host, url.port, error);
  if (error) return error;
  asio::steady_timer timer{io_, kConnectTimeout};
  asio::posix::stream_descriptor interrupt{io_};
  error_code given_up;
  const auto give_up = [&](error_code why) {
    given_up = why;
    socket_.next_layer().tcp().close();
  };
  const auto finish = [&](error_code result) {
    error = given_up ? given_up : result;
    timer.cancel();
    interrupt.close();
  };
  timer.async_wait([&](error_code cancelled) {
    if (!cancelled) give_up(asio::error::timed_out);
  });
  if (signal != nullptr) {
    interrupt.assign(::dup(signal->get()));
    interrupt.async_wait(asio::posix::stream_descriptor::wait_read, [&](error_code cancelled) {
      if (!cancelled) give_up(asio::error::interrupted);
    });
  }
  const bool is_v6 = url.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? fmt::format("[{}]:{}", url.host, url.port) : place;
  auto& tcp = socket_.next_layer().tcp();
  asio::async_connect(tcp, endpoints, [&](error_code result, const auto&) {
    if (!result) result = tcp.set_option(asio::ip::tcp::no_delay{true}, result);
    if (result) return finish(result);
    shake_hands(url, host, response, finish);
  });
  io_.run();
  io_.restart();
  return error;
}

void ChatClient::send(std::string message) {
  outgoing_.push_back(std::move(message));
  if (outgoing_.size() == 1) start_write();
}

void ChatClient::start_read() {
  socket_.async_read(buffer_, [this](error_code error, std::size_t) {
    if (error) {
      closed_ = closing_sentence(error, socket_.reason());
      return;
    }
    received_.push_back(boost::beast::buffers_to_string(buffer_.cdata()));
    buffer_.consume(buffer_.size());
    start_read();
  });
}

void ChatClient::start_write() {
  socket_.async_write(asio::buffer(outgoing_.front()), [this](error_code error, std::size_t) {
    outgoing_.pop_front();
    if (!error && !outgoing_.empty()) start_write();  // An error ends the reading too.
  });
}

ChatClient::Woken ChatClient::wait(int input, const io::Fd& signal) {
  io_.restart();
  io_.poll();
  if (!received_.empty() || (closed_ && input < 0)) return {};
  const short interest = outgoing_.empty() ? POLLIN : POLLIN | POLLOUT;
  const int socket = closed_ ? -1 : socket_.next_layer().tcp().native_handle();
  std::array<pollfd, 3> fds{{{socket, interest, 0}, {signal.get(), POLLIN, 0}, {input, POLLIN, 0}}};
  ::poll(fds.data(), fds.size(), kTimersMs);
  io_.poll();
  // Both directions have ended, and nothing that was on its way makes a message.
  if ((fds[0].revents & (POLLHUP | POLLERR)) != 0 && received_.empty() && !closed_) {
    closed_ = "the connection was lost";
  }
  return {.input = fds[2].revents != 0, .signal = fds[1].revents != 0};
}

std::optional<std::string> ChatClient::next() {
  if (received_.empty()) return std::nullopt;
  std::optional<std::string> message{std::move(received_.front())};
  received_.pop_front();
  return message;
}

}  // namespace seedance::apps
