#include "wire/sse.h"

#include <algorithm>
#include <utility>

namespace seedance::wire {
namespace {

// Calls `use(line)` for each line of `text`, whatever ends it.
template <typename Use>
void for_each_line(std::string_view text, Use use) {
  for (;;) {
    const std::size_t end = text.find_first_of("\r\n");
    use(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

// A field that is one line, whatever is in it.
void append_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += '\n';
}

}  // namespace

void append_sse_event(std::string& out, const SseFields& fields) {
  if (!fields.id.empty()) append_line(out, "id", fields.id);
  if (!fields.event.empty()) append_line(out, "event", fields.event);
  if (!fields.data.empty()) {
    for_each_line(fields.data, [&out](std::string_view line) {
      out += "data: ";
      out += line;
      out += '\n';
    });
  }
  out += '\n';
}

void append_sse_comment(std::string& out, std::string_view text) {
  append_line(out, "", text);
  out += '\n';
}

SseParser::SseParser(std::size_t event_bytes_max) : event_bytes_max_(event_bytes_max) {}

bool SseParser::on_input(std::string_view input) {
  for (const char c : input) {
    if (failed_) break;
    const bool ends_crlf = c == '\n' && after_cr_;  // The line ended at its CR.
    after_cr_ = c == '\r';
    if (ends_crlf) continue;
    if (c == '\r' || c == '\n') {
      on_line();
      line_.clear();
    } else if (line_.size() + event_.data.size() < event_bytes_max_) {
      line_ += c;
    } else {
      failed_ = true;
    }
  }
  return !failed_;
}

std::optional<SseEvent> SseParser::next() {
  if (ready_.empty()) return std::nullopt;
  SseEvent event = std::move(ready_.front());
  ready_.pop_front();
  return event;
}

void SseParser::on_line() {
  std::string_view line = line_;
  if (std::exchange(first_line_, false) && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (line.empty()) {
    if (has_data_) ready_.push_back({event_.id, std::move(event_.event), std::move(event_.data)});
    event_.event.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  std::string_view value = line.substr(std::min(colon + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  on_field(line.substr(0, colon), value);
}

void SseParser::on_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (std::exchange(has_data_, true)) event_.data += '\n';
    event_.data += value;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
}

}  // namespace seedance::wire
