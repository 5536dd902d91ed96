// The native protocol on a WebSocket: many streams on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/native.h"
#include "base/id.h"
#include "server/context.h"
#include "server/session.h"
#include "stream/token_log.h"
#include "wire/ws_connection.h"

namespace seedance::server {

// Every stream is a cursor on its log, rendered when the socket takes something.
// Answers that are in no log (ACCEPTED, ERROR, PONG) wait in a buffer; while that
// is full nothing is read, so a client that does not listen is not heard either.
class WsSession final : public Session {
 public:
  // The context outlives the session.
  WsSession(EdgeContext& context, ConnectionId connection, api::Subprotocol subprotocol,
            TimePoint now);
  ~WsSession() override;

  void on_input(std::span<std::byte> bytes, TimePoint now) override;
  bool wants_input() const override;
  void on_end(TimePoint now) override;
  void on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) override;
  void on_time(TimePoint now) override;
  TimePoint deadline() const override;
  void on_blocked(TimePoint now) override;
  void on_unblocked(TimePoint now) override;
  void on_drain(TimePoint now) override;
  void render(Rendering& out, std::size_t bytes_max, TimePoint now) override;
  void take_back(const Rendering::Frame& frame) override;
  void on_sent(TimePoint now) override;
  Ending ending() const override;
  void on_gone() override;
  Upgrade take_upgrade() override { return {}; }

 private:
  // A stream of this connection, from the request until its end was sent.
  struct Reader {
    std::uint64_t request = 0;
    StreamId stream;
    api::NativeView view;
    Duration merge{};
    std::shared_ptr<const stream::TokenLog> log = nullptr;  // Once accepted. The core writes it.
    stream::Cursor cursor = {};
    TimePoint render_at = {};  // Not before, unless it has ended.

    bool has_news() const;
  };
  // A CANCEL whose stream may turn out not to be there.
  struct Cancelling {
    std::uint64_t request = 0;
    std::string id;
    StreamId stream;
  };

  void take_messages(TimePoint now);
  void on_message(const wire::WsMessage& message);
  void on(api::InferRequest& request);
  void on(api::CancelRequest& request);
  void on(const api::Ping& ping);
  void on(const api::NativeRefusal& refusal);
  void on_refused(std::uint64_t request, const Problem& problem);
  void render_readers(Rendering& out, std::size_t bytes_max, TimePoint now);
  void close_if_drained(TimePoint now);
  std::vector<Reader>::iterator find(std::uint64_t request);

  EdgeContext& context_;
  wire::WsConnection socket_;
  const ConnectionId connection_;
  std::vector<Reader> readers_;
  std::vector<Cancelling> cancelling_;
  std::string answers_;  // Whole frames.
  std::uint32_t requests_ = 0;
  std::uint32_t first_ = 0;  // Of readers_, to be rendered next.
  api::Subprotocol subprotocol_;
  bool draining_ = false;
  bool blocked_ = false;
  bool dropped_ = false;  // The peer is gone: nothing has to be sent any more.
};

}  // namespace seedance::server
