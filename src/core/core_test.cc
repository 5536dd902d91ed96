#include "core/core.h"

#include <gmock/gmock.h>

#include <string>

namespace seedance::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr TimePoint kStart{seconds{1000}};
constexpr ModelIndex kModel{0};
constexpr std::uint32_t kContext = 100;

// Tokens 0..25 are the letters; 26 ends.
constexpr TokenId kEnd{26};
TokenId letter(char c) {
  return {c - 'a'};
}

text::PieceTable letters() {
  text::PieceTable table;
  for (char c = 'a'; c <= 'z'; ++c) table.add({&c, 1}, text::PieceKind::text);
  table.add("</s>", text::PieceKind::end);
  return table;
}

// A core, and everything that it asked for, sorted by kind.
class Harness {
 public:
  explicit Harness(Limits limits = {}) : core{limits, {{.name = "letters"}}} {}

  void pass(Message message) {
    core.on_message(std::move(message), now);
    drain();
  }
  void advance(Duration by) {
    now += by;
    core.on_time(now);
    drain();
  }
  void start(std::uint32_t sequences = 2) {
    pass(VocabularyEvent{kModel, text::VocabularyReady{.pieces = letters()}});
    pass(EngineEvent{kModel, engine::Ready{.context_tokens = kContext,
                                           .sequences_max = sequences,
                                           .vocabulary_size = 27}});
  }
  StreamId submit(GenerateRequest request = {}) {
    const StreamId id{1, ++last_};
    pass(Submit{.reply_to = {.request = last_},
                .principal = {},
                .stream = id,
                .entropy = 77,
                .wall = {},
                .request = std::move(request)});
    return id;
  }
  void prepared(std::size_t tokens = 3, std::vector<std::string> stop = {}) {
    ASSERT_FALSE(prepares.empty());
    const std::uint64_t ticket = prepares.front().request.ticket;
    prepares.pop_front();
    pass(VocabularyEvent{
        kModel, text::PrepareReply{ticket, text::PreparedPrompt{
                                               std::vector<TokenId>(tokens, letter('p')), stop}}});
  }
  // A request that is accepted; its job is the last one.
  StreamId run(GenerateRequest request = {}) {
    const StreamId id = submit(std::move(request));
    prepared();
    return id;
  }
  void step(std::vector<engine::StepToken> tokens) {
    pass(EngineEvent{kModel, engine::Step{std::move(tokens)}});
  }
  void say(const engine::Job& job, std::string_view word, engine::JobEnd end = {}) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      step({{.job = job.id,
             .gen = job.gen,
             .token = letter(word[i]),
             .end = i + 1 == word.size() ? end : engine::JobEnd::none}});
    }
  }
  void end(const engine::Job& job) {
    step({{.job = job.id, .gen = job.gen, .token = kEnd, .end = engine::JobEnd::stop}});
  }
  const Accepted& accepted(std::size_t i = 0) { return acceptances.at(i); }
  std::string text(std::size_t i = 0) {
    const stream::TokenLog& log = *accepted(i).log;
    std::string out;
    log.append_text({0}, log.head().end, out);
    return out;
  }
  const stream::Terminal& terminal(std::size_t i = 0) { return accepted(i).log->terminal(); }

  Core core;
  TimePoint now = kStart;
  std::vector<Accepted> acceptances;
  std::vector<Problem> refusals;
  std::vector<StreamId> cancelled;
  std::vector<Wake> wakes;
  std::deque<Prepare> prepares;
  std::vector<engine::Job> jobs;
  std::vector<engine::Cancel> cancels;

 private:
  void drain() {
    while (auto effect = core.next()) std::visit([this](auto& body) { take(body); }, *effect);
  }
  void take(Reply& reply) {
    std::visit([this](auto& body) { take(body); }, reply.body);
  }
  void take(Accepted& body) { acceptances.push_back(std::move(body)); }
  void take(Refused& body) { refusals.push_back(std::move(body.problem)); }
  void take(CancelDone& body) { cancelled.push_back(body.stream); }
  void take(Wake& wake) { wakes.push_back(std::move(wake)); }
  void take(Prepare& prepare) { prepares.push_back(std::move(prepare)); }
  void take(EngineCommand& command) {
    if (auto* job = std::get_if<engine::Job>(&command.command)) {
      jobs.push_back(std::move(*job));
    } else {
      cancels.push_back(std::get<engine::Cancel>(command.command));
    }
  }

  std::uint64_t last_ = 0;
};

TEST(Core, StreamsFromRequestToStop) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  EXPECT_EQ(h.accepted().stream, id);
  EXPECT_EQ(h.accepted().model, "letters@1");
  EXPECT_EQ(h.accepted().prompt_tokens, 3U);
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].tokens_max, kContext - 3);
  h.say(h.jobs[0], "hi");
  EXPECT_EQ(h.text(), "hi");
  EXPECT_FALSE(h.accepted().log->head().done);
  h.end(h.jobs[0]);
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal().usage, (stream::Usage{3, 3}));
  EXPECT_EQ(h.core.streams_active(), 0U);
  EXPECT_THAT(h.cancels, IsEmpty());
}

TEST(Core, TimesEachPhase) {
  Harness h;
  h.start();
  h.run();
  h.advance(milliseconds{50});
  h.step({{.job = h.jobs[0].id,
           .gen = h.jobs[0].gen,
           .token = letter('a'),
           .prefill = milliseconds{30}}});
  h.advance(milliseconds{7});
  h.end(h.jobs[0]);
  const stream::Timing& timing = h.terminal().timing;
  EXPECT_EQ(timing.ttft, milliseconds{50});
  EXPECT_EQ(timing.prefill, milliseconds{30});
  EXPECT_EQ(timing.queue, milliseconds{20});
  EXPECT_EQ(timing.decode, milliseconds{7});
}

TEST(Core, HashesTheWholeText) {
  Harness h;
  h.start();
  h.run();
  h.say(h.jobs[0], "abc", engine::JobEnd::length);
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::length);
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(h.terminal().sha256[0], 0xba);
  EXPECT_EQ(h.terminal().sha256[31], 0xad);
}

TEST(Core, WakesAnEdgeOnceForAStepOfManyStreams) {
  Harness h;
  h.start(4);
  for (int i = 0; i < 4; ++i) h.run();
  h.wakes.clear();
  std::vector<engine::StepToken> tokens;
  for (const engine::Job& job : h.jobs) {
    tokens.push_back({.job = job.id, .gen = job.gen, .token = letter('x')});
  }
  h.step(tokens);
  ASSERT_THAT(h.wakes, SizeIs(1));
  EXPECT_THAT(h.wakes[0].streams, SizeIs(4));
  h.step(tokens);
  EXPECT_THAT(h.wakes, SizeIs(2));
}

TEST(Core, StopStringEndsTheStreamAndTheJob) {
  Harness h;
  h.start();
  h.run({.text = {.stop = {"lo"}}});
  h.say(h.jobs[0], "hellox");
  EXPECT_EQ(h.text(), "hel");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
  EXPECT_EQ(h.terminal().usage.completion_tokens, 5U);
  EXPECT_THAT(h.cancels, ElementsAre(engine::Cancel{h.jobs[0].id, h.jobs[0].gen}));
}

TEST(Core, TheTemplatesStopStringsCountToo) {
  Harness h;
  h.start();
  h.submit();
  h.prepared(3, {"x"});
  h.say(h.jobs[0], "ax");
  EXPECT_EQ(h.text(), "a");
  EXPECT_TRUE(h.accepted().log->head().done);
}

TEST(Core, HeldBackTextComesOutAtTheEnd) {
  Harness h;
  h.start();
  h.run({.text = {.stop = {"lost"}}});
  h.say(h.jobs[0], "hello");
  EXPECT_EQ(h.text(), "hel");
  h.end(h.jobs[0]);
  EXPECT_EQ(h.text(), "hello");
}

TEST(Core, MaxTokensIsCutToTheRoomOfTheContext) {
  Harness h;
  h.start();
  h.run({.max_tokens = 5});
  h.run({.max_tokens = 5000});
  EXPECT_EQ(h.jobs[0].tokens_max, 5U);
  EXPECT_EQ(h.jobs[1].tokens_max, kContext - 3);
}

TEST(Core, DrawsASeedUnlessTheClientGaveOne) {
  Harness h;
  h.start();
  h.run();
  h.run({.sampling = {.seed = 5}, .seeded = true});
  EXPECT_EQ(h.jobs[0].sampling.seed, 77U);
  EXPECT_EQ(h.jobs[1].sampling.seed, 5U);
}

TEST(Core, RefusesAPromptThatLeavesNoRoom) {
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

TEST(Core, RefusesByNameWhatItDoesNotServe) {
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

TEST(Core, AnInvalidPromptIsRefused) {
  Harness h;
  h.start();
  h.submit();
  h.pass(VocabularyEvent{kModel, text::PrepareReply{h.prepares.front().request.ticket,
                                                    Problem{.code = ErrorCode::invalid_request}}});
  EXPECT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.core.streams_active(), 0U);
}

TEST(Core, QueuesWhatTheEngineCannotTakeAndRefusesBeyond) {
  Harness h{{.streams_queued_max = 2}};
  h.start(1);  // Takes one, and one more ahead.
  for (int i = 0; i < 4; ++i) h.run();
  EXPECT_THAT(h.jobs, SizeIs(2));
  EXPECT_EQ(h.accepted(2).queue, 0U);
  EXPECT_EQ(h.accepted(3).queue, 1U);
  h.submit();
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  EXPECT_GT(h.refusals[0].retry_after_ms, 0U);
  h.end(h.jobs[0]);
  EXPECT_THAT(h.jobs, SizeIs(3));
  EXPECT_EQ(h.core.stats().streams_queued.value(), 1);
  EXPECT_EQ(h.core.stats().streams_running.value(), 2);
}

TEST(Core, BoundsWhatIsBeingPrepared) {
  Harness h{{.prepares_max = 1}};
  h.start();
  h.submit();
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
}

TEST(Core, AQueuedStreamEndsAtItsDeadline) {
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

TEST(Core, ARunningStreamHasNoQueueDeadline) {
  Harness h;
  h.start();
  h.run({.deadline = milliseconds{100}});
  EXPECT_EQ(h.core.deadline(), kNever);
}

TEST(Core, CancelWorksInEveryState) {
  Harness h;
  h.start(1);
  const StreamId running = h.run();
  h.run();
  const StreamId queued = h.run();
  const StreamId preparing = h.submit();
  h.pass(CancelStream{.stream = queued});
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::cancelled);
  EXPECT_THAT(h.cancels, IsEmpty());
  h.pass(CancelStream{.stream = preparing});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::cancelled);
  h.say(h.jobs[0], "a");
  h.pass(CancelStream{.stream = running});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::cancelled);
  EXPECT_EQ(h.terminal(0).usage.completion_tokens, 1U);
  EXPECT_THAT(h.cancels, ElementsAre(engine::Cancel{h.jobs[0].id, h.jobs[0].gen}));
  EXPECT_THAT(h.cancelled, ElementsAre(queued, preparing, running));
}

TEST(Core, TokensAfterTheEndAreDropped) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.pass(CancelStream{.stream = id});
  h.say(h.jobs[0], "late");
  h.end(h.jobs[0]);
  EXPECT_EQ(h.text(), "");
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::cancelled);
}

TEST(Core, CancelOfAnUnknownStreamSaysSo) {
  Harness h;
  h.start();
  h.pass(CancelStream{.stream = {9, 9}});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
}

TEST(Core, AnotherTenantsStreamIsNotFound) {
  Harness h;
  h.start();
  const StreamId id = h.run();
  h.pass(CancelStream{.principal = {.tenant = "other"}, .stream = id});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::stream_not_found);
  EXPECT_FALSE(h.accepted().log->head().done);
}

TEST(Core, AStepOfAnotherGenerationIsRefused) {
  Harness h;
  h.start();
  h.run();
  h.step({{.job = h.jobs[0].id, .gen = {0}, .token = letter('x')}});
  h.step({{.job = h.jobs[0].id, .gen = {2}, .token = letter('x')}});
  EXPECT_EQ(h.text(), "");
}

TEST(Core, AStreamWithoutReaderRunsOnForItsGrace) {
  Harness h;
  h.start(4);
  for (const Detach detach : {Detach::automatic, Detach::keep, Detach::cancel}) {
    h.pass(ReaderGone{h.run({.detach = detach})});
  }
  EXPECT_EQ(h.terminal(2).reason, stream::FinishReason::cancelled);
  h.say(h.jobs[0], "on");
  EXPECT_EQ(h.text(0), "on");
  h.advance(seconds{10});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::cancelled);
  EXPECT_FALSE(h.accepted(1).log->head().done);
  h.advance(seconds{290});
  EXPECT_EQ(h.terminal(1).reason, stream::FinishReason::cancelled);
}

TEST(Core, ARequestGivenUpBeforeItIsAcceptedNeverRuns) {
  Harness h;
  h.start();
  h.pass(ReaderGone{h.submit()});
  h.prepared();
  EXPECT_THAT(h.jobs, IsEmpty());
  EXPECT_THAT(h.refusals, IsEmpty());
  EXPECT_EQ(h.core.stats().streams_preparing.value(), 0);
}

TEST(Core, ADeadEngineEndsItsStreamsAndNoOthers) {
  Harness h;
  h.start(1);
  for (int i = 0; i < 3; ++i) h.run();
  h.say(h.jobs[0], "abc");
  h.pass(EngineDown{kModel, "signal 9"});
  EXPECT_EQ(h.terminal(0).problem->code, ErrorCode::engine_failed);
  EXPECT_EQ(h.terminal(1).problem->code, ErrorCode::engine_failed);
  EXPECT_EQ(h.text(0), "abc");
  EXPECT_FALSE(h.core.ready());
  EXPECT_THAT(h.jobs, SizeIs(2));
  h.run();  // Waits for the new engine.
  h.start(1);
  EXPECT_THAT(h.jobs, SizeIs(4));
  EXPECT_TRUE(h.core.ready());
  EXPECT_EQ(h.core.stats().engine_restarts.value(), 1U);
}

TEST(Core, ADeadVocabularyRefusesWhatItWasAsked) {
  Harness h;
  h.start();
  h.run();
  h.submit();
  h.pass(VocabularyDown{kModel});
  EXPECT_EQ(h.refusals.back().code, ErrorCode::engine_failed);
  EXPECT_FALSE(h.accepted().log->head().done);
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::model_loading);
}

TEST(Core, AJobThatFailsEndsItsStreamAlone) {
  Harness h;
  h.start();
  h.run();
  h.run();
  h.pass(EngineEvent{kModel, engine::JobFailed{.job = h.jobs[0].id,
                                               .gen = h.jobs[0].gen,
                                               .problem = {.code = ErrorCode::engine_failed}}});
  EXPECT_EQ(h.terminal(0).reason, stream::FinishReason::error);
  EXPECT_FALSE(h.accepted(1).log->head().done);
}

TEST(Core, DrainRefusesNewRequestsAndEndsOldOnesAtItsDeadline) {
  Harness h;
  h.start();
  h.run();
  h.submit();
  h.pass(Drain{kStart + seconds{5}});
  h.submit();
  EXPECT_EQ(h.refusals.back().code, ErrorCode::overloaded);
  EXPECT_FALSE(h.core.drained());
  h.say(h.jobs[0], "still");
  EXPECT_EQ(h.text(), "still");
  h.advance(seconds{5});
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::cancelled);
  EXPECT_EQ(h.refusals.back().code, ErrorCode::cancelled);
  EXPECT_TRUE(h.core.drained());
}

TEST(Core, CountsWhatItDoes) {
  Harness h;
  h.start();
  h.run();
  h.say(h.jobs[0], "ab");
  h.end(h.jobs[0]);
  std::string out;
  append_text(out, h.core.stats());
  EXPECT_THAT(out, HasSubstr("seedance_generated_tokens_total 3\n"));
  EXPECT_THAT(out, HasSubstr("seedance_streams_ended_total{reason=\"stop\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("seedance_ttft_seconds_count 1\n"));
  EXPECT_THAT(out, HasSubstr("seedance_inter_token_seconds_count 2\n"));
}

}  // namespace
}  // namespace seedance::core
