#include "base/error_code.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance {
namespace {

TEST(ErrorCode, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kErrorCodeCount; ++i) names.insert(name(static_cast<ErrorCode>(i)));
  EXPECT_EQ(names.size(), kErrorCodeCount);
}

// The table is by position: a row that slips gives the wrong name.
TEST(ErrorCode, TableStandsInTheOrderOfTheEnum) {
  EXPECT_EQ(name(ErrorCode::invalid_request), "invalid_request");
  EXPECT_EQ(name(ErrorCode::deadline_exceeded), "deadline_exceeded");
  EXPECT_EQ(name(ErrorCode::engine_failed), "engine_failed");
  EXPECT_EQ(name(ErrorCode::internal), "internal");
}

TEST(ErrorCode, HasAnHttpErrorStatusAndNoPrivateCloseCode) {
  for (std::size_t i = 0; i < kErrorCodeCount; ++i) {
    const ErrorTraits& row = traits(static_cast<ErrorCode>(i));
    EXPECT_GE(row.http_status, 400);
    EXPECT_LT(row.http_status, 600);
    EXPECT_LT(row.close_code, 3000);
  }
}

}  // namespace
}  // namespace seedance
