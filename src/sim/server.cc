#include "sim/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <variant>

namespace seedance::sim {
namespace {

// One in so many effects, another thread comes in between.
constexpr std::uint64_t kInterleave = 16;
constexpr std::uint64_t kDrivesBytes = 4096;
constexpr Duration kLookAgain = std::chrono::milliseconds{20};  // Whether a drain is done.

constexpr std::array<std::string_view, std::variant_size_v<core::Effect>> kEffects{
    "effect reply",  "effect wake",   "effect prepare",
    "effect engine", "effect append", "effect remove"};

std::vector<core::ModelConfig> models() {
  return {{.name = "scripted", .version = 1, .digest = "d"}};
}

}  // namespace

Server::Server(World& world, const ServerPlan& plan, Disk& disk, Referee& referee)
    : world_(world),
      plan_(plan),
      disk_(disk),
      referee_(referee),
      host_(world, kHost, plan.host, referee.stories(), referee.blames()) {
  for (std::uint32_t i = 0; i < plan.edges; ++i) {
    edges_.push_back(std::make_unique<Edge>(world, Actor{kFirstEdge.value + i}, referee, plan.edge,
                                            core::EdgeId{i}));
  }
}

std::unique_ptr<Server> Server::start(World& world, const ServerPlan& plan, Disk& disk,
                                      Referee& referee) {
  std::unique_ptr<Server> server{new Server{world, plan, disk, referee}};
  const core::Clocks clocks{world.now(), world.wall()};
  if (!plan.with_journal) {
    server->core_ = std::make_unique<core::Core>(plan.limits, models(), clocks);
  } else {
    auto recovery = disk.open();
    if (!recovery) {
      world.violate("the journal is refused: " + recovery.error().detail);
      return nullptr;
    }
    world.note("start", recovery->streams.size(), recovery->segments.size(), recovery->bytes_cut);
    referee.ledger().compare(*recovery);
    core::JournalStart journal{plan.journal, *std::move(recovery)};
    journal.limits.batch_bytes_extra = disk.batch_bytes_extra();
    server->core_ = std::make_unique<core::Core>(plan.limits, models(), clocks, std::move(journal));
  }
  referee.review();  // Of what a dead one wrote, before it is forgotten who read it.
  referee.on_server_start();
  world.wake(kCore, world.now());
  world.wake(kHost, world.now());
  return server;
}

void Server::adopt(std::shared_ptr<Link> link) {
  edges_[world_.below(edges_.size())]->adopt(std::move(link));
}

void Server::turn(Actor actor) {
  if (dead_) return;
  if (actor == kCore) {
    core_turn();
  } else if (actor == kHost) {
    host_.turn();
    std::vector<core::Message> messages = host_.take_messages();
    for (const core::Message& message : messages) tell_referee(message);
    post_all(std::move(messages));
  } else if (actor == kDisk) {
    post_all(disk_.take_messages());
  } else {
    edge_turn(actor.value - kFirstEdge.value);
  }
  if (draining_) go_on_with_drain();
}

// Whether streams wait for an engine. A vocabulary that was known once is not missed.
void Server::tell_referee(const core::Message& message) {
  if (const auto* event = std::get_if<core::EngineEvent>(&message)) {
    engine_up_ = engine_up_ || std::holds_alternative<engine::Ready>(event->event);
  } else if (const auto* said = std::get_if<core::VocabularyEvent>(&message)) {
    vocabulary_known_ =
        vocabulary_known_ || std::holds_alternative<text::VocabularyReady>(said->event);
  } else if (std::holds_alternative<core::EngineDown>(message)) {
    engine_up_ = false;
  } else {
    return;
  }
  if (engine_up_ && vocabulary_known_) {
    referee_.on_engine_ready();
  } else {
    referee_.on_engine_down();
  }
}

void Server::post(core::Message message) {
  inbox_.push_back(std::move(message));
  world_.wake(kCore, world_.now() + world_.between({}, plan_.mail_max));
}

void Server::post_all(std::vector<core::Message> messages) {
  for (core::Message& message : messages) post(std::move(message));
}

void Server::edge_turn(std::uint32_t edge) {
  edges_.at(edge)->turn();
  post_all(edges_.at(edge)->take_messages());
}

void Server::core_turn() {
  const TimePoint now = world_.now();
  core_->on_clocks({.steady = now, .wall = world_.wall()});
  for (core::Message& message : std::exchange(inbox_, {})) {
    core_->on_message(std::move(message), now);
  }
  if (now >= core_->deadline()) core_->on_time(now);
  carry_out();
  if (dead_) return;
  for (const auto& edge : edges_) edge->on_core_turn();
  check_limits();
  world_.wake(kCore, core_->deadline());
}

void Server::carry_out() {
  while (auto effect = core_->next()) {
    if (dies_in_ && (*dies_in_)-- == 0) {
      world_.note("server dies");
      dead_ = true;
      return;
    }
    world_.note(kEffects.at(effect->index()));
    std::visit([this](auto& body) { carry_out(body); }, *effect);
    if (world_.one_in(kInterleave)) {
      edge_turn(static_cast<std::uint32_t>(world_.below(edges_.size())));
    }
  }
}

void Server::carry_out(core::Reply& reply) {
  if (reply.to.connection == ConnectionId{}) {
    const auto* list = std::get_if<core::StreamList>(&reply.body);
    if (list != nullptr) referee_.check_list(listing_.at(reply.to.request), *list);
    return;
  }
  const std::uint32_t edge = reply.to.edge.value;
  edges_.at(edge)->deliver(std::move(reply));
  world_.wake({kFirstEdge.value + edge}, world_.now() + world_.between({}, plan_.mail_max));
}

void Server::carry_out(core::Wake& wake) {
  const std::uint32_t edge = wake.edge.value;
  edges_.at(edge)->deliver(std::move(wake));
  world_.wake({kFirstEdge.value + edge}, world_.now() + world_.between({}, plan_.mail_max));
}

void Server::carry_out(core::Prepare& prepare) {
  host_.prepare(std::move(prepare.request));
}

void Server::carry_out(core::EngineCommand& command) {
  host_.command(std::move(command.command));
}

void Server::carry_out(core::JournalAppend& append) {
  const std::uint64_t batch = append.write.batch;
  disk_.append(std::move(append.write));
  if (plan_.edge.canary == Canary::shown_early) post(core::JournalWritten{batch});
}

void Server::carry_out(core::JournalRemove& remove) {
  disk_.remove(remove.segment);
}

// Everything has its limit.
void Server::check_limits() {
  const auto check = [&](std::string_view what, std::uint64_t value, std::uint64_t max) {
    if (value > max) world_.violate(fmt::format("{}: {} of at most {}", what, value, max));
  };
  check("prompts being prepared", host_.prepares(), core::kPreparesAtOnce);
  const std::uint32_t sequences = referee_.stories().script().sequences;
  // For a class, those of lower ones do not count.
  check("jobs at the engine", host_.jobs(),
        kPriorityCount * (sequences + std::max(1U, sequences / 8)));
  // Those whose ends are on their way to the journal come on top.
  if (inbox_.empty() && (disk_.idle() || !plan_.with_journal)) {
    check("streams kept", static_cast<std::uint64_t>(core_->stats().streams_kept.value()),
          plan_.limits.streams_kept_max);
  }
  if (!plan_.with_journal) return;
  // What is copied forward is there twice for a while, and drives come on top.
  check("bytes of the journal", disk_.bytes() + disk_.bytes_waiting(),
        plan_.journal.bytes_max + plan_.journal.bytes_max / 2 + kDrivesBytes);
}

// Drain.

void Server::drain(Duration timeout) {
  if (std::exchange(draining_, true)) return;
  world_.note("drain");
  referee_.on_server_draining();
  drain_by_ = world_.now() + timeout;
  stop_by_ = drain_by_ + plan_.drain_grace;
  post(core::Drain{drain_by_});
  for (const auto& edge : edges_) edge->drain(timeout);
}

void Server::go_on_with_drain() {
  const TimePoint now = world_.now();
  if (now >= drain_by_ && !std::exchange(closing_, true)) {
    for (const auto& edge : edges_) edge->close_all();
  }
  const bool quiet = std::ranges::all_of(edges_, [](const auto& edge) { return edge->empty(); });
  if (stopped_at_ == kNever && inbox_.empty() && core_->drained() && (quiet || now >= stop_by_)) {
    stopped_at_ = now;
  }
  world_.wake(kCore, std::max(closing_ ? stop_by_ : drain_by_, now + kLookAgain));
}

void Server::list_streams(const std::string& tenant) {
  const std::uint64_t number = listing_.size();
  listing_.push_back(tenant);
  post(core::ListStreams{.reply_to = {.edge = {0}, .connection = {}, .request = number},
                         .principal = {tenant}});
}

void Server::die() {
  dead_ = true;
  for (const auto& edge : edges_) edge->die();
}

}  // namespace seedance::sim
