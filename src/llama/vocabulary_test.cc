#include "llama/vocabulary.h"

#include <gguf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "llama/log_capture.h"
#include "llama/test_child.h"
#include "llama/test_file.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using Markers = Vocabulary::Markers;
using Special = Vocabulary::Special;
using testing::HasSubstr;
using text::ChatMessage;
using text::PieceKind;
using text::PreparedPrompt;

std::string vocabulary_path(const std::string& name) {
  return std::string{SEEDANCE_VOCABULARIES} + "/ggml-vocab-" + name + ".gguf";
}

// A copy of a vocabulary file with another chat template.
void write_with_template(const TestFile& copy, const std::string& name,
                         const std::string& chat_template) {
  gguf_context* file =
      gguf_init_from_file(vocabulary_path(name).c_str(), {.no_alloc = true, .ctx = nullptr});
  gguf_set_val_str(file, "tokenizer.chat_template", chat_template.c_str());
  EXPECT_TRUE(gguf_write_to_file(file, copy.path().c_str(), true));
  gguf_free(file);
}

class VocabularyTest : public testing::Test {
 protected:
  std::unique_ptr<Vocabulary> load(const std::string& path) {
    auto vocabulary = Vocabulary::load(path, log_);
    EXPECT_TRUE(vocabulary) << vocabulary.error().detail;
    return vocabulary ? *std::move(vocabulary) : nullptr;
  }

  std::unique_ptr<Vocabulary> with_template(const std::string& chat_template) {
    const TestFile file{"template.gguf"};
    write_with_template(file, "llama-bpe", chat_template);
    return load(file.path());
  }

  LogCapture log_;
};

std::vector<TokenId> tokens_of(const std::variant<PreparedPrompt, Problem>& outcome) {
  const auto* prompt = std::get_if<PreparedPrompt>(&outcome);
  EXPECT_NE(prompt, nullptr) << std::get<Problem>(outcome).message;
  return prompt == nullptr ? std::vector<TokenId>{} : prompt->tokens;
}

Problem problem_of(const std::variant<PreparedPrompt, Problem>& outcome) {
  const auto* problem = std::get_if<Problem>(&outcome);
  EXPECT_NE(problem, nullptr);
  return problem == nullptr ? Problem{} : *problem;
}

std::string shown(const text::PieceTable& pieces, const std::vector<TokenId>& tokens) {
  std::string result;
  for (const TokenId token : tokens) result += pieces.raw(token);
  return result;
}

// The cases that llama.cpp's own tokenizer test runs: texts in .inp, separated by
// a line of the given form, their tokens in .out, a line for each.
class Conformance : public testing::TestWithParam<const char*> {};

TEST_P(Conformance, EncodesAsLlamaCppExpects) {
  LogCapture log;
  const auto vocabulary = Vocabulary::load(vocabulary_path(GetParam()), log);
  ASSERT_TRUE(vocabulary) << vocabulary.error().detail;
  std::ifstream inputs{vocabulary_path(GetParam()) + ".inp", std::ios::binary};
  std::ifstream outputs{vocabulary_path(GetParam()) + ".out"};
  ASSERT_TRUE(inputs && outputs);
  std::string texts{std::istreambuf_iterator<char>{inputs}, {}};
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  texts += kSeparator;  // One file lacks the last.
  int cases = 0;
  std::string line;
  for (std::size_t begin = 0; std::getline(outputs, line); ++cases) {
    const std::size_t end = texts.find(kSeparator, begin);
    ASSERT_NE(end, std::string::npos);
    std::istringstream numbers{line};
    std::vector<TokenId> expected;
    for (std::int32_t id = 0; numbers >> id;) expected.push_back({id});
    const std::string text = texts.substr(begin, end - begin);
    EXPECT_EQ((*vocabulary)->encode(text, Markers::plain, Special::none), expected) << text;
    begin = end + kSeparator.size();
  }
  EXPECT_GT(cases, 30);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, Conformance,
                         testing::Values("bert-bge", "command-r", "deepseek-coder", "deepseek-llm",
                                         "falcon", "gemma-4", "gpt-2", "llama-bpe", "llama-spm",
                                         "mpt", "phi-3", "qwen2", "qwen35", "refact", "starcoder"));

TEST_F(VocabularyTest, DescribesWhatTheFileHolds) {
  const auto ready = load(vocabulary_path("llama-bpe"))->describe();
  EXPECT_EQ(ready.info.kind, "bpe");
  EXPECT_TRUE(ready.info.lossless);
  EXPECT_FALSE(ready.info.has_chat_template);
  EXPECT_EQ(ready.info.context_train, 8192);
  EXPECT_EQ(ready.pieces.size(), 128256);
  EXPECT_EQ(ready.pieces.visible({9906}), "Hello");
  EXPECT_EQ(ready.pieces.kind({128000}), PieceKind::control);  // <|begin_of_text|>
  EXPECT_EQ(ready.pieces.raw({128000}), "<|begin_of_text|>");
  EXPECT_EQ(ready.pieces.visible({128000}), "");
  EXPECT_EQ(ready.pieces.kind({128009}), PieceKind::end);  // <|eot_id|>
}

TEST_F(VocabularyTest, TellsWhetherTextComesBackWhole) {
  EXPECT_EQ(load(vocabulary_path("llama-spm"))->describe().info.kind, "spm");
  EXPECT_TRUE(load(vocabulary_path("llama-spm"))->describe().info.lossless);
  EXPECT_EQ(load(vocabulary_path("bert-bge"))->describe().info.kind, "wpm");
  EXPECT_FALSE(load(vocabulary_path("bert-bge"))->describe().info.lossless);
  EXPECT_TRUE(load(vocabulary_path("gpt-2"))->describe().info.lossless);
}

TEST_F(VocabularyTest, AddsTheBeginningOnce) {
  const auto vocabulary = load(vocabulary_path("llama-bpe"));
  EXPECT_EQ(tokens_of(vocabulary->prepare("Hello world")),
            (std::vector<TokenId>{{128000}, {9906}, {1917}}));
  const auto chat =
      with_template("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ(tokens_of(chat->prepare(std::vector<ChatMessage>{{"user", "Hello world"}})),
            (std::vector<TokenId>{{128000}, {9906}, {1917}}));
}

TEST_F(VocabularyTest, NeverReadsMarkersInPlainText) {
  const auto vocabulary = load(vocabulary_path("llama-bpe"));
  const auto tokens = tokens_of(vocabulary->prepare("<|eot_id|>"));
  EXPECT_GT(tokens.size(), 3);
  EXPECT_EQ(std::ranges::count(tokens, TokenId{128009}), 0);
}

TEST_F(VocabularyTest, AppliesTheChatTemplate) {
  const auto vocabulary = with_template(
      "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>"
      "{{ m.content }}<|eot_id|>{% endfor %}"
      "{% if add_generation_prompt %}<|start_header_id|>assistant{% endif %}");
  const auto ready = vocabulary->describe();
  EXPECT_TRUE(ready.info.has_chat_template);
  const auto tokens = tokens_of(
      vocabulary->prepare(std::vector<ChatMessage>{{"system", "Be kind."}, {"user", "Hi"}}));
  EXPECT_EQ(shown(ready.pieces, tokens),
            "<|begin_of_text|><|start_header_id|>system<|end_header_id|>Be kind.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>Hi<|eot_id|><|start_header_id|>assistant");
  EXPECT_EQ(std::ranges::count(tokens, TokenId{128009}), 2);
}

TEST_F(VocabularyTest, JoinsMessagesWhenThereIsNoTemplate) {
  const auto vocabulary = load(vocabulary_path("llama-bpe"));
  EXPECT_EQ(tokens_of(vocabulary->prepare(
                std::vector<ChatMessage>{{"system", "Hello"}, {"user", "<|eot_id|>"}})),
            tokens_of(vocabulary->prepare("Hello\n<|eot_id|>")));
}

TEST_F(VocabularyTest, SaysWhatTheTemplateRefuses) {
  const auto vocabulary = with_template("{{ raise_exception('Roles must alternate.') }}");
  const auto problem = problem_of(vocabulary->prepare(std::vector<ChatMessage>{{"user", "Hi"}}));
  EXPECT_EQ(problem.code, ErrorCode::invalid_request);
  EXPECT_THAT(problem.message, HasSubstr("Roles must alternate."));
}

TEST_F(VocabularyTest, TakesPlainPromptsWhenTheTemplateIsBroken) {
  const auto vocabulary = with_template("{% for m in %}{{ m. }}");
  const auto problem = problem_of(vocabulary->prepare(std::vector<ChatMessage>{{"user", "Hi"}}));
  EXPECT_EQ(problem.code, ErrorCode::invalid_request);
  EXPECT_EQ(problem.param, "messages");
  EXPECT_FALSE(tokens_of(vocabulary->prepare("Hi")).empty());
}

TEST_F(VocabularyTest, ChecksTokens) {
  const auto vocabulary = load(vocabulary_path("gpt-2"));
  const std::vector<TokenId> good{{0}, {50256}};
  EXPECT_EQ(tokens_of(vocabulary->prepare(good)), good);
  for (const std::int32_t id : {-1, 50257}) {
    EXPECT_EQ(problem_of(vocabulary->prepare(std::vector<TokenId>{{1}, {id}})).code,
              ErrorCode::invalid_request);
  }
}

TEST_F(VocabularyTest, RefusesWhatIsEmptyOrTooLarge) {
  const auto vocabulary = load(vocabulary_path("gpt-2"));
  EXPECT_EQ(problem_of(vocabulary->prepare("")).code, ErrorCode::invalid_request);
  EXPECT_EQ(problem_of(vocabulary->prepare(std::vector<TokenId>{})).code,
            ErrorCode::invalid_request);
  EXPECT_EQ(problem_of(vocabulary->prepare(std::string(kPromptBytesMax + 1, 'a'))).code,
            ErrorCode::payload_too_large);
  EXPECT_EQ(problem_of(vocabulary->prepare(std::vector<ChatMessage>(kChatMessagesMax + 1))).code,
            ErrorCode::payload_too_large);
  EXPECT_EQ(problem_of(vocabulary->prepare(std::vector<TokenId>(kPromptTokensMax + 1))).code,
            ErrorCode::payload_too_large);
}

TEST_F(VocabularyTest, SurvivesBytesThatAreNoText) {
  const auto vocabulary = load(vocabulary_path("llama-bpe"));
  static_cast<void>(vocabulary->prepare("\xff\xfe\x80 \xe4\xb8"));
  EXPECT_FALSE(tokens_of(vocabulary->prepare("still here")).empty());
}

// A vocabulary process, spoken to over its socket.
class VocabularyProcess {
 public:
  explicit VocabularyProcess(const std::string& path)
      : child_([&](int fd) { return run_vocabulary(fd, path); }) {}

  template <typename T>
  T next() {
    const auto body = child_.receive();
    EXPECT_TRUE(body);
    auto event = text::decode_vocabulary_event(body ? *body : Bytes{});
    EXPECT_TRUE(event && std::holds_alternative<T>(*event));
    return std::get<T>(*event);
  }

  void send(const text::PrepareRequest& request) {
    std::string out;
    text::encode(request, out);
    child_.send(out);
  }

  TestChild& child() { return child_; }

 private:
  TestChild child_;
};

TEST(VocabularyProcess, AnswersInOrder) {
  VocabularyProcess process{vocabulary_path("gpt-2")};
  EXPECT_EQ(process.next<text::VocabularyReady>().pieces.size(), 50257);
  process.child().signal(SIGINT);
  process.send({.ticket = 7, .input = "Hello world"});
  process.send({.ticket = 8, .input = std::vector<TokenId>{{-1}}});
  const auto first = process.next<text::PrepareReply>();
  EXPECT_EQ(first.ticket, 7);
  EXPECT_EQ(tokens_of(first.outcome), (std::vector<TokenId>{{15496}, {995}}));
  const auto second = process.next<text::PrepareReply>();
  EXPECT_EQ(second.ticket, 8);
  EXPECT_TRUE(std::holds_alternative<Problem>(second.outcome));
  process.child().close_socket();
  EXPECT_EQ(process.child().wait(), 0);
}

TEST(VocabularyProcess, ReadsTheVocabularyOfAWholeModel) {
  VocabularyProcess process{test_model_path()};
  const auto ready = process.next<text::VocabularyReady>();
  EXPECT_EQ(ready.pieces.size(), 4096);
  EXPECT_TRUE(ready.info.has_chat_template);
  process.send({.ticket = 1, .input = std::vector<ChatMessage>{{"user", "abc"}}});
  EXPECT_EQ(shown(ready.pieces, tokens_of(process.next<text::PrepareReply>().outcome)),
            "<s> user: abc\nassistant:");
}

TEST(VocabularyProcess, MakesTheGrammarOfAnAnswer) {
  using Kind = text::AnswerFormat::Kind;
  VocabularyProcess process{vocabulary_path("gpt-2")};
  process.next<text::VocabularyReady>();
  const auto ask = [&](Kind kind, std::string format) {
    process.send({.ticket = 1, .input = "Hi", .format = {kind, std::move(format), "field"}});
    return process.next<text::PrepareReply>().outcome;
  };
  EXPECT_EQ(std::get<PreparedPrompt>(ask(Kind::grammar, "root ::= .")).grammar, "root ::= .");
  EXPECT_THAT(std::get<PreparedPrompt>(ask(Kind::json_schema, R"({"type":"null"})")).grammar,
              HasSubstr("root ::= \"null\""));
  EXPECT_EQ(std::get<PreparedPrompt>(ask(Kind::any, "")).grammar, "");
  EXPECT_EQ(problem_of(ask(Kind::grammar, "root")).param, "field");
  // What would kill it or take hours refuses itself alone.
  EXPECT_EQ(problem_of(ask(Kind::json_schema, R"({"allOf":[{"$ref":"#/$defs/a"}],
                                                  "$defs":{"a":{"$ref":"#/$defs/a"}}})"))
                .param,
            "field");
  EXPECT_EQ(std::get<PreparedPrompt>(ask(Kind::grammar, "root ::= .")).grammar, "root ::= .");
}

TEST(VocabularyProcess, RefusesAFileWithoutVocabulary) {
  VocabularyProcess process{"/nowhere/model.gguf"};
  EXPECT_THAT(process.next<text::VocabularyFailed>().message,
              HasSubstr("'/nowhere/model.gguf': No such file"));
  EXPECT_EQ(process.child().wait(), 2);
}

TEST(VocabularyProcess, EndsWhenTheParentSpeaksNonsense) {
  VocabularyProcess process{vocabulary_path("gpt-2")};
  process.next<text::VocabularyReady>();
  std::string out;
  MessageWriter{out}.put(std::uint8_t{250});
  process.child().send(out);
  EXPECT_EQ(process.child().wait(), 1);
}

}  // namespace
}  // namespace seedance::llama
