#include "load/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::loadgen {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = Schedule::Outcome;
using Send = Schedule::Send;

constexpr TimePoint kStart{seconds{1000}};

std::vector<Send> all(Schedule& schedule, TimePoint now) {
  std::vector<Send> sends;
  while (const auto send = schedule.next(now)) sends.push_back(*send);
  return sends;
}

TEST(ClosedLoop, KeepsSoManyInFlight) {
  Schedule schedule{{.concurrency = 2, .requests = 3}, 1, kStart};
  EXPECT_EQ(all(schedule, kStart), (std::vector<Send>{{0, kStart}, {1, kStart}}));
  EXPECT_EQ(schedule.deadline(), kNever);
  const TimePoint later = kStart + seconds{1};
  schedule.on_end(Outcome::done, later);
  EXPECT_EQ(all(schedule, later), (std::vector<Send>{{2, later}}));
  EXPECT_TRUE(schedule.over());
  EXPECT_EQ(schedule.full_until(), kNever);  // Two are in flight yet.
  schedule.on_end(Outcome::done, kStart + seconds{2});
  schedule.on_end(Outcome::done, kStart + seconds{3});
  EXPECT_EQ(schedule.full_until(), kStart + seconds{2});
  EXPECT_EQ(schedule.in_flight(), 0U);
}

TEST(ClosedLoop, EndsWithItsDuration) {
  Schedule schedule{{.concurrency = 1, .duration = seconds{5}}, 1, kStart};
  EXPECT_EQ(schedule.full_until(), kStart + seconds{5});
  EXPECT_EQ(all(schedule, kStart).size(), 1U);
  EXPECT_EQ(schedule.deadline(), kStart + seconds{5});
  schedule.on_end(Outcome::done, kStart + seconds{6});
  EXPECT_TRUE(all(schedule, kStart + seconds{6}).empty());
  EXPECT_TRUE(schedule.over());
  EXPECT_EQ(schedule.deadline(), kNever);
  EXPECT_EQ(schedule.count_unsent(), 0U);
}

TEST(ClosedLoop, PausesWhereARequestFailed) {
  Schedule schedule{{.concurrency = 2, .requests = 9}, 1, kStart};
  all(schedule, kStart);
  schedule.on_end(Outcome::failed, kStart);
  EXPECT_TRUE(all(schedule, kStart).empty());
  const TimePoint again = kStart + Schedule::kPauseAfterFailure;
  EXPECT_EQ(schedule.deadline(), again);
  EXPECT_EQ(all(schedule, again), (std::vector<Send>{{2, again}}));
}

TEST(OpenLoop, SendsWhenRequestsAreDueWhateverHasEnded) {
  Arrivals arrivals{10, 5};
  const TimePoint first = kStart + arrivals.next();
  const TimePoint second = kStart + arrivals.next();
  Schedule schedule{{.rate = 10, .requests = 2}, 5, kStart};
  EXPECT_TRUE(all(schedule, kStart).empty());
  EXPECT_EQ(schedule.deadline(), first);
  EXPECT_EQ(all(schedule, first), (std::vector<Send>{{0, first}}));
  EXPECT_EQ(all(schedule, second), (std::vector<Send>{{1, second}}));
  EXPECT_TRUE(schedule.over());
  EXPECT_EQ(schedule.full_until(), second);
}

// A request that waited for its turn, or for a client that was late, keeps its time.
TEST(OpenLoop, CountsFromWhenRequestsWereDue) {
  Arrivals arrivals{10, 5};
  const TimePoint first = kStart + arrivals.next();
  const TimePoint second = kStart + arrivals.next();
  Schedule schedule{{.rate = 10, .in_flight_max = 1, .requests = 9}, 5, kStart};
  EXPECT_EQ(all(schedule, kStart + seconds{60}), (std::vector<Send>{{0, first}}));
  EXPECT_EQ(schedule.deadline(), kNever);  // The end of the first is waited for.
  schedule.on_end(Outcome::failed, kStart + seconds{90});
  EXPECT_EQ(all(schedule, kStart + seconds{90}), (std::vector<Send>{{1, second}}));
}

TEST(OpenLoop, CountsWhatItNeverSent) {
  Schedule schedule{{.rate = 10, .in_flight_max = 1, .duration = seconds{10}}, 5, kStart};
  EXPECT_EQ(all(schedule, kStart + seconds{11}).size(), 1U);
  EXPECT_TRUE(schedule.over());
  schedule.on_end(Outcome::done, kStart + seconds{12});
  EXPECT_TRUE(all(schedule, kStart + seconds{12}).empty());
  Arrivals arrivals{10, 5};
  std::uint64_t due = 0;
  while (arrivals.next() < seconds{10}) ++due;
  EXPECT_EQ(schedule.count_unsent(), due - 1);
  EXPECT_EQ(schedule.count_unsent(), 0U);
}

}  // namespace
}  // namespace seedance::loadgen
