// One WebSocket connection to a server, for `seedance chat`.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::apps {

struct Url {
  std::string host;
  std::string port;
  std::string path;

  friend bool operator==(const Url&, const Url&) = default;
};

inline constexpr std::string_view kNativePath = "/ws/inference";

// "ws://host[:port][/path]", the scheme "http" or none at all; the path is
// `default_path` unless it is given. Invalid for anything else, wss included.
Result<Url> parse_url(std::string_view text, std::string_view default_path = kNativePath);

// Speaks seedance.v2+json through Beast, which answers pings meanwhile. Belongs
// to one thread, and works only inside wait().
class ChatClient {
 public:
  ChatClient() : socket_(io_) {}
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
  void start_read();
  void start_write();

  boost::asio::io_context io_{1};
  boost::beast::websocket::stream<boost::asio::ip::tcp::socket> socket_;
  boost::beast::flat_buffer buffer_;
  std::deque<std::string> received_;
  std::deque<std::string> outgoing_;  // The first is being written.
  std::optional<std::string> closed_ = "not connected";
};

}  // namespace seedance::apps
