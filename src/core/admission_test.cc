#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Admission, MaxTokensIsCutToTheRoomOfTheContext) {
  Harness h;
  h.start();
  h.run({.max_tokens = 5});
  h.run({.max_tokens = 5000});
  EXPECT_EQ(h.jobs[0].tokens_max, 5U);
  EXPECT_EQ(h.jobs[1].tokens_max, kContext - 3);
}

TEST(Admission, DrawsASeedUnlessTheClientGaveOne) {
  Harness h;
  h.start();
  h.run();
  h.run({.sampling = {.seed = 5}, .seeded = true});
  EXPECT_EQ(h.jobs[0].sampling.seed, 77U);
  EXPECT_EQ(h.jobs[1].sampling.seed, 5U);
}

TEST(Admission, RefusesAPromptThatLeavesNoRoom) {
  Harness h;
  h.start();
  h.submit();
  h.prepared(kContext);
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::context_length_exceeded);
  EXPECT_THAT(h.refusals[0].numbers, ElementsAre(Problem::Number{"prompt_tokens", 100},
                                                 Problem::Number{"context_tokens", 100}));
  h.submit();
  h.prepared(kContext - 1);
  EXPECT_THAT(h.jobs, SizeIs(1));
  h.submit();
  h.prepared(0);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::invalid_request);
}

TEST(Admission, RefusesByNameWhatItDoesNotServe) {
  Harness h;
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::model_loading);
  h.start();
  h.submit({.model = "other"});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::model_not_found);
  EXPECT_THAT(h.refusals.back().message, HasSubstr("letters"));
  h.submit({.model = "letters"});
  h.submit({.model = "letters@1"});
  h.submit({.model = "letters@2"});
  EXPECT_THAT(h.prepares, SizeIs(2));
  EXPECT_EQ(h.core.stats().refused[static_cast<std::size_t>(ErrorCode::model_not_found)].value(),
            2U);
}

TEST(Admission, AnInvalidPromptIsRefused) {
  Harness h;
  h.start();
  h.submit();
  h.pass(VocabularyEvent{kModel, text::PrepareReply{h.prepares.front().request.ticket,
                                                    Problem{.code = ErrorCode::invalid_request}}});
  EXPECT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.core.streams_active(), 0U);
}

TEST(Admission, QueuesWhatTheEngineCannotTakeAndRefusesBeyond) {
  Harness h{{.streams_queued_max = 2}};
  h.start(1);  // Takes one, and one more ahead.
  for (int i = 0; i < 4; ++i) h.run();
  EXPECT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.accepted(1).queue, 0U);
  EXPECT_EQ(h.accepted(2).queue, 1U);
  EXPECT_EQ(h.accepted(3).queue, 2U);
  h.submit();
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  EXPECT_GT(h.refusals[0].retry_after_ms, 0U);
  h.end(h.jobs[0]);
  EXPECT_THAT(h.jobs, SizeIs(3));
  EXPECT_EQ(h.core.stats().streams_queued.value(), 1);
  EXPECT_EQ(h.core.stats().streams_running.value(), 2);
}

TEST(Admission, BoundsWhatIsBeingPrepared) {
  Harness h{{.prepares_max = 1}};
  h.start();
  h.submit();
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
}

TEST(Admission, AQueuedStreamEndsAtItsDeadline) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run();
  h.run({.deadline = milliseconds{100}});
  EXPECT_EQ(h.core.deadline(), kStart + milliseconds{100});
  h.advance(milliseconds{99});
  EXPECT_FALSE(h.accepted(2).log->head().done);
  h.advance(milliseconds{1});
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::error);
  EXPECT_EQ(h.terminal(2).problem->code, ErrorCode::deadline_exceeded);
  h.end(h.jobs[0]);  // The dead one in the queue is passed over.
  EXPECT_THAT(h.jobs, SizeIs(2));
}

TEST(Admission, ARunningStreamHasNoQueueDeadline) {
  Harness h;
  h.start();
  h.run({.deadline = milliseconds{100}});
  EXPECT_EQ(h.core.deadline(), kNever);
}

TEST(Admission, ARequestGivenUpBeforeItIsAcceptedNeverRuns) {
  Harness h;
  h.start();
  h.gone(h.submit());
  h.prepared();
  EXPECT_THAT(h.jobs, IsEmpty());
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_EQ(h.core.stats().streams_preparing.value(), 0);
}

TEST(Admission, ADeadVocabularyIsAskedAgainButForWhatItDiedOf) {
  Harness h;
  h.start();
  h.run();
  for (const char* prompt : {"a", "poison", "b", "c"}) h.submit({.input = std::string{prompt}});
  h.prepared();
  const StreamId gone{1, 4};
  h.gone(gone);
  h.pass(VocabularyDown{kModel});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::engine_failed);
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::model_loading);
  h.prepares.clear();
  h.start();
  ASSERT_THAT(h.prepares, SizeIs(1));
  EXPECT_EQ(h.prepares[0].request.input, text::PromptInput{std::string{"c"}});
  h.prepared();
  EXPECT_THAT(h.acceptances, SizeIs(3));
  EXPECT_THAT(h.refusals, SizeIs(2));
}

// The prompt that it died of was given up: nobody else is refused for it.
TEST(Admission, ADeadVocabularyRefusesNobodyForWhoIsGone) {
  Harness h;
  h.start();
  h.gone(h.submit());
  h.submit();
  h.pass(VocabularyDown{kModel});
  h.prepares.clear();
  h.start();
  h.prepared();
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_THAT(h.acceptances, SizeIs(1));
}

TEST(Admission, APromptThatWasNotTakenIsNoSuspect) {
  Harness h;
  h.start();
  const StreamId id{7, 7};
  h.core.on_message(Submit{.reply_to = {.request = 7},
                           .principal = {},
                           .stream = id,
                           .wall = {},
                           .request = {.input = std::string{"a"}}},
                    h.now);
  h.pass(VocabularyDown{kModel});
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_THAT(h.prepares, IsEmpty());  // Not for the next process before it is ready.
  h.start();
  EXPECT_THAT(h.prepares, SizeIs(1));
}

TEST(Admission, BoundsTheBytesThatAreBeingPrepared) {
  Harness h{{.prepare_bytes_max = 1000}};
  h.start();
  h.submit({.input = std::string(600, 'a')});
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 600);
  h.submit({.input = std::string(401, 'a')});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  EXPECT_GT(h.refusals[0].retry_after_ms, 0U);
  const std::vector<Problem::Number> numbers{
      {"queued", 1}, {"bytes", 401}, {"bytes_taken", 600}, {"bytes_max", 1000}};
  EXPECT_EQ(h.refusals[0].numbers, numbers);
  const StreamId gone = h.submit({.input = std::string(400, 'a')});
  EXPECT_THAT(h.refusals, SizeIs(1));
  h.gone(gone);  // The process has it all the same.
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 1000);
  h.prepared();
  h.prepared();
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 0);
}

TEST(Admission, WhatIsLargerThanAllIsPreparedAlone) {
  Harness h{{.prepare_bytes_max = 1000}};
  h.start();
  h.submit({.input = std::string(2000, 'a')});
  EXPECT_THAT(h.refusals, IsEmpty());
  h.submit({.input = std::string(1, 'a')});
  EXPECT_THAT(h.refusals, SizeIs(1));
}

TEST(Admission, ADeadVocabularyLeavesOnlyTheBytesOfWhoIsAskedAgain) {
  Harness h;
  h.start();
  for (const std::size_t bytes : {100U, 200U, 300U}) h.submit({.input = std::string(bytes, 'a')});
  h.gone({1, 2});
  h.pass(VocabularyDown{kModel});  // It died of the first.
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 300);
  h.prepares.clear();
  h.start();
  h.prepared();
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 0);
}

TEST(Admission, ABurstOfAThousandPassesByDefault) {
  Harness h;
  h.start(64);
  for (int i = 0; i < 1000; ++i) h.submit({.input = std::string("a")});
  for (int i = 0; i < 1000; ++i) h.prepared();
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_THAT(h.acceptances, SizeIs(1000));
}

// How fast an answer begins must not tell a tenant what others ask.
TEST(Admission, TenantsShareWhatWasComputedOfAPromptOnlyWhereAsked) {
  for (const bool all : {false, true}) {
    Harness h{{.share_prefixes = all}};
    h.start();
    for (const char* const tenant : {"a", "b", "a"}) {
      h.pass(Submit{.reply_to = {.request = ++h.last},
                    .principal = {tenant},
                    .stream = {1, h.last},
                    .wall = {},
                    .request = {}});
      h.prepared();
    }
    ASSERT_THAT(h.jobs, SizeIs(3));
    EXPECT_EQ(h.jobs[0].scope, h.jobs[2].scope);
    EXPECT_EQ(h.jobs[0].scope == h.jobs[1].scope, all);
  }
}

TEST(Admission, ATenantHasSoManyStreamsAndNoMore) {
  Harness h{{.streams_per_tenant_max = 2}};
  h.start();
  const auto submit = [&](std::string tenant, std::string key = "") {
    h.pass(Submit{.reply_to = {.request = ++h.last},
                  .principal = {std::move(tenant)},
                  .stream = {1, h.last},
                  .wall = {},
                  .request = {.key = std::move(key)}});
  };
  submit("a", "key");
  submit("a");
  submit("a");
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::stream_limit);
  EXPECT_GT(h.refusals[0].retry_after_ms, 0U);
  const std::vector<Problem::Number> numbers{{"streams", 2}, {"streams_max", 2}};
  EXPECT_EQ(h.refusals[0].numbers, numbers);
  EXPECT_EQ(h.core.stats().tenant_refused.value(), 1U);
  submit("b");
  submit("a", "key");  // Asks for no stream that is not there.
  EXPECT_THAT(h.refusals, SizeIs(1));
  h.prepared();
  h.end(h.jobs.at(0));
  submit("a");
  EXPECT_THAT(h.refusals, SizeIs(1));
}

TEST(Admission, WhatARequestWaitedBeforeItCameCountsForItsDeadline) {
  Harness h;
  h.start();
  h.pass(Submit{.reply_to = {.request = 7},
                .principal = {},
                .stream = {1, 7},
                .wall = {},
                .waited = milliseconds{60},
                .request = {.deadline = milliseconds{100}}});
  h.advance(milliseconds{39});
  EXPECT_THAT(h.refusals, IsEmpty());
  h.advance(milliseconds{1});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::deadline_exceeded);
  const std::vector<Problem::Number> numbers{{"waited_ms", 100}};
  EXPECT_EQ(h.refusals[0].numbers, numbers);
}

TEST(Admission, WhoIsToBePreparedAgainKeepsItsDeadline) {
  Harness h;
  h.start();
  h.submit();
  h.submit({.deadline = milliseconds{100}});
  h.pass(VocabularyDown{kModel});
  h.advance(milliseconds{100});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::deadline_exceeded);
  h.prepares.clear();
  h.start();
  EXPECT_THAT(h.prepares, IsEmpty());
}

TEST(Admission, ForgetsAtOnceWhoLeavesTheQueue) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 2; ++i) h.run();
  // The core checks that nothing of them stays.
  for (int i = 0; i < 100; ++i) h.pass(CancelStream{.stream = h.run()});
  h.run();
  h.end(h.jobs[0]);
  EXPECT_THAT(h.jobs, SizeIs(3));
}

TEST(Admission, AGivenUpRequestCountsUntilItsPromptIsAnswered) {
  Harness h{{.prepares_max = 1}};
  h.start();
  h.gone(h.submit());
  h.submit();
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
  h.prepared();
  h.submit();
  h.pass(VocabularyDown{kModel});  // Answers nothing any more.
  h.prepares.clear();
  h.start();
  h.submit();
  EXPECT_THAT(h.prepares, SizeIs(1));
}

TEST(Admission, PreparedRequestsDoNotOverfillTheQueue) {
  Harness h{{.streams_queued_max = 1}};
  h.start(1);
  for (int i = 0; i < 4; ++i) h.submit();
  for (int i = 0; i < 4; ++i) h.prepared();
  EXPECT_THAT(h.jobs, SizeIs(2));
  EXPECT_THAT(h.acceptances, SizeIs(3));
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
  EXPECT_GT(h.refusals.back().retry_after_ms, 0U);
}

TEST(Admission, RefusesABiasOfATokenThatTheModelLacks) {
  Harness h;
  h.start();
  h.submit({.sampling = {.logit_bias = {{letter('a'), 1.0F}, {TokenId{28}, 1.0F}}}});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::invalid_request);
  EXPECT_EQ(h.refusals[0].param, "logit_bias");
  h.submit({.sampling = {.logit_bias = {{TokenId{27}, 1.0F}}}});
  EXPECT_THAT(h.prepares, SizeIs(1));
}

StreamId submit_as(Harness& h, std::string tenant, GenerateRequest request = {}) {
  const StreamId id{1, ++h.last};
  h.pass(Submit{.reply_to = Harness::reader(id),
                .principal = {std::move(tenant)},
                .stream = id,
                .wall = {},
                .request = std::move(request)});
  return id;
}

GenerateRequest with_schema() {
  return {.format = {.kind = text::AnswerFormat::Kind::json_schema, .text = "{}"}};
}

std::vector<text::PromptInput> inputs_of(const Harness& h) {
  std::vector<text::PromptInput> inputs;
  for (const Prepare& each : h.prepares) inputs.push_back(each.request.input);
  return inputs;
}

TEST(Preparing, AFewRequestsAreAtTheVocabularyAtOnce) {
  Harness h;
  h.start();
  for (int i = 0; i < 10; ++i) h.submit();
  EXPECT_THAT(h.prepares, SizeIs(kPreparesAtOnce));
  EXPECT_EQ(h.core.stats().streams_preparing.value(), 10);
  h.prepared();
  EXPECT_THAT(h.prepares, SizeIs(kPreparesAtOnce));
}

TEST(Preparing, WhatTakesLongIsThereAlone) {
  for (const GenerateRequest& heavy :
       {with_schema(), GenerateRequest{.input = std::string(kLightPromptBytes + 1, 'a')}}) {
    Harness h;
    h.start();
    h.submit();
    h.submit(heavy);
    h.submit();
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(h.prepares, SizeIs(1));
      h.prepared();
    }
    EXPECT_THAT(h.acceptances, SizeIs(3));
  }
}

TEST(Preparing, ATenantIsHeldUpByOneSchemaOfAnother) {
  Harness h;
  h.start();
  for (int i = 0; i < 100; ++i) submit_as(h, "hostile", with_schema());
  submit_as(h, "other", {.input = std::string{"x"}});
  h.prepared();
  EXPECT_THAT(inputs_of(h), ElementsAre(text::PromptInput{std::string{"x"}}));
  h.prepared();
  EXPECT_THAT(h.acceptances, SizeIs(2));
}

TEST(Preparing, WhoGivesUpInTheLineIsNeverPrepared) {
  Harness h;
  h.start();
  h.submit(with_schema());
  const StreamId gone = h.submit({.input = std::string(5, 'a')});
  const StreamId cancelled = h.submit({.input = std::string(6, 'b')});
  h.submit({.input = std::string(7, 'c'), .deadline = milliseconds{100}});
  h.submit({.input = std::string(8, 'd')});
  h.gone(gone);
  h.pass(CancelStream{.stream = cancelled});
  h.advance(milliseconds{100});
  EXPECT_EQ(h.core.stats().prepare_bytes.value(), 2 + 8);  // Of the schema, and of the last.
  h.prepared();
  EXPECT_THAT(inputs_of(h), ElementsAre(text::PromptInput{std::string(8, 'd')}));
}

TEST(Preparing, WhoRunsOutOfTimeInTheLineIsToldSo) {
  Harness h;
  h.start();
  h.submit(with_schema());
  h.submit({.deadline = milliseconds{100}});
  h.advance(milliseconds{100});
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(h.refusals[0].message,
            "the request waited 100 ms and its prompt was not prepared in time; try again later or "
            "allow a longer deadline_ms");
}

TEST(Preparing, WhoWasAtADeadVocabularyGoesFirstAgain) {
  Harness h;
  h.start();
  for (const char* prompt : {"a", "b", "c", "d", "e"}) h.submit({.input = std::string{prompt}});
  h.pass(VocabularyDown{kModel});  // Of "a".
  h.prepares.clear();
  h.start();
  EXPECT_THAT(
      inputs_of(h),
      ElementsAre(text::PromptInput{std::string{"b"}}, text::PromptInput{std::string{"c"}},
                  text::PromptInput{std::string{"d"}}, text::PromptInput{std::string{"e"}}));
}

}  // namespace
}  // namespace seedance::core
