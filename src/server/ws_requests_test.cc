// Requests of a WebSocket: those in work, and those that wait for them to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/test_session.h"

namespace seedance::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// One in work, two that wait.
class WaitingTest : public WsSessionTest {
 protected:
  WaitingTest() : WsSessionTest(Duration::zero()) {
    context_.config.limits.streams_per_connection_max = 1;
    context_.config.limits.waiting_per_connection_max = 2;
    context_.config.core.queue_wait_max = seconds{10};
  }

  void infer(std::string_view id, std::string_view more = "") {
    send(fmt::format(R"({{"type":"INFER_REQ","id":"{}","prompt":"of {}"{}}})", id, id, more));
  }
  void cancel(std::string_view id) { send(fmt::format(R"({{"type":"CANCEL","id":"{}"}})", id)); }
  // The one in work ends, and that is sent.
  void finish() {
    end();
    render(session_, kNow);
    log_ = std::make_shared<stream::TokenLog>(false);
  }
  std::string prompt_told() {
    return std::get<std::string>(told_only<core::Submit>().request.input);
  }
  std::uint64_t waiting() const { return counters_.requests_waiting.value(); }
};

TEST_F(WaitingTest, TheyComeInTheirOrderAsOthersEnd) {
  infer("a");
  accept(session_);
  infer("b");
  infer("c");
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(waiting(), 2U);
  EXPECT_THAT(messages(), testing::SizeIs(1)) << "nothing is said of those that wait";
  grow();
  end();
  EXPECT_TRUE(told().empty()) << "a place is taken until the end is sent";
  render(session_, kNow);
  EXPECT_EQ(prompt_told(), "of b");
  EXPECT_EQ(waiting(), 1U);
}

TEST_F(WaitingTest, ARefusalMakesRoomToo) {
  infer("a");
  infer("b");
  const auto submit = told_only<core::Submit>();
  reply(session_, submit.reply_to, core::Refused{{.code = ErrorCode::overloaded}});
  EXPECT_EQ(prompt_told(), "of b");
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(WaitingTest, TooManyAreRefusedWithTheNumbers) {
  infer("a");
  for (const auto* id : {"b", "c", "d"}) infer(id);
  const auto said = messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("id"), "d");
  EXPECT_EQ(said[0].at("code"), "stream_limit");
  EXPECT_EQ(said[0].at("numbers").at("streams_max"), 1);
  EXPECT_EQ(said[0].at("numbers").at("waiting"), 2);
  EXPECT_EQ(said[0].at("numbers").at("waiting_max"), 2);
  EXPECT_EQ(counters_.stream_limits_met.value(), 1U);
}

TEST_F(WaitingTest, SoAreTooManyBytes) {
  context_.config.limits.waiting_bytes_per_connection_max = 5000;
  infer("a");
  infer("b", fmt::format(R"(,"key":"{}")", std::string(200, 'k')));
  infer("c",
        fmt::format(R"(,"stop":"{}","model":"{}")", std::string(200, 's'), std::string(200, 'm')));
  EXPECT_TRUE(messages().empty());
  context_.config.limits.waiting_per_connection_max = 9;
  send(fmt::format(R"({{"type":"INFER_REQ","id":"d","prompt":"{}"}})", std::string(5000, 'x')));
  const auto said = messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("code"), "stream_limit");
  EXPECT_EQ(said[0].at("numbers").at("bytes_max"), 5000);
  EXPECT_GT(said[0].at("numbers").at("bytes").as_int64(), 5000);
}

TEST_F(WaitingTest, CancelWorksAtOnce) {
  infer("a");
  accept(session_);
  infer("b");
  infer("c");
  messages();
  cancel("b");
  const auto said = messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("id"), "b");
  EXPECT_EQ(said[0].at("code"), "cancelled");
  EXPECT_TRUE(told().empty());
  finish();
  EXPECT_EQ(prompt_told(), "of c");
}

TEST_F(WaitingTest, TheirIdsAreTaken) {
  infer("a");
  (void)told();
  infer("b");
  infer("b");
  send(fmt::format(R"({{"type":"RESUME","id":"b","stream":"{}"}})", to_text(kOther)));
  const auto said = messages();
  ASSERT_EQ(said.size(), 2U);
  for (const auto& message : said) EXPECT_EQ(message.at("param"), "id");
  EXPECT_TRUE(told().empty());
  send(R"({"type":"ACK","id":"b","seq":1})");
  EXPECT_TRUE(messages().empty()) << "it is known, and has not ended";
}

TEST_F(WaitingTest, TheirTimeCountsFromTheirArrival) {
  infer("a");
  accept(session_);
  messages();
  infer("b", R"(,"deadline_ms":100)");
  infer("c");
  EXPECT_EQ(session_.deadline(), kNow + milliseconds{100});
  session_.on_time(kNow + milliseconds{99});
  EXPECT_TRUE(messages().empty());
  session_.on_time(kNow + milliseconds{100});
  const auto said = messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("id"), "b");
  EXPECT_EQ(said[0].at("code"), "deadline_exceeded");
  EXPECT_EQ(said[0].at("numbers").at("waited_ms"), 100);
  end();
  render(session_, kNow + seconds{5});
  EXPECT_EQ(told_only<core::Submit>().waited, seconds{5});
}

TEST_F(WaitingTest, OneWithoutADeadlineHasTheServers) {
  infer("a");
  infer("b");
  session_.on_time(kNow + seconds{10});
  EXPECT_EQ(messages().back().at("code"), "deadline_exceeded");
}

TEST_F(WaitingTest, ADrainRefusesThem) {
  infer("a");
  accept(session_);
  infer("b");
  messages();
  session_.on_drain(kNow);
  const auto said = messages();
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].at("type"), "GOAWAY");
  EXPECT_EQ(said[1].at("id"), "b");
  EXPECT_EQ(said[1].at("code"), "overloaded");
  EXPECT_EQ(waiting(), 0U);
  finish();
  EXPECT_TRUE(told().empty());
}

TEST_F(WaitingTest, WhoGoesTakesThemAlong) {
  infer("a");
  accept(session_);
  infer("b");
  session_.on_gone();
  EXPECT_EQ(reader_, told_only<core::ReaderGone>().reader);
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(WaitingTest, WhatIsResumedTakesNoPlace) {
  context_.config.limits.resumes_per_connection_max = 1;
  send(fmt::format(R"({{"type":"RESUME","id":"r","stream":"{}"}})", to_text(kOther)));
  told_only<core::Attach>();
  infer("a");
  told_only<core::Submit>();
  send(fmt::format(R"({{"type":"RESUME","id":"s","stream":"{}"}})", to_text(kOther)));
  const auto said = messages();
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].at("code"), "stream_limit");
  EXPECT_EQ(said[0].at("numbers").at("streams_max"), 1);
}

TEST_F(WaitingTest, AReloadMakesRoom) {
  infer("a");
  accept(session_);
  infer("b");
  EXPECT_TRUE(told().empty());
  context_.config.limits.streams_per_connection_max = 2;
  infer("c");
  EXPECT_EQ(prompt_told(), "of b");
  EXPECT_EQ(waiting(), 1U);
}

}  // namespace
}  // namespace seedance::server
