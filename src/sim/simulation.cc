#include "sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace seedance::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kStepsMax = 400'000;
// After the last fault everything must be done in such a time.
constexpr Duration kPatience = minutes{30};

std::string_view name_of(Actor actor) {
  if (actor >= kFirstGuest) return "guest";
  if (actor >= kFirstEdge) return "edge";
  return actor == kFate ? "fate" : actor == kCore ? "core" : actor == kDisk ? "disk" : "host";
}

std::string_view name_of(Fault fault) {
  constexpr std::array<std::string_view, kFaultCount> kNames{
      "fault: cut a link",      "fault: silence a link",  "fault: stall a client",
      "fault: a client leaves", "fault: kill the engine", "fault: kill the vocabulary",
      "fault: kill the server", "fault: lose power",      "fault: drain",
      "fault: fill the disk",   "fault: the clock leaps", "fault: set the wall clock",
      "fault: list streams"};
  return kNames.at(static_cast<std::size_t>(fault));
}

class Run {
 public:
  Run(const scripted::Vocabulary& vocabulary, const RunOptions& options)
      : world_(options.seed, options.diary),
        scenario_(*options.scenario),
        plan_(draw_plan(world_, scenario_, options.canary)),
        stories_(vocabulary, plan_.script),
        ledger_(world_, stories_),
        referee_(world_, stories_, ledger_, plan_.terms),
        disk_(world_, kDisk, plan_.disk, ledger_),
        town_{.world = world_, .referee = referee_} {
    std::vector<Client*> clients;
    for (const GuestPlan& plan : plan_.clients) {
      auto client =
          std::make_unique<Client>(town_, next_guest(), plan, plan_.server.edge.websocket, harbor_);
      clients.push_back(client.get());
      guests_.push_back(std::move(client));
    }
    for (const auto& [plan, listening] : plan_.listeners) {
      guests_.push_back(std::make_unique<Listener>(town_, next_guest(), plan, listening, harbor_));
    }
    draw_errands(town_, scenario_, plan_, clients);
  }

  Outcome go() {
    start_server();
    world_.wake(kFate, world_.now() + next_fault_after());
    while (!world_.violated() && !done()) step();
    if (!world_.violated()) finale();
    if (world_.violated()) disk_.write_down();
    return {.violation = world_.violation(),
            .hash = world_.hash(),
            .steps = steps_,
            .simulated = world_.now() - begun_,
            .diary = world_.diary(),
            .counts = {.streams = ledger_.entries().size(),
                       .tokens = town_.tokens_read,
                       .resumes = town_.resumes,
                       .restarts = town_.restarts,
                       .servers = servers_,
                       .faults = faults_}};
  }

 private:
  Actor next_guest() const {
    return {kFirstGuest.value + static_cast<std::uint32_t>(guests_.size())};
  }

  // One thing that happens.
  void step() {
    const auto actor = world_.next();
    if (!actor) return world_.violate("nobody waits for anything, and it is not done: " + undone());
    if (++steps_ > kStepsMax) return world_.violate("no progress: " + undone());
    if (world_.now() > patience_until_) return world_.violate("not done in time: " + undone());
    world_.note(name_of(*actor), actor->value);
    if (*actor == kFate) {
      fate();
    } else if (actor->value >= kFirstGuest.value) {
      guests_[actor->value - kFirstGuest.value]->turn();
    } else {
      if (*actor == kDisk) disk_.turn();
      if (server_) server_->turn(*actor);
    }
    referee_.review();
    if (server_) tend_server();
  }

  void tend_server() {
    if (server_->dead()) return end_server(&Disk::on_process_death);
    if (server_->drained()) {
      return end_server(plan_.server.with_journal ? &Disk::finish : nullptr);
    }
    while (!harbor_.empty() && server_->accepts()) {
      server_->adopt(std::move(harbor_.front()));
      harbor_.pop_front();
    }
  }

  void end_server(void (Disk::*what)()) {
    drop_server();
    if (what != nullptr) (disk_.*what)();
    referee_.review();
    restart_at_ = world_.now() + world_.spread(milliseconds{1}, seconds{3});
    world_.wake(kFate, std::min(restart_at_, fault_at_));
  }

  void drop_server() {
    if (!server_) return;
    server_->die();
    server_.reset();
    referee_.on_server_end();
  }

  void start_server() {
    restart_at_ = kNever;
    ++servers_;
    server_ = Server::start(world_, plan_.server, disk_, referee_);
  }

  Duration next_fault_after() {
    const Duration left = plan_.faults_until - world_.now();
    const auto rest = static_cast<std::int64_t>(plan_.faults_max - faults_ + 1);
    return world_.between(Duration{1}, std::max(Duration{1}, 2 * left / rest));
  }

  bool faults_over() const {
    return faults_ >= plan_.faults_max || world_.now() >= plan_.faults_until;
  }

  void fate() {
    if (world_.now() >= restart_at_) start_server();
    if (world_.violated()) return;
    if (!faults_over() && world_.now() >= fault_at_) {
      ++faults_;
      strike(plan_.faults[world_.below(plan_.faults.size())]);
      if (!faults_over()) fault_at_ = world_.now() + next_fault_after();
    }
    if (faults_over()) {
      fault_at_ = kNever;
      patience_until_ =
          std::min(patience_until_, world_.now() + kPatience + plan_.server.limits.detach_ttl);
    }
    world_.wake(kFate, std::min(restart_at_, fault_at_));
  }

  Guest& any_guest() { return *guests_[world_.below(guests_.size())]; }

  void strike(Fault fault) {
    world_.note(name_of(fault));
    switch (fault) {
      case Fault::cut_link:
      case Fault::silence_link:
      case Fault::stall_client:
      case Fault::leave:
        return strike_guest(any_guest(), fault);
      case Fault::lose_power:
        drop_server();
        disk_.on_power_loss();
        referee_.review();
        if (restart_at_ == kNever) restart_at_ = world_.now() + world_.spread({}, seconds{3});
        return;
      case Fault::fill_disk:
        return disk_.fill_until(world_.now() + world_.spread(milliseconds{1}, seconds{5}));
      case Fault::leap:
        return world_.leap(world_.spread(seconds{1}, minutes{20}));
      case Fault::set_wall_clock: {
        const Duration by = world_.spread(seconds{1}, hours{24});
        referee_.on_wall_clock_set();
        return world_.set_wall_clock(world_.one_in(2) ? by : -by);
      }
      default:
        if (server_) strike_server(fault);
    }
  }

  void strike_guest(Guest& guest, Fault fault) {
    Link* link = guest.link();
    if (fault == Fault::leave) {
      if (world_.one_in(4)) return guest.abandon();
      return guest.leave(world_.spread(milliseconds{10}, minutes{10}));
    }
    if (fault == Fault::stall_client) {
      return guest.stall_until(world_.now() + world_.spread(milliseconds{10}, seconds{90}));
    }
    if (link == nullptr) return;
    if (fault == Fault::cut_link) {
      link->cut(world_);
    } else {
      link->silence();
    }
  }

  void strike_server(Fault fault) {
    switch (fault) {
      case Fault::kill_engine:
        return server_->host().kill_engine_in(world_.below(4));
      case Fault::kill_vocabulary:
        return server_->host().kill_vocabulary();
      case Fault::kill_server:
        return server_->die_in(world_.below(world_.one_in(2) ? 4 : 64));
      case Fault::drain:
        return server_->drain(world_.spread(milliseconds{1}, seconds{20}));
      default:
        return server_->list_streams(plan_.clients[world_.below(plan_.clients.size())].tenant);
    }
  }

  bool done() const {
    const bool gone = std::ranges::all_of(
        guests_, [](const auto& guest) { return guest->done() && guest->link() == nullptr; });
    return gone && faults_over() && server_ && server_->core().streams_active() == 0 &&
           referee_.all_ended() && (disk_.idle() || !plan_.server.with_journal);
  }

  std::string undone() const {
    std::string out = fmt::format("faults over {}, server {}", faults_over(), server_ != nullptr);
    if (server_) out += fmt::format(", {} streams active", server_->core().streams_active());
    for (std::size_t i = 0; i < guests_.size(); ++i) {
      if (!guests_[i]->done()) out += fmt::format(", guest {} has errands", i);
      if (guests_[i]->link() != nullptr) out += fmt::format(", guest {} is connected", i);
    }
    for (const auto& [id, entry] : ledger_.entries()) {
      if (entry.there && !entry.end) out += fmt::format(", stream {} has no end", id.low);
    }
    return out;
  }

  // What ended is still there after one more death, and in the end it is forgotten.
  void finale() {
    world_.note("finale");
    if (plan_.server.with_journal) {
      drop_server();
      disk_.on_process_death();
      start_server();
      if (world_.violated()) return;
    }
    server_->spare();
    const TimePoint end = world_.now() + plan_.server.limits.terminal_ttl + minutes{1};
    while (!world_.violated() && world_.now() < end) {
      const auto actor = world_.next();
      if (!actor) break;
      if (*actor == kDisk) disk_.turn();
      if (actor->value < kFirstGuest.value) server_->turn(*actor);
      referee_.review();
    }
    const std::int64_t kept = server_->core().stats().streams_kept.value();
    if (kept != 0) world_.violate(fmt::format("{} streams are kept for ever", kept));
    for (const auto& [id, entry] : ledger_.entries()) {
      if (entry.there) world_.violate(fmt::format("stream {} is in the journal for ever", id.low));
    }
  }

  World world_;
  const Scenario& scenario_;
  const Plan plan_;
  Stories stories_;
  Ledger ledger_;
  Referee referee_;
  Disk disk_;
  Town town_;
  Harbor harbor_;
  std::vector<std::unique_ptr<Guest>> guests_;
  std::unique_ptr<Server> server_;
  const TimePoint begun_ = world_.now();
  TimePoint restart_at_ = kNever;
  TimePoint fault_at_{};
  TimePoint patience_until_ = kNever;
  std::uint64_t faults_ = 0;
  std::uint64_t servers_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace

Outcome run(const scripted::Vocabulary& vocabulary, const RunOptions& options) {
  return Run{vocabulary, options}.go();
}

}  // namespace seedance::sim
