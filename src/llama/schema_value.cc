#include "llama/schema_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

namespace seedance::llama {
namespace {

namespace json = boost::json;

constexpr double kExactIntegers = 9007199254740992.0;  // Below 2^53 each has a double of its own.

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size();
    out += escape && token[i + 1] == '1' ? '/' : token[i];
    if (escape && (token[i + 1] == '0' || token[i + 1] == '1')) ++i;
  }
  return out;
}

const json::value* member(const json::value& value, const std::string& key) {
  if (const auto* object = value.if_object()) return object->if_contains(key);
  const auto* array = value.if_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i) {
    if (std::to_string(i) == key) return &(*array)[i];
  }
  return nullptr;
}

}  // namespace

std::optional<Place> find_place(const json::value& root, std::string_view pointer) {
  Place place{&root, "#"};
  for (std::size_t begin = 1; begin < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin + 1), pointer.size());
    const std::string key = unescaped(pointer.substr(begin + 1, end - begin - 1));
    begin = end;
    place.value = member(*place.value, key);
    place.at = below(place.at, key);
    if (place.value == nullptr) return std::nullopt;
  }
  return place;
}

std::string below(const std::string& at, std::string_view key) {
  std::string out = at + '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string below(const std::string& at, std::string_view key, std::size_t index) {
  return fmt::format("{}/{}/{}", at, key, index);
}

bool is_integral(const json::value& value) {
  if (value.is_int64() || value.is_uint64()) return true;
  return value.is_double() && std::trunc(value.get_double()) == value.get_double();
}

bool is_of(const json::value& value, std::string_view type) {
  switch (value.kind()) {
    case json::kind::null:
      return type == "null";
    case json::kind::bool_:
      return type == "boolean";
    case json::kind::string:
      return type == "string";
    case json::kind::array:
      return type == "array";
    case json::kind::object:
      return type == "object";
    default:
      return type == "number" || (type == "integer" && is_integral(value));
  }
}

bool is_exact(const json::value& value) {
  if (const auto* number = value.if_double()) return std::abs(*number) < kExactIntegers;
  if (const auto* array = value.if_array()) return std::ranges::all_of(*array, is_exact);
  if (const auto* object = value.if_object()) {
    return std::ranges::all_of(*object, [](const auto& each) { return is_exact(each.value()); });
  }
  return true;
}

std::int64_t integer_at(const json::value& value, Round round) {
  constexpr std::int64_t kBeyond = kSchemaIntegerMax + 1;
  if (value.is_uint64()) return kBeyond;
  if (const auto* integer = value.if_int64()) return std::clamp(*integer, -kBeyond, kBeyond);
  const double number = value.get_double();
  if (std::abs(number) >= static_cast<double>(kBeyond)) return number < 0 ? -kBeyond : kBeyond;
  return static_cast<std::int64_t>(round == Round::up ? std::ceil(number) : std::floor(number));
}

std::string unused_name(std::string_view schema) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : schema) {
    run = c == 'q' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, 'q');
}

}  // namespace seedance::llama
