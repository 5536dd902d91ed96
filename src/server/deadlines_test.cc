#include "server/deadlines.h"

#include <gtest/gtest.h>

namespace seedance::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kNow{seconds{100}};

TEST(Deadlines, GiveWhatIsDueInOrder) {
  Deadlines deadlines;
  EXPECT_EQ(deadlines.next(), kNever);
  deadlines.push(kNow + seconds{2}, {2});
  deadlines.push(kNow + seconds{1}, {1});
  EXPECT_EQ(deadlines.next(), kNow + seconds{1});
  EXPECT_EQ(deadlines.pop(kNow), std::nullopt);
  EXPECT_EQ(deadlines.pop(kNow + seconds{1})->second, ConnectionId{1});
  EXPECT_EQ(deadlines.pop(kNow + seconds{1}), std::nullopt);
  EXPECT_EQ(deadlines.pop(kNow + seconds{3})->second, ConnectionId{2});
  EXPECT_EQ(deadlines.next(), kNever);
}

TEST(Deadlines, FarOnesMoveToATickAndNeverEarlier) {
  EXPECT_EQ(coarse(kNow + milliseconds{1}, kNow), kNow + milliseconds{1});
  EXPECT_EQ(coarse(kNow + milliseconds{999}, kNow), kNow + milliseconds{999});
  EXPECT_EQ(coarse(kNow + milliseconds{1001}, kNow), kNow + milliseconds{1250});
  EXPECT_EQ(coarse(kNow + milliseconds{1250}, kNow), kNow + milliseconds{1250});
  EXPECT_EQ(coarse(kNever, kNow), kNever);
}

}  // namespace
}  // namespace seedance::server
