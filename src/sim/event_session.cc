#include "sim/event_session.h"

#include <algorithm>
#include <utility>

namespace seedance::sim {
namespace {

constexpr std::uint64_t kRequest = 1;
constexpr Duration kKeepalive = std::chrono::seconds{15};
constexpr api::BodyFraming kFraming = api::BodyFraming::until_close;

std::string_view take_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

}  // namespace

EventSession::EventSession(EdgeContext& context, ConnectionId id, std::shared_ptr<Link> link)
    : context_(context), world_(context.world), id_(id), link_(std::move(link)) {}

bool EventSession::due() const {
  return listed_ || (blocked_ && !link_->down.full()) || deadline() <= world_.now();
}

void EventSession::on_core_turn() {
  const bool news = log_ && !cursor_.done && (log_->head().done || log_->head().end > cursor_.next);
  wakes_.on_core_turn(news, world_.now());
}

void EventSession::turn() {
  if (listed_) {
    wakes_.on_mail();
  } else if (!blocked_ && !wakes_.on_other(world_.now())) {
    world_.violate("a listener was not woken");
  }
  listed_ = false;
  if (closed_) return;
  if (blocked_ && !link_->down.full()) {
    blocked_ = false;
    stalled_at_ = kNever;
  }
  read();
  if (log_ && !blocked_ && world_.now() >= silent_since_ + kKeepalive) {
    silent_since_ = world_.now();
    api::append_keepalive(unsent_, kFraming);
  }
  if (link_->up.ended(world_.now()) || world_.now() >= stalled_at_) return close();
  while (!closed_ && !blocked_) {
    render();
    if (unsent_.empty()) break;
    send();
  }
  if (answered_ && unsent_.empty()) close();
}

void EventSession::read() {
  while (!asked_ && !answered_) {
    const auto piece = link_->up.peek(world_.now());
    if (!piece) return;
    line_ += piece->bytes;
    if (link_->up.full()) world_.wake(link_->client, world_.now() + link_->delay);
    link_->up.take(piece->bytes.size());
    if (line_.ends_with('\n')) on_request(std::string_view{line_}.substr(0, line_.size() - 1));
  }
}

void EventSession::on_request(std::string_view line) {
  const auto stream = parse_stream_id(take_word(line));
  if (!stream) return refuse(name(ErrorCode::stream_not_found));
  const std::string_view query = take_word(line);
  const auto parsed = api::parse_stream_query(*stream, query, line);
  if (!parsed) return refuse(name(parsed.error().code));
  query_ = *parsed;
  stream_ = *stream;
  asked_ = true;
  world_.note("listen", id_.value, stream_.low, query_.from.value);
  context_.to_core.emplace_back(core::Attach{.reply_to = reply_to(),
                                             .principal = {link_->tenant},
                                             .stream = stream_,
                                             .from = query_.from,
                                             .epoch = query_.epoch});
}

core::ReplyTo EventSession::reply_to() const {
  return {.edge = context_.edge, .connection = id_, .request = kRequest};
}

void EventSession::on_reply(std::uint64_t, core::ReplyBody& body) {
  if (closed_) return;
  listed_ = true;
  if (const auto* refused = std::get_if<core::Refused>(&body)) {
    refuse(name(refused->problem.code));
  } else if (auto* resumed = std::get_if<core::Resumed>(&body)) {
    show(*resumed);
  }
}

void EventSession::refuse(std::string_view code) {
  unsent_ += code;
  unsent_ += '\n';
  answered_ = true;
}

void EventSession::show(core::Resumed& resumed) {
  if (const auto problem = api::why_not_shown(query_, resumed)) {
    context_.to_core.emplace_back(core::ReaderGone{reply_to()});
    return refuse(name(problem->code));
  }
  unsent_ += "ok\n";
  const core::Accepted& stream = resumed.stream;
  const core::Surface as = query_.as.value_or(stream.surface);
  if (as == core::Surface::chat) {
    const bool logprobs = stream.log->with_logprobs() && stream.pieces;
    view_.emplace<api::ChatSseView>(
        api::AnswerHead{stream},
        api::ChatOptions{
            .stream = true, .include_usage = stream.include_usage, .logprobs = logprobs},
        kFraming);
  } else {
    view_.emplace<api::NativeSseView>(resumed, query_.with, kFraming);
  }
  cursor_.next = begin_of(context_.plan.canary, resumed.from, *stream.log);
  check_ = api::DeliveryCheck{cursor_.next};
  log_ = std::move(resumed.stream.log);
  silent_since_ = world_.now();
  context_.referee.on_reader(stream_);
}

void EventSession::render() {
  if (!log_ || cursor_.done) return;
  const std::size_t max = context_.plan.render_bytes_max;
  api::Rendered rendered;
  if (auto* chat = std::get_if<api::ChatSseView>(&view_)) {
    rendered = chat->render(*log_, cursor_, unsent_, max);
  } else {
    rendered = std::get<api::NativeSseView>(view_).render(*log_, cursor_, unsent_, max);
  }
  if (!check_.on_rendered(rendered)) world_.violate("a listener's self-check failed");
  if (!cursor_.done) return;
  if (!check_.complete(log_->head().end))
    world_.violate("a listener's self-check failed at its end");
  answered_ = true;
}

void EventSession::send() {
  const TimePoint arrives = world_.now() + link_->delay + world_.between({}, link_->jitter);
  const std::size_t sent = link_->down.write(unsent_, arrives, world_.moment());
  world_.note("sent", id_.value, sent, unsent_.size());
  if (sent > 0) world_.wake(link_->client, link_->down.arrival());
  silent_since_ = world_.now();
  unsent_.erase(0, sent);
  if (unsent_.empty()) return;
  blocked_ = true;
  stalled_at_ = world_.now() + context_.plan.stall_timeout;
}

// A response is not interrupted: it ends with its stream, or at the drain's timeout.
void EventSession::on_drain(Duration) {
  listed_ = true;
  answered_ = answered_ || !asked_;
}

void EventSession::on_drain_timeout() {
  close();
}

void EventSession::close() {
  if (std::exchange(closed_, true)) return;
  world_.note("close", id_.value);
  if (log_) context_.referee.on_reader_gone(stream_);
  if (asked_ && !cursor_.done) context_.to_core.emplace_back(core::ReaderGone{reply_to()});
  link_->down.finish(world_.now() + link_->delay);
  world_.wake(link_->client, link_->down.arrival());
  link_->up.finish(world_.now());
}

void EventSession::die() {
  if (std::exchange(closed_, true)) return;
  link_->cut(world_);
}

TimePoint EventSession::deadline() const {
  if (closed_) return kNever;
  // Behind the request nothing is read but its end.
  const TimePoint keepalive = log_ && !blocked_ ? silent_since_ + kKeepalive : kNever;
  return std::min({stalled_at_, link_->up.arrival(), keepalive});
}

}  // namespace seedance::sim
