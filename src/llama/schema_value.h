// JSON values inside a schema, and their places.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace seedance::llama {

// The largest integer of 16 digits, which is as long as llama.cpp lets one become.
inline constexpr std::int64_t kSchemaIntegerMax = 9'999'999'999'999'999;

// A value of a document, and its JSON pointer behind a #.
struct Place {
  const boost::json::value* value = nullptr;
  std::string at;
};

// What `pointer`, # or such as #/a/0, names. `root` stays borrowed.
std::optional<Place> find_place(const boost::json::value& root, std::string_view pointer);

// The pointer of a member, and of one in its array.
std::string below(const std::string& at, std::string_view key);
std::string below(const std::string& at, std::string_view key, std::size_t index);

bool is_integral(const boost::json::value& value);
// Of a type that a schema names.
bool is_of(const boost::json::value& value, std::string_view type);
// A reader that has doubles for numbers reads those in it as they were written.
bool is_exact(const boost::json::value& value);

// Of a number, the next integer up or down; at most one beyond kSchemaIntegerMax.
enum class Round : std::uint8_t { up, down };
std::int64_t integer_at(const boost::json::value& number, Round round);

// A name of letters that is in no name that can be made of a schema's and llama.cpp's words.
std::string unused_name(std::string_view schema);

}  // namespace seedance::llama
