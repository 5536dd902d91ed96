// Tokens: whatever the bytes are, they are refused or name a tenant; and claims
// behind a right signature are read to the end.
#include <cstdint>
#include <cstdlib>

#include "auth/jwt.h"
#include "auth/test_token.h"
#include "base/bytes.h"

using namespace seedance;

namespace {

void check(const auth::TokenRules& rules, std::string_view token) {
  const WallTime now{std::chrono::seconds{1'750'000'000}};
  const auto checked = auth::check_token(rules, token, now);
  if (checked && (!auth::is_name(checked->tenant) || token.size() > auth::kTokenBytesMax)) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = as_text(std::as_bytes(std::span{bytes, size}));
  static const auth::TokenRules kSecret{
      .key = *auth::secret_key(auth::kTestSecret), .audience = "seedance", .issuer = {}};
  static const auth::TokenRules kPublic{
      .key = *auth::public_key(auth::TestSigner{}.pem()), .audience = {}, .issuer = {}};
  check(kSecret, text);
  check(kPublic, text);
  check(kSecret, auth::hs256_token(text));
  check(kSecret, auth::hmac_token(auth::kTestSecret, text, R"({"sub":"a","exp":1e10})"));
  return 0;
}
