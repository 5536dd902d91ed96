#include "sim/native_session.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "api/digest.h"
#include "base/bytes.h"

namespace seedance::sim {

NativeSession::NativeSession(EdgeContext& context, ConnectionId id, std::shared_ptr<Link> link)
    : context_(context),
      world_(context.world),
      id_(id),
      link_(std::move(link)),
      socket_(context.plan.websocket, wire::WsRole::server, world_.now()) {}

bool NativeSession::Reader::has_news() const {
  if (!log || cursor.done) return false;
  const stream::Head head = log->head();
  return head.done || head.end > cursor.next;
}

// In.

bool NativeSession::due() const {
  return listed_ || (blocked_ && !link_->down.full()) || deadline() <= world_.now();
}

void NativeSession::on_core_turn() {
  const bool renders = !closed_ && !blocked_ && socket_.may_send_data();
  for (Reader& reader : readers_) {
    const bool due = renders && reader.has_news() && world_.now() >= reader.render_at;
    reader.wakes.on_core_turn(due, world_.now());
  }
}

void NativeSession::check_wakes() {
  for (Reader& reader : readers_) {
    if (listed_) {
      reader.wakes.on_mail();
    } else if (!blocked_ && !reader.wakes.on_other(world_.now())) {
      world_.violate("a reader was not woken");
    }
  }
}

void NativeSession::turn() {
  check_wakes();
  listed_ = false;
  if (closed_) return;
  const TimePoint now = world_.now();
  if (blocked_ && !link_->down.full()) {
    blocked_ = false;
    stalled_at_ = kNever;
    socket_.on_unblocked(now);
  }
  read();
  if (now >= stalled_at_) return close();
  socket_.on_time(now);
  take_events();
  while (!closed_ && !blocked_) {
    render();
    if (out_.empty()) break;
    send();
  }
  if (closed_) return;
  if (dropped_) return close();
  if (unsent_.empty() && (socket_.finished() || socket_.half_closed())) close();
}

void NativeSession::read() {
  const TimePoint now = world_.now();
  while (answers_.size() < context_.plan.pending_bytes_max) {
    const auto piece = link_->up.peek(now);
    if (!piece) break;
    input_.assign(piece->bytes.substr(0, 1 + world_.below(piece->bytes.size())));
    const bool was_full = link_->up.full();
    link_->up.take(input_.size());
    if (was_full) world_.wake(link_->client, now + link_->delay);
    socket_.on_input(std::as_writable_bytes(std::span{input_}), now);
    take_events();
  }
  if (link_->up.ended(now) && !dropped_) {
    socket_.on_eof();
    take_events();
    dropped_ = true;
  }
}

void NativeSession::take_events() {
  while (const auto event = socket_.next()) {
    if (const auto* message = std::get_if<wire::WsMessage>(&*event)) {
      on_text(message->text());
    } else {
      give_up_readers();
      dropped_ = dropped_ || std::get<wire::WsClosed>(*event).code ==
                                 static_cast<std::uint16_t>(wire::CloseCode::abnormal);
    }
  }
  close_if_drained();
}

void NativeSession::on_text(std::string_view text) {
  api::ClientMessage parsed = api::parse_client_message(text, link_->subprotocol);
  std::visit([this](auto& body) { on(body); }, parsed);
}

// Whether this connection may read one more stream, by this name.
bool NativeSession::may_read(std::string_view id, std::optional<Problem>& problem) const {
  const bool taken =
      std::ranges::any_of(readers_, [&](const Reader& reader) { return reader.view.id() == id; });
  if (taken) {
    problem = {.code = ErrorCode::invalid_request, .message = "the id is taken", .param = "id"};
  } else if (readers_.size() >= context_.plan.streams_max) {
    problem = {.code = ErrorCode::stream_limit, .message = "too many streams"};
  }
  return !problem;
}

void NativeSession::on(api::InferRequest& infer) {
  std::optional<Problem> problem;
  if (!may_read(infer.id, problem)) {
    return api::append_error(answers_, infer.id, std::nullopt, *problem);
  }
  core::GenerateRequest& request = infer.request;
  const auto* prompt = std::get_if<std::string>(&request.input);
  const auto story = prompt == nullptr ? std::nullopt : context_.referee.stories().find(*prompt);
  if (!story) return world_.violate("a request arrived that nobody sent");
  const Request& asked = context_.referee.stories()[*story].request;
  if (asked.orphan) {
    request.surface = core::Surface::chat;
    request.detach = core::Detach::automatic;
  }
  const StreamId stream = context_.referee.name_stream(*story);
  const std::uint64_t number = ++requests_;
  world_.note("submit", id_.value, number, stream.low);
  if (context_.plan.canary == Canary::keys_dropped) request.key.clear();
  stream::Sha256 body{};
  if (!request.key.empty()) body = api::digest_of(request);
  context_.to_core.emplace_back(core::Submit{.reply_to = reply_to(number),
                                             .principal = {link_->tenant},
                                             .stream = stream,
                                             .entropy = world_.below(1U << 30),
                                             .wall = world_.wall(),
                                             .body = body,
                                             .request = std::move(request)});
  add_reader(number, stream, std::move(infer.id), infer.options);
}

void NativeSession::on(api::ResumeRequest& resume) {
  std::optional<Problem> problem;
  if (!may_read(resume.id, problem)) {
    return api::append_error(answers_, resume.id, resume.stream, *problem);
  }
  const std::uint64_t number = ++requests_;
  world_.note("attach", id_.value, number, resume.stream.low);
  context_.to_core.emplace_back(core::Attach{.reply_to = reply_to(number),
                                             .principal = principal_for(resume.stream),
                                             .stream = resume.stream,
                                             .from = resume.from,
                                             .epoch = resume.epoch});
  add_reader(number, resume.stream, std::move(resume.id), resume.options);
}

void NativeSession::add_reader(std::uint64_t request, StreamId stream, std::string id,
                               const api::NativeOptions& options) {
  readers_.push_back({.request = request,
                      .stream = stream,
                      .view = {link_->subprotocol, std::move(id),
                               static_cast<std::uint32_t>(request), options.with},
                      .merge = options.merge.value_or(context_.plan.merge)});
}

void NativeSession::on(api::AckRequest& ack) {
  std::optional<StreamId> stream = ack.stream;
  if (!stream) {
    const auto reader =
        std::ranges::find_if(readers_, [&](const Reader& one) { return one.view.id() == ack.id; });
    if (reader == readers_.end()) {
      return api::append_error(answers_, ack.id, std::nullopt,
                               {.code = ErrorCode::stream_not_found, .message = "no such id"});
    }
    stream = reader->stream;
  }
  context_.to_core.emplace_back(
      core::Acknowledge{.principal = {link_->tenant}, .stream = *stream, .from = ack.total});
}

void NativeSession::on(api::CancelRequest& cancel) {
  const auto reader = std::ranges::find_if(readers_, [&](const Reader& one) {
    return cancel.stream ? one.stream == *cancel.stream : one.view.id() == cancel.id;
  });
  if (reader == readers_.end() && !cancel.stream) {
    return api::append_error(answers_, cancel.id, std::nullopt,
                             {.code = ErrorCode::stream_not_found, .message = "no such id"});
  }
  const StreamId stream = cancel.stream ? *cancel.stream : reader->stream;
  const std::uint64_t number = ++requests_;
  world_.note("cancel", id_.value, number, stream.low);
  context_.to_core.emplace_back(core::CancelStream{
      .reply_to = reply_to(number), .principal = principal_for(stream), .stream = stream});
  cancelling_.push_back({number, std::move(cancel.id), stream});
}

void NativeSession::on(const api::Ping& ping) {
  api::append_pong(answers_, ping, world_.wall());
}

void NativeSession::on(const api::NativeRefusal& refusal) {
  api::append_error(answers_, refusal.id, std::nullopt, refusal.problem);
}

core::ReplyTo NativeSession::reply_to(std::uint64_t request) const {
  return {.edge = context_.edge, .connection = id_, .request = request};
}

core::Principal NativeSession::principal_for(StreamId stream) const {
  if (context_.plan.canary == Canary::any_tenant && context_.referee.ledger().expects(stream)) {
    const StoryId story = context_.referee.ledger().story_of(stream);
    return {context_.referee.stories()[story].tenant};
  }
  return {link_->tenant};
}

void NativeSession::on_reply(std::uint64_t request, core::ReplyBody& body) {
  if (closed_) return;
  listed_ = true;
  const auto reader = find(request);
  if (auto* refused = std::get_if<core::Refused>(&body)) {
    on_refused(request, refused->problem);
  } else if (auto* accepted = std::get_if<core::Accepted>(&body)) {
    if (reader == readers_.end()) return;  // Given up meanwhile.
    reader->stream = accepted->stream;
    api::append_accepted(answers_, reader->view.id(), static_cast<std::uint32_t>(request),
                         *accepted);
    on_reading(*reader, *accepted, {0});
  } else if (auto* resumed = std::get_if<core::Resumed>(&body)) {
    if (reader == readers_.end()) return;
    api::append_resumed(answers_, reader->view.id(), static_cast<std::uint32_t>(request), *resumed);
    on_reading(*reader, resumed->stream, resumed->from);
  } else if (std::holds_alternative<core::CancelDone>(body)) {
    std::erase_if(cancelling_, [&](const auto& one) { return one.request == request; });
  }
}

void NativeSession::on_reading(Reader& reader, core::Accepted& accepted, Offset from) {
  reader.log = std::move(accepted.log);
  reader.cursor.next = begin_of(context_.plan.canary, from, *reader.log);
  reader.check = api::DeliveryCheck{reader.cursor.next};
  context_.referee.on_reader(reader.stream);
}

void NativeSession::on_refused(std::uint64_t request, const Problem& problem) {
  if (const auto reader = find(request); reader != readers_.end()) {
    api::append_error(answers_, reader->view.id(), std::nullopt, problem);
    readers_.erase(reader);
    return;
  }
  const auto cancel = std::ranges::find(cancelling_, request, &Cancelling::request);
  if (cancel == cancelling_.end()) return;
  if (cancel->id.empty()) api::append_error(answers_, "", cancel->stream, problem);
  cancelling_.erase(cancel);
}

// Out.

void NativeSession::render() {
  out_ = std::exchange(unsent_, {});
  rendered_.clear();
  if (socket_.may_send_data()) out_ += answers_;
  answers_.clear();
  const std::string_view control = socket_.output();
  out_ += control;
  socket_.output_sent(control.size());
  fixed_ = out_.size();
  if (socket_.may_send_data()) render_readers();
}

void NativeSession::render_readers() {
  const std::size_t count = readers_.size();
  const std::size_t first = count > 0 ? world_.below(count) : 0;
  for (std::size_t i = 0; i < count && out_.size() < context_.plan.render_bytes_max; ++i) {
    Reader& reader = readers_[(first + i) % count];
    if (!reader.has_news()) continue;
    if (world_.now() < reader.render_at && !reader.log->head().done) continue;
    if (context_.plan.canary == Canary::end_untold &&
        reader.cursor.next == reader.log->head().end) {
      continue;
    }
    const std::size_t begin = out_.size();
    const stream::Cursor before = reader.cursor;
    const api::Rendered rendered =
        reader.view.render(*reader.log, reader.cursor, out_, context_.plan.frame_bytes_max);
    if (!reader.check.on_rendered(rendered)) world_.violate("a reader's self-check failed");
    reader.render_at = world_.now() + reader.merge;
    rendered_.push_back({begin, out_.size(), reader.request, before});
  }
}

void NativeSession::send() {
  const TimePoint arrives = world_.now() + link_->delay + world_.between({}, link_->jitter);
  const std::size_t sent = link_->down.write(out_, arrives, world_.moment());
  world_.note("sent", id_.value, sent, out_.size());
  if (sent > 0) world_.wake(link_->client, link_->down.arrival());
  if (sent < out_.size()) {
    keep(sent);
    blocked_ = true;
    stalled_at_ = world_.now() + context_.plan.stall_timeout;
    socket_.on_blocked();
  }
  for (auto reader = readers_.begin(); reader != readers_.end();) {
    if (!reader->cursor.done) {
      ++reader;
      continue;
    }
    if (!reader->check.complete(reader->log->head().end)) {
      world_.violate("a reader's self-check failed at its end");
    }
    context_.referee.on_reader_gone(reader->stream);
    reader = readers_.erase(reader);
  }
  close_if_drained();
}

// Of frames that the connection took nothing of, the cursors go back.
void NativeSession::keep(std::size_t sent) {
  std::size_t end = std::max(sent, fixed_);
  for (const Rendered& frame : rendered_ | std::views::reverse) {
    if (frame.begin >= end) {
      const auto reader = find(frame.request);
      if (!reader->check.on_taken_back(frame.before.next)) {
        world_.violate("a reader's self-check failed as it was taken back");
      }
      reader->cursor = frame.before;
    } else {
      end = std::max(end, frame.end);
    }
  }
  unsent_.assign(out_, sent, end - sent);
}

// Ends.

void NativeSession::on_drain(Duration reconnect_within) {
  draining_ = listed_ = true;
  api::append_goaway(answers_, "the server restarts", reconnect_within);
  close_if_drained();
}

void NativeSession::on_drain_timeout() {
  listed_ = true;
  socket_.close(wire::CloseCode::restart, "the server restarts", world_.now());
  take_events();
}

void NativeSession::close_if_drained() {
  if (!draining_ || !readers_.empty() || !answers_.empty() || !socket_.may_send_data()) return;
  socket_.close(wire::CloseCode::restart, "the server restarts", world_.now());
  take_events();
}

void NativeSession::close() {
  if (std::exchange(closed_, true)) return;
  world_.note("close", id_.value);
  give_up_readers();
  link_->down.finish(world_.now() + link_->delay);
  world_.wake(link_->client, link_->down.arrival());
  link_->up.finish(world_.now());
}

void NativeSession::give_up_readers() {
  while (!readers_.empty()) remove_reader(readers_.begin());
}

void NativeSession::remove_reader(std::vector<Reader>::iterator reader) {
  if (reader->log) context_.referee.on_reader_gone(reader->stream);
  if (context_.plan.canary == Canary::detach_cancels && reader->log) {
    context_.to_core.emplace_back(core::CancelStream{
        .reply_to = reply_to(++requests_), .principal = {link_->tenant}, .stream = reader->stream});
  }
  context_.to_core.emplace_back(core::ReaderGone{reply_to(reader->request)});
  readers_.erase(reader);
}

void NativeSession::die() {
  if (std::exchange(closed_, true)) return;
  link_->cut(world_);
}

TimePoint NativeSession::deadline() const {
  if (closed_) return kNever;
  TimePoint earliest = std::min(stalled_at_, socket_.deadline());
  if (answers_.size() < context_.plan.pending_bytes_max) {
    earliest = std::min(earliest, link_->up.arrival());
  }
  if (blocked_ || !socket_.may_send_data()) return earliest;  // Nothing is rendered now.
  for (const Reader& reader : readers_) {
    if (reader.merge > Duration::zero() && reader.has_news()) {
      earliest = std::min(earliest, reader.render_at);
    }
  }
  return earliest;
}

std::vector<NativeSession::Reader>::iterator NativeSession::find(std::uint64_t request) {
  return std::ranges::find(readers_, request, &Reader::request);
}

}  // namespace seedance::sim
