#include "text/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "base/message.h"
#include "base/test_seeds.h"

namespace seedance::text {
namespace {

constexpr std::size_t kSizeBytes = 4;

std::vector<PrepareRequest> requests() {
  return {
      {.ticket = 1, .input = "Once upon a time"},
      {.ticket = std::uint64_t{1} << 63, .input = std::vector<TokenId>{{0}, {-1}, {70000}}},
      {.ticket = 3,
       .input = std::vector<ChatMessage>{{"system", ""}, {"user", "h\xC3\xA9"}},
       .overflow = Overflow::truncate_middle,
       .tokens_max = 300},
      {.ticket = 4, .input = "more", .overflow = Overflow::shift, .continues = true},
      {.ticket = 0, .input = ""},
      {.ticket = 4,
       .input = "",
       .format = {.kind = AnswerFormat::Kind::grammar, .text = "root ::= .", .param = "grammar"}},
      {.ticket = 5,
       .input = std::vector<TokenId>{{1}},
       .format = {.kind = AnswerFormat::Kind::json_schema, .text = "{}", .param = "json_schema"}},
  };
}

std::vector<VocabularyEvent> events() {
  VocabularyReady ready{.info = {.model_name = "tiny",
                                 .kind = "spm",
                                 .has_chat_template = true,
                                 .lossless = false,
                                 .context_train = 2048},
                        .pieces = {}};
  ready.pieces.add("<s>", PieceKind::control);
  ready.pieces.add("\xF0\x9F", PieceKind::text);
  const Problem problem{.code = ErrorCode::invalid_request,
                        .message = "token 9 is not in the vocabulary",
                        .param = "prompt",
                        .numbers = {{"token", 9}}};
  return {
      ready,
      VocabularyFailed{"no vocabulary"},
      PrepareReply{.ticket = 7,
                   .outcome = PreparedPrompt{.tokens = {{1}, {2}},
                                             .stop = {"</s>"},
                                             .dropped = {.messages = 2, .tokens = 9},
                                             .keep = 1}},
      PrepareReply{.ticket = 9, .outcome = PreparedPrompt{.tokens = {{1}}, .grammar = "root ::="}},
      PrepareReply{.ticket = 8, .outcome = problem},
  };
}

template <typename T>
std::string body_of(const T& message) {
  std::string out;
  encode(message, out);
  return out.substr(kSizeBytes);
}

TEST(TextCodec, SeedsOfItsFuzzerAreOfThisFormat) {
  const auto expect = [](std::string_view name, const auto& message) {
    expect_seed("text_codec_fuzz", name, body_of(message));
  };
  constexpr std::array<std::string_view, 7> kRequests{
      "request_text",  "request_tokens",  "request_messages", "request_continues",
      "request_empty", "request_grammar", "request_schema"};
  for (std::size_t i = 0; i < kRequests.size(); ++i) expect(kRequests[i], requests().at(i));
  constexpr std::array<std::string_view, 5> kEvents{"ready", "failed", "prompt", "prompt_grammar",
                                                    "problem"};
  for (std::size_t i = 0; i < kEvents.size(); ++i) expect(kEvents[i], events().at(i));
}

TEST(TextCodec, RequestsReadBackAndEveryCutIsRefused) {
  for (const PrepareRequest& request : requests()) {
    const std::string body = body_of(request);
    EXPECT_EQ(decode_prepare_request(as_bytes(body)), request);
    for (std::size_t size = 0; size < body.size(); ++size) {
      EXPECT_FALSE(decode_prepare_request(as_bytes(body).first(size))) << size;
    }
    EXPECT_FALSE(decode_prepare_request(as_bytes(body + '\0')));
  }
}

TEST(TextCodec, EventsReadBackAndEveryCutIsRefused) {
  for (const VocabularyEvent& event : events()) {
    const std::string body = body_of(event);
    EXPECT_EQ(decode_vocabulary_event(as_bytes(body)), event);
    for (std::size_t size = 0; size < body.size(); ++size) {
      EXPECT_FALSE(decode_vocabulary_event(as_bytes(body).first(size))) << size;
    }
    EXPECT_FALSE(decode_vocabulary_event(as_bytes(body + '\0')));
  }
}

TEST(TextCodec, TakesNoRequestForAnEvent) {
  EXPECT_FALSE(decode_vocabulary_event(as_bytes(body_of(requests()[0]))));
  EXPECT_FALSE(decode_prepare_request(as_bytes(body_of(events()[4]))));
}

TEST(TextCodec, RefusesAFormatOfNoKind) {
  std::string body = body_of(requests()[3]);
  body[body.size() - 9] = 3;
  EXPECT_FALSE(decode_prepare_request(as_bytes(body)));
}

// Any change of one bit is refused or means another message: nothing is ignored.
TEST(TextCodec, EveryBitMeansSomething) {
  for (const VocabularyEvent& event : events()) {
    std::string body = body_of(event);
    for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
      body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << (bit % 8)));
      const auto other = decode_vocabulary_event(as_bytes(body));
      if (other) EXPECT_NE(*other, event) << bit;
      body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << (bit % 8)));
    }
  }
}

}  // namespace
}  // namespace seedance::text
