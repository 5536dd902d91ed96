// JSON out (RFC 8259).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace seedance::wire {

// Appends `text` as a JSON string with its quotes. Bytes that are no UTF-8
// become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// What stands between the quotes: `text` itself, or, when it needs escapes, `spill`.
std::string_view json_text(std::string_view text, std::string& spill);

// Appends JSON to a string that it borrows; places commas, allocates nothing
// itself. The caller pairs begin and end and gives a key before each value of
// an object. Several values in a row at the top level are the caller's to part.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(&out) {}
  // In an object that has members already.
  static JsonWriter within(std::string& out) {
    JsonWriter writer{out};
    writer.comma_ = true;
    return writer;
  }

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view{text}); }
  JsonWriter& value(const std::string& text) { return value(std::string_view{text}); }
  JsonWriter& value(bool flag);
  JsonWriter& value(float number);
  JsonWriter& value(double number);  // Shortest form that reads back; NaN and infinities as null.
  template <std::integral T>
  JsonWriter& value(T number);
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // One value that is JSON already.

  // key() and value() in one.
  template <typename T>
  JsonWriter& field(std::string_view name, const T& v);

 private:
  void before_value();
  JsonWriter& signed_value(std::int64_t number);
  JsonWriter& unsigned_value(std::uint64_t number);

  std::string* out_;
  bool comma_ = false;  // Whether a further value needs one in front.
};

template <std::integral T>
JsonWriter& JsonWriter::value(T number) {
  if constexpr (std::signed_integral<T>) return signed_value(number);
  return unsigned_value(static_cast<std::uint64_t>(number));
}

template <typename T>
JsonWriter& JsonWriter::field(std::string_view name, const T& v) {
  return key(name).value(v);
}

}  // namespace seedance::wire
