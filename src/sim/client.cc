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

Client::Client(Town& town, Actor self, GuestPlan plan, const wire::WsLimits& limits, Harbor& harbor)
    : town_(town),
      world_(town.world),
      self_(self),
      plan_(std::move(plan)),
      limits_(limits),
      harbor_(harbor),
      line_(world_, self, plan_) {}

void Client::add(ErrandPlan errand) {
  errands_.emplace_back(town_, plan_.tenant, errand, plan_.retry_max);
  world_.wake(self_, deadline());
}

bool Client::done() const {
  return std::ranges::all_of(errands_, [](const Errand& errand) { return errand.over(); });
}

void Client::turn() {
  if (line_.is_open()) {
    read();
    socket_->on_time(world_.now());
    take_events(world_.moment());
    if (lost_ || socket_->finished()) disconnect();
  }
  if (!line_.is_open() && !done() && world_.now() >= connects_at_) connect();
  if (line_.is_open()) {
    speak();
    if (done()) socket_->close(wire::CloseCode::normal, "", world_.now());
    // No control frame lands inside a data frame: the line is given whole frames.
    const std::string_view control = socket_->output();
    line_.send(control);
    socket_->output_sent(control.size());
    line_.flush();
  }
  world_.wake(self_, deadline());
}

void Client::connect() {
  line_.open(Surface::web_socket, harbor_);
  socket_.emplace(limits_, wire::WsRole::client, world_.now(), world_.below(1ULL << 62));
  lost_ = false;
}

void Client::disconnect() {
  line_.close();
  socket_.reset();
  connects_at_ = world_.now() + world_.spread(kRetryMin, plan_.retry_max);
  for (Errand& errand : errands_) errand.on_disconnected();
}

void Client::read() {
  while (const auto piece = line_.read()) {
    socket_->on_input(std::as_writable_bytes(piece->bytes), world_.now());
    take_events(piece->moment);
    if (world_.violated()) return;
  }
  if (!line_.ended()) return;
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
  std::string frame;
  for (const std::string& message : messages) {
    world_.note("client says", self_.value, message.size());
    world_.write(message);
    const auto key = std::bit_cast<wire::MaskKey>(
        static_cast<std::uint32_t>(world_.below(std::uint64_t{1} << 32)));
    frame.clear();
    wire::append_masked_frame(frame, wire::Opcode::text, wire::Fin::yes, message, key);
    line_.send(frame);
  }
}

TimePoint Client::deadline() const {
  TimePoint wanted = kNever;
  for (const Errand& errand : errands_) wanted = std::min(wanted, errand.deadline());
  if (!line_.is_open()) return done() ? kNever : std::max(wanted, connects_at_);
  if (!socket_->may_send_data()) wanted = kNever;
  return std::min({wanted, socket_->deadline(), line_.arrival()});
}

void Client::leave(Duration away) {
  if (line_.is_open()) disconnect();
  connects_at_ = world_.now() + away;
  world_.wake(self_, deadline());
}

void Client::abandon() {
  for (Errand& errand : errands_) errand.abandon();
  if (line_.is_open()) disconnect();
}

}  // namespace seedance::sim
