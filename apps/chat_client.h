// One WebSocket connection to a server, for `seedance chat`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "apps/web_transport.h"
#include "base/result.h"
#include "io/fd.h"
#include "io/tls_client.h"

namespace seedance::apps {

struct Url {
  std::string host;
  std::string port;
  std::string path;
  bool tls = false;

  friend bool operator==(const Url&, const Url&) = default;
};

inline constexpr std::string_view kNativePath = "/ws/inference";

// "ws://host[:port][/path]", the scheme "http", "wss", "https" or none at all; the path
// is `default_path` unless it is given, the port 8080, or 443 with TLS. Invalid for
// anything else.
Result<Url> parse_url(std::string_view text, std::string_view default_path = kNativePath);

// Speaks seedance.v2+json through Beast, which answers pings meanwhile. Belongs
// to one thread, and works only inside wait().
class ChatClient {
 public:
  // With TLS where there are rules for it, for a connection to that host.
  explicit ChatClient(const io::TlsClient* tls = nullptr, const std::string& host = {});
  ChatClient(const ChatClient&) = delete;
  ChatClient& operator=(const ChatClient&) = delete;

  // Once, first. Errors name the address; `disconnected` when nobody answers there now.
  // Gives up when `signal`, if there is one, can be read.
  Result<void> connect(const Url& url, const std::string& api_key, const io::Fd* signal = nullptr);

  void send(std::string message);

  // What there is to do now. Input and signal say which descriptor can be read.
  struct Woken {
    bool input = false;
    bool signal = false;
  };
  // Waits for a message, for the end of the connection, or for one of the two
  // descriptors, but not for ever. Without input (-1) a closed connection is not
  // waited on.
  Woken wait(int input, const io::Fd& signal);

  // The next message that has come.
  std::optional<std::string> next();

  // Why there is no connection; nothing while there is one.
  const std::optional<std::string>& closed() const { return closed_; }

 private:
  boost::system::error_code open(const Url& url, const std::string& place,
                                 boost::beast::websocket::response_type& response,
                                 const io::Fd* signal);
  template <typename Finish>
  void shake_hands(const Url& url, const std::string& host,
                   boost::beast::websocket::response_type& response, const Finish& finish);
  Result<void> failure(const std::string& place, const boost::system::error_code& error);
  void start_read();
  void start_write();

  boost::asio::io_context io_{1};
  boost::beast::websocket::stream<WebTransport> socket_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> received_;
  std::deque<std::string> outgoing_;  // The first is being written.
  bool reached_ = false;              // TCP is connected.
  bool secured_ = false;              // The TLS handshake, if there is one, is done.
  std::optional<std::string> closed_ = "not connected";
};

}  // namespace seedance::apps
