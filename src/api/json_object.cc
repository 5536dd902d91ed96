#include "api/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace seedance::api {
namespace {

namespace json = boost::json;

// The keys of the objects that the parser is in, the innermost last.
class OpenKeys {
 public:
  void begin_object() { objects_.push_back(keys_.size()); }
  void add_part(json::string_view part) { text_.append(part.data(), part.size()); }
  void add(json::string_view last_part) {
    add_part(last_part);
    keys_.push_back(text_.size());
  }

  void end_object() {
    const std::size_t first = objects_.back();
    objects_.pop_back();
    if (!repeated_) repeated_ = find_repeated(first);
    text_.resize(begin_of(first));
    keys_.resize(first);
  }

  std::optional<std::string> take_repeated() { return std::move(repeated_); }

 private:
  static constexpr std::size_t kFewKeys = 16;

  std::size_t begin_of(std::size_t key) const { return key == 0 ? 0 : keys_[key - 1]; }
  std::string_view name_of(std::size_t key) const {
    return std::string_view{text_}.substr(begin_of(key), keys_[key] - begin_of(key));
  }

  std::optional<std::string> find_repeated(std::size_t first) const {
    if (keys_.size() - first > kFewKeys) return find_repeated_of_many(first);
    for (std::size_t key = first + 1; key < keys_.size(); ++key) {
      for (std::size_t before = first; before < key; ++before) {
        if (name_of(key) == name_of(before)) return std::string{name_of(key)};
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> find_repeated_of_many(std::size_t first) const {
    std::vector<std::string_view> names;
    names.reserve(keys_.size() - first);
    for (std::size_t key = first; key < keys_.size(); ++key) names.push_back(name_of(key));
    std::ranges::sort(names);
    const auto found = std::ranges::adjacent_find(names);
    if (found == names.end()) return std::nullopt;
    return std::string{*found};
  }

  std::string text_;               // Of all keys.
  std::vector<std::size_t> keys_;  // Where each ends there.
  std::vector<std::size_t> objects_;
  std::optional<std::string> repeated_;
};

// Makes a value as boost::json::parse() does, and looks at keys besides.
struct Handler {
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return keys.begin_object(), true; }
  bool on_object_end(std::size_t count, json::error_code&) {
    keys.end_object();
    return values.push_object(count), true;
  }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t count, json::error_code&) { return values.push_array(count), true; }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    keys.add_part(part);
    return values.push_chars(part), true;
  }
  bool on_key(json::string_view last_part, std::size_t, json::error_code&) {
    keys.add(last_part);
    return values.push_key(last_part), true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    return values.push_chars(part), true;
  }
  bool on_string(json::string_view last_part, std::size_t, json::error_code&) {
    return values.push_string(last_part), true;
  }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t number, json::string_view, json::error_code&) {
    return values.push_int64(number), true;
  }
  bool on_uint64(std::uint64_t number, json::string_view, json::error_code&) {
    return values.push_uint64(number), true;
  }
  bool on_double(double number, json::string_view, json::error_code&) {
    return values.push_double(number), true;
  }
  bool on_bool(bool flag, json::error_code&) { return values.push_bool(flag), true; }
  bool on_null(json::error_code&) { return values.push_null(), true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  json::value_stack values;
  OpenKeys keys;
};

// `taken` bytes of the text were read when it was found out.
std::string describe(json::error_code error, std::string_view text, std::size_t taken) {
  if (error == json::error::too_deep) {
    return fmt::format("At byte {} this is JSON more than {} levels deep; at most {} are taken.",
                       taken + 1, kJsonDepthMax, kJsonDepthMax);
  }
  if (error == json::error::incomplete) {
    return fmt::format("This is not JSON: after {} bytes it is not at its end.", text.size());
  }
  return fmt::format("This is not JSON: {} at byte {} of {}.", error.message(), taken + 1,
                     text.size());
}

}  // namespace

Parsed<JsonObject> parse_object(std::string_view text) {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  json::basic_parser<Handler> parser{options};
  Handler& handler = parser.handler();
  handler.values.reset();
  json::error_code error;
  const std::size_t taken = parser.write_some(false, text.data(), text.size(), error);
  if (!error && taken < text.size()) error = json::error::extra_data;
  if (error) {
    return std::unexpected(
        Problem{.code = ErrorCode::invalid_request, .message = describe(error, text, taken)});
  }
  json::value value = handler.values.release();
  if (!value.is_object()) {
    return std::unexpected(
        Problem{.code = ErrorCode::invalid_request, .message = "This must be a JSON object."});
  }
  return JsonObject{.object = std::move(value.get_object()),
                    .repeated = handler.keys.take_repeated()};
}

}  // namespace seedance::api
