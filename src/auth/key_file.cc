#include "auth/key_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace seedance::auth {
namespace {

constexpr std::string_view kHashPrefix = "sha256:";
constexpr std::string_view kBlank = " \t";
constexpr std::string_view kColumns = "NAME TENANT ROLE sha256:HASH CREATED";

// Takes the first line off, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlank), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool is_comment(const std::vector<std::string_view>& words) {
  return words.empty() || words.front().starts_with('#');
}

// 2025-06-30T12:00:00Z: digits where digits belong.
bool is_time(std::string_view text) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00Z";
  return std::ranges::equal(text, kPattern, [](char c, char wanted) {
    return wanted == '0' ? c >= '0' && c <= '9' : c == wanted;
  });
}

// What is wrong with the line, or nothing and the entry is filled.
std::optional<std::string> read(const std::vector<std::string_view>& words, KeyEntry& entry) {
  if (words.size() != 5) {
    return fmt::format("{} columns instead of five: {}", words.size(), kColumns);
  }
  if (!is_key_name(words[0])) return "the name is longer than 128 characters or no visible ASCII";
  if (!is_name(words[1])) return "the tenant is longer than 128 characters or no visible ASCII";
  const auto role = parse_role(words[2]);
  if (!role) return "the role is neither user nor admin";
  std::string_view hash = words[3];
  if (!hash.starts_with(kHashPrefix)) return "the fourth column does not begin with sha256:";
  hash.remove_prefix(kHashPrefix.size());
  const auto bytes = parse_hex(hash);
  if (!bytes) return "the hash is not 64 digits 0-9 and a-f";
  if (!is_time(words[4])) return "the time is not of the form 2025-06-30T12:00:00Z";
  entry = {.name = std::string{words[0]},
           .tenant = std::string{words[1]},
           .role = *role,
           .hash = *bytes,
           .created = std::string{words[4]}};
  return std::nullopt;
}

}  // namespace

Result<std::vector<KeyEntry>> parse_key_file(std::string_view text, std::string_view file) {
  std::vector<KeyEntry> keys;
  std::set<std::string, std::less<>> names;
  std::set<SecretHash> hashes;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto words = words_of(take_line(text));
    if (is_comment(words)) continue;
    KeyEntry entry;
    auto problem = read(words, entry);
    if (!problem && !names.insert(entry.name).second) {
      problem = fmt::format("a key of the name {} is there already", entry.name);
    }
    if (!problem && !hashes.insert(entry.hash).second) {
      problem = fmt::format("{} is the same key as an earlier one", entry.name);
    }
    if (problem) return fail(Errc::invalid, fmt::format("{}:{}: {}", file, number, *problem));
    keys.push_back(std::move(entry));
  }
  return keys;
}

std::string to_line(const KeyEntry& entry) {
  return fmt::format("{} {} {} {}{} {}", entry.name, entry.tenant, name(entry.role), kHashPrefix,
                     to_hex(entry.hash), entry.created);
}

std::string with_key(std::string_view text, const KeyEntry& entry) {
  std::string out{text};
  if (out.empty()) out = fmt::format("# Keys of a Seedance server: {}\n", kColumns);
  if (!out.ends_with('\n')) out += '\n';
  return out + to_line(entry) + '\n';
}

std::string without_key(std::string_view text, std::string_view name) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const auto words = words_of(take_line(text));
    if (!is_comment(words) && words.front() == name) continue;
    out += before.substr(0, before.size() - text.size());
  }
  return out;
}

bool is_key_name(std::string_view text) {
  return is_name(text) && !text.starts_with('#');
}

std::string free_name(const std::vector<KeyEntry>& keys, std::string_view tenant) {
  // Room for the number; two tenants that begin alike then share a count.
  std::string_view stem = tenant.substr(0, kNameBytesMax - 8);
  stem.remove_prefix(std::min(stem.find_first_not_of('#'), stem.size()));
  if (stem.empty()) stem = "key";
  for (std::size_t number = 1;; ++number) {
    std::string name = fmt::format("{}-{}", stem, number);
    if (std::ranges::find(keys, name, &KeyEntry::name) == keys.end()) return name;
  }
}

}  // namespace seedance::auth
