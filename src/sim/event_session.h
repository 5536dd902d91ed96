// One stream as server-sent events, as the server's edge has it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/chat.h"
#include "api/delivery.h"
#include "api/native_sse.h"
#include "api/streams.h"
#include "base/id.h"
#include "core/messages.h"
#include "sim/link.h"
#include "sim/session.h"
#include "sim/world.h"
#include "stream/token_log.h"

namespace seedance::sim {

// What server::HttpSession is for GET /v1/streams/{id}, without HTTP around it: takes
// one line with the stream, the query and the Last-Event-ID, gives one with `ok` or
// an error code, and then the events. What the connection does not take is kept.
class EventSession final : public Session {
 public:
  EventSession(EdgeContext& context, ConnectionId id, std::shared_ptr<Link> link);

  void on_reply(std::uint64_t request, core::ReplyBody& body) override;
  void on_wake() override { listed_ = true; }
  void on_core_turn() override;
  void on_drain(Duration reconnect_within) override;
  void on_drain_timeout() override;
  bool due() const override;
  void turn() override;
  TimePoint deadline() const override;
  bool closed() const override { return closed_; }
  void die() override;

 private:
  void read();
  void on_request(std::string_view line);
  void refuse(std::string_view code);
  void show(core::Resumed& resumed);
  void render();
  void send();
  void close();
  core::ReplyTo reply_to() const;

  EdgeContext& context_;
  World& world_;
  const ConnectionId id_;
  const std::shared_ptr<Link> link_;  // Of both ends: whoever leaves last frees it.
  std::string line_;
  api::StreamQuery query_;
  StreamId stream_;
  bool asked_ = false;
  std::shared_ptr<const stream::TokenLog> log_;  // The core writes it.
  stream::Cursor cursor_;
  api::DeliveryCheck check_;
  WakeCheck wakes_;
  std::variant<std::monostate, api::ChatSseView, api::NativeSseView> view_;
  std::string unsent_;
  TimePoint stalled_at_ = kNever;
  TimePoint silent_since_{};
  bool answered_ = false;  // All of it was rendered.
  bool listed_ = true;     // For a turn.
  bool blocked_ = false;
  bool closed_ = false;
};

}  // namespace seedance::sim
