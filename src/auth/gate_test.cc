#include "auth/gate.h"

#include <gtest/gtest.h>

#include "auth/test_token.h"

namespace seedance::auth {
namespace {

constexpr WallTime kNow{std::chrono::seconds{1'750'000'000}};
constexpr std::string_view kClaims = R"({"sub":"acme","exp":1750000600})";

KeyEntry entry(std::string name, std::string_view secret) {
  return {.name = std::move(name),
          .tenant = "acme",
          .role = Role::user,
          .hash = hash_of(secret),
          .created = "2025-06-30T12:00:00Z"};
}

TokenRules tokens() {
  return {.key = *secret_key(kTestSecret), .audience = {}, .issuer = {}};
}

std::string ask(const Gate& gate, std::string_view credential) {
  const auto admitted = gate.admit(credential, kNow);
  return admitted ? admitted->tenant : std::string{name(admitted.error())};
}

TEST(Gate, IsOpenWhereNothingIsSet) {
  const Gate gate;
  EXPECT_FALSE(gate.closed());
  EXPECT_EQ(gate.admit("", kNow), anybody());
  EXPECT_EQ(gate.admit("anything", kNow), anybody());
}

TEST(Gate, AsksForOneOfItsKeys) {
  const Gate gate{{.plain_keys = {"sesame"}, .keys = std::vector{entry("acme-1", "k1")}}};
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(gate.admit("sesame", kNow), anybody());
  EXPECT_EQ(gate.admit("k1", kNow),
            (Principal{.tenant = "acme", .role = Role::user, .key = "acme-1"}));
  EXPECT_EQ(ask(gate, ""), "no_credential");
  EXPECT_EQ(ask(gate, "k2"), "wrong_key");
  EXPECT_EQ(ask(gate, hs256_token(kClaims)), "wrong_key") << "tokens are not asked for";
}

TEST(Gate, StaysClosedWhenTheLastKeyIsRevoked) {
  const Gate gate{{.keys = std::vector<KeyEntry>{}}};
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(ask(gate, ""), "no_credential");
  EXPECT_EQ(ask(gate, "k1"), "wrong_key");
}

TEST(Gate, TakesCertificatesWhereTheyCount) {
  const Gate gate{{.certificates = true}};
  EXPECT_TRUE(gate.closed());
  EXPECT_EQ(ask(gate, ""), "no_credential");
  EXPECT_EQ(gate.admit_certificate("phone"),
            (Principal{.tenant = "phone", .role = Role::user, .key = {}}));
  EXPECT_EQ(gate.admit_certificate(""), std::nullopt);
  EXPECT_EQ(gate.admit_certificate("two words"), std::nullopt);
  EXPECT_EQ(Gate{}.admit_certificate("phone"), std::nullopt);
}

TEST(Gate, TakesTokensBesideKeys) {
  const Gate gate{{.keys = std::vector{entry("acme-1", "a.b.c")}, .tokens = tokens()}};
  EXPECT_EQ(ask(gate, hs256_token(kClaims)), "acme");
  EXPECT_EQ(ask(gate, "a.b.c"), "acme") << "a key that looks like a token";
  EXPECT_EQ(ask(gate, "a.b.d"), "token_malformed");
  EXPECT_EQ(ask(gate, "nothing"), "wrong_key");
  EXPECT_EQ(ask(gate, hs256_token(kClaims, "another secret that is long enough")),
            "token_signature");
  EXPECT_TRUE((Gate{{.tokens = tokens()}}.closed()));
}

}  // namespace
}  // namespace seedance::auth
