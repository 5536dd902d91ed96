// What an answer must be goes to the vocabulary, and its grammar with every job.
#include <gmock/gmock.h>

#include "core/harness.h"

namespace seedance::core {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kGrammar = "root ::= [a-z]+";

GenerateRequest with_schema() {
  return {.input = "a", .format = {text::AnswerFormat::Kind::json_schema, "{}", "json_schema"}};
}

void prepared(Harness& h) {
  const std::uint64_t ticket = h.prepares.front().request.ticket;
  h.prepares.pop_front();
  h.pass(VocabularyEvent{
      kModel, text::PrepareReply{ticket, text::PreparedPrompt{.tokens = {letter('p')},
                                                              .grammar = std::string{kGrammar}}}});
}

TEST(AnswerFormat, IsPreparedAndItsGrammarGoesWithTheJob) {
  Harness h;
  h.start();
  h.submit(with_schema());
  EXPECT_EQ(h.prepares.front().request.format, with_schema().format);
  prepared(h);
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].sampling.grammar, kGrammar);
}

TEST(AnswerFormat, IsAskedForAgainWhenTheVocabularyDies) {
  Harness h;
  h.start();
  h.submit();  // It dies of this one.
  h.submit(with_schema());
  h.prepares.clear();
  h.pass(VocabularyDown{kModel});
  h.start();
  ASSERT_THAT(h.prepares, SizeIs(1));
  EXPECT_EQ(h.prepares.front().request.format, with_schema().format);
}

TEST(AnswerFormat, TheGrammarIsInTheJournal) {
  Disk disk;
  {
    Harness h{Disk{}};
    h.start();
    GenerateRequest request = with_schema();
    request.detach = Detach::keep;
    h.submit(std::move(request));
    prepared(h);
    h.say(h.jobs[0], "ab");
    disk = h.segments;
  }
  Harness h{std::move(disk)};
  h.start();
  ASSERT_THAT(h.jobs, SizeIs(1));
  EXPECT_EQ(h.jobs[0].sampling.grammar, kGrammar);
  EXPECT_THAT(h.jobs[0].committed, SizeIs(2));
}

TEST(AnswerFormat, MayNotBeTooLong) {
  Harness h{{.format_bytes_max = 2}};
  h.start();
  h.submit(with_schema());
  EXPECT_THAT(h.refusals, IsEmpty());
  GenerateRequest longer = with_schema();
  longer.format.text += ' ';
  h.submit(std::move(longer));
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::invalid_request);
  EXPECT_EQ(h.refusals[0].param, "json_schema");
  const std::vector<Problem::Number> numbers{{"bytes", 3}, {"bytes_max", 2}};
  EXPECT_EQ(h.refusals[0].numbers, numbers);
}

TEST(AnswerFormat, GrammarsOfAllStreamsHaveABound) {
  Harness h{{.grammar_bytes_max = 2 * kGrammar.size()}};
  h.start();
  for (int i = 0; i < 3; ++i) {
    h.submit(with_schema());
    prepared(h);
  }
  ASSERT_THAT(h.refusals, SizeIs(1));
  EXPECT_EQ(h.refusals[0].code, ErrorCode::overloaded);
  EXPECT_EQ(h.core.stats().grammar_bytes.value(), 2 * kGrammar.size());
  h.say(h.jobs[0], "a", engine::JobEnd::stop);
  EXPECT_EQ(h.core.stats().grammar_bytes.value(), kGrammar.size());
  h.submit(with_schema());
  prepared(h);
  EXPECT_THAT(h.refusals, SizeIs(1));
}

TEST(AnswerFormat, GrammarsOfTheJournalCount) {
  Disk disk;
  {
    Harness h{Disk{}};
    h.start();
    GenerateRequest request = with_schema();
    request.detach = Detach::keep;
    h.submit(std::move(request));
    prepared(h);
    disk = h.segments;
  }
  const Harness h{std::move(disk)};
  EXPECT_EQ(h.core.stats().grammar_bytes.value(), kGrammar.size());
}

}  // namespace
}  // namespace seedance::core
