#include "engine/open_jobs.h"

#include <gtest/gtest.h>

namespace seedance::engine {
namespace {

Job job(std::uint64_t id) {
  return {.id = {id}, .gen = {1}, .prompt = {{1}}};
}

StepToken token(std::uint64_t id, JobEnd end) {
  return {.job = {id}, .gen = {1}, .token = {1}, .end = end};
}

TEST(OpenJobs, EndByTokenRefusalAndCancel) {
  OpenJobs open;
  for (std::uint64_t id = 1; id <= 5; ++id) open.on_command(job(id));
  EXPECT_EQ(open.size(), 5U);
  open.on_event(Step{{token(1, JobEnd::none), token(2, JobEnd::stop), token(3, JobEnd::length)}});
  EXPECT_EQ(open.size(), 3U);
  open.on_event(JobFailed{.job = {4}, .gen = {1}, .problem = {}});
  open.on_command(Cancel{{5}, {1}});
  EXPECT_EQ(open.size(), 1U);
  open.clear();
  EXPECT_EQ(open.size(), 0U);
}

// A cancel and the last token pass each other on their way.
TEST(OpenJobs, EndOnce) {
  OpenJobs open;
  open.on_command(job(1));
  open.on_command(job(2));
  open.on_command(Cancel{{1}, {1}});
  open.on_event(Step{{token(1, JobEnd::stop)}});
  EXPECT_EQ(open.size(), 1U);
  open.on_event(Alive{});
  EXPECT_EQ(open.size(), 1U);
}

}  // namespace
}  // namespace seedance::engine
