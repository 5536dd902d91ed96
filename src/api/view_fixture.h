// What tests of views share: a stream to fill, and readers of what they append.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/event_id.h"
#include "base/bytes.h"
#include "core/messages.h"
#include "stream/token_log.h"
#include "text/piece_table.h"
#include "wire/sse.h"
#include "wire/ws_frame.h"

namespace seedance::api {

inline constexpr StreamId kStream{.high = 1, .low = 2};
inline constexpr WallTime kWall{std::chrono::seconds{1'700'000'000}};

// A stream whose token i has the piece that it was given, visible or held back.
// Tokens are committed 1.5 ms apart.
struct TestStream {
  explicit TestStream(bool with_logprobs = false) : log(with_logprobs) {}

  // `shown` is what becomes visible with this token; the piece itself by default.
  void add(std::string_view piece, std::optional<std::string_view> shown = std::nullopt) {
    const TokenId token{static_cast<std::int32_t>(pieces->size())};
    pieces->add(piece, text::PieceKind::text);
    append(token, shown.value_or(piece));
  }

  void add_end() {
    const TokenId token{static_cast<std::int32_t>(pieces->size())};
    pieces->add("</s>", text::PieceKind::end);
    append(token, "");
  }

  void end(stream::FinishReason reason, std::optional<Problem> problem = std::nullopt) {
    const auto tokens = static_cast<std::uint32_t>(log.appended().value);
    stream::Terminal terminal{
        .reason = reason, .usage = {7, tokens}, .problem = std::move(problem)};
    terminal.timing = {.queue = std::chrono::microseconds{1'500},
                       .prefill = std::chrono::milliseconds{2},
                       .ttft = std::chrono::milliseconds{4},
                       .decode = std::chrono::milliseconds{100}};
    terminal.sha256.fill(0xA5);
    log.append_terminal(std::move(terminal));
    log.commit();
  }

  core::Accepted accepted() const {
    core::Accepted accepted;
    accepted.stream = kStream;
    accepted.epoch = {1};
    accepted.pieces = pieces;
    accepted.model = "tiny@1";
    accepted.prompt_tokens = 7;
    accepted.queue = 3;
    accepted.created = kWall;
    accepted.expires_at = kWall + std::chrono::seconds{600};
    return accepted;
  }

  core::Resumed resumed(Offset from) const {
    core::Resumed resumed{.stream = accepted(),
                          .from = from,
                          .head = log.head().end,
                          .state = core::StreamState::decode};
    // Borrowed: the stream outlives what a test asks of it.
    resumed.stream.log = std::shared_ptr<const stream::TokenLog>{&log, [](const auto*) {}};
    if (log.head().done) resumed.state = core::StreamState::done;
    return resumed;
  }

  std::shared_ptr<text::PieceTable> pieces = std::make_shared<text::PieceTable>();
  stream::TokenLog log;
  std::string text;

 private:
  void append(TokenId token, std::string_view shown) {
    // Two candidates: the token itself and token 0.
    const float logprob = -0.25F * static_cast<float>(token.value);
    const stream::TokenLogprobs logprobs{logprob, {{token, logprob}, {TokenId{0}, -8.0F}}};
    const auto at = TimePoint{} + token.value * std::chrono::microseconds{1'500};
    log.append(token, shown, at, log.with_logprobs() ? &logprobs : nullptr);
    log.commit();
    text += shown;
  }
};

// Tokens of every awkward kind: a character over two tokens, an empty one, what
// JSON and SSE must escape, a long one.
inline void add_awkward(TestStream& stream, std::size_t index) {
  switch (index % 6) {
    case 0:
      return stream.add(" word");
    case 1:
      return stream.add("\xF0\x9F", "");
    case 2:
      return stream.add("\x98\x80", "\xF0\x9F\x98\x80");
    case 3:
      return stream.add("");
    case 4:
      return stream.add("\"\n\n\\data: \x01");
    default:
      return stream.add(std::string(40, 'x') + "\xE4\xBD\xA0");
  }
}

struct Frame {
  wire::Opcode opcode;
  std::string payload;
};

inline std::vector<Frame> frames(std::string_view bytes) {
  std::vector<Frame> all;
  while (!bytes.empty()) {
    const wire::DecodedHeader decoded = wire::decode_frame_header(as_bytes(bytes));
    const wire::FrameHeader& header = decoded.header;
    if (decoded.status != wire::FrameStatus::whole || header.mask || header.fin != wire::Fin::yes ||
        bytes.size() < header.header_bytes + header.payload_bytes) {
      ADD_FAILURE() << "not a whole server frame";
      break;
    }
    bytes.remove_prefix(header.header_bytes);
    all.push_back({header.opcode, std::string{bytes.substr(0, header.payload_bytes)}});
    bytes.remove_prefix(header.payload_bytes);
  }
  return all;
}

inline std::string only_payload(std::string_view bytes) {
  const auto all = frames(bytes);
  EXPECT_EQ(all.size(), 1U);
  return all.empty() ? std::string{} : all.front().payload;
}

struct Body {
  std::string content;
  bool ended = false;
};

// Undoes Transfer-Encoding: chunked.
inline Body dechunk(std::string_view bytes) {
  Body body;
  while (!bytes.empty() && !body.ended) {
    const std::size_t line = bytes.find("\r\n");
    const std::size_t size = std::strtoul(std::string{bytes.substr(0, line)}.c_str(), nullptr, 16);
    bytes.remove_prefix(line + 2);
    body.content += bytes.substr(0, size);
    EXPECT_EQ(bytes.substr(size, 2), "\r\n");
    bytes.remove_prefix(size + 2);
    body.ended = size == 0;
  }
  EXPECT_TRUE(bytes.empty()) << "bytes behind the end of the body";
  return body;
}

// With the ids that a client would come back with.
struct Event {
  EventId id;
  std::string data;
};

inline std::vector<Event> events(std::string_view content) {
  wire::SseParser parser;
  EXPECT_TRUE(parser.on_input(content));
  std::vector<Event> all;
  while (auto event = parser.next()) {
    EXPECT_EQ(event->event, "") << "events are unnamed";
    const auto id = parse_event_id(event->id);
    EXPECT_TRUE(id) << "an event without an id: " << event->data;
    all.push_back({id.value_or(EventId{}), event->data});
  }
  return all;
}

// The id line of the events of TestStream.
inline std::string id_line(std::uint64_t next) {
  return "id: " + to_text(kStream) + ":1:" + std::to_string(next) + "\n";
}

inline std::string as_string(const boost::json::value& value) {
  const boost::json::string& text = value.as_string();
  return {text.data(), text.size()};
}

}  // namespace seedance::api
