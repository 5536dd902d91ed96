// The native protocol on a WebSocket, as the server's edge has it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/delivery.h"
#include "api/native.h"
#include "base/id.h"
#include "core/messages.h"
#include "sim/link.h"
#include "sim/session.h"
#include "sim/world.h"
#include "stream/token_log.h"
#include "wire/ws_connection.h"

namespace seedance::sim {

// Reads requests, owns cursors, renders between cursor and head, takes back what the
// connection did not take.
class NativeSession final : public Session {
 public:
  NativeSession(EdgeContext& context, ConnectionId id, std::shared_ptr<Link> link);

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
  struct Reader {
    std::uint64_t request = 0;
    StreamId stream;
    api::NativeView view;
    Duration merge{};
    std::shared_ptr<const stream::TokenLog> log = nullptr;  // The core writes it.
    stream::Cursor cursor = {};
    api::DeliveryCheck check{};
    TimePoint render_at = {};
    WakeCheck wakes{};

    bool has_news() const;
  };
  struct Cancelling {
    std::uint64_t request = 0;
    std::string id;
    StreamId stream;
  };
  // What was rendered of one reader: it may be taken back.
  struct Rendered {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::uint64_t request = 0;
    stream::Cursor before;
  };

  void check_wakes();
  void read();
  void take_events();
  void on_text(std::string_view text);
  void on(api::InferRequest& request);
  void on(api::ResumeRequest& request);
  void on(api::AckRequest& request);
  void on(api::CancelRequest& request);
  void on(const api::Ping& ping);
  void on(const api::NativeRefusal& refusal);
  void on_reading(Reader& reader, core::Accepted& accepted, Offset from);
  void on_refused(std::uint64_t request, const Problem& problem);
  bool may_read(std::string_view id, std::optional<Problem>& problem) const;
  void add_reader(std::uint64_t request, StreamId stream, std::string id,
                  const api::NativeOptions& options);
  void remove_reader(std::vector<Reader>::iterator reader);
  core::ReplyTo reply_to(std::uint64_t request) const;
  core::Principal principal_for(StreamId stream) const;
  void render();
  void render_readers();
  void send();
  void keep(std::size_t sent);
  void close_if_drained();
  void close();
  void give_up_readers();
  std::vector<Reader>::iterator find(std::uint64_t request);

  EdgeContext& context_;
  World& world_;
  const ConnectionId id_;
  const std::shared_ptr<Link> link_;  // Of both ends: whoever leaves last frees it.
  wire::WsConnection socket_;
  std::vector<Reader> readers_;
  std::vector<Cancelling> cancelling_;
  std::string input_;
  std::string answers_;  // Whole frames.
  std::string unsent_;
  // Scratch of one send.
  std::string out_;
  std::size_t fixed_ = 0;
  std::vector<Rendered> rendered_;

  std::uint64_t requests_ = 0;
  TimePoint stalled_at_ = kNever;
  bool listed_ = true;  // For a turn.
  bool draining_ = false;
  bool blocked_ = false;
  bool dropped_ = false;
  bool closed_ = false;
};

}  // namespace seedance::sim
