#include "llama/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"

namespace seedance::llama {
namespace {

using engine::Sampling;
using testing::ElementsAre;

constexpr std::array<TokenId, 1> kEnd{{{2}}};
constexpr std::array<TokenId, 2> kPrompt{{{1}, {5}}};

std::vector<TokenId> prompt() {
  return {kPrompt.begin(), kPrompt.end()};
}

std::vector<float> random_logits(std::uint64_t seed, std::size_t size, double spread) {
  Prng random{seed};
  std::vector<float> logits(size);
  for (float& logit : logits) {
    logit = static_cast<float>(-spread * std::log(-std::log(random.uniform() + 1e-9)));
  }
  return logits;
}

std::int32_t choose(const Sampling& parameters, std::vector<float> logits,
                    const std::vector<TokenId>& tokens = prompt(), std::size_t prompt_tokens = 2) {
  Sampler sampler{parameters, prompt_tokens, kEnd};
  const auto before = logits;
  const auto choice = sampler.choose(logits, tokens);
  EXPECT_EQ(logits, before);
  EXPECT_TRUE(choice.has_value());
  return choice->token.value;
}

// The tokens that 300 draws give.
std::set<std::int32_t> support(Sampling parameters, const std::vector<float>& logits,
                               const std::vector<TokenId>& tokens = prompt(),
                               std::size_t prompt_tokens = 2) {
  std::set<std::int32_t> drawn;
  for (parameters.seed = 0; parameters.seed < 300; ++parameters.seed) {
    drawn.insert(choose(parameters, logits, tokens, prompt_tokens));
  }
  return drawn;
}

TEST(Sampler, TakesTheHighestWhenGreedy) {
  EXPECT_EQ(choose({.temperature = 0}, {0, 3, 9, 9, 1}), 2);
  EXPECT_EQ(choose({.temperature = 2, .top_k = 1}, {0, 3, 9, 9, 1}), 2);
}

TEST(Sampler, RefusesLogitsThatAreNoNumbers) {
  std::vector<float> logits(100, std::numeric_limits<float>::quiet_NaN());
  for (const float temperature : {0.0F, 1.0F}) {
    Sampler sampler{{.temperature = temperature}, 2, kEnd};
    const auto choice = sampler.choose(logits, kPrompt);
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().code, Errc::corrupt);
  }
}

TEST(Sampler, DrawsTheSameForTheSameSeedAndOffset) {
  const auto logits = random_logits(1, 500, 1);
  std::set<std::int32_t> by_seed;
  std::set<std::int32_t> by_offset;
  for (std::uint64_t n = 0; n < 50; ++n) {
    std::vector<TokenId> tokens = prompt();
    EXPECT_EQ(choose({.seed = n}, logits), choose({.seed = n}, logits));
    by_seed.insert(choose({.seed = n}, logits));
    tokens.resize(2 + n);
    by_offset.insert(choose({.seed = 7}, logits, tokens));
  }
  EXPECT_GT(by_seed.size(), 10);
  EXPECT_GT(by_offset.size(), 10);
}

TEST(Sampler, CountsOffsetsFromTheEndOfThePrompt) {
  const auto logits = random_logits(1, 500, 1);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(choose({.seed = seed}, logits, {{1}, {2}, {3}, {4}}, 2),
              choose({.seed = seed}, logits, {{7}, {3}, {4}}, 1));
  }
}

// What the comment in sampler.h says, done slowly: the token, and how far the
// draw was from choosing another.
std::pair<std::int32_t, double> reference(const Sampling& parameters,
                                          const std::vector<float>& logits, std::uint64_t offset) {
  struct Item {
    double logit;
    std::int32_t token;
  };
  std::vector<Item> items;
  items.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    items.push_back({static_cast<double>(logits[id]), static_cast<std::int32_t>(id)});
  }
  std::ranges::sort(items, [](const Item& a, const Item& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  });
  const double best = items.front().logit;
  if (parameters.top_k > 0)
    items.resize(std::min(items.size(), static_cast<std::size_t>(parameters.top_k)));
  double margin = 1;
  const auto cut = [&](double share, double scale) {
    double total = 0;
    for (const Item& item : items) total += std::exp((item.logit - best) * scale);
    double sum = 0;
    for (std::size_t count = 0; count < items.size(); ++count) {
      sum += std::exp((items[count].logit - best) * scale) / total;
      margin = std::min(margin, std::abs(sum - share));
      if (sum >= share) return count;
    }
    return items.size() - 1;
  };
  if (parameters.top_p < 1) items.resize(cut(static_cast<double>(parameters.top_p), 1) + 1);
  if (parameters.min_p > 0) {
    const double floor = best + std::log(static_cast<double>(parameters.min_p));
    std::erase_if(items, [&](const Item& item) { return item.logit < floor; });
  }
  const double uniform = counter_uniform(parameters.seed, offset);
  const auto at = cut(uniform, 1.0 / static_cast<double>(parameters.temperature));
  return {items[at].token, margin};
}

TEST(Sampler, AgreesWithAPlainCalculation) {
  std::size_t compared = 0;
  std::size_t close = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Prng random{seed};
    const auto logits = random_logits(seed, 1 + random.below(600), 0.1 + 6 * random.uniform());
    Sampling parameters{.temperature = static_cast<float>(0.05 + 2 * random.uniform())};
    if (random.below(2) == 0) parameters.top_k = static_cast<std::int32_t>(2 + random.below(100));
    if (random.below(2) == 0) parameters.top_p = static_cast<float>(random.uniform());
    if (random.below(3) == 0) parameters.min_p = static_cast<float>(0.2 * random.uniform());
    parameters.seed = random.next();
    const auto [token, margin] = reference(parameters, logits, 0);
    ++compared;
    if (margin < 1e-5) {
      ++close;
      continue;
    }
    EXPECT_EQ(choose(parameters, logits), token) << "seed " << seed;
  }
  EXPECT_LT(close, compared / 4);
}

TEST(Sampler, DrawsWithTheFrequenciesOfTheModel) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  constexpr int kDraws = 5000;
  std::map<std::int32_t, int> drawn;
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) ++drawn[choose({.seed = seed}, logits)];
  EXPECT_NEAR(drawn[0], 0.5 * kDraws, 120);
  EXPECT_NEAR(drawn[1], 0.3 * kDraws, 120);
  EXPECT_NEAR(drawn[2], 0.15 * kDraws, 120);
  EXPECT_NEAR(drawn[3], 0.05 * kDraws, 60);
}

TEST(Sampler, KeepsWhatTheFiltersKeep) {
  const std::vector<float> logits{std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
  EXPECT_THAT(support({}, logits), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(support({.top_k = 2}, logits), ElementsAre(0, 1));
  EXPECT_THAT(support({.top_k = 9}, logits), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(support({.top_p = 0.6F}, logits), ElementsAre(0, 1));
  EXPECT_THAT(support({.top_p = 0.0F}, logits), ElementsAre(0));
  EXPECT_THAT(support({.min_p = 0.4F}, logits), ElementsAre(0, 1, 2));
  // Of the first three, 0.4 / 0.9 + 0.3 / 0.9 is enough.
  EXPECT_THAT(support({.top_k = 3, .top_p = 0.75F}, logits), ElementsAre(0, 1));
  // Temperature comes last: it changes nothing about what top_p keeps.
  EXPECT_THAT(support({.temperature = 5, .top_p = 0.6F}, logits), ElementsAre(0, 1));
}

TEST(Sampler, AddsBias) {
  Sampling greedy{.temperature = 0};
  greedy.logit_bias = {{{0}, 5.0F}, {{3}, -100.0F}};
  EXPECT_EQ(choose(greedy, {1, 2, 3, 9}), 0);
}

TEST(Sampler, NeverEndsWhenToldSo) {
  EXPECT_EQ(choose({.temperature = 0}, {1, 2, 9}), 2);
  EXPECT_EQ(choose({.temperature = 0, .ignore_eos = true}, {1, 2, 9}), 1);
  EXPECT_THAT(support({.ignore_eos = true}, {1, 2, 9}), ElementsAre(0, 1));
}

TEST(Sampler, PenalisesRepeatsOfPromptAndGenerated) {
  const Sampling penalty{.temperature = 0, .repeat_penalty = 2, .repeat_last_n = 2};
  EXPECT_EQ(choose(penalty, {5, 4, 3}, {{0}, {1}}, 1), 2);       // 2.5, 2, 3.
  EXPECT_EQ(choose(penalty, {5, 4, 3}, {{0}, {1}, {2}}, 1), 0);  // 5, 2, 1.5: 0 is too old.
  EXPECT_EQ(choose(penalty, {-2, -3, -5}, {{0}, {1}}, 2), 0);    // -4, -6, -5.
  Sampling all = penalty;
  all.repeat_last_n = -1;
  EXPECT_EQ(choose(all, {5, 4, 3}, {{0}, {1}, {2}}, 1), 0);  // 2.5, 2, 1.5.
  EXPECT_EQ(choose(all, {5, 4, 3}, {{0}, {1}, {1}}, 1), 2);
  all.repeat_last_n = 0;
  EXPECT_EQ(choose(all, {5, 4, 3}, {{0}, {1}, {1}}, 1), 0);
}

TEST(Sampler, PenalisesOnlyGeneratedTokensByPresenceAndFrequency) {
  const Sampling presence{.temperature = 0, .presence_penalty = 1.5F};
  EXPECT_EQ(choose(presence, {5, 4, 3}, {{0}, {0}}, 2), 0);
  EXPECT_EQ(choose(presence, {5, 4, 3}, {{0}, {0}}, 1), 1);
  EXPECT_EQ(choose(presence, {5, 4, 3}, {{7}, {0}, {0}, {1}}, 1), 0);  // Once each, however often.
  const Sampling frequency{.temperature = 0, .frequency_penalty = 0.6F};
  EXPECT_EQ(choose(frequency, {5, 4, 3}, {{7}, {0}}, 1), 0);
  EXPECT_EQ(choose(frequency, {5, 4, 3}, {{7}, {0}, {0}}, 1), 1);
}

TEST(Sampler, CountsWhatIsAppendedBetweenCalls) {
  Sampler sampler{{.temperature = 0, .frequency_penalty = 1.0F}, 1, kEnd};
  std::vector<float> logits{5, 4, 3, 3};
  std::vector<TokenId> tokens{{9}};
  std::vector<std::int32_t> chosen;
  for (int step = 0; step < 6; ++step) {
    tokens.push_back(sampler.choose(logits, tokens)->token);
    chosen.push_back(tokens.back().value);
  }
  EXPECT_THAT(chosen, ElementsAre(0, 0, 1, 0, 1, 2));
}

TEST(Sampler, GivesLogprobsOfTheModelNotOfTheParameters) {
  std::vector<float> logits{std::log(0.4F) + 3, std::log(0.3F) + 3, std::log(0.2F) + 3,
                            std::log(0.1F) + 3};
  Sampling parameters{.temperature = 0.1F, .top_k = 2, .logprobs = true, .top_logprobs = 3};
  parameters.logit_bias = {{{3}, 50.0F}};
  Sampler sampler{parameters, 2, kEnd};
  const auto choice = sampler.choose(logits, kPrompt);
  ASSERT_TRUE(choice && choice->logprobs);
  EXPECT_EQ(choice->token, TokenId{3});
  EXPECT_NEAR(choice->logprobs->chosen, std::log(0.1F), 1e-5F);
  ASSERT_EQ(choice->logprobs->top.size(), 3);
  EXPECT_EQ(choice->logprobs->top[0].token, TokenId{0});
  EXPECT_NEAR(choice->logprobs->top[1].logprob, std::log(0.3F), 1e-5F);
  EXPECT_EQ(choice->logprobs->top[2].token, TokenId{2});
}

TEST(Sampler, GivesLogprobsOnlyWhenAsked) {
  std::vector<float> logits{1, 2, 3};
  EXPECT_FALSE(Sampler({.temperature = 0}, 2, kEnd).choose(logits, kPrompt)->logprobs);
  const Sampling parameters{.temperature = 0, .logprobs = true};
  EXPECT_TRUE(Sampler(parameters, 2, kEnd).choose(logits, kPrompt)->logprobs->top.empty());
}

// Token 2 ends; 3 is a control token; the others are the letters a, b, c, ...
text::PieceTable letters(std::size_t size) {
  text::PieceTable table;
  for (std::size_t id = 0; id < size; ++id) {
    const char letter = static_cast<char>('a' + id);
    const auto kind = id == 2   ? text::PieceKind::end
                      : id == 3 ? text::PieceKind::control
                                : text::PieceKind::text;
    table.add({&letter, 1}, kind);
  }
  return table;
}

text::TokenConstraint constraint(std::string_view gbnf, const text::PieceOrder& order) {
  return {*text::Grammar::parse(gbnf), order};
}

class ConstrainedSampler : public testing::Test {
 protected:
  Sampler sampler(const Sampling& parameters, std::string_view gbnf) {
    return {parameters, 2, kEnd, constraint(gbnf, order_)};
  }

  const text::PieceOrder order_{letters(26)};
};

TEST_F(ConstrainedSampler, TakesTheHighestThatIsAllowed) {
  std::vector<float> logits(26, 0.0F);
  logits[3] = 9;
  logits[7] = 8;
  logits[5] = 2;
  logits[4] = 1;
  const auto before = logits;
  EXPECT_EQ(sampler({.temperature = 0}, "root ::= [e-f]").choose(logits, kPrompt)->token.value, 5);
  EXPECT_EQ(logits, before);
  // Also when more than are asked for one by one come before it.
  for (std::size_t id = 6; id < 26; ++id) logits[id] = 20;
  EXPECT_EQ(sampler({.temperature = 0}, "root ::= [e-f]").choose(logits, kPrompt)->token.value, 5);
}

TEST(Sampler, CountsWhatIsMaskedForAConstraint) {
  const text::PieceOrder order{letters(4096)};
  std::vector<float> logits(4096, 20.0F);
  for (std::size_t id = 5; id < logits.size(); id += 256) logits[id] = 2;  // All that say f.
  Sampler sampler{{.temperature = 0}, 2, kEnd, constraint("root ::= [f]", order)};
  ASSERT_LT(sampler.constraint_bytes(), logits.size());
  sampler.choose(logits, kPrompt).value();
  EXPECT_GE(sampler.constraint_bytes(), logits.size() * sizeof(float));
}

// Whatever the parameters: as if what is not allowed had no chance from the beginning.
TEST_F(ConstrainedSampler, DrawsAsFromMaskedLogits) {
  const std::vector<Sampling> all{{},
                                  {.temperature = 0.7F},
                                  {.top_k = 5},
                                  {.top_p = 0.6F},
                                  {.min_p = 0.2F},
                                  {.temperature = 1.3F, .top_k = 7, .top_p = 0.8F, .min_p = 0.05F},
                                  {.temperature = 0}};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<float> logits = random_logits(seed, 26, 2);
    std::vector<float> masked = logits;
    for (std::size_t id = 0; id < 26; ++id) {
      if (id < 4 || id % 3 != 0) masked[id] = -std::numeric_limits<float>::infinity();
    }
    for (Sampling parameters : all) {
      parameters.seed = seed;
      const auto choice = sampler(parameters, "root ::= [gjmpsvy]").choose(logits, kPrompt);
      ASSERT_TRUE(choice);
      EXPECT_EQ(choice->token.value, choose(parameters, masked));
    }
  }
}

// Where the likeliest decide and where they do not.
TEST(ConstrainedSamplerOfMany, DrawsAsFromMaskedLogits) {
  text::PieceTable table;
  for (int id = 0; id < 600; ++id) {
    const std::string piece{static_cast<char>('a' + id % 26), static_cast<char>('a' + id / 26)};
    table.add(piece, id == 2 ? text::PieceKind::end : text::PieceKind::text);
  }
  const text::PieceOrder order{std::move(table)};
  constexpr std::string_view kGrammar = "root ::= [a-m] [^b-d]";
  text::TokenConstraint place = constraint(kGrammar, order);
  const text::TokenSet& allowed = place.allowed();
  const std::vector<Sampling> all{
      {},
      {.temperature = 0.5F},
      {.temperature = 2},
      {.top_k = 20},
      {.top_k = 100},
      {.top_p = 0.5F},
      {.top_p = 0.95F, .min_p = 0.1F},
      {.min_p = 0.001F},
      {.temperature = 0.7F, .top_k = 30, .top_p = 0.8F, .min_p = 0.05F}};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<float> logits =
        random_logits(seed, 600, 0.3 + 0.4 * static_cast<double>(seed % 10));
    std::vector<float> masked = logits;
    for (int id = 0; id < 600; ++id) {
      if (allowed.contains({id})) continue;
      masked[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
    }
    for (Sampling parameters : all) {
      parameters.seed = seed;
      Sampler sampler{parameters, 2, kEnd, constraint(kGrammar, order)};
      const auto choice = sampler.choose(logits, kPrompt);
      ASSERT_TRUE(choice);
      EXPECT_EQ(choice->token.value, choose(parameters, masked)) << seed;
    }
  }
}

TEST_F(ConstrainedSampler, EndsOnlyWhereTheGrammarMayEnd) {
  std::vector<float> logits(26, 0.0F);
  logits[2] = 9;
  auto two = sampler({.temperature = 0}, "root ::= \"a\" \"b\"?");
  std::vector<TokenId> tokens = prompt();
  for (const int expected : {0, 2}) {
    tokens.push_back(two.choose(logits, tokens)->token);
    EXPECT_EQ(tokens.back().value, expected);
  }
  logits[2] = -9;  // Nothing else is left.
  auto one = sampler({}, "root ::= \"a\"");
  tokens = prompt();
  for (const int expected : {0, 2}) {
    tokens.push_back(one.choose(logits, tokens)->token);
    EXPECT_EQ(tokens.back().value, expected);
  }
}

TEST_F(ConstrainedSampler, GoesOnBehindReplayedTokensAsIfUnbroken) {
  const Sampling parameters{.top_p = 0.9F, .seed = 5};
  constexpr std::string_view kGrammar = "root ::= ([e-j] [k-p]{2} | [q-z] root \"a\")+";
  const auto logits_at = [](std::size_t offset) { return random_logits(offset, 26, 3); };
  auto unbroken = sampler(parameters, kGrammar);
  std::vector<TokenId> whole = prompt();
  while (whole.size() < 62) {
    auto logits = logits_at(whole.size());
    whole.push_back(unbroken.choose(logits, whole)->token);
    if (whole.back() == kEnd[0]) break;
  }
  for (std::size_t cut = 2; cut < whole.size(); ++cut) {
    auto place = constraint(kGrammar, order_);
    std::vector<TokenId> tokens(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
    for (std::size_t i = 2; i < cut; ++i) ASSERT_TRUE(place.accept(tokens[i]));
    Sampler continued{parameters, 2, kEnd, std::move(place)};
    while (tokens.size() < whole.size()) {
      auto logits = logits_at(tokens.size());
      tokens.push_back(continued.choose(logits, tokens)->token);
    }
    EXPECT_EQ(tokens, whole);
  }
}

TEST_F(ConstrainedSampler, SaysWhyThereIsNoToken) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> logits(26, 0.0F);
  for (const float temperature : {0.0F, 1.0F}) {
    const Sampling parameters{.temperature = temperature};
    const auto none = sampler(parameters, "root ::= \"\u4e2d\"").choose(logits, kPrompt);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Errc::invalid);
    std::vector<float> nothing(26, -infinity);
    const auto broken = sampler(parameters, "root ::= .").choose(nothing, kPrompt);
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().code, Errc::corrupt);
    auto hostile = sampler(parameters, "root ::= \"x\" root \"a\" | \"x\" root \"b\" | \"z\"");
    logits[23] = 9;
    std::vector<TokenId> tokens = prompt();
    Result<Sampler::Choice> choice = hostile.choose(logits, tokens);
    for (; choice && tokens.size() < 1000; choice = hostile.choose(logits, tokens)) {
      tokens.push_back(choice->token);
      logits[25] = -infinity;
    }
    ASSERT_FALSE(choice);
    EXPECT_EQ(choice.error().detail, "the grammar can go on in too many ways");
    logits[25] = 0;
  }
}

// Prompt 1 5, then 3 4 3 4, of which the sequence has the last 3 4 only.
TEST(Sampler, BehindACutItDrawsAsWithoutIt) {
  const std::vector<TokenId> whole{{1}, {5}, {3}, {4}, {3}, {4}};
  const std::vector<TokenId> cut{{1}, {3}, {4}};
  const auto logits = random_logits(3, 8, 2);
  for (Sampling parameters :
       {Sampling{}, Sampling{.presence_penalty = 1.5F}, Sampling{.frequency_penalty = 1.5F}}) {
    for (parameters.seed = 0; parameters.seed < 200; ++parameters.seed) {
      Sampler one{parameters, 2, kEnd};
      Sampler other{parameters, 2, kEnd};
      other.go_on_behind_cut(3, std::span{whole}.subspan(2), cut.size());
      std::vector<TokenId> one_tokens = whole;
      std::vector<TokenId> other_tokens = cut;
      for (int i = 0; i < 4; ++i) {
        auto first = logits;
        auto second = logits;
        const auto chosen = one.choose(first, one_tokens);
        const auto again = other.choose(second, other_tokens);
        ASSERT_TRUE(chosen && again);
        ASSERT_EQ(again->token, chosen->token) << parameters.seed;
        one_tokens.push_back(chosen->token);
        other_tokens.push_back(again->token);
      }
    }
  }
}

}  // namespace
}  // namespace seedance::llama
