#include "api/sse_events.h"

#include <fmt/format.h>

#include <iterator>

#include "api/event_id.h"
#include "wire/json.h"
#include "wire/sse.h"

namespace seedance::api {
namespace {

Offset total(const stream::Terminal& terminal) {
  return {terminal.usage.completion_tokens};
}

}  // namespace

void BodyPiece::close() {
  const std::size_t size = out_.size() - begin_;
  if (size == 0 || framing_ == BodyFraming::until_close) return;
  const auto head = fmt::format("{:x}\r\n", size);  // Short enough to need no allocation.
  out_.insert(begin_, head);
  out_ += "\r\n";
}

void append_keepalive(std::string& out, BodyFraming framing) {
  BodyPiece piece{out, framing};
  wire::append_sse_comment(out, "keepalive");
  piece.close();
}

void append_last_error(std::string& out, const Problem& problem, BodyFraming framing) {
  BodyPiece piece{out, framing};
  out += "data: ";
  append_error_object(out, problem);
  out += "\n\n";
  piece.close();
  if (framing == BodyFraming::chunked) out += wire::kLastChunk;
}

EventIds::EventIds(StreamId stream, Epoch epoch)
    : prefix_("id: " + to_text(EventId{stream, epoch, {}})) {
  prefix_.pop_back();  // The 0: numbers are appended to it.
}

void EventIds::append(Offset next, std::string& out) const {
  out += prefix_;
  fmt::format_to(std::back_inserter(out), "{}\n", next.value);
}

SseEvents::SseEvents(const AnswerHead& head, const Shape& shape)
    : ids_(head.stream, head.epoch),
      begin_("data: "),
      end_(shape.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n"),
      include_usage_(shape.include_usage) {
  wire::JsonWriter json{begin_};
  json.begin_object();
  append_head(json, head, shape.id_prefix, shape.object);
  json.key("choices").begin_array();
}

void SseEvents::begin(Offset next, std::string& out) const {
  ids_.append(next, out);
  out += begin_;
}

void SseEvents::append_done(const stream::Terminal& terminal, std::string& out) const {
  if (include_usage_) {
    begin(total(terminal), out);
    out += "],\"usage\":";
    wire::JsonWriter json{out};
    append_usage(json, terminal.usage);
    out += "}\n\n";
  }
  ids_.append(total(terminal), out);
  out += "data: [DONE]\n\n";
}

void SseEvents::append_failure(const stream::Terminal& terminal, std::string& out) const {
  ids_.append(total(terminal), out);
  out += "data: ";
  append_error_object(out, failure(terminal));
  out += "\n\n";
}

}  // namespace seedance::api
