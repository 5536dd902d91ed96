#include "wire/sse.h"

#include <algorithm>
#include <utility>

namespace seedance::wire {

void append_sse_comment(std::string& out, std::string_view text) {
  out += ": ";
  for (const char c : text) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += "\n\n";
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
