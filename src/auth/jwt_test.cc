#include "auth/jwt.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "auth/test_token.h"

namespace seedance::auth {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNowSeconds = 1'750'000'000;
constexpr WallTime kNow{std::chrono::seconds{kNowSeconds}};

TokenRules hs256(std::string audience = "", std::string issuer = "") {
  return {.key = *secret_key(kTestSecret),
          .audience = std::move(audience),
          .issuer = std::move(issuer)};
}

TokenRules eddsa() {
  return {.key = *public_key(TestSigner{}.pem()), .audience = {}, .issuer = {}};
}

// Claims that are right, and more of them.
std::string claims(std::string_view more = "", std::int64_t expires = kNowSeconds + 600) {
  return fmt::format(R"({{"sub":"acme","exp":{}{}}})", expires, more);
}

std::string name_of(const std::expected<Principal, Refusal>& checked) {
  return std::string{checked ? "admitted" : name(checked.error())};
}

std::string check(const TokenRules& rules, std::string_view token, WallTime now = kNow) {
  return name_of(check_token(rules, token, now));
}

TEST(Jwt, SaysWhoSignedInWithEitherAlgorithm) {
  const Principal acme{.tenant = "acme", .role = Role::user, .key = {}};
  EXPECT_EQ(check_token(hs256(), hs256_token(claims()), kNow), acme);
  EXPECT_EQ(check_token(eddsa(), TestSigner{}.token(claims()), kNow), acme);
}

// The examples of RFC 7515, appendix A.1, and RFC 8037, appendix A.4.
TEST(Jwt, ChecksSignaturesAsTheRfcsDo) {
  const TokenRules joe{.key = {.algorithm = TokenKey::Algorithm::hs256,
                               .bytes = *parse_base64url(
                                   "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Y"
                                   "j0iPS4hcgUuTwjAzZr1Z9CAow")}};
  constexpr std::string_view kJoe =
      "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogIm"
      "h0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  EXPECT_EQ(check(joe, kJoe), "token_expired");
  EXPECT_EQ(check(joe, kJoe, WallTime{std::chrono::seconds{1'300'819'379}}), "token_tenant");
  EXPECT_EQ(check(hs256(), kJoe), "token_signature");

  const TokenRules curve{
      .key = {.algorithm = TokenKey::Algorithm::eddsa,
              .bytes = *parse_base64url("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")}};
  constexpr std::string_view kNoJson =
      "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcv"
      "Mg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  EXPECT_EQ(check(curve, kNoJson), "token_malformed") << "signed, but no claims";
  EXPECT_EQ(check(eddsa(), kNoJson), "token_signature");
}

TEST(Jwt, TakesTenantAndRoleFromTheClaims) {
  const auto who = [](std::string_view more) {
    return check_token(hs256(), hs256_token(claims(more)), kNow);
  };
  EXPECT_EQ(who(R"(,"tenant":"other")")->tenant, "other");
  EXPECT_EQ(who(R"(,"role":"admin")")->role, Role::admin);
  EXPECT_EQ(who(R"(,"role":"user")")->role, Role::user);
  EXPECT_EQ(who(R"(,"role":["admin"])")->role, Role::user);
  EXPECT_EQ(who(R"(,"role":true)")->role, Role::user);
  // A tenant that is none is not made up for by "sub".
  EXPECT_EQ(name_of(who(R"(,"tenant":7)")), "token_tenant");
  EXPECT_EQ(name_of(who(R"(,"tenant":"")")), "token_tenant");
  EXPECT_EQ(name_of(who(R"(,"tenant":"two words")")), "token_tenant");
  const std::string nobody = fmt::format(R"({{"exp":{}}})", kNowSeconds + 1);
  EXPECT_EQ(check(hs256(), hs256_token(nobody)), "token_tenant");
}

TEST(Jwt, TakesTheAlgorithmFromTheSettingsAndNeverFromTheToken) {
  const TestSigner signer;
  for (const auto* none : {"none", "None", "NONE", "nOnE", ""}) {
    const std::string header = fmt::format(R"({{"alg":"{}"}})", none);
    EXPECT_EQ(check(hs256(), unsigned_token(header, claims()) + "."), "token_algorithm");
    EXPECT_EQ(check(eddsa(), unsigned_token(header, claims()) + "."), "token_algorithm");
    EXPECT_EQ(check(hs256(), hmac_token(kTestSecret, header, claims())), "token_algorithm");
  }
  // No signature, whatever the header says.
  EXPECT_EQ(check(hs256(), unsigned_token(R"({"alg":"HS256"})", claims()) + "."),
            "token_signature");
  EXPECT_EQ(check(eddsa(), unsigned_token(R"({"alg":"EdDSA"})", claims()) + "."),
            "token_signature");
  // The public key is known to everybody: it must not do as a secret.
  const std::string pem = signer.pem();
  const std::string public_bytes = public_key(pem)->bytes;
  EXPECT_EQ(check(eddsa(), hs256_token(claims(), pem)), "token_algorithm");
  EXPECT_EQ(check(eddsa(), hs256_token(claims(), public_bytes)), "token_algorithm");
  EXPECT_EQ(check(eddsa(), hmac_token(public_bytes, R"({"alg":"EdDSA"})", claims())),
            "token_signature");
  EXPECT_EQ(check(hs256(), signer.token(claims())), "token_algorithm");
  EXPECT_EQ(check(hs256(), signer.token(claims(), R"({"alg":"HS256"})")), "token_signature");
  for (const auto* header : {R"({})", R"({"alg":256})", R"({"alg":["HS256"]})",
                             R"({"alg":"hs256"})", R"({"alg":"HS384"})", R"({"alg":"RS256"})"}) {
    EXPECT_EQ(check(hs256(), hmac_token(kTestSecret, header, claims())), "token_algorithm");
  }
}

TEST(Jwt, TrustsItsOwnKeyOnly) {
  EXPECT_EQ(check(hs256(), hs256_token(claims(), "another secret that is long enough")),
            "token_signature");
  EXPECT_EQ(check(eddsa(), TestSigner{'o'}.token(claims())), "token_signature");
  // A key that the token brings along is of no interest.
  const std::string header = R"({"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"},"kid":"../../x"})";
  EXPECT_EQ(check(hs256(), hmac_token(std::string(32, '\0'), header, claims())), "token_signature");
}

TEST(Jwt, NoticesWhateverIsChanged) {
  for (const bool is_ed25519 : {false, true}) {
    const TokenRules rules = is_ed25519 ? eddsa() : hs256();
    const std::string token = is_ed25519 ? TestSigner{}.token(claims()) : hs256_token(claims());
    ASSERT_EQ(check(rules, token), "admitted");
    for (std::size_t at = 0; at < token.size(); ++at) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      if (changed != token) EXPECT_NE(check(rules, changed), "admitted") << at;
      EXPECT_NE(check(rules, token.substr(0, at)), "admitted") << at;
    }
    EXPECT_NE(check(rules, token + "A"), "admitted");
    EXPECT_NE(check(rules, token + "."), "admitted");
    EXPECT_NE(check(rules, " " + token), "admitted");
  }
}

TEST(Jwt, EndsAtItsTimeAndAMinute) {
  const auto at = [](std::int64_t seconds) { return WallTime{std::chrono::seconds{seconds}}; };
  const std::string token = hs256_token(claims(R"(,"nbf":1749999000)"));
  const std::int64_t expires = kNowSeconds + 600;
  EXPECT_EQ(check(hs256(), token, at(expires + 59)), "admitted");
  EXPECT_EQ(check(hs256(), token, at(expires + 60)), "token_expired");
  EXPECT_EQ(check(hs256(), token, at(1'749'999'000 - 60)), "admitted");
  EXPECT_EQ(check(hs256(), token, at(1'749'999'000 - 61)), "token_not_yet");
}

TEST(Jwt, NeedsAnEnd) {
  const auto with = [](std::string_view times) {
    return check(hs256(), hs256_token(fmt::format(R"({{"sub":"acme"{}}})", times)));
  };
  EXPECT_EQ(with(""), "token_no_expiry");
  EXPECT_EQ(with(R"(,"exp":"9999999999")"), "token_no_expiry");
  EXPECT_EQ(with(R"(,"exp":null)"), "token_no_expiry");
  EXPECT_EQ(with(R"(,"exp":1750000600.5)"), "admitted");
  EXPECT_EQ(with(R"(,"exp":1e300)"), "admitted");
  EXPECT_EQ(with(R"(,"exp":-1)"), "token_expired");
  EXPECT_EQ(with(R"(,"exp":1e300,"nbf":"soon")"), "token_malformed");
  EXPECT_EQ(with(R"(,"exp":1e300,"nbf":1e200)"), "token_not_yet");
}

TEST(Jwt, IsForThisAudienceFromThisIssuer) {
  const auto with = [](const TokenRules& rules, std::string_view more) {
    return check(rules, hs256_token(claims(more)));
  };
  EXPECT_EQ(with(hs256("seedance"), R"(,"aud":"seedance")"), "admitted");
  EXPECT_EQ(with(hs256("seedance"), R"(,"aud":["other","seedance"])"), "admitted");
  EXPECT_EQ(with(hs256("seedance"), R"(,"aud":"Seedance")"), "token_audience");
  EXPECT_EQ(with(hs256("seedance"), R"(,"aud":["other",7])"), "token_audience");
  EXPECT_EQ(with(hs256("seedance"), R"(,"aud":[])"), "token_audience");
  EXPECT_EQ(with(hs256("seedance"), ""), "token_audience");
  EXPECT_EQ(with(hs256(), R"(,"aud":"other")"), "token_audience");
  EXPECT_EQ(with(hs256("", "https://login"), R"(,"iss":"https://login")"), "admitted");
  EXPECT_EQ(with(hs256("", "https://login"), R"(,"iss":"https://evil")"), "token_issuer");
  EXPECT_EQ(with(hs256("", "https://login"), ""), "token_issuer");
}

TEST(Jwt, IsThreePartsOfBase64UrlWithJsonObjects) {
  for (const auto* text : {"", ".", "..", "...", "a.b", "a.b.c.d", "e30.e30.",
                           "e30.e30.AA==", "W10.e30.AA", "bnVsbA.e30.AA", "{}.{}.x"}) {
    EXPECT_NE(check(hs256(), text), "admitted") << text;
  }
  EXPECT_EQ(check(hs256(), hs256_token(claims()) + "="), "token_malformed") << "no padding";
  EXPECT_EQ(check(hs256(), hs256_token("[]")), "token_malformed");
  EXPECT_EQ(check(hs256(), hs256_token("{\"sub\":")), "token_malformed");
  EXPECT_EQ(check(hs256(), hs256_token(std::string(200, '['))), "token_malformed");
  const std::string critical = R"({"alg":"HS256","crit":["b64"],"b64":false})";
  EXPECT_EQ(check(hs256(), hmac_token(kTestSecret, critical, claims())), "token_malformed");
}

TEST(Jwt, HasALimit) {
  const std::string padding(kTokenBytesMax, 'x');
  const std::string token = hs256_token(claims(fmt::format(R"(,"x":"{}")", padding)));
  EXPECT_EQ(check(hs256(), token), "token_too_long");
}

TEST(LooksLikeToken, HasTwoDots) {
  EXPECT_TRUE(looks_like_token("a.b.c"));
  EXPECT_FALSE(looks_like_token("sk-sd-abc"));
  EXPECT_FALSE(looks_like_token("a.b.c.d.e"));
}

TEST(SecretKey, IsLongAndNoPublicKey) {
  EXPECT_EQ(secret_key(std::string{kTestSecret} + "\r\n")->bytes, kTestSecret);
  EXPECT_TRUE(secret_key(std::string(32, 'x')));
  EXPECT_THAT(secret_key(std::string(31, 'x')).error().detail, HasSubstr("31 bytes"));
  EXPECT_FALSE(secret_key(""));
  EXPECT_FALSE(secret_key(std::string(1025, 'x')));
  EXPECT_THAT(secret_key(TestSigner{}.pem()).error().detail, HasSubstr("jwt_public_key_file"));
}

TEST(PublicKey, IsEd25519InPem) {
  EXPECT_EQ(public_key(TestSigner{}.pem())->bytes.size(), 32U);
  EXPECT_THAT(public_key("").error().detail, HasSubstr("PEM"));
  EXPECT_THAT(public_key(kTestSecret).error().detail, HasSubstr("PEM"));
  // On P-256, for another algorithm.
  constexpr std::string_view kOther =
      "-----BEGIN PUBLIC KEY-----\n"
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEVs/o5+uQbTjL3chynL4wXgUg2R9\n"
      "q9UU8I5mEovUf86QZ7kOBIjJwqnzD1omageEHWwHdBO6B+dFabmdT9POxg==\n"
      "-----END PUBLIC KEY-----\n";
  EXPECT_THAT(public_key(kOther).error().detail, HasSubstr("Ed25519"));
}

}  // namespace
}  // namespace seedance::auth
