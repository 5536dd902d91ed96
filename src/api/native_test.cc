#include "api/native.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace seedance::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr StreamId kStream{.high = 3, .low = 4};

ClientMessage parse(std::string_view json, Subprotocol subprotocol = Subprotocol::json) {
  return parse_client_message(json, subprotocol);
}

// An INFER_REQ with a prompt and these further fields.
std::string infer_json(std::string_view fields) {
  return fmt::format(R"({{"type":"INFER_REQ","id":"a","prompt":"p"{}{}}})",
                     fields.empty() ? "" : ",", fields);
}

InferRequest infer(std::string_view fields) {
  auto message = parse(infer_json(fields));
  if (auto* request = std::get_if<InferRequest>(&message)) return std::move(*request);
  ADD_FAILURE() << "refused: " << std::get<NativeRefusal>(message).problem.message;
  return {};
}

NativeRefusal refusal(std::string_view json, Subprotocol subprotocol = Subprotocol::json) {
  auto message = parse(json, subprotocol);
  if (auto* refused = std::get_if<NativeRefusal>(&message)) return std::move(*refused);
  ADD_FAILURE() << "not refused: " << json;
  return {};
}

TEST(ParseInfer, TakesDefaults) {
  const InferRequest request = infer("");
  EXPECT_EQ(request.id, "a");
  EXPECT_EQ(request.request.input, text::PromptInput{std::string{"p"}});
  EXPECT_EQ(request.request.sampling, engine::Sampling{});
  EXPECT_FALSE(request.request.seeded);
  EXPECT_EQ(request.request.max_tokens, std::nullopt);
  EXPECT_EQ(request.request.deadline, std::nullopt);
  EXPECT_EQ(request.request.priority, Priority::interactive);
  EXPECT_EQ(request.request.detach, core::Detach::automatic);
  EXPECT_EQ(request.request.key, "");
  EXPECT_EQ(request.request.surface, core::Surface::native);
  EXPECT_EQ(request.options, NativeOptions{});
}

TEST(ParseInfer, ReadsEveryField) {
  const InferRequest infer_request = infer(
      R"("model":"m@2","max_tokens":9,"temperature":0,"top_p":0.5,"top_k":40,"min_p":0.1,)"
      R"("seed":-1,"stop":["x","y"],"presence_penalty":-2,"frequency_penalty":2,)"
      R"("repeat_penalty":1.1,"logit_bias":{"5":-100,"7":1.5},"logprobs":true,"top_logprobs":20,)"
      R"("ignore_eos":true,"deadline_ms":1000,"boundary":"grapheme","merge_ms":50,)"
      R"("merge_bytes":16384,)"
      R"("priority":"realtime",)"
      R"("detach":"cancel","key":"k","with":["tokens","time"])");
  const core::GenerateRequest& request = infer_request.request;
  EXPECT_EQ(request.model, "m@2");
  EXPECT_EQ(request.max_tokens, 9U);
  EXPECT_EQ(request.sampling.temperature, 0.0F);
  EXPECT_EQ(request.sampling.top_p, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 40);
  EXPECT_EQ(request.sampling.min_p, 0.1F);
  EXPECT_TRUE(request.seeded);
  EXPECT_EQ(request.sampling.seed, ~std::uint64_t{0});
  EXPECT_THAT(request.text.stop, ElementsAre("x", "y"));
  EXPECT_EQ(request.text.boundary, text::Boundary::grapheme);
  EXPECT_EQ(request.sampling.presence_penalty, -2.0F);
  EXPECT_EQ(request.sampling.frequency_penalty, 2.0F);
  EXPECT_EQ(request.sampling.repeat_penalty, 1.1F);
  EXPECT_THAT(request.sampling.logit_bias,
              ElementsAre(Pair(TokenId{5}, -100.0F), Pair(TokenId{7}, 1.5F)));
  EXPECT_TRUE(request.sampling.logprobs);
  EXPECT_EQ(request.sampling.top_logprobs, 20U);
  EXPECT_TRUE(request.sampling.ignore_eos);
  EXPECT_EQ(request.deadline, std::chrono::seconds{1});
  EXPECT_EQ(request.priority, Priority::realtime);
  EXPECT_EQ(request.detach, core::Detach::cancel);
  EXPECT_EQ(request.key, "k");
  EXPECT_EQ(infer_request.options.merge, std::optional<Duration>{std::chrono::milliseconds{50}});
  EXPECT_EQ(infer_request.options.with,
            (ChunkExtras{.tokens = true, .logprobs = true, .time = true}));
}

TEST(ParseInfer, ReadsWhatBecomesOfWhatDoesNotFit) {
  EXPECT_EQ(infer("").request.overflow, text::Overflow::error);
  EXPECT_EQ(infer(R"("overflow":"error")").request.overflow, text::Overflow::error);
  EXPECT_EQ(infer(R"("overflow":"truncate_middle")").request.overflow,
            text::Overflow::truncate_middle);
  EXPECT_EQ(infer(R"("overflow":"shift")").request.overflow, text::Overflow::shift);
  for (const char* wrong : {"\"cut\"", "1", "true", "\"\""}) {
    const NativeRefusal no = refusal(infer_json(fmt::format(R"("overflow":{})", wrong)));
    EXPECT_EQ(no.problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(no.problem.param, "overflow");
  }
}

TEST(ParseInfer, ReadsItsParent) {
  const StreamId id{0x0123'4567'89ab'cdef, 77};
  EXPECT_EQ(infer(fmt::format(R"("parent":"{}")", to_text(id))).request.parent, id);
  EXPECT_EQ(infer("").request.parent, std::nullopt);
  for (const char* wrong : {"\"st_1\"", "1", "\"\""}) {
    const NativeRefusal no = refusal(infer_json(fmt::format(R"("parent":{})", wrong)));
    EXPECT_EQ(no.problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(no.problem.param, "parent");
  }
}

TEST(ParseInfer, TakesNullAsAbsent) {
  for (const FieldRule& rule : infer_fields()) {
    if (rule.name == "type" || rule.name == "id" || rule.name == "prompt") continue;
    const InferRequest request = infer(fmt::format(R"("{}":null)", rule.name));
    EXPECT_EQ(request.request.sampling, engine::Sampling{}) << rule.name;
  }
}

TEST(ParseInfer, TakesTokensAndMessages) {
  EXPECT_EQ(std::get<InferRequest>(parse(R"({"type":"INFER_REQ","id":"a","prompt":[1,2]})"))
                .request.input,
            (text::PromptInput{std::vector{TokenId{1}, TokenId{2}}}));
  EXPECT_EQ(
      std::get<InferRequest>(
          parse(R"({"type":"INFER_REQ","id":"a","messages":[{"role":"user","content":"x"}]})"))
          .request.input,
      (text::PromptInput{std::vector{text::ChatMessage{"user", "x"}}}));
}

TEST(ParseInfer, TakesSeedsOf64BitsOfEitherSign) {
  EXPECT_EQ(infer(R"("seed":18446744073709551615)").request.sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(infer(R"("seed":-9223372036854775808)").request.sampling.seed, std::uint64_t{1} << 63);
}

TEST(ParseInfer, LogprobsInWithAsksForThem) {
  EXPECT_TRUE(infer(R"("with":["logprobs"])").request.sampling.logprobs);
  EXPECT_TRUE(infer(R"("logprobs":true)").options.with.logprobs);
}

TEST(ParseInfer, RefusesWhatIsNotSupportedByName) {
  int refused = 0;
  for (const FieldRule& rule : infer_fields()) {
    if (rule.use != FieldUse::fixed) continue;
    const NativeRefusal no = refusal(infer_json(fmt::format(R"("{}":1)", rule.name)));
    EXPECT_EQ(no.id, "a");
    EXPECT_EQ(no.problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(no.problem.param, rule.name);
    EXPECT_THAT(no.problem.message, HasSubstr(fmt::format("\"{}\" is not supported", rule.name)));
    ++refused;
  }
  EXPECT_EQ(refused, 2);  // session input
  const NativeRefusal unknown = refusal(infer_json(R"("temprature":1)"));
  EXPECT_EQ(unknown.problem.param, "temprature");
  EXPECT_EQ(unknown.problem.message, "\"temprature\" is unknown.");
}

struct Wrong {
  std::string_view field;
  std::string_view value;
};

class WrongValue : public testing::TestWithParam<Wrong> {};

TEST_P(WrongValue, IsRefusedWithItsName) {
  const auto& [field, value] = GetParam();
  const NativeRefusal no = refusal(infer_json(fmt::format(R"("{}":{})", field, value)));
  EXPECT_EQ(no.id, "a");
  EXPECT_EQ(no.problem.code, ErrorCode::invalid_request);
  EXPECT_EQ(no.problem.param, field);
  EXPECT_THAT(no.problem.message, HasSubstr(fmt::format("\"{}\"", field)));
}

INSTANTIATE_TEST_SUITE_P(
    Infer, WrongValue,
    testing::Values(
        Wrong{"temperature", "-0.1"}, Wrong{"temperature", "2.1"}, Wrong{"temperature", "\"1\""},
        Wrong{"temperature", "1e999"}, Wrong{"temperature", "[]"}, Wrong{"top_p", "0"},
        Wrong{"top_p", "1e-60"}, Wrong{"top_p", "1.01"}, Wrong{"min_p", "-1"}, Wrong{"min_p", "2"},
        Wrong{"top_k", "-1"}, Wrong{"top_k", "1.5"}, Wrong{"top_k", "2147483648"},
        Wrong{"top_k", "18446744073709551615"}, Wrong{"presence_penalty", "-2.5"},
        Wrong{"frequency_penalty", "2.5"}, Wrong{"repeat_penalty", "0"},
        Wrong{"repeat_penalty", "2.5"}, Wrong{"seed", "1.5"}, Wrong{"seed", "\"1\""},
        Wrong{"seed", "1e30"}, Wrong{"max_tokens", "0"}, Wrong{"max_tokens", "-1"},
        Wrong{"max_tokens", "1e-3"}, Wrong{"stop", "\"\""}, Wrong{"stop", "[\"a\",\"\"]"},
        Wrong{"stop", "[1]"}, Wrong{"stop", "{}"}, Wrong{"logit_bias", "[]"},
        Wrong{"logit_bias", R"({"5":101})"}, Wrong{"logit_bias", R"({"x":1})"},
        Wrong{"logit_bias", R"({"-1":1})"}, Wrong{"logit_bias", R"({"5":"1"})"},
        Wrong{"logit_bias", R"({"5":1e999})"}, Wrong{"logit_bias", R"({"99999999999":1})"},
        Wrong{"logprobs", "1"}, Wrong{"top_logprobs", "1"}, Wrong{"top_logprobs", "21"},
        Wrong{"ignore_eos", "0"}, Wrong{"deadline_ms", "0"}, Wrong{"deadline_ms", "86400001"},
        Wrong{"priority", "\"high\""}, Wrong{"priority", "\"\""}, Wrong{"priority", "0"},
        Wrong{"boundary", "\"word\""}, Wrong{"merge_ms", "-1"}, Wrong{"merge_ms", "1001"},
        Wrong{"merge_bytes", "0"}, Wrong{"merge_bytes", "16385"}, Wrong{"merge_bytes", "64"},
        Wrong{"detach", "\"automatic\""}, Wrong{"key", "\"\""}, Wrong{"key", "7"},
        Wrong{"with", "\"tokens\""}, Wrong{"with", "[\"text\"]"}, Wrong{"with", "[1]"},
        Wrong{"model", "5"}, Wrong{"prompt", "[]"}, Wrong{"prompt", "[-1]"},
        Wrong{"prompt", "[1.5]"}, Wrong{"prompt", "[2147483648]"}, Wrong{"prompt", "{}"},
        Wrong{"prompt", "[\"a\"]"}));

TEST(ParseInfer, SaysTheBoundsAndTheNumber) {
  EXPECT_EQ(refusal(infer_json(R"("temperature":3.5)")).problem.message,
            "\"temperature\" must be a number from 0 to 2, not 3.5.");
  EXPECT_EQ(refusal(infer_json(R"("top_p":0)")).problem.message,
            "\"top_p\" must be a number above 0 and at most 1, not 0.");
  EXPECT_EQ(refusal(infer_json(R"("merge_ms":1001)")).problem.message,
            "\"merge_ms\" must be an integer from 0 to 1000, not 1001.");
}

TEST(ParseInfer, TakesWholeNumbersHoweverTheyAreWritten) {
  const auto request =
      infer(R"("max_tokens":1e1,"top_k":4.0,"seed":12e0,"deadline_ms":1500e-1)").request;
  EXPECT_EQ(request.max_tokens, 10U);
  EXPECT_EQ(request.sampling.top_k, 4);
  EXPECT_EQ(request.sampling.seed, 12U);
  EXPECT_EQ(request.deadline, std::chrono::milliseconds{150});
  for (const char* wrong : {"1e-1", "1e300", "9007199254740994.0", "1e400"}) {
    EXPECT_EQ(refusal(infer_json(R"("seed":)" + std::string{wrong})).problem.param, "seed")
        << wrong;
  }
}

TEST(ParseInfer, BytesToMergeNeedATimeToMerge) {
  const NativeOptions options = infer(R"("merge_ms":1,"merge_bytes":64)").options;
  EXPECT_EQ(options.merge, std::optional<Duration>{std::chrono::milliseconds{1}});
  EXPECT_EQ(options.merge_bytes, 64U);
  for (const auto* fields : {R"("merge_bytes":64)", R"("merge_ms":0,"merge_bytes":64)"}) {
    const Problem problem = refusal(infer_json(fields)).problem;
    EXPECT_EQ(problem.param, "merge_bytes");
    EXPECT_THAT(problem.message, HasSubstr("needs a \"merge_ms\" above 0"));
  }
}

TEST(ParseInfer, BoundsListsAndStrings) {
  std::string stops = "\"a\"";
  std::string biases = "\"0\":1";
  for (std::size_t i = 1; i < kStopStringsMax; ++i) stops += ",\"a\"";
  for (std::size_t i = 1; i < kLogitBiasMax; ++i) biases += fmt::format(",\"{}\":1", i);
  EXPECT_EQ(infer(fmt::format("\"stop\":[{}]", stops)).request.text.stop.size(), kStopStringsMax);
  EXPECT_EQ(refusal(infer_json(fmt::format("\"stop\":[{},\"a\"]", stops))).problem.param, "stop");
  const std::string longest(kStopBytesMax, 'x');
  infer(fmt::format("\"stop\":\"{}\"", longest));
  EXPECT_EQ(refusal(infer_json(fmt::format("\"stop\":\"{}x\"", longest))).problem.param, "stop");
  infer(fmt::format("\"logit_bias\":{{{}}}", biases));
  EXPECT_EQ(
      refusal(infer_json(fmt::format("\"logit_bias\":{{{},\"9999\":1}}", biases))).problem.param,
      "logit_bias");
  const std::string key(kKeyBytesMax, 'k');
  EXPECT_EQ(infer(fmt::format("\"key\":\"{}\"", key)).request.key, key);
  EXPECT_EQ(refusal(infer_json(fmt::format("\"key\":\"{}k\"", key))).problem.param, "key");
}

TEST(ParseInfer, WantsAnIdAndOneInput) {
  EXPECT_EQ(refusal(R"({"type":"INFER_REQ","prompt":"p"})").problem.param, "id");
  EXPECT_EQ(refusal(R"({"type":"INFER_REQ","id":"","prompt":"p"})").problem.param, "id");
  EXPECT_EQ(refusal(R"({"type":"INFER_REQ","id":5,"prompt":"p"})").problem.param, "id");
  const std::string long_id(kClientIdBytesMax + 1, 'x');
  const auto refused =
      refusal(fmt::format(R"({{"type":"INFER_REQ","id":"{}","prompt":"p"}})", long_id));
  EXPECT_EQ(refused.problem.param, "id");
  EXPECT_EQ(refused.id, "");
  EXPECT_EQ(refusal(R"({"type":"INFER_REQ","id":"a"})").problem.param, "prompt");
  const auto both = refusal(infer_json(R"("messages":[{"role":"user","content":"x"}])"));
  EXPECT_EQ(both.problem.param, "prompt");
}

TEST(ParseInfer, RefusesWhatBinaryChunksCannotCarry) {
  EXPECT_EQ(refusal(infer_json(R"("with":["time"])"), Subprotocol::binary).problem.param, "with");
  EXPECT_EQ(
      refusal(infer_json(R"("logprobs":true,"top_logprobs":2)"), Subprotocol::binary).problem.param,
      "top_logprobs");
  EXPECT_TRUE(std::holds_alternative<InferRequest>(
      parse(infer_json(R"("with":["tokens","logprobs"])"), Subprotocol::binary)));
}

TEST(ParseCancel, NamesTheStreamInOneWay) {
  const auto by_id = std::get<CancelRequest>(parse(R"({"type":"CANCEL","id":"a"})"));
  EXPECT_EQ(by_id.id, "a");
  EXPECT_EQ(by_id.stream, std::nullopt);
  const auto by_stream = std::get<CancelRequest>(
      parse(fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", to_text(kStream))));
  EXPECT_EQ(by_stream.id, "");
  EXPECT_EQ(by_stream.stream, kStream);
  EXPECT_EQ(refusal(R"({"type":"CANCEL"})").problem.param, "id");
  EXPECT_EQ(refusal(R"({"type":"CANCEL","id":7})").problem.param, "id");
  EXPECT_EQ(refusal(R"({"type":"CANCEL","stream":"st_1"})").problem.param, "stream");
  EXPECT_EQ(refusal(R"({"type":"CANCEL","id":"a","seq":1})").problem.param, "seq");
  EXPECT_EQ(refusal(fmt::format(R"({{"type":"CANCEL","id":"a","stream":"{}"}})", to_text(kStream)))
                .problem.param,
            "id");
}

TEST(ParsePing, TakesAnIntegerOrNone) {
  EXPECT_EQ(std::get<Ping>(parse(R"({"type":"PING","ts":1700000000000})")).ts, 1'700'000'000'000);
  EXPECT_EQ(std::get<Ping>(parse(R"({"type":"PING"})")).ts, std::nullopt);
  EXPECT_EQ(refusal(R"({"type":"PING","ts":"now"})").problem.param, "ts");
  EXPECT_EQ(refusal(R"({"type":"PING","ts":1.5})").problem.param, "ts");
}

std::string resume_json(std::string_view fields) {
  return fmt::format(R"({{"type":"RESUME","id":"a"{}{}}})", fields.empty() ? "" : ",", fields);
}

TEST(ParseResume, ReadsEveryField) {
  const std::string stream = fmt::format(R"("stream":"{}")", to_text(kStream));
  const auto all = std::get<ResumeRequest>(parse(resume_json(
      stream + R"(,"seq":7,"epoch":2,"with":["tokens","logprobs","time"],"merge_ms":20,)"
               R"("merge_bytes":30)")));
  EXPECT_EQ(all.id, "a");
  EXPECT_EQ(all.stream, kStream);
  EXPECT_EQ(all.from, Offset{7});
  EXPECT_EQ(all.epoch, Epoch{2});
  EXPECT_EQ(all.options.with, (ChunkExtras{.tokens = true, .logprobs = true, .time = true}));
  EXPECT_EQ(all.options.merge, std::optional<Duration>{std::chrono::milliseconds{20}});
  EXPECT_EQ(all.options.merge_bytes, 30U);
  const auto least = std::get<ResumeRequest>(parse(resume_json(stream)));
  EXPECT_EQ(least.from, Offset{0});
  EXPECT_EQ(least.epoch, std::nullopt);
  EXPECT_EQ(least.options, NativeOptions{});
}

TEST(ParseResume, RefusesWhatIsWrongByName) {
  const std::string stream = fmt::format(R"("stream":"{}")", to_text(kStream));
  const std::vector<std::pair<std::string, std::string_view>> wrong{
      {"", "stream"},
      {R"("stream":"st_1")", "stream"},
      {R"("stream":5)", "stream"},
      {stream + R"(,"seq":1)", "epoch"},
      {stream + R"(,"seq":-1)", "seq"},
      {stream + R"(,"seq":1.5,"epoch":1)", "seq"},
      {stream + R"(,"epoch":-1)", "epoch"},
      {stream + R"(,"epoch":4294967296)", "epoch"},
      {stream + R"(,"with":["text"])", "with"},
      {stream + R"(,"merge_ms":1001)", "merge_ms"},
      {stream + R"(,"merge_bytes":64)", "merge_bytes"},
      {stream + R"(,"from":1)", "from"},
  };
  for (const auto& [fields, param] : wrong) {
    const NativeRefusal refused = refusal(resume_json(fields));
    EXPECT_EQ(refused.id, "a");
    EXPECT_EQ(refused.problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(refused.problem.param, param) << fields;
  }
  EXPECT_EQ(refusal(fmt::format(R"({{"type":"RESUME",{}}})", stream)).problem.param, "id");
  EXPECT_EQ(refusal(resume_json(stream + R"(,"with":["time"])"), Subprotocol::binary).problem.param,
            "with");
}

TEST(ParseAck, NamesTheStreamInOneWay) {
  const auto by_id = std::get<AckRequest>(parse(R"({"type":"ACK","id":"a","seq":9})"));
  EXPECT_EQ(by_id.id, "a");
  EXPECT_EQ(by_id.stream, std::nullopt);
  EXPECT_EQ(by_id.total, Offset{9});
  const std::string stream = fmt::format(R"("stream":"{}")", to_text(kStream));
  const auto by_stream =
      std::get<AckRequest>(parse(fmt::format(R"({{"type":"ACK",{},"seq":0}})", stream)));
  EXPECT_EQ(by_stream.stream, kStream);
  EXPECT_EQ(refusal(R"({"type":"ACK","seq":0})").problem.param, "id");
  EXPECT_EQ(refusal(fmt::format(R"({{"type":"ACK","id":"a",{},"seq":0}})", stream)).problem.param,
            "id");
  EXPECT_EQ(refusal(R"({"type":"ACK","id":"a"})").problem.param, "seq");
  EXPECT_EQ(refusal(R"({"type":"ACK","id":"a","seq":"9"})").problem.param, "seq");
  EXPECT_EQ(refusal(R"({"type":"ACK","id":"a","seq":9,"n":1})").problem.param, "n");
}

TEST(ParseClientMessage, RefusesLaterTypesByName) {
  const auto refused = refusal(R"({"type":"INPUT","id":"a"})");
  EXPECT_EQ(refused.id, "a");
  EXPECT_EQ(refused.problem.code, ErrorCode::invalid_request);
  EXPECT_THAT(refused.problem.message, HasSubstr("INPUT"));
}

TEST(ParseClientMessage, RefusesWhatIsNoMessage) {
  std::string deep = R"({"type":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  for (const std::string& text :
       {std::string{}, std::string{"{"}, std::string{"[]"}, std::string{"5"}, std::string{"{}"},
        std::string{R"({"type":"HELLO"})"}, std::string{R"({"type":"PING"} x)"},
        std::string{R"({"type":"PING","ts":NaN})"}, std::string{R"({"type":"PING",})"},
        std::string{"{\"type\":\"\xFF\"}"}, std::string{R"({"type":"\ud800"})"}, deep}) {
    const auto refused = refusal(text);
    EXPECT_EQ(refused.problem.code, ErrorCode::protocol_error) << text.substr(0, 40);
    EXPECT_FALSE(refused.problem.message.empty());
  }
}

TEST(ParseClientMessage, RefusesAKeyThatIsGivenTwiceByName) {
  for (const auto& [json, name] : std::vector<std::pair<std::string, std::string>>{
           {infer_json(R"("seed":1,"seed":1)"), "seed"},
           {infer_json(R"("logit_bias":{"5":1,"5":2})"), "5"},
           {R"({"type":"PING","id":"a","ts":1,"ts":2})", "ts"},
           {R"({"type":"CANCEL","id":"a","type":"CANCEL"})", "type"}}) {
    const NativeRefusal refused = refusal(json);
    EXPECT_EQ(refused.id, "a") << json;
    EXPECT_EQ(refused.problem.code, ErrorCode::invalid_request) << json;
    EXPECT_EQ(refused.problem.param, name) << json;
    EXPECT_THAT(refused.problem.message, HasSubstr("more than once"));
  }
}

}  // namespace
}  // namespace seedance::api
