#include "auth/keys.h"

#include <gtest/gtest.h>

namespace seedance::auth {
namespace {

TEST(KeyRing, AdmitsAnyOfItsKeysAndNoOther) {
  const std::vector<std::string> keys{"first-key", "second-key"};
  const KeyRing ring{keys};
  EXPECT_TRUE(ring.asks_for_key());
  EXPECT_TRUE(ring.admits("first-key"));
  EXPECT_TRUE(ring.admits("second-key"));
  EXPECT_FALSE(ring.admits("first-keY"));
  EXPECT_FALSE(ring.admits("first-key2"));
  EXPECT_FALSE(ring.admits("first"));
  EXPECT_FALSE(ring.admits(""));
}

TEST(KeyRing, WithoutKeysAdmitsEverybody) {
  const KeyRing ring{{}};
  EXPECT_FALSE(ring.asks_for_key());
  EXPECT_TRUE(ring.admits(""));
}

TEST(BearerToken, IsWhatFollowsTheScheme) {
  EXPECT_EQ(bearer_token("Bearer abc"), "abc");
  EXPECT_EQ(bearer_token("bearer  abc "), "abc");
  EXPECT_EQ(bearer_token("Basic abc"), "");
  EXPECT_EQ(bearer_token("Bearer"), "");
  EXPECT_EQ(bearer_token("Bearer "), "");
  EXPECT_EQ(bearer_token("Bearerabc"), "");
  EXPECT_EQ(bearer_token(""), "");
}

TEST(SubprotocolKey, IsFoundAmongTheOffers) {
  EXPECT_EQ(subprotocol_key("seedance.v2+json, seedance.key.s3cret"), "s3cret");
  EXPECT_EQ(subprotocol_key("seedance.key.s3cret,seedance.v2+json"), "s3cret");
  EXPECT_EQ(subprotocol_key("seedance.v2+json"), "");
  EXPECT_EQ(subprotocol_key(",, ,"), "");
  EXPECT_EQ(subprotocol_key(""), "");
}

}  // namespace
}  // namespace seedance::auth
