#include "auth/keys.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace seedance::auth {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_bearer(std::string_view scheme) {
  return std::ranges::equal(scheme, std::string_view{"bearer"}, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

// Takes the first part off, and what parts it from the next.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

KeyTable::KeyTable() : blind_(make_secret("")) {}

std::size_t KeyTable::FirstBytes::operator()(const SecretHash& hash) const noexcept {
  std::size_t first = 0;
  std::memcpy(&first, hash.data(), sizeof(first));
  return first;
}

SecretHash KeyTable::blinded(const SecretHash& hash) const {
  std::string text = blind_;
  text.append(hash.begin(), hash.end());
  return hash_of(text);
}

void KeyTable::add(const SecretHash& key, const Principal& principal) {
  Principal known = principal;
  known.proof = Proof::key;
  known.mark = mark_of(key);
  if (keys_.try_emplace(blinded(key), known).second) by_mark_.try_emplace(known.mark, known);
}

const Principal* KeyTable::find_mark(std::uint64_t mark) const {
  const auto found = by_mark_.find(mark);
  return found == by_mark_.end() ? nullptr : &found->second;
}

const Principal* KeyTable::find(std::string_view key) const {
  const auto found = keys_.find(blinded(hash_of(key)));
  return found == keys_.end() ? nullptr : &found->second;
}

std::string_view bearer_token(std::string_view authorization) {
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos || !is_bearer(authorization.substr(0, space))) return {};
  return trim(authorization.substr(space));
}

std::string_view subprotocol_secret(std::string_view offered, std::string_view prefix) {
  while (!offered.empty()) {
    const std::string_view protocol = trim(take_part(offered, ','));
    if (protocol.starts_with(prefix)) return protocol.substr(prefix.size());
  }
  return {};
}

std::string_view query_ticket(std::string_view query) {
  constexpr std::string_view kName = "ticket=";
  while (!query.empty()) {
    const std::string_view part = take_part(query, '&');
    if (part.starts_with(kName)) return part.substr(kName.size());
  }
  return {};
}

}  // namespace seedance::auth
