// Models with adapters: who asks for one, and what the journal keeps of it.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<ModelConfig> with(std::vector<AdapterConfig> adapters) {
  return {{.name = "letters", .digest = "d", .adapters = std::move(adapters)}};
}

// With a journal.
class WithAdapters : public Harness {
 public:
  explicit WithAdapters(std::vector<AdapterConfig> adapters, Disk disk = {})
      : Harness{std::move(disk), Writing::at_once, {}, {}, with(std::move(adapters))} {}
};

const std::vector<AdapterConfig> kBoth{{.name = "law", .digest = "l"},
                                       {.name = "tale", .digest = "t"}};

TEST(Adapters, AreNamedBehindTheModel) {
  WithAdapters h{kBoth};
  h.start(8);
  std::vector<std::uint32_t> adapters;
  std::vector<std::string> names;
  for (const char* const model :
       {"", "letters", "letters@1", "letters+law", "letters@1+law", "letters@1+tale"}) {
    h.run({.model = model});
    ASSERT_THAT(h.refusals, IsEmpty()) << model;
    adapters.push_back(h.jobs.back().adapter);
    names.push_back(h.acceptances.back().model);
  }
  EXPECT_THAT(adapters, ElementsAre(0, 0, 0, 1, 1, 2));
  EXPECT_THAT(names, ElementsAre("letters@1", "letters@1", "letters@1", "letters@1+law",
                                 "letters@1+law", "letters@1+tale"));
  h.pass(ListStreams{.reply_to = {.request = 99}, .principal = {}});
  EXPECT_EQ(h.lists.front().streams.front().model, "letters@1+tale");
}

TEST(Adapters, WhatThereIsNotIsNotFoundAndTheOthersAreNamed) {
  WithAdapters h{kBoth};
  h.start();
  const auto names = {"letters+la",    "letters+laws",     "letters+", "letters@1+",
                      "letters@2+law", "letters+law+tale", "+law",     "letterslaw",
                      "law",           "letters+law@1"};
  for (const char* const name : names) {
    h.submit({.model = name});
    ASSERT_FALSE(h.refusals.empty()) << name;
    const Problem& problem = h.refusals.back();
    EXPECT_EQ(problem.code, ErrorCode::model_not_found) << name;
    EXPECT_EQ(problem.param, "model");
    EXPECT_THAT(problem.message,
                AllOf(HasSubstr(name), HasSubstr("letters, letters+law, letters+tale")));
  }
  EXPECT_THAT(h.refusals, SizeIs(names.size()));
}

// Their order may be another one after a restart.
TEST(Adapters, AStreamIsContinuedWithItsOwn) {
  WithAdapters h{kBoth};
  h.start();
  h.run({.model = "letters+law"});
  h.say(h.jobs.back(), "ab");
  WithAdapters next{{kBoth[1], kBoth[0]}, h.segments};
  next.start();
  ASSERT_THAT(next.jobs, SizeIs(1));
  EXPECT_EQ(next.jobs.front().adapter, 2U);
  EXPECT_EQ(next.jobs.front().committed, (std::vector{letter('a'), letter('b')}));
}

TEST(Adapters, AStreamIsContinuedAlsoAfterTheDeathOfAWorkerWithItsOwn) {
  WithAdapters h{kBoth};
  h.start();
  h.run({.model = "letters+tale"});
  h.say(h.jobs.back(), "a");
  h.pass(EngineDown{kModel});
  h.start();
  ASSERT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.jobs.back().adapter, 2U);
}

// Its tokens would be of two minds.
TEST(Adapters, AStreamIsContinuedWithNoOther) {
  WithAdapters h{kBoth};
  h.start();
  const StreamId id = h.run({.model = "letters+law"});
  h.say(h.jobs.back(), "ab");
  const auto told = [&](std::vector<AdapterConfig> adapters) {
    WithAdapters next{std::move(adapters), h.segments};
    next.start();
    EXPECT_THAT(next.jobs, IsEmpty());
    next.attach(id);
    const auto& problem = next.resumed.at(0).stream.log->terminal().problem;
    EXPECT_EQ(problem->code, ErrorCode::engine_failed);
    return problem->message;
  };
  EXPECT_THAT(told({{.name = "law", .digest = "other"}}),
              HasSubstr("other weights as 'letters@1+law'"));
  EXPECT_THAT(told({}), HasSubstr("without model 'letters@1+law'"));
}

}  // namespace
}  // namespace seedance::core
