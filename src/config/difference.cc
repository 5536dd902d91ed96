#include "config/difference.h"

#include <fmt/format.h>

namespace seedance::config {
namespace {

bool same(const Settings& one, const Settings& other, const Key& key) {
  return std::visit([&](auto field) { return one.*field == other.*field; }, key.field);
}

struct CountOf {
  const Settings& settings;

  std::size_t operator()(std::vector<std::string> Settings::* list) const {
    return (settings.*list).size();
  }
  std::size_t operator()(auto) const { return 1; }
};

std::string shown(const Settings& settings, const Key& key) {
  if (!key.secret) return text_of(settings, key);
  const std::size_t count = std::visit(CountOf{settings}, key.field);
  return fmt::format("{} secret{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::vector<Change> difference(const Settings& before, const Settings& after) {
  std::vector<Change> out;
  for (const Key& key : keys()) {
    if (same(before, after, key)) continue;
    out.push_back({&key, shown(before, key), shown(after, key)});
  }
  return out;
}

std::string to_text(const Change& change) {
  return fmt::format("{}: {} -> {}", change.key->name, change.before, change.after);
}

Settings reloaded(const Settings& running, const Settings& wanted) {
  Settings out = running;
  for (const Key& key : keys()) {
    if (key.reload) std::visit([&](auto field) { out.*field = wanted.*field; }, key.field);
  }
  return out;
}

}  // namespace seedance::config
