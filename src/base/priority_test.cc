#include "base/priority.h"

#include <gtest/gtest.h>

namespace seedance {
namespace {

TEST(Priority, HasANameThatReadsBack) {
  for (const Priority priority : kPriorities) {
    EXPECT_EQ(parse_priority(name(priority)), priority);
    EXPECT_EQ(to_priority(static_cast<std::uint8_t>(priority)), priority);
  }
  EXPECT_EQ(name(Priority::realtime), "realtime");
  EXPECT_EQ(parse_priority("Batch"), std::nullopt);
  EXPECT_EQ(parse_priority(""), std::nullopt);
  EXPECT_EQ(to_priority(kPriorityCount), std::nullopt);
}

TEST(Priority, AscendsToTheLessUrgent) {
  EXPECT_LT(Priority::realtime, Priority::interactive);
  EXPECT_LT(Priority::interactive, Priority::batch);
}

}  // namespace
}  // namespace seedance
