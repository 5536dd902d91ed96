// One thing that a client wants of the server, over any number of connections.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "sim/message.h"
#include "sim/referee.h"
#include "sim/world.h"
#include "wire/json.h"

namespace seedance::sim {

// A stream that some client was told of.
struct Known {
  StreamId stream;
  StoryId story;
  Epoch epoch;
  std::uint64_t tokens = 0;  // That a client has.
};

// What all clients share.
struct Town {
  World& world;
  Referee& referee;
  std::vector<Known> known = {};
  std::uint64_t stories_told = 0;
  std::uint64_t tokens_read = 0;
  std::uint64_t resumes = 0;
  std::uint64_t restarts = 0;  // From 0, in a new epoch.

  void know(const Reading& reading);
  std::optional<Known> any_known(std::string_view tenant, bool own) const;
};

struct ErrandPlan {
  enum class Kind : std::uint8_t {
    ask,          // A new stream, read to its end.
    watch,        // Somebody's stream of the same tenant, from anywhere.
    trespass,     // Another tenant's: resumed, cancelled, acknowledged.
    ahead,        // Resumed behind its head.
    other_epoch,  // Resumed in an epoch that it is not in.
    unknown,      // Resumed although there never was one.
  };

  Kind kind = Kind::ask;
  StoryId story = {};  // To be asked for.
  TimePoint at;        // When it begins.
  std::optional<Duration> cancel_after = {};
  bool mismatch = false;  // Its key may be another request's.
  bool acknowledges = false;
  bool acknowledges_early = false;  // And wrongly.
  bool reads_again = false;         // All of it, once it has ended.
  bool with_tokens = false;
};

// Says what to send and judges what comes, with the referee. The connection, which
// knows no more than names, says when it is there and when it is gone.
class Errand {
 public:
  Errand(Town& town, std::string tenant, ErrandPlan plan, Duration retry_max);

  bool over() const { return state_ == State::over; }
  // When it wants to speak; never while it waits for an answer.
  TimePoint deadline() const;

  // Appends JSON messages, if it is time. `name`: on this connection, when a stream
  // is to be opened.
  void speak(std::string_view name, std::vector<std::string>& messages);

  bool is(const ServerMessage& message) const;
  void on_message(const ServerMessage& message, Moment moment);
  void on_disconnected();
  // Its client does not come back.
  void abandon() { state_ = State::over; }

 private:
  enum class State : std::uint8_t {
    waiting,  // To speak.
    asked,    // For an answer.
    reading,
    acknowledging,
    over,
  };

  void ask(std::string_view name, std::vector<std::string>& messages);
  void resume(std::string_view name, std::vector<std::string>& messages);
  bool choose_stream();
  void append_resume(std::string_view name, std::uint64_t seq, std::optional<Epoch> epoch,
                     std::string& out) const;
  void cancel(std::vector<std::string>& messages);
  void acknowledge(std::vector<std::string>& messages);
  void on_accepted(const ServerMessage& message, Moment moment);
  void on_resumed(const ServerMessage& message, Moment moment);
  void on_chunk(const ServerMessage& message, Moment moment);
  void on_done(const ServerMessage& message, Moment moment);
  void on_error(const ServerMessage& message);
  void on_probe_error(std::string_view code);
  void on_refused_ask(std::string_view code);
  void on_refused_resume(std::string_view code);
  void retry();
  void ask_anew();
  const Story& story() const { return town_.referee.stories()[reading_.story]; }
  void wrong(std::string_view what, std::string_view which) const;

  Town& town_;
  World& world_;
  const std::string tenant_;
  ErrandPlan plan_;
  const Duration retry_max_;
  State state_ = State::waiting;
  TimePoint at_;
  TimePoint cancel_at_ = kNever;
  std::string name_;           // On the present connection.
  std::uint32_t channel_ = 0;  // Likewise; 0 = none.
  Reading reading_{};
  bool told_ = false;      // Of its stream, by ACCEPTED or otherwise.
  bool in_doubt_ = false;  // It was asked for, and no answer came.
  bool epoch_known_ = false;
  Duration retry_after_{};  // As the last refusal says.
  bool early_ack_due_ = false;
  Epoch probed_{};  // What a probe for another epoch asked for.
};

}  // namespace seedance::sim
