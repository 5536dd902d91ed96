#include "apps/model_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/unicode.h"

namespace seedance::apps {
namespace {

bool is_refused(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '@' || c == '+';
}

std::string_view without_endings(std::string_view path) {
  constexpr std::string_view kSuffix = ".gguf";
  constexpr std::size_t kPartChars = 15;  // "-00001-of-00003"
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  if (name.size() > kPartChars) {
    const std::string_view part = name.substr(name.size() - kPartChars);
    if (part.starts_with('-') && part.substr(6, 4) == "-of-") name.remove_suffix(kPartChars);
  }
  return name;
}

}  // namespace

std::string model_name_of(std::string_view path) {
  std::string name;
  append_valid_utf8(name, without_endings(path));
  std::ranges::replace_if(name, is_refused, '-');
  name.resize(std::min(name.size(), kModelNameBytesMax));
  name.resize(name.size() - incomplete_utf8_tail(name));
  return name;
}

Result<void> check_model_name(std::string_view name) {
  if (name.size() <= kModelNameBytesMax && is_utf8(name) &&
      std::ranges::none_of(name, is_refused)) {
    return {};
  }
  return fail(Errc::invalid,
              fmt::format("a name has at most {} bytes of UTF-8, and no @, + or control "
                          "character; this one has {} bytes: \"{}\"",
                          kModelNameBytesMax, name.size(), name.substr(0, kModelNameBytesMax)));
}

}  // namespace seedance::apps
