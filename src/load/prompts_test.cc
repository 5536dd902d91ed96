#include "load/prompts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/parse.hpp>

namespace seedance::loadgen {
namespace {

boost::json::object parsed(const std::string& members) {
  return boost::json::parse("{" + members + "}").as_object();
}

TEST(Range, IsOneNumberOrTwo) {
  EXPECT_EQ(parse_range("32", 100), (Range{32, 32}));
  EXPECT_EQ(parse_range("1:100", 100), (Range{1, 100}));
  for (const char* wrong : {"", "0", "x", "5:4", "1:101", "1:", ":5", "1-5", "1:2:3", " 1"}) {
    EXPECT_FALSE(parse_range(wrong, 100)) << wrong;
  }
}

TEST(SyntheticPrompts, AreWordsInTheirNumber) {
  const auto prompts = Prompts::make({.tokens = {5, 5}}, Api::native);
  const auto prompt = parsed(prompts->members(0)).at("prompt").as_string();
  EXPECT_EQ(std::ranges::count(prompt, ' '), 4);
  const auto chat = Prompts::make({.tokens = {5, 5}}, Api::chat);
  const auto message = parsed(chat->members(0)).at("messages").at(0).as_object();
  EXPECT_EQ(message.at("role"), "user");
  EXPECT_EQ(message.at("content").as_string(), prompt);
}

TEST(SyntheticPrompts, AreTheSameForTheSameSeedAndDifferOtherwise) {
  const SyntheticPrompts synthetic{.tokens = {16, 16}, .seed = 3};
  const auto prompts = Prompts::make(synthetic, Api::completions);
  EXPECT_EQ(prompts->members(7), Prompts::make(synthetic, Api::completions)->members(7));
  EXPECT_NE(prompts->members(7), prompts->members(8));
  SyntheticPrompts other = synthetic;
  other.seed = 4;
  EXPECT_NE(prompts->members(7), Prompts::make(other, Api::completions)->members(7));
}

TEST(SyntheticPrompts, BeginAlikeWhereAsked) {
  for (const Range ids : {Range{}, Range{100, 999}}) {
    const SyntheticPrompts synthetic{.tokens = {4, 4}, .shared = 30, .ids = ids};
    const auto prompts = Prompts::make(synthetic, Api::native);
    ASSERT_TRUE(prompts);
    const std::string a = prompts->members(1);
    const std::string b = prompts->members(2);
    const auto separators = [&](const std::string& text) {
      return std::ranges::count(text, ids == Range{} ? ' ' : ',');
    };
    EXPECT_EQ(separators(a), 33);
    const auto differ = std::ranges::mismatch(a, b).in1;
    EXPECT_GE(separators({a.begin(), differ}), 30);
    EXPECT_LT(separators({a.begin(), differ}), 33);
  }
}

TEST(SyntheticPrompts, AreTokenIdsWhereAsked) {
  const auto prompts = Prompts::make({.tokens = {2, 4}, .ids = {10, 12}}, Api::binary);
  bool lengths[5] = {};
  for (std::uint64_t number = 0; number < 100; ++number) {
    const auto ids = parsed(prompts->members(number)).at("prompt").as_array();
    ASSERT_GE(ids.size(), 2U);
    ASSERT_LE(ids.size(), 4U);
    lengths[ids.size()] = true;
    for (const auto& id : ids) EXPECT_TRUE(id.as_int64() >= 10 && id.as_int64() <= 12);
  }
  EXPECT_TRUE(lengths[2] && lengths[3] && lengths[4]);
  EXPECT_FALSE(Prompts::make({.ids = {10, 12}}, Api::chat));
}

TEST(PromptFile, HasAPromptInEachLineAndBeginsAgain) {
  const auto prompts = Prompts::read(
      "plain \"text\"\r\n\n{\"prompt\":\"b\",\"id\":7}\n"
      "{\"prompt\":[1,2]}\n{\"messages\":[{\"role\":\"user\"}]}",
      Api::native);
  ASSERT_TRUE(prompts);
  EXPECT_EQ(prompts->members(0), R"("prompt":"plain \"text\"")");
  EXPECT_EQ(prompts->members(1), R"("prompt":"b")");
  EXPECT_EQ(prompts->members(2), R"("prompt":[1,2])");
  EXPECT_EQ(prompts->members(3), R"("messages":[{"role":"user"}])");
  EXPECT_EQ(prompts->members(4), prompts->members(0));
}

TEST(PromptFile, MakesTextAMessageOfAChat) {
  const auto prompts = Prompts::read("hello\n{\"prompt\":\"you\"}", Api::chat);
  ASSERT_TRUE(prompts);
  EXPECT_EQ(prompts->members(0), R"("messages":[{"role":"user","content":"hello"}])");
  EXPECT_EQ(prompts->members(1), R"("messages":[{"role":"user","content":"you"}])");
}

TEST(PromptFile, NamesTheLineThatItCannotAsk) {
  const auto refused = [](std::string_view text, Api api) {
    const auto prompts = Prompts::read(text, api);
    return prompts ? std::string{} : prompts.error().detail;
  };
  EXPECT_NE(refused("ok\n{\"prompt\":", Api::native).find("line 2"), std::string::npos);
  EXPECT_NE(refused("{}", Api::native).find("line 1"), std::string::npos);
  EXPECT_NE(refused("{\"prompt\":\"a\",\"messages\":[]}", Api::native).find("line 1"),
            std::string::npos);
  EXPECT_NE(refused("{\"prompt\":7}", Api::native), "");
  EXPECT_NE(refused("{\"messages\":\"a\"}", Api::native), "");
  EXPECT_NE(refused("{\"messages\":[]}", Api::completions), "");
  EXPECT_NE(refused("{\"prompt\":[1]}", Api::chat), "");
  EXPECT_NE(refused("\xFF", Api::native), "");
  EXPECT_NE(refused("\n \n", Api::native), "");
}

}  // namespace
}  // namespace seedance::loadgen
