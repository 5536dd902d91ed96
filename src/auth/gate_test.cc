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

Principal come_in(const Gate& gate, std::string_view credential) {
  return gate.admit(credential, kNow).value();
}

TEST(Gate, KnowsWhoseKeyIsNoMore) {
  const Gate before{{.plain_keys = {"sesame"},
                     .keys = std::vector{entry("a", "k1"), entry("b", "k2"), entry("c", "k3")}}};
  KeyEntry admin = entry("b", "k2");
  admin.role = Role::admin;
  KeyEntry moved = entry("c", "k3");
  moved.tenant = "other";
  for (const char* key : {"sesame", "k1", "k2", "k3"}) {
    EXPECT_TRUE(before.still_admits(come_in(before, key), kNow)) << key;
  }
  const Gate after{{.keys = std::vector{entry("renamed", "k1"), admin, moved}}};
  EXPECT_TRUE(after.still_admits(come_in(before, "k1"), kNow)) << "a name is for people";
  EXPECT_FALSE(after.still_admits(come_in(before, "k2"), kNow)) << "another role";
  EXPECT_FALSE(after.still_admits(come_in(before, "k3"), kNow)) << "another tenant";
  EXPECT_FALSE(after.still_admits(come_in(before, "sesame"), kNow));
  const Gate again{{.keys = std::vector{entry("a", "another secret")}}};
  EXPECT_FALSE(again.still_admits(come_in(before, "k1"), kNow)) << "another key of that name";
  EXPECT_TRUE(Gate{}.still_admits(come_in(before, "k1"), kNow));
}

TEST(Gate, KnowsWhoCameInUnasked) {
  EXPECT_TRUE(Gate{}.still_admits(anybody(), kNow));
  const Gate closed{{.plain_keys = {"sesame"}}};
  EXPECT_FALSE(closed.still_admits(anybody(), kNow)) << "nobody asked him for a key then";
}

TEST(Gate, KnowsWhoseTokenHoldsNoMore) {
  const Gate gate{{.tokens = tokens()}};
  const Principal who = come_in(gate, hs256_token(kClaims));
  EXPECT_EQ(who.until, kNow + std::chrono::seconds{600} + kTokenLeeway);
  EXPECT_TRUE(Gate{{.tokens = tokens()}}.still_admits(who, who.until - Duration{1}));
  EXPECT_FALSE(gate.still_admits(who, who.until));
  TokenRules other = tokens();
  other.issuer = "elsewhere";
  EXPECT_FALSE(Gate{{.tokens = other}}.still_admits(who, kNow));
  EXPECT_FALSE((Gate{{.plain_keys = {"sesame"}}}.still_admits(who, kNow)));
  const Principal for_ever = come_in(gate, hs256_token(R"({"sub":"acme","exp":1e300})"));
  EXPECT_EQ(for_ever.until, WallTime::max());
}

TEST(Gate, KnowsWhetherCertificatesStillCount) {
  const Gate gate{{.certificates = true}};
  const Principal who = gate.admit_certificate("acme").value();
  EXPECT_TRUE(gate.still_admits(who, kNow));
  EXPECT_FALSE((Gate{{.plain_keys = {"sesame"}}}.still_admits(who, kNow)));
}

}  // namespace
}  // namespace seedance::auth
