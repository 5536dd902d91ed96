#include "auth/keys.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace seedance::auth {
namespace {

TEST(KeyTable, FindsWhoHasTheKeyAndNobodyElse) {
  KeyTable table;
  EXPECT_EQ(table.size(), 0U);
  const Principal acme{.tenant = "acme", .role = Role::user, .key = "acme-1"};
  table.add(hash_of("first-key"), acme);
  table.add(hash_of("second-key"), anybody());
  EXPECT_EQ(table.size(), 2U);
  ASSERT_NE(table.find("first-key"), nullptr);
  EXPECT_EQ(*table.find("first-key"), acme);
  EXPECT_EQ(*table.find("second-key"), anybody());
  for (const auto* wrong : {"first-keY", "first-key2", "first", ""}) {
    EXPECT_EQ(table.find(wrong), nullptr) << wrong;
  }
  // Its hash is not the key.
  EXPECT_EQ(table.find(to_hex(hash_of("first-key"))), nullptr);
}

TEST(KeyTable, HoldsThousands) {
  KeyTable table;
  for (int i = 0; i < 10'000; ++i) {
    table.add(hash_of(fmt::format("key {}", i)), {.tenant = fmt::format("t{}", i)});
  }
  EXPECT_EQ(table.find("key 9999")->tenant, "t9999");
  EXPECT_EQ(table.find("key 10000"), nullptr);
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

TEST(SubprotocolSecret, IsFoundAmongTheOffers) {
  const auto key = [](std::string_view offered) {
    return subprotocol_secret(offered, kKeySubprotocol);
  };
  EXPECT_EQ(key("seedance.v2+json, seedance.key.s3cret"), "s3cret");
  EXPECT_EQ(key("seedance.key.s3cret,seedance.v2+json"), "s3cret");
  EXPECT_EQ(key("seedance.v2+json"), "");
  EXPECT_EQ(key("seedance.ticket.tk_1"), "");
  EXPECT_EQ(key(",, ,"), "");
  EXPECT_EQ(key(""), "");
  EXPECT_EQ(subprotocol_secret("seedance.key.k, seedance.ticket.tk_1", kTicketSubprotocol), "tk_1");
}

TEST(QueryTicket, IsFoundAmongTheParameters) {
  EXPECT_EQ(query_ticket("ticket=tk_1"), "tk_1");
  EXPECT_EQ(query_ticket("a=b&ticket=tk_1&c"), "tk_1");
  EXPECT_EQ(query_ticket("xticket=tk_1"), "");
  EXPECT_EQ(query_ticket("ticket="), "");
  EXPECT_EQ(query_ticket("&&"), "");
  EXPECT_EQ(query_ticket(""), "");
}

}  // namespace
}  // namespace seedance::auth
