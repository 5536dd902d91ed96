// The processes of a model: the engine and the vocabulary.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/messages.h"
#include "engine/backoff.h"
#include "engine/job.h"
#include "scripted/scripted_engine.h"
#include "sim/story.h"
#include "sim/world.h"

namespace seedance::sim {

struct HostPlan {
  Duration pipe_max = std::chrono::milliseconds{1};  // A message to or from a process.
  Duration load_min = std::chrono::milliseconds{5};  // From a start to Ready.
  Duration load_max = std::chrono::milliseconds{800};
};

// How the engine's deaths hit a job, as the host saw it.
struct Blame {
  std::uint32_t deaths = 0;  // While it ran, since its last token.
  bool alone = false;        // At the last of them nobody else was there.
};

// Streams that were asked for the same tell the same story.
using Blames = std::map<std::pair<StoryId, engine::JobId>, Blame>;

// Starts both processes, carries messages, and starts again what died. An engine
// that is to say a poisoned token dies instead. Dies with the server.
class Host {
 public:
  Host(World& world, Actor self, HostPlan plan, const Stories& stories, Blames& blames);

  // For the server.
  void command(engine::Command command);
  void prepare(text::PrepareRequest request);
  void turn();
  // What has arrived for the core.
  std::vector<core::Message> take_messages();

  // Faults.
  void kill_engine_in(std::uint64_t steps) { dies_in_ = steps; }
  void kill_vocabulary();

  std::size_t prepares() const { return prepares_.size(); }
  std::size_t jobs() const { return jobs_.size(); }  // Those under way, too.

 private:
  template <typename T>
  struct UnderWay {
    TimePoint arrives;
    T body;
  };
  struct Running {
    Generation gen;
    StoryId story;
    std::uint64_t next = 0;  // The token to be said.
  };

  void start_engine();
  void start_vocabulary();
  void run_engine();
  void know(const engine::Command& command);
  bool on_step(const engine::Step& step);
  void kill_engine();
  void charge();
  void send(std::deque<UnderWay<core::Message>>& pipe, core::Message message, Duration delay);
  TimePoint deadline() const;

  World& world_;
  const Actor self_;
  const HostPlan plan_;
  const Stories& stories_;
  Blames& blames_;

  std::unique_ptr<scripted::ScriptedEngine> engine_;
  engine::Backoff engine_backoff_{{}};
  TimePoint engine_starts_ = kNever;
  std::optional<std::uint64_t> dies_in_;
  std::map<engine::JobId, Running> jobs_;  // That the core gave to it.
  std::deque<UnderWay<engine::Command>> commands_;
  std::deque<UnderWay<core::Message>> events_;

  bool vocabulary_up_ = false;
  engine::Backoff vocabulary_backoff_{{}};
  TimePoint vocabulary_starts_ = kNever;
  std::deque<UnderWay<text::PrepareRequest>> prepares_;
  std::deque<UnderWay<core::Message>> replies_;
};

}  // namespace seedance::sim
