// The file of keys: any text is refused with one line, or its keys can be written, read, and
// taken out again.
#include <string>

#include "auth/key_file.h"
#include "base/bytes.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace seedance;
  const std::string_view text = as_text(std::as_bytes(std::span{bytes, size}));
  const auto keys = auth::parse_key_file(text, "keys");
  if (!keys) {
    const std::string& why = keys.error().detail;
    SEEDANCE_CHECK(why.find('\n') == std::string::npos, "one line");
    return 0;
  }
  std::string written;
  for (const auth::KeyEntry& key : *keys) written += auth::to_line(key) + "\n";
  const auto again = auth::parse_key_file(written, "keys");
  SEEDANCE_CHECK(again && *again == *keys, "they are written as they are read");
  if (keys->empty()) return 0;
  const auto rest = auth::parse_key_file(auth::without_key(text, keys->front().name), "keys");
  SEEDANCE_CHECK(rest && rest->size() + 1 == keys->size(), "one is gone");
  auth::KeyEntry another = keys->front();
  another.name = auth::free_name(*keys, another.tenant);
  another.hash = auth::hash_of(text);
  const auto more = auth::parse_key_file(auth::with_key(text, another), "keys");
  SEEDANCE_CHECK(!more || more->back() == another, "it is the last one");
  return 0;
}
