#include "load/fields.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cmath>
#include <utility>

namespace seedance::loadgen {
namespace {

namespace json = boost::json;

constexpr std::size_t kLineBytesMax = 200;
constexpr std::size_t kCodeBytesMax = 64;

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kCodeBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

json::value parse_json(std::string_view text, json::storage_ptr storage) {
  boost::system::error_code error;
  return json::parse(text, error, std::move(storage));  // Null where there is an error.
}

const json::object* object_in(const json::value& value) {
  return value.if_object();
}

const json::object* object_in(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::string_view text_in(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view{value->get_string()} : "";
}

std::optional<std::uint64_t> count_in(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value->get_int64());
}

std::optional<Duration> ms_in(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double ms = value->to_number<double>();
  if (!(ms >= 0 && ms < 1e9)) return std::nullopt;
  return Duration{std::llround(ms * 1e6)};
}

std::string code_in(const json::object& error, std::string_view otherwise) {
  const std::string_view code = text_in(error, "code");
  return std::string{is_word(code) ? code : otherwise};
}

std::string one_line(std::string_view text) {
  std::string line{text.substr(0, kLineBytesMax)};
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return line;
}

}  // namespace seedance::loadgen
