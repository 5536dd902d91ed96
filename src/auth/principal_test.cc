#include "auth/principal.h"

#include <gtest/gtest.h>

namespace seedance::auth {
namespace {

TEST(Role, IsReadAsItIsWritten) {
  EXPECT_EQ(parse_role(name(Role::user)), Role::user);
  EXPECT_EQ(parse_role(name(Role::admin)), Role::admin);
  EXPECT_EQ(parse_role("Admin"), std::nullopt);
  EXPECT_EQ(parse_role(""), std::nullopt);
}

TEST(Principal, IsNoAdminUnlessToldSo) {
  EXPECT_EQ(Principal{}.role, Role::user);
  EXPECT_EQ(anybody().role, Role::admin);
  EXPECT_EQ(anybody().tenant, Principal{}.tenant);
}

TEST(IsName, TakesVisibleAsciiOnly) {
  EXPECT_TRUE(is_name("acme"));
  EXPECT_TRUE(is_name("auth0|5f7c8ec7c33c6c004bbafe82"));
  EXPECT_TRUE(is_name(std::string(kNameBytesMax, 'a')));
  EXPECT_FALSE(is_name(std::string(kNameBytesMax + 1, 'a')));
  EXPECT_FALSE(is_name(""));
  EXPECT_FALSE(is_name("two words"));
  EXPECT_FALSE(is_name("line\nbreak"));
  EXPECT_FALSE(is_name("caf\xC3\xA9"));
}

}  // namespace
}  // namespace seedance::auth
