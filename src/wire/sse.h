// Server-sent events (WHATWG HTML, section 9.2): the text/event-stream format.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace seedance::wire {

// Appends a comment line, which clients ignore; line ends in it become spaces.
void append_sse_comment(std::string& out, std::string_view text);

struct SseEvent {
  std::string id;  // The last one seen, as the format wants it.
  std::string event;
  std::string data;

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

// Reads a stream that comes in pieces. Belongs to one thread.
class SseParser {
 public:
  explicit SseParser(std::size_t event_bytes_max = std::size_t{1} << 20);

  // False when an event is over the limit; nothing is read from then on.
  bool on_input(std::string_view input);

  // Events in their order; nothing when more input is needed.
  std::optional<SseEvent> next();

 private:
  void on_line();
  void on_field(std::string_view name, std::string_view value);

  std::size_t event_bytes_max_;
  std::string line_;
  SseEvent event_;
  std::deque<SseEvent> ready_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;
  bool failed_ = false;
};

}  // namespace seedance::wire
