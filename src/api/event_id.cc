#include "api/event_id.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace seedance::api {

std::string to_text(const EventId& id) {
  return fmt::format("{}:{}:{}", to_text(id.stream), id.epoch.value, id.next.value);
}

std::optional<EventId> parse_event_id(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto stream = parse_stream_id(text.substr(0, first));
  const auto epoch = parse_number(text.substr(first + 1, second - first - 1));
  const auto next = parse_number(text.substr(second + 1));
  if (!stream || !epoch || !next) return std::nullopt;
  if (*epoch > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return EventId{*stream, Epoch{static_cast<std::uint32_t>(*epoch)}, Offset{*next}};
}

std::optional<std::uint64_t> parse_number(std::string_view digits) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return number;
}

}  // namespace seedance::api
