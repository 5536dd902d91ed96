// What tests of sessions share: a session without a socket, and the core's part
// played by the test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "server/door.h"
#include "server/http_session.h"
#include "server/session.h"
#include "server/test_client.h"
#include "server/ws_session.h"
#include "wire/ws_frame.h"

namespace seedance::server {

inline constexpr TimePoint kNow{std::chrono::seconds{1000}};
inline constexpr Duration kMerge = std::chrono::milliseconds{50};
inline constexpr ConnectionId kConnection{7};
// A stream that was there.
inline constexpr StreamId kOther{.high = 0x0190000000000000, .low = 7};
inline constexpr std::size_t kPlenty = std::size_t{64} << 10;

inline ServerConfig session_config(Duration merge) {
  ServerConfig config = scripted_config("");
  config.merge = merge;
  config.drain_timeout = std::chrono::seconds{7};
  return config;
}

class SessionTest : public testing::Test {
 protected:
  explicit SessionTest(Duration merge = kMerge) : config_(session_config(merge)) {
    board_.stats = &stats_;
  }

  // What the core is told since the last call.
  std::vector<core::Message> told() {
    std::vector<core::Message> messages;
    inbox_.take(messages);
    return messages;
  }

  // The only thing that the core is told.
  template <typename Message>
  Message told_only() {
    auto messages = told();
    EXPECT_EQ(messages.size(), 1U);
    const auto* message = messages.empty() ? nullptr : std::get_if<Message>(&messages.front());
    if (message == nullptr) throw std::logic_error("the core was told something else");
    return *message;
  }

  core::Accepted accepted(StreamId stream) const {
    return {.stream = stream,
            .epoch = {1},
            .log = log_,
            .pieces = std::make_shared<text::PieceTable>(),
            .model = "tale@1",
            .prompt_tokens = 1,
            .queue = 0,
            .created = {},
            .expires_at = {}};
  }
  core::Resumed resumed(StreamId stream, Offset from) const {
    return {.stream = accepted(stream),
            .from = from,
            .head = log_->head().end,
            .state = core::StreamState::decode};
  }

  static void reply(Session& session, const core::ReplyTo& to, ReplyBody body) {
    session.on_reply(to.request, body, kNow);
  }

  // Answers the request that the session has sent to the core.
  void accept(Session& session) {
    const auto submit = told_only<core::Submit>();
    stream_ = submit.stream;
    reader_ = submit.reply_to;
    reply(session, reader_, accepted(stream_));
  }

  void grow(std::size_t tokens = 1) {
    for (; tokens > 0; --tokens) log_->append({1}, "word ", kNow, nullptr);
    log_->commit();
  }
  void end(stream::FinishReason reason = stream::FinishReason::stop) {
    const auto tokens = static_cast<std::uint32_t>(log_->appended().value);
    log_->append_terminal({.reason = reason, .usage = {1, tokens}});
    log_->commit();
  }

  std::string render(Session& session, TimePoint now) {
    Rendering out;
    session.render(out, kPlenty, now);
    session.on_sent(now);
    return out.bytes;
  }

  const ServerConfig config_;
  const Access access_{.gate = std::make_shared<const auth::Gate>(),
                       .hosts = auth::HostRules{"127.0.0.1", {}},
                       .origins = auth::OriginRules{{}}};
  core::Stats stats_;
  Board board_;
  Counters counters_;
  Door door_;
  io::Mailbox<core::Message> inbox_{std::move(*io::Wakeup::open()), 2};
  EdgeContext context_{.config = config_,
                       .access = access_,
                       .board = board_,
                       .counters = counters_,
                       .door = door_,
                       .core = inbox_,
                       .edge = {0}};
  std::shared_ptr<stream::TokenLog> log_ = std::make_shared<stream::TokenLog>(false);
  StreamId stream_;
  core::ReplyTo reader_;
};

class WsSessionTest : public SessionTest {
 protected:
  using SessionTest::SessionTest;

  void send(std::string_view json) {
    std::string bytes;
    wire::append_masked_frame(bytes, wire::Opcode::text, wire::Fin::yes, json, {});
    session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  }
  void resume(std::string_view more = "") {
    send(fmt::format(R"({{"type":"RESUME","id":"a","stream":"{}"{}}})", to_text(kOther), more));
  }

  // Everything that the session sends now, as messages.
  std::vector<boost::json::object> messages(TimePoint now = kNow) {
    std::vector<boost::json::object> all;
    for (const auto& frame : frames(now)) {
      if (frame.first == wire::Opcode::text) {
        all.push_back(boost::json::parse(frame.second).as_object());
      }
    }
    return all;
  }
  std::vector<std::pair<wire::Opcode, std::string>> frames(TimePoint now = kNow) {
    std::vector<std::pair<wire::Opcode, std::string>> all;
    for (std::string bytes = render(session_, now); !bytes.empty(); bytes = render(session_, now)) {
      while (!bytes.empty()) {
        const auto header = wire::decode_frame_header(as_bytes(bytes)).header;
        all.emplace_back(header.opcode, bytes.substr(header.header_bytes, header.payload_bytes));
        bytes.erase(0, header.header_bytes + header.payload_bytes);
      }
    }
    return all;
  }

  WsSession session_{context_, kConnection, api::Subprotocol::json, kNow};
};

class HttpSessionTest : public SessionTest {
 protected:
  using SessionTest::SessionTest;

  void send(std::string bytes) {
    session_.on_input(std::as_writable_bytes(std::span{bytes}), kNow);
  }
  void ask(std::string_view more_headers = "", bool stream = true, std::string_view fields = "") {
    const std::string body = fmt::format(R"({{"prompt":"x","stream":{}{}}})", stream, fields);
    send(
        fmt::format("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n{}"
                    "Content-Length: {}\r\n\r\n{}",
                    more_headers, body.size(), body));
  }
  void request(std::string_view method, std::string_view path, std::string_view headers = "") {
    send(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", method, path, headers));
  }
  void get_stream(std::string_view query = "", std::string_view headers = "") {
    request("GET", "/v1/streams/" + to_text(kOther) + std::string{query}, headers);
  }

  HttpSession session_{context_, kConnection, kNow};
};

}  // namespace seedance::server
