// Prompts that do not fit, and conversations.
#include <gguf.h>
#include <gmock/gmock.h>

#include "llama/log_capture.h"
#include "llama/test_file.h"
#include "llama/test_model.h"
#include "llama/vocabulary.h"

namespace seedance::llama {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using text::ChatMessage;
using text::Overflow;
using text::PrepareRequest;
using Chat = std::vector<ChatMessage>;

// Those of a model that is widely used: ends of turns are one token, and behind them comes a line.
constexpr std::string_view kTurns =
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n"
    "{{ m.content }}<|eot_id|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n{% endif %}";

class PromptRequests : public testing::Test {
 protected:
  void load(const std::string& path) {
    auto vocabulary = Vocabulary::load(path, log_);
    ASSERT_TRUE(vocabulary) << vocabulary.error().detail;
    vocabulary_ = *std::move(vocabulary);
  }

  void load_template(std::string_view chat_template) {
    const std::string bare = std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-llama-bpe.gguf";
    gguf_context* file = gguf_init_from_file(bare.c_str(), {.no_alloc = true, .ctx = nullptr});
    gguf_set_val_str(file, "tokenizer.chat_template", std::string{chat_template}.c_str());
    const TestFile copy{"template.gguf"};
    EXPECT_TRUE(gguf_write_to_file(file, copy.path().c_str(), true));
    gguf_free(file);
    load(copy.path());
  }

  text::PreparedPrompt prepared(const PrepareRequest& request) {
    auto outcome = vocabulary_->prepare(request);
    const auto* prompt = std::get_if<text::PreparedPrompt>(&outcome);
    EXPECT_NE(prompt, nullptr) << std::get<Problem>(outcome).message;
    return prompt == nullptr ? text::PreparedPrompt{} : *prompt;
  }

  std::vector<TokenId> tokens_of(const Chat& chat) { return prepared({.input = chat}).tokens; }

  std::vector<TokenId> plain(std::string_view text) {
    return vocabulary_->encode(text, Vocabulary::Markers::plain, Vocabulary::Special::none);
  }

  std::string shown(const std::vector<TokenId>& tokens) {
    const auto pieces = vocabulary_->describe().pieces;
    std::string text;
    for (const TokenId token : tokens) text += pieces.raw(token);
    return text;
  }

  LogCapture log_;
  std::unique_ptr<Vocabulary> vocabulary_;
};

std::vector<TokenId> joined(std::vector<TokenId> tokens, const std::vector<TokenId>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

const Chat kLong{{"system", "Be brief."}, {"user", "One two three"},  {"assistant", "Four"},
                 {"user", "Five six"},    {"assistant", "Seven"},     {"user", "Eight nine"},
                 {"assistant", "Ten"},    {"user", "Eleven twelve ?"}};

TEST_F(PromptRequests, LeavesOutTurnsOfTheMiddle) {
  load_template(kTurns);
  const Chat short_chat{kLong[0], kLong[1], kLong[4], kLong[5], kLong[6], kLong[7]};
  const Chat shortest{kLong[0], kLong[1], kLong[6], kLong[7]};
  const auto whole = tokens_of(kLong);
  for (const Chat& chat : {short_chat, shortest}) {
    const auto expected = tokens_of(chat);
    const auto prompt = prepared({.input = kLong,
                                  .overflow = Overflow::truncate_middle,
                                  .tokens_max = static_cast<std::uint32_t>(expected.size())});
    EXPECT_EQ(prompt.tokens, expected);
    EXPECT_EQ(prompt.dropped.messages, kLong.size() - chat.size());
    EXPECT_EQ(prompt.dropped.tokens, whole.size() - expected.size());
  }
  const auto outcome = vocabulary_->prepare(
      PrepareRequest{.input = kLong, .overflow = Overflow::truncate_middle, .tokens_max = 20});
  ASSERT_TRUE(std::holds_alternative<Problem>(outcome));
  EXPECT_EQ(std::get<Problem>(outcome).code, ErrorCode::context_length_exceeded);
  EXPECT_EQ(std::get<Problem>(outcome).numbers.at(0),
            (Problem::Number{"prompt_tokens", static_cast<std::int64_t>(whole.size())}));
}

TEST_F(PromptRequests, KeepsTheSystemPromptOfWhatShifts) {
  load_template(kTurns);
  const auto prompt = prepared({.input = kLong, .overflow = Overflow::shift});
  EXPECT_EQ(prompt.tokens, tokens_of(kLong));
  const auto head = vocabulary_->encode(
      "<|start_header_id|>system<|end_header_id|>\nBe brief.<|eot_id|>\n"
      "<|start_header_id|>user<|end_header_id|>\n",
      Vocabulary::Markers::parsed, Vocabulary::Special::added);
  EXPECT_EQ(prompt.keep, head.size());
  // Not more than its beginning where the template makes something else of that.
  load_template("{% if messages|length < 4 %}{{ raise_exception('more') }}{% endif %}text");
  EXPECT_EQ(prepared({.input = kLong, .overflow = Overflow::shift}).keep, 0U);
}

// Turn by turn the same tokens as all of it at once.
TEST_F(PromptRequests, ContinuesAConversationTokenByToken) {
  for (const bool own : {true, false}) {
    if (own) {
      load_template(kTurns);
    } else {
      load(test_model_path());
    }
    const auto end =
        vocabulary_->encode("<|eot_id|>", Vocabulary::Markers::parsed, Vocabulary::Special::none);
    auto tokens = tokens_of({kLong[0], kLong[1]});
    for (std::size_t at = 2; at + 1 < kLong.size(); at += 2) {
      const auto all = tokens_of({kLong.begin(), kLong.begin() + static_cast<long>(at) + 2});
      const auto next = prepared({.input = Chat{kLong[at + 1]}, .continues = true}).tokens;
      ASSERT_GT(all.size(), tokens.size() + next.size());
      const auto answer = std::vector<TokenId>(all.begin() + static_cast<long>(tokens.size()),
                                               all.end() - static_cast<long>(next.size()));
      tokens = joined(joined(tokens, answer), next);
      EXPECT_EQ(tokens, all);
      if (own) EXPECT_EQ(next.front(), end.front());
      EXPECT_THAT(shown(answer), AnyOf(kLong[at].content, " " + kLong[at].content));
    }
  }
}

TEST_F(PromptRequests, ContinuesWithoutATemplateByALine) {
  load(std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-llama-bpe.gguf");
  const auto next = prepared({.input = Chat{{"user", "Hello"}}, .continues = true}).tokens;
  EXPECT_EQ(next, plain("\nHello"));
}

TEST_F(PromptRequests, ContinuesATextWhereItIs) {
  load(std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-llama-spm.gguf");
  const auto whole = plain("\nabc and then");
  const auto begin = plain("\nabc");
  const auto next = prepared({.input = std::string{" and then"}, .continues = true}).tokens;
  EXPECT_EQ(joined(begin, next), whole);
  EXPECT_THAT(prepared({.input = std::string{}, .continues = true}).tokens, ElementsAre());
  const std::vector<TokenId> given{{1}, {5}};
  EXPECT_EQ(prepared({.input = given, .continues = true}).tokens, given);
}

// Among them a system prompt that comes late, which the template puts at the beginning.
TEST_F(PromptRequests, RefusesWhatChangesTheBeginningOfAConversation) {
  load_template(
      "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% endif %}{% endfor %}"
      "{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}<|eot_id|>{% endif %}"
      "{% endfor %}");
  EXPECT_FALSE(prepared({.input = Chat{{"user", "More"}}, .continues = true}).tokens.empty());
  const auto outcome = vocabulary_->prepare(
      PrepareRequest{.input = Chat{{"system", "Be kind."}, {"user", "More"}}, .continues = true});
  ASSERT_TRUE(std::holds_alternative<Problem>(outcome));
  EXPECT_EQ(std::get<Problem>(outcome).code, ErrorCode::invalid_request);
  EXPECT_EQ(std::get<Problem>(outcome).param, "messages");
}

TEST_F(PromptRequests, RefusesTheSameInAConversationAsAlone) {
  load_template(kTurns);
  for (const PrepareRequest& request :
       {PrepareRequest{.input = std::string(kPromptBytesMax + 1, 'a'), .continues = true},
        PrepareRequest{.input = Chat(kChatMessagesMax + 1), .continues = true}}) {
    const auto outcome = vocabulary_->prepare(request);
    ASSERT_TRUE(std::holds_alternative<Problem>(outcome));
    EXPECT_EQ(std::get<Problem>(outcome).code, ErrorCode::payload_too_large);
  }
}

}  // namespace
}  // namespace seedance::llama
