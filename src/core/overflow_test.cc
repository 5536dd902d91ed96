// What does not fit its context, and conversations.
#include <gmock/gmock.h>

#include "core/harness.h"
#include "engine/sequence.h"

namespace seedance::core {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using text::Overflow;

// Answers what is asked of the vocabulary.
void prepare(Harness& h, text::PreparedPrompt prompt) {
  ASSERT_FALSE(h.prepares.empty());
  const std::uint64_t ticket = h.prepares.front().request.ticket;
  h.prepares.pop_front();
  h.pass(VocabularyEvent{kModel, text::PrepareReply{ticket, std::move(prompt)}});
}

std::vector<TokenId> alphabet(std::size_t size) {
  std::vector<TokenId> tokens(size);
  for (std::size_t i = 0; i < size; ++i) tokens[i] = {static_cast<std::int32_t>(i % 26)};
  return tokens;
}

std::vector<TokenId> joined(std::vector<TokenId> tokens, const std::vector<TokenId>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

// What an engine says that computes nothing but the sequence of a job: the next letter depends on
// all of it. Until the job ends, or `tokens` are said.
void continue_job(Harness& h, const engine::Job& job, std::size_t tokens = SIZE_MAX,
                  std::size_t context = 20) {
  std::vector<TokenId> sequence = engine::sequence_of(job);
  ASSERT_LT(sequence.size(), context);
  for (std::size_t made = job.committed.size(); made < job.tokens_max && tokens > 0; --tokens) {
    std::uint64_t hash = 0;
    for (const TokenId token : sequence) {
      hash = hash * 31 + static_cast<std::uint64_t>(token.value) + 1;
    }
    const TokenId next{static_cast<std::int32_t>(hash % 26)};
    sequence.push_back(next);
    ++made;
    h.step({{.job = job.id,
             .gen = job.gen,
             .token = next,
             .end = made == job.tokens_max ? engine::JobEnd::length : engine::JobEnd::none}});
  }
}

GenerateRequest shifting(std::uint32_t tokens_max) {
  return {.max_tokens = tokens_max, .overflow = Overflow::shift};
}

TEST(Overflow, AsksTheVocabularyToLeaveRoomForTheAnswer) {
  Harness h;
  h.start(2, 100);
  h.submit({.max_tokens = 30, .overflow = Overflow::truncate_middle});
  h.submit({.overflow = Overflow::truncate_middle});
  h.submit({.max_tokens = 99, .overflow = Overflow::truncate_middle});
  ASSERT_THAT(h.prepares, SizeIs(3));
  EXPECT_EQ(h.prepares[0].request.overflow, Overflow::truncate_middle);
  EXPECT_EQ(h.prepares[0].request.tokens_max, 70U);
  EXPECT_EQ(h.prepares[1].request.tokens_max, 75U);
  EXPECT_EQ(h.prepares[2].request.tokens_max, 50U);
}

TEST(Overflow, CutsTheMiddleOfTokens) {
  Harness h;
  h.start(2, 20);
  h.submit({.max_tokens = 10, .overflow = Overflow::truncate_middle});
  prepare(h, {.tokens = alphabet(26)});
  ASSERT_THAT(h.jobs, SizeIs(1));
  const auto all = alphabet(26);
  EXPECT_EQ(h.jobs[0].prompt, joined({all.begin(), all.begin() + 5}, {all.end() - 5, all.end()}));
  EXPECT_EQ(h.accepted().prompt_tokens, 10U);
  EXPECT_EQ(h.accepted().dropped, (text::Dropped{.messages = 0, .tokens = 16}));
  h.end(h.jobs[0]);
  EXPECT_EQ(h.terminal().usage.dropped_tokens, 16U);
}

TEST(Overflow, TellsWhatTheVocabularyLeftOut) {
  Harness h;
  h.start();
  h.submit({.overflow = Overflow::truncate_middle});
  prepare(h, {.tokens = alphabet(10), .dropped = {.messages = 4, .tokens = 90}});
  EXPECT_EQ(h.accepted().dropped, (text::Dropped{.messages = 4, .tokens = 90}));
}

TEST(Overflow, ALongPromptThatShiftsLosesItsOldestPart) {
  Harness h;
  h.start(2, 20);
  h.submit(shifting(5));
  prepare(h, {.tokens = alphabet(26), .keep = 3});
  const auto all = alphabet(26);
  EXPECT_EQ(h.jobs.at(0).prompt,
            joined({all.begin(), all.begin() + 3}, {all.end() - 12, all.end()}));
  EXPECT_EQ(h.accepted().dropped.tokens, 11U);
  h.submit(shifting(5));
  prepare(h, {.tokens = alphabet(19), .keep = 3});  // It fits.
  EXPECT_EQ(h.jobs.at(1).prompt, alphabet(19));
}

TEST(Overflow, AnAnswerThatFillsItsContextGoesOnWithoutItsOldestPart) {
  Harness h;
  h.start(2, 20);
  h.submit(shifting(40));
  prepare(h, {.tokens = alphabet(6), .keep = 4});
  const engine::Job first = h.jobs.at(0);
  EXPECT_EQ(first.tokens_max, 14U);
  continue_job(h, first);
  ASSERT_THAT(h.jobs, SizeIs(2));
  const engine::Job second = h.jobs[1];
  EXPECT_EQ(second.gen, Generation{2});
  EXPECT_EQ(second.prompt, first.prompt);
  EXPECT_THAT(second.committed, SizeIs(14));
  EXPECT_EQ(second.keep, 4U);
  EXPECT_EQ(second.dropped, 8U);
  EXPECT_EQ(second.tokens_max, 22U);
  EXPECT_EQ(engine::sequence_of(second).size(), 12U);
  EXPECT_EQ(second.sampling, first.sampling);
  for (std::size_t at = 1; at < h.jobs.size(); ++at) continue_job(h, engine::Job{h.jobs[at]});
  EXPECT_THAT(h.jobs, SizeIs(5));
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::length);
  EXPECT_EQ(h.terminal().usage.completion_tokens, 40U);
  EXPECT_EQ(h.terminal().usage.dropped_tokens, 32U);
  EXPECT_EQ(h.core.stats().shifts.value(), 4U);
}

// Sooner or later than where nothing is set.
TEST(Overflow, AnAnswerThatShiftsEndsSometime) {
  const std::uint32_t usual = Limits{}.shift_tokens_max;
  for (const auto& [most, context] : {std::pair{30U, 20U}, {2 * usual, 1000U}}) {
    Harness h{Limits{.shift_tokens_max = most}};
    h.start(2, context);
    for (const std::optional<std::uint32_t> max : {std::optional<std::uint32_t>{}, {3 * usual}}) {
      h.jobs.clear();
      h.submit({.max_tokens = max, .overflow = Overflow::shift});
      prepare(h, {.tokens = alphabet(6)});
      for (std::size_t at = 0; at < h.jobs.size(); ++at) {
        continue_job(h, engine::Job{h.jobs[at]}, SIZE_MAX, context);
      }
    }
    for (const std::size_t i : {0U, 1U}) EXPECT_EQ(h.terminal(i).usage.completion_tokens, most);
  }
}

TEST(Overflow, WithoutShiftAnAnswerEndsWithItsContext) {
  for (const Overflow overflow : {Overflow::error, Overflow::truncate_middle}) {
    Harness h;
    h.start(2, 20);
    h.submit({.overflow = overflow});
    prepare(h, {.tokens = alphabet(6)});
    continue_job(h, engine::Job{h.jobs.at(0)});
    EXPECT_THAT(h.jobs, SizeIs(1));
    EXPECT_EQ(h.terminal().reason, stream::FinishReason::length);
    EXPECT_EQ(h.terminal().usage.completion_tokens, 14U);
  }
}

TEST(Overflow, AStopStringAtTheCutEndsTheStream) {
  Harness h;
  h.start(2, 20);
  GenerateRequest request = shifting(40);
  request.text.stop = {"xy"};
  h.submit(std::move(request));
  prepare(h, {.tokens = alphabet(18)});
  h.say(h.jobs.at(0), "xy", engine::JobEnd::length);
  EXPECT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.terminal().reason, stream::FinishReason::stop);
}

std::string uninterrupted() {
  Harness h;
  h.start(2, 20);
  h.submit(shifting(40));
  prepare(h, {.tokens = alphabet(6), .keep = 4});
  for (std::size_t at = 0; at < h.jobs.size(); ++at) continue_job(h, engine::Job{h.jobs[at]});
  return h.text();
}

// Whatever dies, and wherever: the same tokens.
TEST(Overflow, CutsInTheSamePlacesWhateverDies) {
  const std::string expected = uninterrupted();
  ASSERT_THAT(expected, SizeIs(40));
  for (std::size_t die_every = 1; die_every < 40; ++die_every) {
    Harness h;
    h.start(2, 20);
    h.submit(shifting(40));
    prepare(h, {.tokens = alphabet(6), .keep = 4});
    for (std::size_t at = 0; at < h.jobs.size() && at < 100; ++at) {
      continue_job(h, engine::Job{h.jobs[at]}, die_every);
      if (at + 1 < h.jobs.size() || h.accepted().log->head().done) continue;
      h.pass(EngineDown{kModel});
      h.start(2, 20);
    }
    ASSERT_TRUE(h.accepted().log->head().done) << die_every;
    EXPECT_EQ(h.text(), expected) << die_every;
    EXPECT_EQ(h.terminal().usage.dropped_tokens, 32U);
  }
}

TEST(Overflow, TheJournalKnowsTheCuts) {
  const std::string expected = uninterrupted();
  for (std::size_t die_after = 0; die_after < 40; ++die_after) {
    Harness before{Disk{}};
    before.start(2, 20);
    const StreamId id = before.submit(shifting(40));
    prepare(before, {.tokens = alphabet(6), .dropped = {.messages = 1, .tokens = 2}, .keep = 4});
    std::size_t left = die_after;
    for (std::size_t at = 0; left > 0; ++at) {
      const engine::Job job = before.jobs.at(at);
      const auto said = std::min<std::size_t>(left, job.tokens_max - job.committed.size());
      continue_job(before, job, said);
      left -= said;
    }
    Harness h{before.segments};
    h.attach(id);
    h.start(2, 20);
    for (std::size_t at = 0; at < h.jobs.size(); ++at) continue_job(h, engine::Job{h.jobs[at]});
    ASSERT_THAT(h.resumed, SizeIs(1));
    const stream::TokenLog& log = *h.resumed[0].stream.log;
    EXPECT_EQ(h.resumed[0].stream.dropped, (text::Dropped{.messages = 1, .tokens = 2}));
    std::string text;
    log.append_text({0}, log.head().end, text);
    EXPECT_EQ(text, expected) << die_after;
    EXPECT_EQ(log.terminal().usage.dropped_tokens, 2U + 32U);
  }
}

// Conversations.

TEST(Parent, AChildBeginsWithWhatItsParentHad) {
  Harness h;
  h.start();
  const StreamId parent = h.run();
  h.say(h.jobs[0], "ab");
  h.end(h.jobs[0]);
  h.submit({.parent = parent});
  EXPECT_TRUE(h.prepares.at(0).request.continues);
  prepare(h, {.tokens = alphabet(4)});
  ASSERT_THAT(h.jobs, SizeIs(2));
  const auto p = letter('p');
  EXPECT_EQ(h.jobs[1].prompt, joined({p, p, p, letter('a'), letter('b')}, alphabet(4)));
  EXPECT_EQ(h.jobs[1].scope, h.jobs[0].scope);
  EXPECT_EQ(h.accepted(1).prompt_tokens, 9U);
}

TEST(Parent, MayHaveEndedAnyWay) {
  Harness h;
  h.start();
  const StreamId parent = h.run();
  h.say(h.jobs[0], "ab", engine::JobEnd::length);
  h.submit({.parent = parent});
  prepare(h, {});  // Nothing new: its answer goes on.
  const auto p = letter('p');
  EXPECT_THAT(h.jobs.at(1).prompt, ElementsAre(p, p, p, letter('a'), letter('b')));
  const StreamId cancelled = h.run();
  h.pass(CancelStream{.reply_to = {}, .principal = {}, .stream = cancelled});
  h.submit({.parent = cancelled});
  prepare(h, {.tokens = alphabet(1)});
  EXPECT_THAT(h.jobs.back().prompt, ElementsAre(p, p, p, letter('a')));
}

TEST(Parent, OfAConversationThatWasCutItIsWhatItsEngineSaw) {
  Harness h;
  h.start(2, 20);
  const StreamId parent = h.submit(shifting(16));
  prepare(h, {.tokens = alphabet(6), .keep = 4});
  continue_job(h, engine::Job{h.jobs.at(0)});
  continue_job(h, engine::Job{h.jobs.at(1)});
  const auto seen = engine::sequence_of(h.jobs.at(1));
  GenerateRequest request = shifting(16);
  request.parent = parent;
  h.submit(request);
  prepare(h, {.tokens = alphabet(2)});
  ASSERT_THAT(h.jobs, SizeIs(3));
  ASSERT_THAT(h.jobs[2].prompt, SizeIs(seen.size() + 4));
  EXPECT_TRUE(std::equal(seen.begin(), seen.end(), h.jobs[2].prompt.begin()));
  EXPECT_EQ(h.jobs[2].keep, 4U);
}

// Whatever its parent did when its context was full.
TEST(Parent, ItsChildKeepsWhatTheModelWasTold) {
  Harness h;
  h.start(2, 20);
  const StreamId parent = h.submit({.max_tokens = 2});
  prepare(h, {.tokens = alphabet(6), .keep = 4});
  continue_job(h, engine::Job{h.jobs.at(0)});
  GenerateRequest request = shifting(16);
  request.parent = parent;
  h.submit(request);
  prepare(h, {.tokens = alphabet(2)});
  EXPECT_EQ(h.jobs.at(1).keep, 4U);
}

TEST(Parent, ItsTokensCountAsBytesThatArePrepared) {
  Harness h{Limits{.prepare_bytes_max = 4100}};
  h.start(4, 2000);
  const StreamId parent = h.submit({.max_tokens = 1});
  prepare(h, {.tokens = alphabet(1000)});
  h.say(h.jobs.at(0), "a", engine::JobEnd::length);
  h.submit({.parent = parent});
  EXPECT_TRUE(h.refusals.empty());
  h.submit({.parent = parent});
  ASSERT_FALSE(h.refusals.empty());
  EXPECT_EQ(h.refusals.front().code, ErrorCode::overloaded);
}

TEST(Parent, MustBeAStreamOfOnesOwnThatHasEnded) {
  Harness h{Limits{.terminal_ttl = std::chrono::seconds{5}}};
  h.start();
  const StreamId parent = h.run();
  h.submit({.parent = parent});
  h.submit({.parent = StreamId{9, 9}});
  h.end(h.jobs[0]);
  h.pass(Submit{.reply_to = {.request = 1000},
                .principal = {"stranger"},
                .stream = StreamId{1, 1000},
                .request = {.parent = parent}});
  h.advance(std::chrono::seconds{6});
  h.submit({.parent = parent});
  ASSERT_THAT(h.refusals, SizeIs(4));
  for (const Problem& problem : h.refusals) EXPECT_EQ(problem.param, "parent");
  EXPECT_EQ(h.refusals[0].code, ErrorCode::invalid_request);
  EXPECT_EQ(h.refusals[1].code, ErrorCode::stream_not_found);
  EXPECT_EQ(h.refusals[2].code, ErrorCode::stream_not_found);
  EXPECT_EQ(h.refusals[3].code, ErrorCode::stream_expired);
}

// Also where the server started again since, and the parent is gone before the child is prepared.
TEST(Parent, IsNeededOnlyWhenTheChildIsAskedFor) {
  Harness before{Disk{}};
  before.start();
  const StreamId parent = before.run();
  before.say(before.jobs[0], "ab");
  before.end(before.jobs[0]);
  Harness h{before.segments, Writing::at_once, Limits{.terminal_ttl = std::chrono::seconds{5}}};
  h.last = 10;
  h.start();
  const StreamId child = h.submit({.parent = parent});
  h.advance(std::chrono::seconds{6});
  prepare(h, {.tokens = alphabet(4)});
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].prompt.size(), 9U);
  Harness after{h.segments};
  after.start();
  ASSERT_THAT(after.jobs, SizeIs(1));
  EXPECT_EQ(after.jobs[0].prompt, h.jobs[0].prompt);
  static_cast<void>(child);
}

TEST(Parent, TooLongAConversationIsCutAsItsPolicySays) {
  Harness h;
  h.start(2, 20);
  const StreamId parent = h.submit({.max_tokens = 4});
  prepare(h, {.tokens = alphabet(14)});
  h.say(h.jobs[0], "abcd", engine::JobEnd::length);
  for (const Overflow overflow : {Overflow::error, Overflow::truncate_middle, Overflow::shift}) {
    h.submit({.max_tokens = 8, .overflow = overflow, .parent = parent});
    prepare(h, {.tokens = alphabet(6)});
  }
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::context_length_exceeded);
  ASSERT_THAT(h.jobs, SizeIs(3));
  EXPECT_THAT(h.jobs[1].prompt, SizeIs(12));
  EXPECT_THAT(h.jobs[2].prompt, SizeIs(12));
  EXPECT_EQ(h.accepted(1).dropped.tokens, 12U);
  EXPECT_NE(h.jobs[1].prompt, h.jobs[2].prompt);
}

}  // namespace
}  // namespace seedance::core
