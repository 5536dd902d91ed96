// The JSON objects that requests are.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/error_code.h"

namespace seedance::api {

// A value, or the problem that the client is told. Problems never quote the
// client's text, only its field names and numbers.
template <typename T>
using Parsed = std::expected<T, Problem>;

inline constexpr std::size_t kJsonDepthMax = 32;

struct JsonObject {
  boost::json::object object;
  // A key that this object, or one inside of it, has more than once. Of its values the
  // last is left: nobody can say which of them was meant.
  std::optional<std::string> repeated;
};

// One JSON object (RFC 8259), strict UTF-8, at most kJsonDepthMax deep. How many
// bytes it may have is the caller's to bound.
Parsed<JsonObject> parse_object(std::string_view json);

}  // namespace seedance::api
