// A WebSocket that says everything back: for the suites that test WebSockets.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "server/context.h"
#include "server/session.h"
#include "wire/ws_connection.h"
#include "wire/ws_extension.h"

namespace seedance::server {

// The protocol, its limits and its compression are those of WsSession. Holds one
// message at a time: what comes behind it stays unread until it is sent.
class EchoSession final : public Session {
 public:
  // The context outlives the session.
  EchoSession(EdgeContext& context, std::optional<wire::WsDeflate> deflate, TimePoint now,
              Caller caller = {});
  ~EchoSession() override;

  void on_input(std::span<std::byte> bytes, TimePoint now) override;
  bool wants_input() const override { return echo_.empty(); }
  void on_end(TimePoint now) override;
  void on_reply(std::uint64_t, ReplyBody&, TimePoint) override {}
  void on_time(TimePoint now) override;
  TimePoint deadline() const override { return std::min(socket_.deadline(), valid_until_); }
  void on_blocked(TimePoint) override { socket_.on_blocked(); }
  void on_unblocked(TimePoint now) override { socket_.on_unblocked(now); }
  void on_drain(TimePoint now) override;
  bool on_access(TimePoint now) override;
  void on_farewell(Farewell why, TimePoint now) override;
  void render(Rendering& out, std::size_t bytes_max, TimePoint now) override;
  void take_back(const Rendering::Frame&) override {}
  void on_sent(TimePoint now) override;
  Ending ending() const override;
  void on_gone() override {}
  Upgrade take_upgrade() override { return {}; }

 private:
  void advance(TimePoint now);
  void turn_away(auth::Refusal why, TimePoint now);
  void say(const wire::WsMessage& message);

  EdgeContext& context_;
  const Caller caller_;
  TimePoint valid_until_;  // When his token holds no more.
  wire::WsConnection socket_;
  std::optional<wire::WsDeflate> deflate_;
  std::string input_;     // Of which the socket has not used everything, while there is an echo.
  std::string waiting_;   // Came behind that.
  std::string echo_;      // A frame ...
  std::size_t sent_ = 0;  // ... and what of it was rendered.
  bool dropped_ = false;
};

}  // namespace seedance::server
