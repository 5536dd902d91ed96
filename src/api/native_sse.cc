#include "api/native_sse.h"

#include "api/native_json.h"

namespace seedance::api {

NativeSseView::NativeSseView(const core::Resumed& resumed, ChunkExtras with, BodyFraming framing)
    : ids_(resumed.stream.stream, resumed.stream.epoch), with_(with), framing_(framing) {
  ids_.append(resumed.from, resumed_);
  resumed_ += "data: ";
  append_resumed_json(resumed_, {}, resumed);
  resumed_ += "\n\n";
}

Rendered NativeSseView::render(const stream::TokenLog& log, stream::Cursor& cursor,
                               std::string& out, std::size_t bytes_max) {
  if (!resumed_.empty()) {
    BodyPiece piece{out, framing_};
    out += resumed_;
    piece.close();
    std::string{}.swap(resumed_);
  }
  const std::size_t token_bytes =
      cursor.next < log.head().end ? chunk_token_bytes(with_, log, cursor.next) : 0;
  return render_events(
      log, cursor, out, framing_, bytes_max, token_bytes,
      [&](Offset from, Offset to) { append_chunk(log, from, to, out); },
      [&] {
        ids_.append(cursor.next, out);
        out += "data: ";
        append_done_json(out, {}, log);
        out += "\n\n";
      });
}

void NativeSseView::append_chunk(const stream::TokenLog& log, Offset from, Offset to,
                                 std::string& out) const {
  ids_.append(to, out);
  out += "data: ";
  std::string spill;
  append_chunk_json(out, {}, with_, log,
                    {.from = from, .to = to, .text = log.text(from, to, spill)});
  out += "\n\n";
}

}  // namespace seedance::api
