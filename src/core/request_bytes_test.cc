#include <gtest/gtest.h>

#include "core/messages.h"

namespace seedance::core {
namespace {

TEST(RequestBytes, CountsEveryKindOfInput) {
  EXPECT_EQ(input_bytes_of({.input = std::string(1000, 'a')}), 1000U);
  EXPECT_EQ(input_bytes_of({.input = std::vector<TokenId>(1000)}), 4000U);
  EXPECT_EQ(input_bytes_of({.input = "ab", .format = {.text = std::string(1000, 'a')}}), 1002U);
  const text::ChatMessage message{.role = "user", .content = std::string(1000, 'a')};
  EXPECT_EQ(input_bytes_of({.input = std::vector{message, message}}), 2 * (sizeof(message) + 1004));
}

TEST(RequestBytes, CountsEverythingThatAClientCanMakeLong) {
  const std::uint64_t bare = bytes_of({});
  EXPECT_GE(bare, sizeof(GenerateRequest));
  const std::string text(1000, 'a');
  EXPECT_EQ(bytes_of({.input = text}), bare + 1000);
  EXPECT_EQ(bytes_of({.model = text}), bare + 1000);
  EXPECT_EQ(bytes_of({.key = text}), bare + 1000);
  EXPECT_EQ(bytes_of({.format = {.text = text}}), bare + 1000);
  EXPECT_EQ(bytes_of({.text = {.stop = {text, text}}}), bare + 2 * (1000 + sizeof(std::string)));
  EXPECT_EQ(bytes_of({.sampling = {.logit_bias = {{TokenId{1}, 1.0F}, {TokenId{2}, 1.0F}}}}),
            bare + 16);
}

}  // namespace
}  // namespace seedance::core
