#include "server/http_session.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace seedance::server {
namespace {

// How long a refused client may go on sending what nobody reads.
constexpr Duration kLinger = std::chrono::seconds{2};
// Of a streamed answer, rendered at once.
constexpr std::size_t kPieceBytesMax = std::size_t{16} << 10;

}  // namespace

HttpSession::HttpSession(EdgeContext& context, ConnectionId connection, TimePoint now)
    : context_(context),
      connection_(connection),
      parser_(context.config.limits.http),
      deadline_(now + context.config.limits.keep_alive_timeout),
      draining_(context.draining) {}

// Reading.

bool HttpSession::may_parse() const {
  return state_ == State::reading && output_.size() < context_.config.limits.pending_bytes_max;
}

bool HttpSession::wants_input() const {
  return state_ == State::refused || (may_parse() && input_.empty());
}

void HttpSession::on_input(std::span<std::byte> bytes, TimePoint now) {
  if (state_ == State::refused) return;
  if (input_.empty()) return consume(bytes, now);
  input_ += as_text(bytes);
}

void HttpSession::consume(Bytes bytes, TimePoint now) {
  while (!bytes.empty() && may_parse()) bytes = bytes.subspan(parse(bytes, now));
  if (state_ != State::refused) input_ = as_text(bytes);
}

std::size_t HttpSession::parse(Bytes bytes, TimePoint now) {
  const bool started = parser_.started();
  const std::size_t taken = parser_.on_input(bytes);
  if (!started) deadline_ = now + context_.config.limits.header_timeout;
  if (const auto& error = parser_.error()) {
    keep_alive_ = false;
    refuse_and_close(error->status, std::string{error->detail}, now);
  } else if (parser_.complete()) {
    head_seen_ = false;
    on_request(parser_.take(), now);
  } else if (!head_seen_ && parser_.head() != nullptr) {
    head_seen_ = true;
    on_head(*parser_.head(), now);
  }
  return taken;
}

// The body is still to come: who is refused anyway need not send it.
void HttpSession::on_head(const wire::HttpRequest& head, TimePoint now) {
  deadline_ = now + context_.config.limits.body_timeout;
  begin_answer(head);
  keep_alive_ = false;
  if (!admit(head)) {
    state_ = State::refused;
    deadline_ = now + kLinger;
  } else if (parser_.take_continue()) {
    output_ += wire::kContinue;
  }
}

void HttpSession::on_request(const wire::HttpRequest& request, TimePoint now) {
  begin_answer(request);
  if (admit(request)) serve(request, now);
  if (state_ == State::reading) complete(now);
}

// The answer is complete; the next request may be read.
void HttpSession::complete(TimePoint now) {
  answer_.reset();
  state_ = keep_alive_ && !draining_ ? State::reading : State::finished;
  served_ = true;
  deadline_ = now + context_.config.limits.keep_alive_timeout;
}

void HttpSession::on_end(TimePoint now) {
  const bool between_requests = state_ == State::reading && !parser_.started();
  on_gone();
  deadline_ = now;
  state_ = between_requests || state_ == State::finished ? State::finished : State::dropped;
}

void HttpSession::on_gone() {
  if (waits()) context_.give_up(stream_);
  if (waits()) state_ = State::dropped;
}

void HttpSession::on_time(TimePoint now) {
  if (state_ == State::streaming) {
    if (now < silent_since_ + context_.config.limits.sse_comment_after) return;
    api::append_keepalive(output_,
                          http_1_0_ ? api::BodyFraming::until_close : api::BodyFraming::chunked);
    silent_since_ = now;
  } else if (now < deadline_) {
    return;
  } else if (state_ == State::reading && parser_.started()) {
    keep_alive_ = false;
    refuse_and_close(408, "the request took too long to arrive", now);
  } else if (state_ == State::reading) {
    state_ = State::finished;
  } else if (state_ == State::refused) {
    state_ = State::dropped;
  }
}

TimePoint HttpSession::deadline() const {
  if (state_ == State::reading || state_ == State::refused) return deadline_;
  if (state_ != State::streaming) return kNever;
  const TimePoint comment = silent_since_ + context_.config.limits.sse_comment_after;
  const bool merging = !blocked_ && answer_->log->head().end > answer_->cursor.next;
  return merging ? std::min(comment, render_at_) : comment;
}

void HttpSession::on_drain(TimePoint) {
  draining_ = true;
  // A new connection's first request is on its way: it is answered, with a refusal.
  const bool idle = state_ == State::reading && !parser_.started() && input_.empty();
  if (idle && served_) state_ = State::finished;
}

HttpSession::Ending HttpSession::ending() const {
  switch (state_) {
    case State::refused:
      return Ending::half_close;
    case State::finished:
      return Ending::close;
    case State::dropped:
      return Ending::drop;
    default:
      return Ending::open;
  }
}

Session::Upgrade HttpSession::take_upgrade() {
  if (upgrade_.session) upgrade_.rest = std::exchange(input_, {});
  return std::exchange(upgrade_, {});
}

// A stream as answer.

bool HttpSession::waits() const {
  return state_ == State::asked || state_ == State::collecting || state_ == State::streaming;
}

void HttpSession::on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) {
  if (state_ != State::asked || request != request_) return;
  if (const auto* accepted = std::get_if<core::Accepted>(&body)) {
    on_accepted(*accepted, now);
  } else if (const auto* refused = std::get_if<core::Refused>(&body)) {
    refuse(refused->problem);
    complete(now);
  }
}

void HttpSession::on_accepted(const core::Accepted& accepted, TimePoint now) {
  context_.readers[stream_] = connection_;
  answer_.emplace(Answer{.log = accepted.log, .head = api::AnswerHead{accepted}});
  state_ = State::collecting;
  if (!wants_stream()) return;

  state_ = State::streaming;
  silent_since_ = now;
  render_at_ = context_.config.streaming ? now : kNever;
  std::vector<wire::HttpField> fields{{"Content-Type", "text/event-stream; charset=utf-8"},
                                      {"Cache-Control", "no-cache"},
                                      {"X-Accel-Buffering", "no"}};
  if (http_1_0_) {
    keep_alive_ = false;
  } else {
    fields.push_back({"Transfer-Encoding", "chunked"});
  }
  append_head(200, fields);
  const auto framing = http_1_0_ ? api::BodyFraming::until_close : api::BodyFraming::chunked;
  if (const auto* chat = std::get_if<api::ChatOptions>(&options_)) {
    answer_->view.emplace<api::ChatSseView>(answer_->head, *chat, framing);
  } else {
    answer_->view.emplace<api::CompletionSseView>(
        answer_->head, std::get<api::CompletionOptions>(options_), framing);
  }
}

void HttpSession::render(Rendering& out, std::size_t bytes_max, TimePoint now) {
  if (!output_.empty()) out.bytes += std::exchange(output_, {});
  if (state_ == State::streaming && out.bytes.size() < bytes_max) {
    render_stream(out.bytes, std::min(bytes_max, kPieceBytesMax), now);
  } else if (state_ == State::collecting && answer_->log->head().done) {
    context_.readers.erase(stream_);
    if (const auto* chat = std::get_if<api::ChatOptions>(&options_)) {
      respond_json(api::chat_answer(answer_->head, *chat, *answer_->log));
    } else {
      const auto& completion = std::get<api::CompletionOptions>(options_);
      respond_json(api::completion_answer(answer_->head, completion, *answer_->log));
    }
    out.bytes += std::exchange(output_, {});
    complete(now);
  }
  out.fixed = out.bytes.size();
}

void HttpSession::render_stream(std::string& out, std::size_t bytes_max, TimePoint now) {
  const stream::TokenLog& log = *answer_->log;
  if (now < render_at_ && !log.head().done) return;
  const std::size_t before = out.size();
  if (auto* chat = std::get_if<api::ChatSseView>(&answer_->view)) {
    chat->render(log, answer_->cursor, out, bytes_max);
  } else {
    std::get<api::CompletionSseView>(answer_->view).render(log, answer_->cursor, out, bytes_max);
  }
  if (out.size() == before) return;
  silent_since_ = now;
  render_at_ = now + context_.config.merge;
  if (!answer_->cursor.done) return;
  context_.readers.erase(stream_);
  complete(now);
}

void HttpSession::on_sent(TimePoint now) {
  if (!input_.empty() && may_parse()) {
    const std::string waiting = std::exchange(input_, {});
    consume(as_bytes(waiting), now);
  }
}

}  // namespace seedance::server
