#include "apps/access_files.h"

#include <fmt/format.h>

#include <utility>

#include "apps/files.h"
#include "apps/key_store.h"

namespace seedance::apps {
namespace {

constexpr std::size_t kSecretFileBytesMax = std::size_t{16} << 10;

Result<auth::TokenKey> token_key(const config::Settings& settings) {
  const bool is_secret = !settings.jwt_secret_file.empty();
  const std::string& path = is_secret ? settings.jwt_secret_file : settings.jwt_public_key_file;
  const std::string_view name = is_secret ? "jwt_secret_file" : "jwt_public_key_file";
  const auto text = read_file(path, kSecretFileBytesMax);
  if (!text) return fail(text.error().code, fmt::format("{}: {}", name, text.error().detail));
  auto key = is_secret ? auth::secret_key(*text) : auth::public_key(*text);
  if (!key) return fail(Errc::invalid, fmt::format("{}: {}: {}", name, path, key.error().detail));
  return key;
}

Result<std::optional<auth::TokenRules>> token_rules(const config::Settings& settings) {
  if (!settings.jwt_secret_file.empty() && !settings.jwt_public_key_file.empty()) {
    return fail(Errc::invalid,
                "jwt_secret_file, jwt_public_key_file: tokens are signed in one way; set one");
  }
  if (settings.jwt_secret_file.empty() && settings.jwt_public_key_file.empty()) {
    if (settings.jwt_audience.empty() && settings.jwt_issuer.empty()) {
      return std::optional<auth::TokenRules>{};
    }
    return fail(Errc::invalid,
                "jwt_audience, jwt_issuer: nothing says how tokens are signed; set "
                "jwt_secret_file or jwt_public_key_file");
  }
  auto key = token_key(settings);
  if (!key) return std::unexpected(key.error());
  return auth::TokenRules{
      .key = *std::move(key), .audience = settings.jwt_audience, .issuer = settings.jwt_issuer};
}

}  // namespace

Result<std::shared_ptr<const auth::Gate>> make_gate(const config::Settings& settings) {
  auth::GateRules rules{.plain_keys = settings.api_keys,
                        .certificates = !settings.tls_client_ca.empty()};
  if (!settings.keys_file.empty()) {
    auto keys = read_keys(settings.keys_file);
    if (!keys) return fail(keys.error().code, "keys_file: " + keys.error().detail);
    rules.keys = *std::move(keys);
  }
  auto tokens = token_rules(settings);
  if (!tokens) return std::unexpected(tokens.error());
  rules.tokens = *std::move(tokens);
  return std::make_shared<const auth::Gate>(rules);
}

std::vector<std::string> access_warnings(const config::Settings& settings) {
  std::vector<std::string> out;
  for (const std::string& path : {settings.keys_file, settings.jwt_secret_file}) {
    if (path.empty() || !is_open_to_others(path)) continue;
    out.push_back(fmt::format("{} is open to others than its owner; chmod 600 it", path));
  }
  return out;
}

Result<void> check_exposure(const config::Settings& settings, const auth::Gate& gate,
                            bool on_loopback) {
  if (on_loopback || gate.closed() || settings.insecure) return {};
  return fail(Errc::invalid,
              "host: others reach this address, and anybody could come in; set keys_file, "
              "jwt_public_key_file, jwt_secret_file or api_keys, or give --insecure");
}

}  // namespace seedance::apps
