// A reader of server-sent events, as a browser's EventSource is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/event_id.h"
#include "sim/errand.h"
#include "sim/guest.h"
#include "sim/world.h"
#include "wire/sse.h"

namespace seedance::sim {

struct ListenerPlan {
  TimePoint at;          // When it begins.
  bool as_chat = false;  // As chunks of chat completions, else as native messages.
};

// Reads one stream that somebody of its tenant was told of, from anywhere, to its
// end. When the connection is lost it comes back with the id of the last event.
class Listener final : public Guest {
 public:
  Listener(Town& town, Actor self, GuestPlan plan, ListenerPlan listening, Harbor& harbor);

  void turn() override;
  bool done() const override { return over_; }
  Link* link() override { return line_.link(); }
  void stall_until(TimePoint at) override { line_.stall_until(at); }
  void leave(Duration away) override;
  void abandon() override;

 private:
  void connect();
  void disconnect();
  void read();
  void on_bytes(std::string_view bytes, Moment moment);
  void on_status(Moment moment);
  void on_refused(std::string_view code);
  void on_event(const wire::SseEvent& event, Moment moment);
  void on_native(const wire::SseEvent& event, const api::EventId& id, Moment moment);
  void on_chat(const wire::SseEvent& event, const api::EventId& id, Moment moment);
  void on_chunk(const ServerMessage& chunk, const api::EventId& id, Moment moment);
  TimePoint deadline() const;
  void wrong(std::string_view what) const;

  Town& town_;
  World& world_;
  const Actor self_;
  const GuestPlan plan_;
  const ListenerPlan listening_;
  Harbor& harbor_;

  Line line_;
  Reading reading_{};
  bool chosen_ = false;
  bool epoch_known_ = false;
  std::string last_id_;
  std::string status_;  // The first line of an answer, so far.
  bool in_body_ = false;
  std::optional<wire::SseParser> events_;
  TimePoint heard_at_{};
  TimePoint connects_at_;
  bool over_ = false;
};

}  // namespace seedance::sim
