#include "api/sse_events.h"

#include <fmt/format.h>

#include "wire/json.h"
#include "wire/sse.h"

namespace seedance::api {

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

SseEvents::SseEvents(const AnswerHead& head, const Shape& shape, BodyFraming framing)
    : begin_("data: "),
      end_(shape.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n"),
      include_usage_(shape.include_usage),
      framing_(framing) {
  wire::JsonWriter json{begin_};
  json.begin_object();
  append_head(json, head, shape.id_prefix, shape.object);
  json.key("choices").begin_array();
}

void SseEvents::append_done(const stream::Terminal& terminal, std::string& out) const {
  if (include_usage_) {
    out += begin_;
    out += "],\"usage\":";
    wire::JsonWriter json{out};
    append_usage(json, terminal.usage);
    out += "}\n\n";
  }
  out += "data: [DONE]\n\n";
}

void SseEvents::append_error(const Problem& problem, std::string& out) {
  out += "data: ";
  append_error_object(out, problem);
  out += "\n\n";
}

}  // namespace seedance::api
