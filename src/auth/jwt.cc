#include "auth/jwt.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <memory>

#include "auth/secret.h"

namespace seedance::auth {
namespace {

namespace json = boost::json;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

constexpr std::size_t kSecretBytesMin = 32;
constexpr std::size_t kSecretBytesMax = 1024;
constexpr std::size_t kMacBytes = 32;
constexpr std::size_t kPublicKeyBytes = 32;

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

struct Parts {
  std::string_view header;
  std::string_view claims;
  std::string_view signature;
  std::string_view signed_text;  // Header, dot and claims.
};

std::optional<Parts> split(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', std::min(first, token.size() - 1) + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return Parts{.header = token.substr(0, first),
               .claims = token.substr(first + 1, second - first - 1),
               .signature = token.substr(second + 1),
               .signed_text = token.substr(0, second)};
}

// The JSON object in one part of a token; nothing for anything else.
std::optional<json::object> object_of(std::string_view part) {
  const auto text = parse_base64url(part);
  if (!text) return std::nullopt;
  json::error_code error;
  json::value value = json::parse(*text, error);  // At most 32 levels deep.
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

// The text of a member; nothing when it is missing or no text.
std::optional<std::string_view> text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string_view{value->get_string()};
}

std::string_view name_of(TokenKey::Algorithm algorithm) {
  return algorithm == TokenKey::Algorithm::hs256 ? "HS256" : "EdDSA";
}

std::optional<Refusal> check_header(const json::object& header, TokenKey::Algorithm algorithm) {
  if (text_of(header, "alg") != name_of(algorithm)) return Refusal::token_algorithm;
  // Extensions that must be understood: none is (RFC 7515, section 4.1.11).
  if (header.contains("crit")) return Refusal::token_malformed;
  return std::nullopt;
}

bool is_mac(const std::string& secret, std::string_view text, std::string_view signature) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int bytes = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), raw(text), text.size(),
           mac.data(), &bytes) == nullptr) {
    return false;
  }
  return bytes == kMacBytes && signature.size() == kMacBytes &&
         CRYPTO_memcmp(mac.data(), signature.data(), kMacBytes) == 0;
}

bool is_ed25519(const std::string& public_bytes, std::string_view text,
                std::string_view signature) {
  const Key key{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw(public_bytes),
                                            public_bytes.size()),
                &EVP_PKEY_free};
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free};
  return key && context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), raw(signature), signature.size(), raw(text),
                          text.size()) == 1;
}

std::optional<Refusal> check_signature(const TokenKey& key, const Parts& parts) {
  const auto signature = parse_base64url(parts.signature);
  if (!signature) return Refusal::token_malformed;
  const bool is_signed = key.algorithm == TokenKey::Algorithm::hs256
                             ? is_mac(key.bytes, parts.signed_text, *signature)
                             : is_ed25519(key.bytes, parts.signed_text, *signature);
  if (!is_signed) return Refusal::token_signature;
  return std::nullopt;
}

// Seconds since 1970, maybe with a fraction (RFC 7519, section 2).
std::optional<double> seconds_of(const json::value& value) {
  if (!value.is_number()) return std::nullopt;
  return value.to_number<double>();
}

double seconds_of(auto duration) {
  return std::chrono::duration<double>(duration).count();
}

// When the token holds no more.
WallTime end_of(double expires) {
  const double end = expires + seconds_of(kTokenLeeway);
  if (end >= seconds_of(WallTime::duration::max())) return WallTime::max();
  return WallTime{
      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>{end})};
}

// Gives when it holds no more.
std::expected<WallTime, Refusal> check_times(const json::object& claims, WallTime now) {
  const double today = seconds_of(now.time_since_epoch());
  const double leeway = seconds_of(kTokenLeeway);
  const json::value* expires = claims.if_contains("exp");
  const auto end = expires == nullptr ? std::nullopt : seconds_of(*expires);
  if (!end) return std::unexpected(Refusal::token_no_expiry);
  if (today >= *end + leeway) return std::unexpected(Refusal::token_expired);
  const json::value* not_before = claims.if_contains("nbf");
  if (not_before == nullptr) return end_of(*end);
  const auto begin = seconds_of(*not_before);
  if (!begin) return std::unexpected(Refusal::token_malformed);
  if (today + leeway < *begin) return std::unexpected(Refusal::token_not_yet);
  return end_of(*end);
}

// A token is for one audience, or for any of several.
bool is_for(const json::object& claims, std::string_view audience) {
  const json::value* value = claims.if_contains("aud");
  if (value == nullptr) return audience.empty();
  if (audience.empty()) return false;
  const auto is_it = [&](const json::value& one) {
    return one.is_string() && std::string_view{one.get_string()} == audience;
  };
  return value->is_array() ? std::ranges::any_of(value->get_array(), is_it) : is_it(*value);
}

std::expected<Principal, Refusal> principal_of(const json::object& claims, WallTime until) {
  const auto tenant = text_of(claims, claims.contains("tenant") ? "tenant" : "sub");
  if (!tenant || !is_name(*tenant)) return std::unexpected(Refusal::token_tenant);
  return Principal{.tenant = std::string{*tenant},
                   .role = text_of(claims, "role") == name(Role::admin) ? Role::admin : Role::user,
                   .proof = Proof::token,
                   .key = {},
                   .until = until};
}

}  // namespace

Result<TokenKey> secret_key(std::string_view file) {
  while (file.ends_with('\n') || file.ends_with('\r')) file.remove_suffix(1);
  if (file.starts_with("-----BEGIN ")) {
    return fail(Errc::invalid, "it is a key in PEM form, not a secret; see jwt_public_key_file");
  }
  if (file.size() < kSecretBytesMin || file.size() > kSecretBytesMax) {
    return fail(Errc::invalid, fmt::format("a secret of {} bytes; HS256 needs {} to {}",
                                           file.size(), kSecretBytesMin, kSecretBytesMax));
  }
  return TokenKey{.algorithm = TokenKey::Algorithm::hs256, .bytes = std::string{file}};
}

Result<TokenKey> public_key(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio{
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
  const Key key{bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr) : nullptr,
                &EVP_PKEY_free};
  if (!key) return fail(Errc::invalid, "no public key in PEM form (BEGIN PUBLIC KEY)");
  std::string bytes(kPublicKeyBytes, '\0');
  std::size_t count = bytes.size();
  if (EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                  &count) != 1 ||
      count != kPublicKeyBytes) {
    return fail(Errc::invalid, "its key is not of the kind Ed25519");
  }
  return TokenKey{.algorithm = TokenKey::Algorithm::eddsa, .bytes = std::move(bytes)};
}

bool looks_like_token(std::string_view text) {
  return std::ranges::count(text, '.') == 2;
}

std::expected<Principal, Refusal> check_token(const TokenRules& rules, std::string_view token,
                                              WallTime now) {
  if (token.size() > kTokenBytesMax) return std::unexpected(Refusal::token_too_long);
  if (token.empty()) return std::unexpected(Refusal::token_malformed);
  const auto parts = split(token);
  const auto header = parts ? object_of(parts->header) : std::nullopt;
  if (!header) return std::unexpected(Refusal::token_malformed);
  if (const auto refusal = check_header(*header, rules.key.algorithm)) {
    return std::unexpected(*refusal);
  }
  if (const auto refusal = check_signature(rules.key, *parts)) return std::unexpected(*refusal);
  const auto claims = object_of(parts->claims);
  if (!claims) return std::unexpected(Refusal::token_malformed);
  const auto until = check_times(*claims, now);
  if (!until) return std::unexpected(until.error());
  if (!is_for(*claims, rules.audience)) return std::unexpected(Refusal::token_audience);
  if (!rules.issuer.empty() && text_of(*claims, "iss") != rules.issuer) {
    return std::unexpected(Refusal::token_issuer);
  }
  return principal_of(*claims, *until);
}

}  // namespace seedance::auth
