// The native protocol on a WebSocket: many streams on one connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/delivery.h"
#include "api/native.h"
#include "base/id.h"
#include "server/context.h"
#include "server/session.h"
#include "server/waiting_requests.h"
#include "stream/token_log.h"
#include "wire/ws_connection.h"
#include "wire/ws_extension.h"

namespace seedance::server {

// Every stream is a cursor on its log, rendered when the socket takes something.
// Answers that are in no log (ACCEPTED, ERROR, PONG) wait in a buffer; while that
// is full nothing is taken, so a client that does not listen is not heard either. Nor
// does one take more messages in a turn than others can wait for: what came behind them
// is kept, at most what was read at once.
// Requests beyond those that a connection may have in work wait in their order.
class WsSession final : public Session {
 public:
  // The context outlives the session.
  WsSession(EdgeContext& context, ConnectionId connection, api::Subprotocol subprotocol,
            TimePoint now, std::optional<wire::WsDeflate> deflate = {}, Caller caller = {});
  ~WsSession() override;

  void on_input(std::span<std::byte> bytes, TimePoint now) override;
  bool wants_input() const override;
  bool rests() const override { return !kept_.empty() && has_room(); }
  bool end_turn() override;
  void go_on(TimePoint now) override;
  void on_end(TimePoint now) override;
  void on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) override;
  void on_time(TimePoint now) override;
  TimePoint deadline() const override;
  void on_blocked(TimePoint now) override;
  void on_unblocked(TimePoint now) override;
  void on_drain(TimePoint now) override;
  void on_farewell(Farewell why, TimePoint now) override;
  bool on_access(TimePoint now) override;
  void render(Rendering& out, std::size_t bytes_max, TimePoint now) override;
  void take_back(const Rendering::Frame& frame) override;
  void look_ahead(std::size_t turns) const override;
  void on_sent(TimePoint now) override;
  bool has_more() const override;
  Ending ending() const override;
  void on_gone() override;
  Upgrade take_upgrade() override { return {}; }

 private:
  // A stream of this connection, from the request until its end was sent.
  struct Reader {
    std::uint64_t request = 0;
    StreamId stream;  // Until it is accepted, what the request proposed or named.
    api::NativeView view;
    Duration merge{};
    std::uint32_t merge_bytes = 0;
    TimePoint render_at = {};                               // Not before, unless it has ended.
    std::shared_ptr<const stream::TokenLog> log = nullptr;  // Once accepted. The core writes it.
    stream::Cursor cursor = {};
    api::DeliveryCheck check{};
    bool resumed = false;    // The client named the stream.
    bool cancelled = false;  // Before it was known which stream it is.

    bool has_news() const;
    bool is_full() const;  // With a log.
  };
  // A CANCEL whose stream may turn out not to be there.
  struct Cancelling {
    std::uint64_t request = 0;
    std::string id;
    StreamId stream;
  };
  // A stream whose end was sent here: the client may still speak of it by its id.
  struct Finished {
    std::string id;
    StreamId stream;
  };

  bool has_room() const;
  bool may_take() const;
  void take(std::span<std::byte> bytes, TimePoint now);
  void take_messages(TimePoint now);
  void on_message(const wire::WsMessage& message, TimePoint now);
  void on_closed(const wire::WsClosed& closed);
  TimePoint idle_at() const;
  void on(api::InferRequest& request, TimePoint now);      // ws_requests.cc
  void on(api::ResumeRequest& request, TimePoint now);     // ws_requests.cc
  void on(const api::AckRequest& request, TimePoint now);  // ws_requests.cc
  void on(api::CancelRequest& request, TimePoint now);     // ws_requests.cc
  void on(const api::Ping& ping, TimePoint now);
  void on(const api::NativeRefusal& refusal, TimePoint now);
  void add_reader(StreamId stream, std::string id, const api::NativeOptions& options, bool resumed);
  std::optional<Problem> ask_cancel(std::string id, StreamId stream);

  // ws_requests.cc
  std::optional<Problem> why_not_named(std::string_view id) const;
  std::optional<Problem> why_not_resumed() const;
  std::optional<Problem> why_no_wait(const api::InferRequest& request) const;
  bool has_place() const;
  void submit(StreamId stream, api::InferRequest& request, Duration waited);
  void refuse(StreamId stream, std::string_view id, const Problem& problem);
  bool is_waiting(std::string_view id) const;
  void submit_waiting(TimePoint now);
  bool cancel_waiting(std::string_view id);
  void refuse_late(TimePoint now);
  void refuse_waiting();
  void on_taken();

  void on_accepted(Reader& reader, core::Accepted& accepted);
  void on_resumed(std::uint64_t request, core::Resumed& resumed);
  void on_cancelled(std::uint64_t request);
  void begin(Reader& reader, core::Accepted& accepted, Offset from);
  void on_refused(std::uint64_t request, const Problem& problem);
  void compress(std::string& frames, std::size_t begin);
  void render_readers(Rendering& out, std::size_t bytes_max, TimePoint now);
  void finish(Reader& reader);
  void forget_readers();
  void close_if_drained(TimePoint now);
  void turn_away(auth::Refusal why, TimePoint now);
  void note(observe::AuditEvent event, StreamId stream, std::string_view code = {}) const;
  core::ReplyTo reply_to(std::uint64_t request) const;
  std::vector<Reader>::iterator find(std::uint64_t request);
  std::vector<Reader>::iterator find_id(std::string_view id);
  const Finished* find_finished(std::string_view id) const;

  // What every frame needs comes first, in few cache lines.
  EdgeContext& context_;
  std::vector<Reader> readers_;
  std::uint32_t first_ = 0;          // Of readers_, to be rendered next.
  std::uint32_t turn_messages_ = 0;  // Taken in this turn ...
  std::size_t turn_bytes_ = 0;       // ... and their bytes, inflated.
  TimePoint valid_until_;            // When the caller's token holds no more.
  TimePoint active_at_;              // Something other than pings was last of interest.
  std::optional<wire::WsDeflate> deflate_;
  bool cut_off_ = false;  // There was no room for all that was to be rendered.
  bool ended_ = false;    // The end of a stream was rendered.
  bool draining_ = false;
  bool blocked_ = false;
  bool dropped_ = false;                      // The peer is gone: nothing has to be sent any more.
  std::unique_ptr<WaitingRequests> waiting_;  // Not empty, or not there.
  std::string answers_;                       // Whole frames.
  std::string kept_;                          // Input whose messages were not taken yet.
  wire::WsConnection socket_;
  api::Subprotocol subprotocol_;
  const ConnectionId connection_;
  const Caller caller_;
  std::vector<Cancelling> cancelling_;
  std::vector<Finished> finished_;  // The last ones, in the order of their ends.
  std::uint32_t requests_ = 0;
};

}  // namespace seedance::server
