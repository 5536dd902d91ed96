#include "sim/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/bytes.h"
#include "wire/ws_frame.h"

namespace seedance::sim {
namespace {

constexpr Duration kRetryMin = std::chrono::milliseconds{2};

}  // namespace

Client::Client(Town& town, Actor self, ClientPlan plan, const wire::WsLimits& limits,
               Harbor& harbor)
    : town_(town),
      world_(town.world),
      self_(self),
      plan_(std::move(plan)),
      limits_(limits),
      harbor_(harbor) {}

void Client::add(ErrandPlan errand) {
  errands_.emplace_back(town_, plan_.tenant, errand, plan_.retry_max);
  world_.wake(self_, deadline());
}

bool Client::done() const {
  return std::ranges::all_of(errands_, [](const Errand& errand) { return errand.over(); });
}

void Client::turn() {
  if (link_) {
    read();
    if (socket_) socket_->on_time(world_.now());
    if (socket_) take_events(world_.moment());
    if (lost_ || (socket_ && socket_->finished())) disconnect();
  }
  if (!link_ && !done() && world_.now() >= connects_at_) connect();
  if (link_) {
    speak();
    if (done()) socket_->close(wire::CloseCode::normal, "", world_.now());
    flush();
  }
  world_.wake(self_, deadline());
}

void Client::connect() {
  link_ = std::make_shared<Link>(plan_.pipe_bytes_max);
  link_->tenant = plan_.tenant;
  link_->subprotocol = plan_.subprotocol;
  link_->delay = plan_.delay;
  link_->jitter = plan_.jitter;
  link_->client = self_;
  socket_.emplace(limits_, wire::WsRole::client, world_.now(), world_.below(1ULL << 62));
  lost_ = false;
  world_.note("connect", self_.value);
  harbor_.push_back(link_);
}

void Client::disconnect() {
  world_.note("disconnect", self_.value);
  link_->up.finish(world_.now() + link_->delay);
  link_->down.finish(world_.now());
  if (link_->edge) world_.wake(*link_->edge, link_->up.arrival());
  link_.reset();
  socket_.reset();
  unsent_.clear();
  connects_at_ = world_.now() + world_.spread(kRetryMin, plan_.retry_max);
  for (Errand& errand : errands_) errand.on_disconnected();
}

void Client::read() {
  const TimePoint now = world_.now();
  if (now < reads_at_) return;
  std::size_t left = plan_.read_bytes_max > 0 ? plan_.read_bytes_max : SIZE_MAX;
  while (left > 0) {
    const auto piece = link_->down.peek(now);
    if (!piece) break;
    input_.assign(piece->bytes.substr(0, std::min(left, 1 + world_.below(piece->bytes.size()))));
    const bool was_full = link_->down.full();
    const Moment moment = piece->moment;
    link_->down.take(input_.size());
    left -= input_.size();
    if (was_full && link_->edge) world_.wake(*link_->edge, now + link_->delay);
    socket_->on_input(std::as_writable_bytes(std::span{input_}), now);
    take_events(moment);
    if (world_.violated()) return;
  }
  if (left == 0) reads_at_ = now + plan_.read_pause;
  if (!link_->down.ended(now)) return;
  socket_->on_eof();
  take_events(world_.moment());
  lost_ = true;
}

void Client::take_events(Moment moment) {
  while (const auto event = socket_->next()) {
    if (const auto* message = std::get_if<wire::WsMessage>(&*event)) {
      on_payload(*message, moment);
      if (world_.violated()) return;
      continue;
    }
    const auto code = static_cast<wire::CloseCode>(std::get<wire::WsClosed>(*event).code);
    if (code == wire::CloseCode::protocol_error || code == wire::CloseCode::bad_payload ||
        code == wire::CloseCode::internal_error) {
      world_.violate(fmt::format("a connection ended with {}", static_cast<int>(code)));
    }
    lost_ = lost_ || code == wire::CloseCode::abnormal;
  }
}

void Client::on_payload(const wire::WsMessage& message, Moment moment) {
  if (message.kind == wire::WsMessage::Kind::text) {
    world_.write(message.text());
    const auto parsed = parse_server_message(message.text());
    if (!parsed) return world_.violate("a message that cannot be read");
    return on_message(*parsed, moment);
  }
  const auto parsed = parse_server_frame(as_text(message.payload));
  if (!parsed) return world_.violate("a binary frame that cannot be read");
  if (*parsed) on_message(**parsed, moment);
}

void Client::on_message(const ServerMessage& message, Moment moment) {
  if (message.type == "GOAWAY" || message.type == "PONG") return;
  for (Errand& errand : errands_) {
    if (errand.is(message)) return errand.on_message(message, moment);
  }
  const bool refused_cancel =
      message.type == "ERROR" && (message.code == name(ErrorCode::stream_not_found) ||
                                  message.code == name(ErrorCode::stream_expired));
  if (!refused_cancel) world_.violate("a message for nobody: " + message.type + message.code);
}

void Client::speak() {
  std::vector<std::string> messages;
  for (Errand& errand : errands_) {
    if (errand.deadline() > world_.now() || !socket_->may_send_data()) continue;
    const std::string name = fmt::format("e{}", ++names_);
    errand.speak(name, messages);
  }
  for (const std::string& message : messages) {
    world_.note("client says", self_.value, message.size());
    world_.write(message);
    const auto key = std::bit_cast<wire::MaskKey>(random32());
    wire::append_masked_frame(unsent_, wire::Opcode::text, wire::Fin::yes, message, key);
  }
}

void Client::flush() {
  // No control frame lands inside a data frame: what is unsent is whole frames, or
  // begins within one.
  const std::string_view control = socket_->output();
  unsent_ += control;
  socket_->output_sent(control.size());
  if (unsent_.empty()) return;
  const TimePoint arrives = world_.now() + link_->delay + world_.between({}, link_->jitter);
  const std::size_t sent = link_->up.write(unsent_, arrives, world_.moment());
  unsent_.erase(0, sent);
  if (sent > 0 && link_->edge) world_.wake(*link_->edge, link_->up.arrival());
}

TimePoint Client::deadline() const {
  TimePoint wanted = kNever;
  for (const Errand& errand : errands_) wanted = std::min(wanted, errand.deadline());
  if (!link_) return done() ? kNever : std::max(wanted, connects_at_);
  if (!socket_->may_send_data()) wanted = kNever;
  TimePoint earliest = std::min(wanted, socket_->deadline());
  earliest = std::min(earliest, std::max(link_->down.arrival(), reads_at_));
  return earliest;
}

void Client::leave(Duration away) {
  if (link_) disconnect();
  connects_at_ = world_.now() + away;
  world_.wake(self_, deadline());
}

void Client::abandon() {
  for (Errand& errand : errands_) errand.abandon();
  if (link_) disconnect();
}

}  // namespace seedance::sim
