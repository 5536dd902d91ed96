// One life of the server's process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/core.h"
#include "sim/disk.h"
#include "sim/edge.h"
#include "sim/host.h"
#include "sim/referee.h"
#include "sim/world.h"
#include "stream/journal.h"

namespace seedance::sim {

// Who is who in the world.
inline constexpr Actor kFate{0};
inline constexpr Actor kCore{1};
inline constexpr Actor kDisk{2};
inline constexpr Actor kHost{3};
inline constexpr Actor kFirstEdge{4};
inline constexpr std::uint32_t kEdgesMax = 4;
inline constexpr Actor kFirstGuest{kFirstEdge.value + kEdgesMax};

struct ServerPlan {
  core::Limits limits;
  stream::JournalLimits journal;
  bool with_journal = true;
  std::uint32_t edges = 1;
  EdgePlan edge;
  HostPlan host;
  Duration mail_max = std::chrono::microseconds{200};  // From one thread to another.
  Duration drain_grace = std::chrono::seconds{1};      // For the last bytes of a drain.
};

// Runs the real core, and carries out its effects as server::CoreLoop does: on the
// disk, the processes of the model and the edges. Each thread has its own turns; what
// they tell each other takes its time.
class Server {
 public:
  // Starts behind what is on the disk; a disk that cannot be read is a violation.
  static std::unique_ptr<Server> start(World& world, const ServerPlan& plan, Disk& disk,
                                       Referee& referee);

  void adopt(std::shared_ptr<Link> link);
  bool accepts() const { return !draining_; }

  void turn(Actor actor);

  // It dies as it is about to carry out the effect that comes after so many.
  void die_in(std::uint64_t effects) { dies_in_ = effects; }
  void spare() { dies_in_.reset(); }
  bool dead() const { return dead_; }
  // It has died: so do its connections. The disk's part is the owner's.
  void die();

  void drain(Duration timeout);
  // In order: nothing is left to do.
  bool drained() const { return stopped_at_ <= world_.now(); }

  void list_streams(const std::string& tenant);
  Host& host() { return host_; }
  const core::Core& core() const { return *core_; }

 private:
  Server(World& world, const ServerPlan& plan, Disk& disk, Referee& referee);

  void tell_referee(const core::Message& message);
  void post(core::Message message);
  void post_all(std::vector<core::Message> messages);
  void core_turn();
  void edge_turn(std::uint32_t edge);
  void carry_out();
  void carry_out(core::Reply& reply);
  void carry_out(core::Wake& wake);
  void carry_out(core::Prepare& prepare);
  void carry_out(core::EngineCommand& command);
  void carry_out(core::JournalAppend& append);
  void carry_out(core::JournalRemove& remove);
  void go_on_with_drain();
  void check_limits();

  World& world_;
  const ServerPlan& plan_;
  Disk& disk_;
  Referee& referee_;
  std::unique_ptr<core::Core> core_;
  Host host_;
  std::vector<std::unique_ptr<Edge>> edges_;
  std::vector<core::Message> inbox_;
  std::vector<std::string> listing_;  // Tenants, by the number of their request.
  bool engine_up_ = false;
  bool vocabulary_known_ = false;
  std::optional<std::uint64_t> dies_in_;
  bool dead_ = false;
  bool draining_ = false;
  bool closing_ = false;
  TimePoint drain_by_ = kNever;
  TimePoint stop_by_ = kNever;
  TimePoint stopped_at_ = kNever;
};

}  // namespace seedance::sim
