#include "auth/keys.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cctype>

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

}  // namespace

KeyRing::KeyRing(std::span<const std::string> keys) {
  for (const std::string& key : keys) hashes_.push_back(hash(key));
}

KeyRing::Hash KeyRing::hash(std::string_view key) {
  Hash hash;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), hash.data());
  return hash;
}

bool KeyRing::admits(std::string_view key) const {
  if (hashes_.empty()) return true;
  const Hash asked = hash(key);
  bool found = false;
  for (const Hash& known : hashes_) {
    found |= CRYPTO_memcmp(known.data(), asked.data(), known.size()) == 0;
  }
  return found;
}

std::string_view bearer_token(std::string_view authorization) {
  const auto space = authorization.find(' ');
  if (space == std::string_view::npos || !is_bearer(authorization.substr(0, space))) return {};
  return trim(authorization.substr(space));
}

std::string_view subprotocol_key(std::string_view offered) {
  while (!offered.empty()) {
    const auto comma = offered.find(',');
    const std::string_view protocol = trim(offered.substr(0, comma));
    if (protocol.starts_with(kKeySubprotocol)) return protocol.substr(kKeySubprotocol.size());
    offered = comma == std::string_view::npos ? std::string_view{} : offered.substr(comma + 1);
  }
  return {};
}

}  // namespace seedance::auth
