#include "stream/token_log.h"

#include <gtest/gtest.h>

#include <thread>

namespace seedance::stream {
namespace {

std::string text_of(const TokenLog& log, std::uint64_t from, std::uint64_t to) {
  std::string out;
  log.append_text({from}, {to}, out);
  return out;
}

std::string word(std::uint64_t i) {
  return "w" + std::to_string(i) + (i % 3 == 0 ? "" : " ");
}

using Numbers = AppendOnly<std::uint64_t, 4>;

TEST(AppendOnly, ElementsStayWhereTheyAre) {
  Numbers numbers;
  Numbers::End end;
  numbers.push_back(end, 0);
  const std::uint64_t* first = &numbers[0];
  for (std::uint64_t i = 1; i < 1000; ++i) numbers.push_back(end, i);
  EXPECT_EQ(&numbers[0], first);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(numbers[i], i);
}

TEST(AppendOnly, AppendsAsIfOneAfterTheOther) {
  std::vector<std::uint64_t> expected;
  Numbers numbers;
  Numbers::End end;
  for (std::uint64_t count = 0; count < 40; ++count) {
    const std::vector<std::uint64_t> values(count, count);
    numbers.append(end, values);
    expected.insert(expected.end(), values.begin(), values.end());
  }
  ASSERT_EQ(end.size, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(numbers[i], expected[i]);
}

TEST(AppendOnly, RunsCoverEveryRangeOnce) {
  Numbers numbers;
  Numbers::End end;
  for (std::uint64_t i = 0; i < 100; ++i) numbers.push_back(end, i);
  for (std::size_t from = 0; from < 100; ++from) {
    std::uint64_t expected = from;
    for (std::size_t at = from; at < 100;) {
      const auto run = numbers.run(at, 100);
      ASSERT_FALSE(run.empty());
      for (const std::uint64_t number : run) EXPECT_EQ(number, expected++);
      at += run.size();
    }
    EXPECT_EQ(expected, 100U);
  }
}

// Just those that are in one block.
TEST(AppendOnly, GivesTheLastOnesWhereTheyLieTogether) {
  Numbers numbers;
  Numbers::End end;
  EXPECT_TRUE(Numbers::last(end, 1).empty());
  for (std::uint64_t size = 1; size <= 100; ++size) {
    numbers.push_back(end, size - 1);
    EXPECT_TRUE(Numbers::last(end, 0).empty());
    EXPECT_TRUE(Numbers::last(end, size + 1).empty());
    for (std::uint64_t count = 1; count <= size; ++count) {
      const auto together = numbers.run(size - count, size);
      const auto last = Numbers::last(end, count);
      ASSERT_EQ(last.size(), together.size() == count ? count : 0);
      if (!last.empty()) EXPECT_EQ(last.data(), together.data());
    }
  }
}

TEST(TokenLog, ShowsNothingBeforeItIsCommitted) {
  TokenLog log{false};
  log.append({1}, "a", {}, nullptr);
  log.append_terminal({});
  EXPECT_EQ(log.head(), (Head{{0}, false}));
  log.commit();
  EXPECT_EQ(log.head(), (Head{{1}, true}));
}

// Also where more was appended meanwhile.
TEST(TokenLog, ShowsWhereTheTextOfItsHeadEnds) {
  TokenLog log{false};
  EXPECT_EQ(log.shown().text_end, 0U);
  for (const std::string_view text : {"a", "", "bc", "d"}) log.append({1}, text, {}, nullptr);
  for (std::uint64_t end = 0; end <= 4; ++end) {
    log.commit({.end = {end}});
    EXPECT_EQ(log.shown().head, (Head{{end}, false}));
    EXPECT_EQ(log.shown().text_end, log.text_end({end}));
  }
  log.append_terminal({});
  log.commit();
  EXPECT_EQ(log.shown().head, (Head{{4}, true}));
  EXPECT_EQ(log.shown().text_end, 4U);
}

TEST(TokenLog, EveryCutGivesTheSameText) {
  TokenLog log{false};
  std::string whole;
  constexpr std::uint64_t kTokens = 400;
  for (std::uint64_t i = 0; i < kTokens; ++i) {
    log.append({static_cast<std::int32_t>(i)}, word(i), {}, nullptr);
    whole += word(i);
  }
  log.commit();
  for (std::uint64_t cut = 0; cut <= kTokens; ++cut) {
    EXPECT_EQ(text_of(log, 0, cut) + text_of(log, cut, kTokens), whole);
    std::string spill = "left over";
    EXPECT_EQ(log.text({cut}, {kTokens}, spill), text_of(log, cut, kTokens));
  }
  EXPECT_EQ(log.text_end({kTokens}), whole.size());
  EXPECT_EQ(log.token({77}), TokenId{77});
}

TEST(TokenLog, KeepsLogprobsOnlyWhenAsked) {
  TokenLog log{true};
  const TokenLogprobs logprobs{.chosen = -0.5F, .top = {{TokenId{3}, -0.5F}}};
  log.append({3}, "x", {}, &logprobs);
  log.commit();
  EXPECT_EQ(log.logprobs({0}), logprobs);
}

TEST(TokenLogDeathTest, EndsOnce) {
  TokenLog log{false};
  log.append_terminal({});
  EXPECT_DEATH(log.append_terminal({}), "ends once");
  EXPECT_DEATH(log.append({1}, "", {}, nullptr), "terminal");
}

// Meant for tsan: readers follow the head while the writer appends.
TEST(TokenLog, ReadersFollowAWriterOfAnotherThread) {
  TokenLog log{true};
  constexpr std::uint64_t kTokens = 5000;
  std::string whole;
  for (std::uint64_t i = 0; i < kTokens; ++i) whole += word(i);
  const auto follow = [&log, &whole] {
    Cursor cursor;
    std::string seen;
    while (!cursor.done) {
      const Head head = log.head();
      log.append_text(cursor.next, head.end, seen);
      if (head.end > cursor.next) EXPECT_EQ(log.logprobs(cursor.next).top.size(), 1U);
      cursor = {.next = head.end, .done = head.done};
    }
    EXPECT_EQ(seen, whole);
    EXPECT_EQ(log.terminal().reason, FinishReason::length);
  };
  std::thread one{follow};
  std::thread two{follow};
  const TokenLogprobs logprobs{.chosen = 0, .top = {{TokenId{1}, 0}}};
  for (std::uint64_t i = 0; i < kTokens; ++i) {
    log.append({static_cast<std::int32_t>(i)}, word(i), {}, &logprobs);
    if (i % 7 == 0) log.commit();
  }
  log.append_terminal({.reason = FinishReason::length});
  log.commit();
  one.join();
  two.join();
}

}  // namespace
}  // namespace seedance::stream
