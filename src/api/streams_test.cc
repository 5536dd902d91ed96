#include "api/streams.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "api/view_fixture.h"

namespace seedance::api {
namespace {

StreamQuery query(std::string_view text, std::string_view last_event_id = "") {
  const auto parsed = parse_stream_query(kStream, text, last_event_id);
  if (parsed) return *parsed;
  ADD_FAILURE() << "refused: " << parsed.error().message;
  return {};
}

Problem refusal(std::string_view text, std::string_view last_event_id = "") {
  const auto parsed = parse_stream_query(kStream, text, last_event_id);
  if (!parsed) return parsed.error();
  ADD_FAILURE() << "not refused: " << text;
  return {};
}

TEST(StreamQuery, BeginsAtTheBeginning) {
  EXPECT_EQ(query(""), StreamQuery{});
  EXPECT_EQ(query("&&"), StreamQuery{});
}

TEST(StreamQuery, ReadsEveryParameter) {
  EXPECT_EQ(query("from=12&epoch=3&as=native&with=tokens,logprobs,time"),
            (StreamQuery{.from = {12},
                         .epoch = Epoch{3},
                         .as = core::Surface::native,
                         .with = {.tokens = true, .logprobs = true, .time = true}}));
  EXPECT_EQ(query("as=chat").as, core::Surface::chat);
  EXPECT_EQ(query("as=completions").as, core::Surface::completions);
  EXPECT_EQ(query("epoch=1").epoch, Epoch{1});
  EXPECT_EQ(query("%66rom=%31%32&epoch=1").from, Offset{12});
}

TEST(StreamQuery, RefusesWhatIsWrongByName) {
  const std::vector<std::pair<std::string_view, std::string_view>> wrong{
      {"from=1", "epoch"},       {"from=x&epoch=1", "from"}, {"from=-1&epoch=1", "from"},
      {"from=&epoch=1", "from"}, {"from", "from"},           {"epoch=4294967296", "epoch"},
      {"epoch=a", "epoch"},      {"as=responses", "as"},     {"as=", "as"},
      {"with=text", "with"},     {"since=1", "since"},
  };
  for (const auto& [text, param] : wrong) {
    const Problem problem = refusal(text);
    EXPECT_EQ(problem.code, ErrorCode::invalid_request);
    EXPECT_EQ(problem.param, param) << text;
    EXPECT_THAT(problem.message, testing::HasSubstr(std::string{param}));
  }
  EXPECT_EQ(refusal("from=%").code, ErrorCode::invalid_request);
  EXPECT_LT(refusal(std::string(5'000, 'x')).message.size(), 200U);
}

// A browser that comes back sends the address that it began with.
TEST(StreamQuery, TheLastEventCountsMore) {
  const std::string id = to_text(EventId{kStream, {2}, {30}});
  EXPECT_EQ(query("from=5&epoch=1&as=chat", id),
            (StreamQuery{.from = {30}, .epoch = Epoch{2}, .as = core::Surface::chat}));
  EXPECT_EQ(query("from=5", id).from, Offset{30});
  EXPECT_EQ(refusal("", id + "0x").param, "Last-Event-ID");
  const Problem other = refusal("", to_text(EventId{{.high = 9}, {2}, {30}}));
  EXPECT_EQ(other.code, ErrorCode::invalid_request);
  EXPECT_EQ(other.param, "Last-Event-ID");
}

TEST(StreamQuery, ExtrasAreOfNativeMessages) {
  const TestStream stream;
  core::Resumed resumed = stream.resumed({});
  EXPECT_EQ(why_not_shown(query("with=tokens,time"), resumed), std::nullopt);
  EXPECT_EQ(why_not_shown(query("with=logprobs"), resumed)->param, "with");
  EXPECT_EQ(why_not_shown(query("as=chat&with=tokens"), resumed)->param, "with");
  resumed.stream.surface = core::Surface::chat;
  EXPECT_EQ(why_not_shown(query(""), resumed), std::nullopt);
  EXPECT_EQ(why_not_shown(query("with=tokens"), resumed)->param, "with");
  EXPECT_EQ(why_not_shown(query("as=native&with=tokens"), resumed), std::nullopt);
  const TestStream with_logprobs{true};
  EXPECT_EQ(why_not_shown(query("with=logprobs"), with_logprobs.resumed({})), std::nullopt);
}

TEST(StreamsAnswer, ListsStreams) {
  EXPECT_EQ(streams_answer({}), (HttpAnswer{200, R"({"object":"list","data":[]})"}));
  const core::StreamSummary running{.stream = kStream,
                                    .epoch = {2},
                                    .state = core::StreamState::decode,
                                    .model = "tiny@1",
                                    .created = kWall,
                                    .expires_at = std::nullopt,
                                    .prompt_tokens = 7,
                                    .tokens = 9,
                                    .finish_reason = std::nullopt};
  core::StreamSummary done = running;
  done.state = core::StreamState::done;
  done.expires_at = kWall + std::chrono::seconds{600};
  done.finish_reason = stream::FinishReason::cancelled;
  EXPECT_EQ(streams_answer({{running, done}}).body,
            R"({"object":"list","data":[{"stream":")" + to_text(kStream) +
                R"(","object":"stream","epoch":2,"state":"decode","model":"tiny@1",)"
                R"("created":1700000000,"expires_at":null,"prompt_tokens":7,"tokens":9,)"
                R"("finish_reason":null},{"stream":")" +
                to_text(kStream) +
                R"(","object":"stream","epoch":2,"state":"done","model":"tiny@1",)"
                R"("created":1700000000,"expires_at":1700000600,"prompt_tokens":7,"tokens":9,)"
                R"("finish_reason":"cancelled"}]})");
}

TEST(CancelledAnswer, NamesTheStream) {
  EXPECT_EQ(cancelled_answer(kStream).body,
            R"({"stream":")" + to_text(kStream) + R"(","object":"stream.cancelled"})");
}

TEST(PercentDecoded, TakesWholeEscapesOnly) {
  EXPECT_EQ(percent_decoded("a%20b%2Fc"), "a b/c");
  for (const auto* text : {"%", "%2", "%zz", "a%2", "%+1"}) {
    EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace seedance::api
