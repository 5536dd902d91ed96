// Ids of server-sent events: where in which stream a client is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/id.h"

namespace seedance::api {

// Written <stream>:<epoch>:<next>. A client that got this event has all tokens
// before `next`.
struct EventId {
  StreamId stream;
  Epoch epoch;
  Offset next;

  friend bool operator==(const EventId&, const EventId&) = default;
};

std::string to_text(const EventId& id);

// Nothing unless `text` is exactly what to_text() gives for some id.
std::optional<EventId> parse_event_id(std::string_view text);

// A number in digits and nothing else, without zeros in front.
std::optional<std::uint64_t> parse_number(std::string_view digits);

}  // namespace seedance::api
