#include "config/load.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>

#include "base/spelling.h"

namespace seedance::config {
namespace {

constexpr std::string_view kPrefix = "SEEDANCE_";

const Key* find_key(std::string_view name) {
  const auto found = std::ranges::find(keys(), name, &Key::name);
  return found == keys().end() ? nullptr : &*found;
}

const Key* find_flag(std::string_view flag) {
  const auto found = std::ranges::find(keys(), flag, &Key::flag);
  return found == keys().end() ? nullptr : &*found;
}

// Of somebody's text, as much as fits into a message of one line.
std::string shown(std::string_view text, std::size_t bytes_max = 60) {
  std::string out;
  for (const char c : text.substr(0, bytes_max)) {
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + (text.size() > bytes_max ? "..." : "");
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_line(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

// Sets one key to values that a source gave. Gives false when they do not fit.
class Assign {
 public:
  Assign(Settings& settings, const Key& key, const std::vector<std::string>& values)
      : settings_(settings), key_(key), values_(values) {}

  bool operator()(std::string Settings::* field) const {
    if (values_.size() != 1 || !is_line(values_[0])) return false;
    settings_.*field = values_[0];
    return true;
  }
  bool operator()(bool Settings::* field) const {
    const auto flag = values_.size() == 1 ? parse_bool(values_[0]) : std::nullopt;
    if (flag) settings_.*field = *flag;
    return flag.has_value();
  }
  bool operator()(std::int64_t Settings::* field) const {
    const auto number = values_.size() == 1 ? parse_number(values_[0]) : std::nullopt;
    if (!number || *number < key_.least || *number > key_.most) return false;
    settings_.*field = *number;
    return true;
  }
  bool operator()(std::vector<std::string> Settings::* field) const {
    for (const std::string& value : values_) {
      if (value.empty() || !is_line(value)) return false;
    }
    settings_.*field = values_;
    return true;
  }

 private:
  Settings& settings_;
  const Key& key_;
  const std::vector<std::string>& values_;
};

// `place` names the source and, where it does not do so itself, the key.
Result<void> assign(Settings& settings, const Key& key, const std::vector<std::string>& values,
                    std::string_view place) {
  if (std::visit(Assign{settings, key, values}, key.field)) return {};
  std::string given;
  for (const std::string& value : values) given += (given.empty() ? "" : ", ") + value;
  const std::string what = key.secret ? "this" : fmt::format("\"{}\"", shown(given));
  return fail(Errc::invalid,
              fmt::format("{}: {} is not possible here; give {}", place, what, expectation(key)));
}

bool is_list(const Key& key) {
  return std::holds_alternative<std::vector<std::string> Settings::*>(key.field);
}

bool is_switch(const Key& key) {
  return std::holds_alternative<bool Settings::*>(key.field);
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (item.starts_with(' ')) item.remove_prefix(1);
    while (item.ends_with(' ')) item.remove_suffix(1);
    out.emplace_back(item);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

// The texts of a scalar or of a list of scalars; nothing for any other shape.
std::optional<std::vector<std::string>> scalars(const YAML::Node& node) {
  std::vector<std::string> out;
  if (node.IsScalar()) return std::vector{node.Scalar()};
  if (!node.IsSequence()) return std::nullopt;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return std::nullopt;
    out.push_back(item.Scalar());
  }
  return out;
}

Result<void> apply_entry(Settings& settings, const YAML::Node& name, const YAML::Node& value,
                         std::map<std::string, int>& seen, std::string_view file) {
  const int line = name.Mark().line + 1;
  if (!name.IsScalar()) {
    return fail(Errc::invalid, fmt::format("{}:{}: a key must be a plain word", file, line));
  }
  const std::string place = fmt::format("{}:{}: {}", file, line, shown(name.Scalar()));
  const Key* key = find_key(name.Scalar());
  if (key == nullptr) {
    const std::string_view near = nearest_key(name.Scalar());
    const std::string hint =
        near.empty() ? "see `seedance init` for all keys" : fmt::format("did you mean {}?", near);
    return fail(Errc::invalid, fmt::format("{}: there is no such key; {}", place, hint));
  }
  const auto [first, is_new] = seen.emplace(key->name, line);
  if (!is_new) {
    return fail(Errc::invalid, fmt::format("{}: set in line {} already", place, first->second));
  }
  const auto values = scalars(value);
  if (!values || (value.IsSequence() && !is_list(*key))) {
    return fail(Errc::invalid,
                fmt::format("{}: this needs a value; give {}", place, expectation(*key)));
  }
  return assign(settings, *key, *values, place);
}

Result<void> apply_document(Settings& settings, const YAML::Node& root, std::string_view file) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) {
    return fail(Errc::invalid, fmt::format("{}:{}: expected lines of the form `key: value`", file,
                                           root.Mark().line + 1));
  }
  std::map<std::string, int> seen;
  for (const auto& entry : root) {
    const auto applied = apply_entry(settings, entry.first, entry.second, seen, file);
    if (!applied) return applied;
  }
  return {};
}

// The only place where an exception is expected: yaml-cpp reports by them.
Result<void> apply_file(Settings& settings, const File& file) {
  if (file.text.size() > kFileBytesMax) {
    return fail(Errc::invalid, fmt::format("{}: more than {} bytes", file.name, kFileBytesMax));
  }
  try {
    return apply_document(settings, YAML::Load(file.text), file.name);
  } catch (const YAML::Exception& error) {
    return fail(Errc::invalid, fmt::format("{}:{}: not YAML: {}", file.name, error.mark.line + 1,
                                           shown(error.msg, 200)));
  }
}

const Key* find_variable(std::string_view name) {
  const auto found = std::ranges::find(keys(), name, variable_of);
  return found == keys().end() ? nullptr : &*found;
}

// Whether a platform or we ourselves give the variable another meaning.
bool is_of_others(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 7> kOurs{"BUILD",        "CUDA",  "LLAMA_DIR",  "FAULT",
                                                  "FUZZ_SECONDS", "TALLY", "TEST_MODELS"};
  name.remove_prefix(kPrefix.size());
  if (std::ranges::find(kOurs, name) != kOurs.end()) return true;
  // Of a service "seedance" in Kubernetes: SEEDANCE_PORT=tcp://10.0.0.1:8080 and more.
  if (name == "PORT") return value.contains("://");
  return name.starts_with("SERVICE_HOST") || name.starts_with("SERVICE_PORT") ||
         name.starts_with("PORT_");
}

Result<void> apply_variable(Settings& settings, const std::string& name, std::string_view value) {
  if (const Key* key = find_variable(name)) {
    return assign(settings, *key, is_list(*key) ? split(value) : std::vector{std::string{value}},
                  name);
  }
  if (name.size() > kSpelledBytesMax) return {};
  for (const Key& key : keys()) {
    const std::string meant = variable_of(key);
    // One slip in four letters: SEEDANCE_PORT, which Kubernetes sets, is not SEEDANCE_HOST.
    if (4 * edit_distance(name, meant) <= name.size() - kPrefix.size()) {
      return fail(Errc::invalid,
                  fmt::format("{}: there is no such setting; did you mean {}?", name, meant));
    }
  }
  return {};
}

}  // namespace

std::string variable_of(const Key& key) {
  std::string out{kPrefix};
  for (const char c : key.name) out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

std::string_view nearest_key(std::string_view wrong) {
  Nearest nearest{wrong};
  for (const Key& key : keys()) {
    std::string word{key.flag.substr(2)};
    std::ranges::replace(word, '-', '_');
    nearest.offer(key.name);
    nearest.offer(key.name, word);
  }
  return nearest.name();
}

std::vector<std::string> unknown_variables(const Variables& environment) {
  std::vector<std::string> out;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix) || find_variable(name) || is_of_others(name, value)) continue;
    std::string word = name.substr(kPrefix.size());
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const Key* const near = find_key(nearest_key(word));
    out.push_back(fmt::format("{} means nothing: there is no such setting{}", shown(name),
                              near == nullptr
                                  ? "; see `seedance init` for all of them"
                                  : fmt::format("; did you mean {}?", variable_of(*near))));
  }
  return out;
}

Result<Settings> load(const Sources& sources) {
  Settings settings;
  if (sources.file) {
    const auto applied = apply_file(settings, *sources.file);
    if (!applied) return std::unexpected(applied.error());
  }
  for (const auto& [name, value] : sources.environment) {
    if (!name.starts_with(kPrefix)) continue;
    const auto applied = apply_variable(settings, name, value);
    if (!applied) return std::unexpected(applied.error());
  }
  for (const auto& [flag, values] : sources.flags) {
    const Key* key = find_flag(flag);
    if (key == nullptr) return fail(Errc::invalid, fmt::format("{}: there is no such flag", flag));
    const auto applied = assign(settings, *key, values, flag);
    if (applied) continue;
    if (!is_switch(*key)) return std::unexpected(applied.error());
    // It may be an argument that was meant for something else.
    return fail(Errc::invalid,
                fmt::format("\"{}\" was not expected behind {}, which takes true, false or nothing",
                            shown(values.empty() ? "" : values.back()), flag));
  }
  return settings;
}

std::string commented_file(const Settings& settings) {
  std::string out =
      "# Settings of `seedance serve`. Flags win over the environment (SEEDANCE_ and the key in\n"
      "# capitals), the environment over this file, this file over the defaults. A running server\n"
      "# takes over the keys marked with * when it gets SIGHUP.\n";
  std::string_view group;
  for (const Key& key : keys()) {
    if (key.group != group) out += fmt::format("\n# ---- {} ----\n", key.group);
    group = key.group;
    const bool is_number = std::holds_alternative<std::int64_t Settings::*>(key.field);
    const std::string range =
        is_number ? fmt::format(" ({} to {})", key.least, key.most) : std::string{};
    out += fmt::format("\n# {}{}.{}\n{}: {}\n", key.help, range, key.reload ? " *" : "", key.name,
                       text_of(settings, key));
  }
  return out;
}

}  // namespace seedance::config
