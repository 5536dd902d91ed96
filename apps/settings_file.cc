#include "apps/settings_file.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "apps/files.h"

namespace seedance::apps {
namespace {

constexpr std::string_view kDefaultFile = "seedance.yaml";

}  // namespace

bool is_switch(std::string_view flag) {
  return std::ranges::any_of(config::keys(), [flag](const config::Key& key) {
    return key.flag == flag && std::holds_alternative<bool config::Settings::*>(key.field);
  });
}

config::Variables environment() {
  config::Variables out;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view pair = *variable;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::size_t value = std::min(equals + 1, pair.size());
    out.emplace_back(pair.substr(0, equals), pair.substr(value));
  }
  return out;
}

Result<config::Settings> load_settings(const std::string& path, const Flags& flags) {
  config::Sources sources;
  const std::string file = path.empty() ? std::string{kDefaultFile} : path;
  auto text = read_file(file, config::kFileBytesMax);
  if (text) {
    sources.file = config::File{file, *std::move(text)};
  } else if (!path.empty() || text.error().code != Errc::not_found) {
    return fail(text.error().code, "--config: " + text.error().detail);
  }
  sources.environment = environment();
  for (const auto& [flag, values] : flags) {
    if (values.empty()) continue;
    const bool is_bare = is_switch(flag) && values == std::vector<std::string>{""};
    sources.flags.emplace_back(flag, is_bare ? std::vector<std::string>{"true"} : values);
  }
  return config::load(sources);
}

}  // namespace seedance::apps
