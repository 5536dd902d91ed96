#include "engine/end_cause.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

TEST(EndCause, HasTheNameOfItsEnumerator) {
  EXPECT_EQ(name(EndCause::other), "other");
  EXPECT_EQ(name(EndCause::refused), "refused");
  EXPECT_EQ(name(EndCause::out_of_memory), "out_of_memory");
  EXPECT_EQ(name(EndCause::killed), "killed");
  EXPECT_EQ(name(EndCause::aborted), "aborted");
  EXPECT_EQ(name(EndCause::hung), "hung");
}

}  // namespace
}  // namespace seedance::engine
