#include "apps/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace seedance::apps {
namespace {

bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= kAdapterNameBytesMax && std::ranges::all_of(text, allowed);
}

}  // namespace

Result<std::vector<server::Adapter>> parse_adapters(const std::vector<std::string>& texts) {
  if (texts.size() > kAdaptersMax) {
    return fail(Errc::invalid,
                fmt::format("{} are more than {}; give fewer", texts.size(), kAdaptersMax));
  }
  std::vector<server::Adapter> adapters;
  for (const std::string_view text : texts) {
    const std::size_t end = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, end);
    const std::string_view path = text.substr(std::min(end + 1, text.size()));
    if (path.empty() || !is_name(name)) {
      return fail(Errc::invalid,
                  fmt::format("\"{}\" is no NAME=FILE; a name is 1 to {} letters, digits, dots, "
                              "hyphens and underscores",
                              text, kAdapterNameBytesMax));
    }
    if (std::ranges::find(adapters, name, &server::Adapter::name) != adapters.end()) {
      return fail(Errc::invalid, fmt::format("\"{}\" is there twice; name each once", name));
    }
    adapters.push_back({.name = std::string{name}, .path = std::string{path}});
  }
  return adapters;
}

}  // namespace seedance::apps
