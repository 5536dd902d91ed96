// The client's side of one connection: requests in, what becomes of them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"

namespace seedance::loadgen {

// One frame with new tokens of a request. What does not say how many it has (SSE)
// counts as one until Done tells the total. Not `visible`: no text yet.
struct Tokens {
  std::uint64_t request = 0;
  std::uint32_t count = 0;
  bool visible = false;

  friend bool operator==(const Tokens&, const Tokens&) = default;
};

// What the server says of its work on a request, as far as it does.
struct Answer {
  std::optional<std::uint64_t> tokens{};
  std::uint64_t prompt_tokens = 0;
  std::optional<Duration> queue{};
  std::optional<Duration> prefill{};

  friend bool operator==(const Answer&, const Answer&) = default;
};

struct Done {
  std::uint64_t request = 0;
  Answer answer{};

  friend bool operator==(const Done&, const Done&) = default;
};

// `code` is the server's, where it has one.
struct Failed {
  std::uint64_t request = 0;
  std::string code;
  std::string message;

  friend bool operator==(const Failed&, const Failed&) = default;
};

// The connection is of no more use: the requests on it get no answer. `unseen`: it
// was closed while it was kept for another request, which no server has read.
struct Lost {
  std::string code;
  std::string message;
  bool unseen = false;

  friend bool operator==(const Lost&, const Lost&) = default;
};

using Event = std::variant<Tokens, Done, Failed, Lost>;

// What our own codes are, beside those of servers.
inline constexpr std::string_view kConnectFailed = "connect_failed";
inline constexpr std::string_view kConnectionLost = "connection_lost";
inline constexpr std::string_view kEmptyAnswer = "empty_answer";
inline constexpr std::string_view kHandshakeFailed = "handshake_failed";
inline constexpr std::string_view kMalformed = "malformed_answer";
inline constexpr std::string_view kNotSent = "not_sent";
inline constexpr std::string_view kTimeout = "timeout";
inline constexpr std::string_view kTlsFailed = "tls_failed";

// Knows no socket and no clock. The owner sends output(), gives what it receives to
// on_input(), and closes the socket after Lost. Belongs to one thread.
class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  virtual ~Connection() = default;

  // False until a handshake, where there is one, is over.
  virtual bool open() const = 0;
  // Whether it takes another request, if only to send it once it is open.
  virtual bool usable() const = 0;
  // `members` are those of the request's object, as Requests makes them.
  virtual void ask(std::uint64_t request, std::string_view members) = 0;
  // Nobody waits for this one any more. False if that takes the whole connection.
  virtual bool cancel(std::uint64_t request) = 0;

  // Append what has become known. The bytes may be changed.
  virtual void on_input(std::span<std::byte> bytes, TimePoint now, std::vector<Event>& events) = 0;
  virtual void on_end(std::vector<Event>& events) = 0;
  // Every second or so.
  virtual void on_time(TimePoint now, std::vector<Event>& events) = 0;

  std::string_view output() const { return output_; }
  void output_sent(std::size_t count) { output_.erase(0, count); }

 protected:
  std::string output_;
};

}  // namespace seedance::loadgen
