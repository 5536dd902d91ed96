#include "api/answer.h"

#include <gtest/gtest.h>

#include <limits>

namespace seedance::api {
namespace {

TEST(Cut, TakesAllThatFits) {
  stream::TokenLog log{false};
  for (int i = 0; i < 100; ++i) log.append({i}, "four", {}, nullptr);
  log.commit();
  EXPECT_EQ(cut(log, {0}, {100}, 400, 0), Offset{100});
  EXPECT_EQ(cut(log, {0}, {100}, 399, 0), Offset{99});
  EXPECT_EQ(cut(log, {10}, {100}, 40, 0), Offset{20});
  EXPECT_EQ(cut(log, {10}, {100}, 43, 0), Offset{20});
  EXPECT_EQ(cut(log, {10}, {100}, 40, 16), Offset{12});
  EXPECT_EQ(cut(log, {10}, {12}, 4'000, 16), Offset{12});
}

TEST(Cut, TakesOneTokenAtLeast) {
  stream::TokenLog log{false};
  for (int i = 0; i < 3; ++i) log.append({i}, "four", {}, nullptr);
  log.commit();
  EXPECT_EQ(cut(log, {0}, {3}, 0, 0), Offset{1});
  EXPECT_EQ(cut(log, {2}, {3}, 0, 0), Offset{3});
}

TEST(Usage, TellsOfDroppedTokensWhereThereAreSome) {
  stream::Usage usage{.prompt_tokens = 5, .completion_tokens = 2, .cached_tokens = 1};
  const auto shown = [&] {
    std::string out;
    wire::JsonWriter json{out};
    append_usage(json, usage);
    return out;
  };
  EXPECT_EQ(shown(), R"({"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,)"
                     R"("prompt_tokens_details":{"cached_tokens":1}})");
  usage.dropped_tokens = 9;
  EXPECT_EQ(shown(), R"({"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,)"
                     R"("prompt_tokens_details":{"cached_tokens":1,"dropped_tokens":9}})");
}

TEST(ShownLogprob, IsAlwaysANumber) {
  EXPECT_EQ(shown_logprob(-0.5F), -0.5F);
  EXPECT_EQ(shown_logprob(-std::numeric_limits<float>::infinity()), -9999.0F);
  EXPECT_EQ(shown_logprob(std::numeric_limits<float>::quiet_NaN()), -9999.0F);
}

}  // namespace
}  // namespace seedance::api
