#include "auth/refusal.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance::auth {
namespace {

TEST(Refusal, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kRefusalCount; ++i) names.insert(name(static_cast<Refusal>(i)));
  EXPECT_EQ(names.size(), kRefusalCount);
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(name(Refusal::token_too_long), "token_too_long");
  EXPECT_EQ(name(Refusal::token_no_expiry), "token_no_expiry");
  EXPECT_EQ(name(Refusal::role), "role");
  EXPECT_EQ(name(Refusal::wrong_ticket), "wrong_ticket");
}

}  // namespace
}  // namespace seedance::auth
