#include "api/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "api/chat.h"
#include "api/native.h"

namespace seedance::api {
namespace {

using core::GenerateRequest;
using Change = std::function<void(GenerateRequest&)>;

GenerateRequest request() {
  GenerateRequest request{.model = "tale", .input = std::string{"Once"}};
  request.sampling.logit_bias = {{TokenId{5}, 1.0F}};
  request.text.stop = {"ab", "c"};
  return request;
}

TEST(Digest, ChangesWithEverythingThatDecidesTheAnswer) {
  const std::vector<Change> changes{
      [](auto& r) { r.model = "tale@1"; },
      [](auto& r) { r.input = std::string{"Once "}; },
      [](auto& r) { r.input = std::vector{TokenId{1}}; },
      [](auto& r) { r.input = std::vector{TokenId{1}, TokenId{2}}; },
      [](auto& r) { r.input = std::vector{text::ChatMessage{"user", "Once"}}; },
      [](auto& r) { r.input = std::vector{text::ChatMessage{"userOnce", ""}}; },
      [](auto& r) { r.sampling.temperature = 0; },
      [](auto& r) { r.sampling.top_k = 1; },
      [](auto& r) { r.sampling.top_p = 0.5F; },
      [](auto& r) { r.sampling.min_p = 0.5F; },
      [](auto& r) { r.sampling.presence_penalty = 0.5F; },
      [](auto& r) { r.sampling.frequency_penalty = 0.5F; },
      [](auto& r) { r.sampling.repeat_penalty = 0.5F; },
      [](auto& r) { r.sampling.repeat_last_n = 1; },
      [](auto& r) { r.seeded = true; },
      [](auto& r) { r.seeded = true, r.sampling.seed = 1; },
      [](auto& r) { r.sampling.logit_bias = {}; },
      [](auto& r) { r.sampling.logit_bias[0].first = TokenId{6}; },
      [](auto& r) { r.sampling.logit_bias[0].second = 2; },
      [](auto& r) { r.sampling.logprobs = true; },
      [](auto& r) { r.sampling.top_logprobs = 1; },
      [](auto& r) { r.sampling.ignore_eos = true; },
      [](auto& r) { r.max_tokens = 0; },
      [](auto& r) { r.max_tokens = 7; },
      [](auto& r) { r.text.boundary = text::Boundary::grapheme; },
      [](auto& r) { r.text.stop = {"ab"}; },
      [](auto& r) { r.text.stop = {"a", "bc"}; },
      [](auto& r) { r.overflow = text::Overflow::truncate_middle; },
      [](auto& r) { r.overflow = text::Overflow::shift; },
      [](auto& r) { r.parent = StreamId{1, 2}; },
      [](auto& r) { r.parent = StreamId{2, 1}; },
      [](auto& r) { r.format.kind = text::AnswerFormat::Kind::grammar; },
      [](auto& r) { r.format = {text::AnswerFormat::Kind::grammar, "{}", "grammar"}; },
      [](auto& r) { r.format = {text::AnswerFormat::Kind::json_schema, "{}", "json_schema"}; },
  };
  std::vector<stream::Sha256> digests{digest_of(request())};
  for (const Change& change : changes) {
    GenerateRequest changed = request();
    change(changed);
    digests.push_back(digest_of(changed));
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(digests[i], digests[j]) << i << " and " << j;
  }
}

TEST(Digest, IsTheSameForTheSameAnswer) {
  const std::vector<Change> changes{
      [](auto& r) { r.key = "k"; },
      [](auto& r) { r.detach = core::Detach::keep; },
      [](auto& r) { r.surface = core::Surface::chat; },
      [](auto& r) { r.include_usage = true; },
      [](auto& r) { r.deadline = std::chrono::seconds{1}; },
      [](auto& r) { r.priority = Priority::batch; },
      [](auto& r) { r.sampling.seed = 9; },  // Not the client's.
      [](auto& r) { r.sampling.min_p = -0.0F; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    GenerateRequest changed = request();
    changes[i](changed);
    EXPECT_EQ(digest_of(changed), digest_of(request())) << i;
  }
}

TEST(Digest, HasNoOrderOfBiases) {
  GenerateRequest one = request();
  GenerateRequest other = request();
  one.sampling.logit_bias = {{TokenId{1}, 1.0F}, {TokenId{2}, 2.0F}};
  other.sampling.logit_bias = {{TokenId{2}, 2.0F}, {TokenId{1}, 1.0F}};
  EXPECT_EQ(digest_of(one), digest_of(other));
}

// What two APIs make of the same question.
TEST(Digest, IsTheSameForEveryApi) {
  const auto native = parse_client_message(
      R"({"type":"INFER_REQ","id":"a","messages":[{"role":"user","content":"x"}],"seed":3})",
      Subprotocol::json);
  const auto chat = parse_chat(
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"seed":3})");
  ASSERT_TRUE(chat);
  EXPECT_EQ(digest_of(std::get<InferRequest>(native).request), digest_of(chat->request));
}

// Journals hold digests: another value for the same request breaks their keys.
TEST(Digest, NeverChangesForTheSameRequest) {
  const stream::Sha256 digest = digest_of(request());
  std::string hex;
  for (const std::uint8_t byte : digest) hex += fmt::format("{:02x}", byte);
  EXPECT_EQ(hex, "8bc4e370d2a79fabc5277f53af12351f4e2b2016c6eb15abf39b9e9304ed3092");
}

}  // namespace
}  // namespace seedance::api
