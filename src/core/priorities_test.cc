// Who goes to the engine, and when, by the priorities of requests.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using enum Priority;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<Priority> classes_of(const Harness& h) {
  std::vector<Priority> classes;
  for (const engine::Job& job : h.jobs) classes.push_back(job.priority);
  return classes;
}

std::uint64_t in_class(const Harness& h, Priority priority) {
  const auto classes = classes_of(h);
  return static_cast<std::uint64_t>(std::ranges::count(classes, priority));
}

TEST(Priorities, NobodyWaitsForThoseOfALowerClass) {
  Harness h;
  h.start(2);  // Takes three of a class.
  for (int i = 0; i < 5; ++i) h.run({.priority = batch});
  EXPECT_THAT(classes_of(h), ElementsAre(batch, batch, batch));
  EXPECT_EQ(h.accepted(3).queue, 1U);
  EXPECT_EQ(h.accepted(4).queue, 2U);
  h.run({.priority = realtime});
  EXPECT_EQ(h.jobs.back().priority, realtime);
  EXPECT_EQ(h.accepted(5).queue, 0U);
  for (int i = 0; i < 3; ++i) h.run({.priority = realtime});
  EXPECT_EQ(in_class(h, realtime), 3U);
  EXPECT_EQ(h.accepted(8).queue, 1U);  // In front of those that waited before.
  h.end(h.jobs.at(0));                 // What ended was of a lower class.
  EXPECT_THAT(h.jobs, SizeIs(6));
}

TEST(Priorities, TheEngineHasNoMoreThanThreeTimesItsJobs) {
  Harness h;
  h.start(2);
  for (const Priority priority : {batch, interactive, realtime}) {
    for (int i = 0; i < 20; ++i) h.run({.priority = priority});
  }
  EXPECT_THAT(h.jobs, SizeIs(9));
}

TEST(Priorities, AHigherClassGoesFirstAndInOneClassWhoIsDueSoonest) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run({.priority = realtime});
  h.run({.max_tokens = 1, .priority = batch});
  h.run({.max_tokens = 2, .priority = interactive});
  h.run({.max_tokens = 3, .deadline = seconds{5}, .priority = interactive});
  h.run({.max_tokens = 4, .priority = realtime});
  EXPECT_EQ(h.accepted(4).queue, 1U);  // In front of one that came before it.
  EXPECT_EQ(h.accepted(5).queue, 1U);
  std::vector<std::uint32_t> order;
  for (std::size_t i = 0; i < 6; ++i) {
    if (i >= 2) order.push_back(h.jobs.at(i).tokens_max);
    h.end(h.jobs.at(i));
  }
  EXPECT_THAT(order, ElementsAre(4, 3, 2, 1));
}

TEST(Priorities, WhoWaitsRises) {
  Harness h{{.priority_ageing = seconds{10}}};
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run({.priority = interactive});
  h.run({.priority = batch});
  h.advance(seconds{10});
  h.run({.priority = interactive});
  EXPECT_EQ(h.accepted(2).queue, 1U);
  EXPECT_EQ(h.accepted(3).queue, 2U);
  h.end(h.jobs.at(0));
  ASSERT_THAT(h.jobs, SizeIs(4));  // For the last one, that of a lower class does not count.
  EXPECT_EQ(h.jobs.at(2).priority, batch);  // What the engine is told does not rise.
}

// They come as fast as they end, and before they are missed.
TEST(Priorities, NobodyStarves) {
  Harness h{{.priority_ageing = seconds{10}}};
  h.start(1);
  for (int i = 0; i < 4; ++i) h.run({.priority = realtime});
  h.run({.priority = batch});
  for (std::size_t i = 0; i < 50 && in_class(h, batch) == 0; ++i) {
    h.run({.deadline = seconds{50}, .priority = realtime});
    h.end(h.jobs.at(i));
    h.advance(seconds{1});
  }
  EXPECT_EQ(in_class(h, batch), 1U);
}

TEST(Priorities, AStreamKeepsItsClassThroughTheDeathOfItsEngine) {
  Harness h;
  h.start(1);
  h.run({.priority = batch});
  h.run({.priority = realtime});
  h.pass(EngineDown{kModel});
  h.run({.priority = interactive});
  h.jobs.clear();
  h.start(1);
  EXPECT_THAT(classes_of(h), ElementsAre(realtime, interactive));
}

TEST(Priorities, AStreamKeepsItsClassThroughTheDeathOfTheServer) {
  Harness h{Disk{}};
  h.start(1);
  h.run({.detach = Detach::keep, .priority = batch});
  h.run({.detach = Detach::keep, .priority = realtime});
  Harness after{h.segments};
  after.start(1);
  EXPECT_THAT(classes_of(after), ElementsAre(realtime, batch));
}

// A stream that had begun is older than those that are asked for later.
TEST(Priorities, WhatIsContinuedKeepsItsPlace) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run({.max_tokens = 7});
  h.advance(seconds{1});
  for (int i = 0; i < 2; ++i) h.run({.max_tokens = 8});
  h.pass(EngineDown{kModel});
  h.jobs.clear();
  h.start(1);
  ASSERT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.jobs[0].tokens_max, 7U);
  EXPECT_EQ(h.jobs[1].tokens_max, 7U);
}

TEST(Priorities, AreCounted) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 5; ++i) h.run({.priority = batch});
  h.pass(EngineEvent{kModel, engine::Step{.tokens = {}, .parked = 2, .restored = 1}});
  const engine::Job& job = h.jobs.front();
  h.step({{.job = job.id, .gen = job.gen, .token = letter('a')}});
  std::string text;
  append_text(text, h.core.stats());
  EXPECT_THAT(text, HasSubstr("seedance_queue_depth{priority=\"batch\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("seedance_queue_depth{priority=\"realtime\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("seedance_queue_seconds_count{priority=\"batch\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("seedance_queue_seconds_count{priority=\"realtime\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("seedance_sequences_parked_total 2\n"));
  EXPECT_THAT(text, HasSubstr("seedance_sequences_restored_total 1\n"));
}

}  // namespace
}  // namespace seedance::core
