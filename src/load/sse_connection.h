// OpenAI's streamed answers over HTTP, as a client reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "load/connection.h"
#include "load/http_response.h"
#include "wire/sse.h"

namespace seedance::loadgen {

struct HttpTarget {
  std::string host;  // With the port, as the Host header has it.
  std::string path;
  std::string api_key;  // Empty: none.
  bool keep_alive = true;
};

// Chat completions and completions, one request at a time. An answer is done at its
// `[DONE]`, or at its end where a finish_reason came before. One of neither text nor
// finish_reason is a failure.
class SseConnection final : public Connection {
 public:
  // `target` outlives it.
  explicit SseConnection(const HttpTarget& target) : target_(target) {}

  bool open() const override { return true; }
  bool usable() const override { return usable_ && !response_; }
  void ask(std::uint64_t request, std::string_view members) override;
  bool cancel(std::uint64_t /*request*/) override { return false; }

  void on_input(std::span<std::byte> bytes, TimePoint now, std::vector<Event>& events) override;
  void on_end(std::vector<Event>& events) override;
  void on_time(TimePoint /*now*/, std::vector<Event>& /*events*/) override {}

 private:
  void on_body(std::vector<Event>& events);
  void on_event(std::string_view data, std::vector<Event>& events);
  void on_response_end(std::vector<Event>& events);
  void finish(std::vector<Event>& events);
  void lose(std::string_view message, std::vector<Event>& events);
  void fail(std::string_view code, std::string_view message, std::vector<Event>& events);

  const HttpTarget& target_;
  bool usable_ = true;
  bool reused_ = false;                         // An answer came over it before.
  std::optional<HttpResponseParser> response_;  // From the request to the answer's last byte.

  // Of the request that is asked now, until it is done or has failed.
  std::optional<std::uint64_t> request_;
  wire::SseParser sse_;
  std::string refusal_;  // The body of what is no 200.
  Answer answer_;
  bool finish_seen_ = false;
  bool text_seen_ = false;
};

}  // namespace seedance::loadgen
