// The bytes under `seedance chat`'s WebSocket: TCP, or TLS on it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <utility>

namespace seedance::apps {

// A stream as Asio and Beast want it; the choice is made once, when it is made.
class WebTransport {
 public:
  using Tcp = boost::asio::ip::tcp::socket;
  using Tls = boost::asio::ssl::stream<Tcp>;
  using executor_type = Tcp::executor_type;
  using error_code = boost::system::error_code;

  // Takes over `ssl`; TCP alone where it is null.
  WebTransport(boost::asio::io_context& io, SSL* ssl)
      : tls_(ssl == nullptr ? nullptr : std::make_unique<Tls>(Tcp{io}, ssl)), tcp_(io) {}

  executor_type get_executor() { return tcp_.get_executor(); }
  Tcp& tcp() { return tls_ ? tls_->next_layer() : tcp_; }
  // Null without TLS.
  Tls* tls() { return tls_.get(); }

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
                : tcp_.async_read_some(buffers, std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
                : tcp_.async_write_some(buffers, std::forward<Handler>(handler));
  }

 private:
  std::unique_ptr<Tls> tls_;
  Tcp tcp_;
};

// Beast calls these three, by argument-dependent lookup, at the end of a connection.
inline void teardown(boost::beast::role_type role, WebTransport& transport,
                     WebTransport::error_code& error) {
  boost::beast::websocket::teardown(role, transport.tcp(), error);
}

template <typename Handler>
void async_teardown(boost::beast::role_type role, WebTransport& transport, Handler&& handler) {
  boost::beast::websocket::async_teardown(role, transport.tcp(), std::forward<Handler>(handler));
}

inline void beast_close_socket(WebTransport& transport) {
  WebTransport::error_code error;
  error = transport.tcp().close(error);  // Nothing can be done about it.
}

}  // namespace seedance::apps
