#include "server/http_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "server/turned_away.h"

namespace seedance::server {
namespace {

// How long a refused client may go on sending what nobody reads.
constexpr Duration kLinger = std::chrono::seconds{2};
constexpr std::uint32_t kRetryAfterMs = 1000;
// Of a streamed answer, rendered at once.
constexpr std::size_t kPieceBytesMax = std::size_t{16} << 10;

}  // namespace

HttpSession::HttpSession(EdgeContext& context, ConnectionId connection, TimePoint now,
                         std::string address)
    : context_(context),
      connection_(connection),
      parser_(context.config.limits.http),
      deadline_(now + context.config.limits.keep_alive_timeout),
      draining_(context.draining),
      caller_{.principal = {}, .address = std::move(address)} {}

// Reading.

bool HttpSession::may_parse() const {
  return state_ == State::reading && output_.size() < context_.config.limits.pending_bytes_max;
}

bool HttpSession::wants_input() const {
  return state_ == State::refused || (may_parse() && input_.empty());
}

bool HttpSession::rests() const {
  return state_ == State::reading && (!input_.empty() || !may_parse());
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
  if (!started && parser_.started()) deadline_ = now + context_.config.limits.header_timeout;
  if (const auto& error = parser_.error()) {
    refuse_and_close(error->status, error->detail, now);
  } else if (parser_.complete()) {
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
  if (!admit(head, now)) {
    state_ = State::refused;
    deadline_ = now + kLinger;
  } else if (parser_.take_continue()) {
    output_ += wire::kContinue;
  }
}

void HttpSession::on_request(const wire::HttpRequest& request, TimePoint now) {
  begin_answer(request);
  // Whose head was seen already was admitted then.
  if (std::exchange(head_seen_, false) || admit(request, now)) serve(request, now);
  if (state_ == State::reading) complete(now);
}

// The answer is complete; the next request may be read.
void HttpSession::complete(TimePoint now) {
  end_reading();
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
  if (!waits()) return;
  note_asked(kUnanswered);
  if (reader_) context_.give_up(reply_to());
  end_reading();
  state_ = State::dropped;
}

void HttpSession::on_time(TimePoint now) {
  if (state_ == State::streaming) {
    if (now < silent_since_ + context_.config.limits.sse_comment_after) return;
    api::append_keepalive(output_, framing());
    silent_since_ = now;
  } else if (now < deadline_) {
    return;
  } else if (state_ == State::reading && parser_.started()) {
    const ServerLimits& limits = context_.config.limits;
    refuse_and_close(408,
                     fmt::format("the {} of the request took longer than {} ms to arrive",
                                 head_seen_ ? "body" : "head",
                                 to_ms(head_seen_ ? limits.body_timeout : limits.header_timeout)),
                     now);
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

// As a WebSocket's, his streams go on without him. An answer outlives the token that it was asked
// for with, but not what that was checked by.
bool HttpSession::on_access(TimePoint now) {
  const bool reads_body = state_ == State::reading && head_seen_ && !routed_.open();
  if (!waits() && !reads_body) return false;
  if (context_.access.gate->still_admits(caller_.principal, WallTime{})) return false;
  constexpr auto kWhy = auth::Refusal::revoked;
  if (reads_body) {
    refuse_caller(kWhy);
    state_ = State::refused;
    deadline_ = now + kLinger;
    return true;
  }
  const bool streaming = state_ == State::streaming;
  on_gone();
  keep_alive_ = false;
  if (streaming) {
    context_.counters.count_refusal(kWhy);
    context_.note(caller_, observe::AuditEvent::refuse, routed_.route, asked_, 0, auth::name(kWhy));
    api::append_last_error(output_, turned_away(kWhy), framing());
  } else {
    refuse_caller(kWhy);
  }
  complete(now);
  return true;
}

void HttpSession::on_farewell(Farewell why, TimePoint) {
  if (why == Farewell::stalled) return on_gone();
  keep_alive_ = false;
  // Nothing is said to the core: what becomes of the stream is the journal's.
  if (state_ == State::asked || state_ == State::collecting) {
    note_asked(kUnanswered);
    refuse({.code = ErrorCode::overloaded,
            .message = "the server is shutting down; ask again in a moment",
            .retry_after_ms = kRetryAfterMs});
  }
  // A streamed answer ends in the middle of its body, so that nobody takes it for whole. The
  // first request of a connection may be on its way: it gets its answer.
  if ((state_ == State::reading && served_) || waits()) state_ = State::finished;
  end_reading();
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
  if (upgrade_.session) {
    upgrade_.response.insert(0, std::exchange(output_, {}));  // Of the requests before it.
    upgrade_.rest = std::exchange(input_, {});
  }
  return std::exchange(upgrade_, {});
}

// A stream as answer.

bool HttpSession::waits() const {
  return state_ == State::asked || state_ == State::collecting || state_ == State::streaming;
}

core::ReplyTo HttpSession::reply_to() const {
  return {.edge = context_.edge, .connection = connection_, .request = request_};
}

void HttpSession::on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) {
  if (state_ != State::asked || request != request_) return;
  if (const auto* accepted = std::get_if<core::Accepted>(&body)) {
    return on_accepted(*accepted, now);
  }
  if (const auto* resumed = std::get_if<core::Resumed>(&body)) return on_resumed(*resumed, now);
  if (const auto* refused = std::get_if<core::Refused>(&body)) {
    refuse(refused->problem);
  } else if (const auto* list = std::get_if<core::StreamList>(&body)) {
    respond_json(api::streams_answer(*list));
  } else {
    note_asked();
    respond_json(api::cancelled_answer(std::get<core::CancelDone>(body).stream));
  }
  complete(now);
}

// For the audit log: what was asked for was done, or whoever asked left before he was told.
void HttpSession::note_asked(std::string_view code) {
  const auto event = std::exchange(asking_, std::nullopt);
  if (event) context_.note(caller_, *event, routed_.route, asked_, 0, code);
}

void HttpSession::on_accepted(const core::Accepted& accepted, TimePoint now) {
  if (accepted.attached) context_.counters.count_resume(ResumeCause::key);
  begin_reading(accepted, Offset{0});
  state_ = State::collecting;
  if (!wants_stream()) return;
  const api::BodyFraming framing = begin_events(now);
  if (const auto* chat = std::get_if<api::ChatOptions>(&options_)) {
    show(*chat, framing);
  } else {
    show(std::get<api::CompletionOptions>(options_), framing);
  }
}

void HttpSession::on_resumed(const core::Resumed& resumed, TimePoint now) {
  const auto& query = std::get<api::StreamQuery>(options_);
  if (const auto problem = api::why_not_shown(query, resumed)) {
    context_.give_up(reply_to());
    refuse(*problem);
    return complete(now);
  }
  note_asked();
  context_.counters.count_resume(ResumeCause::sse);
  const core::Accepted& stream = resumed.stream;
  begin_reading(stream, resumed.from);
  const api::BodyFraming framing = begin_events(now);
  if (head_only_) {
    context_.give_up(reply_to());
    return complete(now);
  }
  const bool logprobs = stream.log->with_logprobs();
  switch (query.as.value_or(stream.surface)) {
    case core::Surface::native:
      answer_->view.emplace<api::NativeSseView>(resumed, query.with, framing);
      break;
    case core::Surface::chat:
      return show(
          api::ChatOptions{
              .stream = true, .include_usage = stream.include_usage, .logprobs = logprobs},
          framing);
    case core::Surface::completions:
      return show(
          api::CompletionOptions{
              .stream = true, .include_usage = stream.include_usage, .logprobs = logprobs},
          framing);
  }
}

void HttpSession::begin_reading(const core::Accepted& accepted, Offset from) {
  answer_.emplace(Answer{.log = accepted.log,
                         .head = api::AnswerHead{accepted},
                         .cursor = {.next = from},
                         .check = api::DeliveryCheck{from}});
}

void HttpSession::end_reading() {
  answer_.reset();
  reader_ = false;
}

// The head of a streamed answer. What follows is to be given to a view.
api::BodyFraming HttpSession::begin_events(TimePoint now) {
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
  return framing();
}

void HttpSession::show(const api::ChatOptions& options, api::BodyFraming framing) {
  answer_->view.emplace<api::ChatSseView>(answer_->head, options, framing);
}

void HttpSession::show(const api::CompletionOptions& options, api::BodyFraming framing) {
  answer_->view.emplace<api::CompletionSseView>(answer_->head, options, framing);
}

void HttpSession::render(Rendering& out, std::size_t bytes_max, TimePoint now) {
  if (!output_.empty()) out.bytes += std::exchange(output_, {});
  if (state_ == State::streaming && out.bytes.size() < bytes_max) {
    render_stream(out.bytes, std::min(bytes_max, kPieceBytesMax), now);
  } else if (state_ == State::collecting && answer_->log->head().done) {
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
  const auto rendered = std::visit(
      [&]<typename View>(View& view) -> api::Rendered {
        if constexpr (std::is_same_v<View, std::monostate>) {
          return {};
        } else {
          return view.render(log, answer_->cursor, out, bytes_max);
        }
      },
      answer_->view);
  context_.check(answer_->check, rendered, log.head().end);
  if (out.size() == before) return;
  silent_since_ = now;
  render_at_ = now + context_.config.merge;
  if (answer_->cursor.done) complete(now);
}

void HttpSession::on_sent(TimePoint now) {
  if (!input_.empty() && may_parse()) {
    const std::string waiting = std::exchange(input_, {});
    consume(as_bytes(waiting), now);
  }
}

}  // namespace seedance::server
