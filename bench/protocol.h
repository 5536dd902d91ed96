// The client's side of the streaming protocols that are measured: bytes in, events out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace seedance::bench {

// What the server says of its own work on one request; -1 where it says nothing.
struct Timing {
  double queue_ms = -1;
  double prefill_ms = -1;
  double ttft_ms = -1;
};

// One frame with new tokens. SSE frames do not say how many: they count as one
// until Finished tells the total.
struct Tokens {
  std::uint64_t count = 0;
};

struct Finished {
  std::uint64_t tokens = 0;
  Timing timing;
};

struct Failed {
  std::string why;
};

using Event = std::variant<Tokens, Finished, Failed>;

struct Ask {
  std::vector<int> prompt;
  int max_tokens = 0;
};

// One connection that carries one request at a time. The owner sends output()
// and clears it, feeds on_input(), and asks again after Finished. After Failed
// the object is of no more use; a new connection needs a new object.
class Protocol {
 public:
  Protocol() = default;
  Protocol(const Protocol&) = delete;
  Protocol& operator=(const Protocol&) = delete;
  virtual ~Protocol() = default;

  // False until a handshake, where there is one, is over.
  virtual bool ready() const = 0;
  // Whether the connection can carry another request.
  virtual bool reusable() const = 0;
  virtual void ask(const Ask& ask) = 0;
  // Appends what the bytes mean to `events`.
  virtual void on_input(std::string_view bytes, std::vector<Event>& events) = 0;

  std::string& output() { return output_; }

 protected:
  std::string output_;
};

struct Target {
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string model;
  std::string extra;  // Members that are added to every request: `"a":1,"b":2`.
};

// Server-sent events of `POST /v1/completions`.
std::unique_ptr<Protocol> make_sse(const Target& target);

// WebSocket `/ws/inference`, subprotocol `seedance.v2+json`.
std::unique_ptr<Protocol> make_native(const Target& target);

}  // namespace seedance::bench
