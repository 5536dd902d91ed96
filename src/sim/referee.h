// Holds what happens against what was promised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/core.h"
#include "core/messages.h"
#include "sim/host.h"
#include "sim/ledger.h"
#include "sim/message.h"
#include "sim/story.h"
#include "sim/world.h"

namespace seedance::sim {

// What a client knows of a stream that it reads.
struct Reading {
  StoryId story;
  StreamId stream;
  Epoch epoch;
  std::uint64_t next = 0;  // The token that it lacks.
};

// What may happen in a run at all.
struct Terms {
  core::Limits limits;
  bool journal = true;
  bool evicts = false;  // The journal is so small that ended streams go early.
};

// Judges every message that clients get, every end of a stream and everything
// forgotten. Knows the ledger and the stories, and what was asked by whom; of the
// server only which readers its edges have. Violations go to the world.
class Referee {
 public:
  Referee(World& world, Stories& stories, Ledger& ledger, Terms terms);

  Stories& stories() { return stories_; }
  Ledger& ledger() { return ledger_; }
  Blames& blames() { return blames_; }
  const Terms& terms() const { return terms_; }

  // What was asked.

  // A fresh name that a request for this story may get.
  StreamId name_stream(StoryId story);
  void on_ack(StreamId stream, std::uint64_t total);

  // Of the server.

  void on_server_start();
  void on_server_end();
  void on_server_draining() { draining_ = true; }
  // There is an engine, and what it says can be read. None is there when a server starts.
  void on_engine_ready();
  void on_engine_down();
  void on_reader(StreamId stream);
  void on_reader_gone(StreamId stream);
  void on_wall_clock_set();
  // Whatever the disk took up since.
  void review();
  void check_list(std::string_view tenant, const core::StreamList& list);

  // What clients get. `moment`: when the server sent it.

  void on_accepted(StoryId story, const ServerMessage& message, Moment moment);
  void on_resumed(const Reading& asked, const ServerMessage& message, Moment moment);
  void on_chunk(const Reading& reading, const ServerMessage& chunk, Moment moment);
  void on_done(const Reading& reading, const ServerMessage& done, Moment moment);
  // Of a surface that does not tell more.
  void on_end(const Reading& reading, Moment moment);
  // Of a resume with which nothing was wrong.
  void on_refused_resume(const Reading& asked, std::string_view code);

  // Whether a stream of this name is known to be gone, by right.
  bool may_be_gone(StreamId stream) const;
  bool is_epoch(StreamId stream, Epoch epoch) const;
  bool all_ended() const;

 private:
  struct Facts {
    StoryId story;
    TimePoint named;
    TimePoint unread_since{};   // kNever while there is no server.
    Duration longest_unread{};  // Of those that are over.
    std::uint32_t readers = 0;
    bool accepted = false;   // A client was told that the stream is new.
    bool clock_set = false;  // The wall clock was, since it ended.
    std::optional<TimePoint> acked;
    // Without a journal the first reader says how it ended.
    std::optional<std::string> ending = std::nullopt;

    void note_unread(TimePoint until) {
      longest_unread = std::max(longest_unread, until - unread_since);
    }
  };

  void judge_end(const Entry& entry);
  bool may_be_cancelled(const Entry& entry) const;
  bool may_fail(const Entry& entry, ErrorCode code) const;
  bool long_without_engine() const;
  bool may_be_forgotten(const Entry& entry) const;
  void judge_shown(const Reading& reading, std::uint64_t end, Moment moment);
  void wrong(StreamId stream, std::string_view what);

  World& world_;
  Stories& stories_;
  Ledger& ledger_;
  const Terms terms_;
  Blames blames_;
  std::unordered_map<StreamId, Facts> facts_;
  std::uint64_t names_ = 0;
  TimePoint server_start_{};
  TimePoint engine_lost_{};  // kNever while there is one.
  TimePoint long_outage_{};  // Until when there was none for long, the last time.
  std::uint64_t server_starts_ = 0;
  std::optional<TimePoint> wall_set_;  // The last time.
  bool draining_ = false;
};

}  // namespace seedance::sim
