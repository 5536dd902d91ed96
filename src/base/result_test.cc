#include "base/result.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance {
namespace {

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  EXPECT_EQ(good, 7);
  const Result<int> bad = fail(Errc::overloaded, "full");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error(), (Error{Errc::overloaded, "full"}));
}

TEST(Errc, EveryCodeHasAName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Errc::corrupt); ++code) {
    names.insert(name(static_cast<Errc>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Errc::corrupt) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(CheckDeathTest, SaysWhereAndWhatThenAborts) {
  SEEDANCE_CHECK(1 + 1 == 2, "holds");
  EXPECT_DEATH(SEEDANCE_CHECK(1 + 1 == 3, "sums"), "result_test.cc:.*1 \\+ 1 == 3.*sums");
}

}  // namespace
}  // namespace seedance
