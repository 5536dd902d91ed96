#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace seedance::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Weight {
  Fault fault;
  std::uint8_t weight = 0;
};

constexpr std::array<std::uint8_t, kFaultCount> weights(std::initializer_list<Weight> given) {
  std::array<std::uint8_t, kFaultCount> all{};
  for (const Weight& one : given) all[static_cast<std::size_t>(one.fault)] = one.weight;
  return all;
}

constexpr std::array kScenarios{
    Scenario{.name = "calm",
             .about = "nothing goes wrong",
             .weights = weights({{Fault::list_streams, 1}}),
             .without_journal = true},
    Scenario{.name = "links",
             .about = "connections are cut, go silent and stall; clients leave",
             .weights = weights({{Fault::cut_link, 6},
                                 {Fault::silence_link, 2},
                                 {Fault::stall_client, 2},
                                 {Fault::leave, 2},
                                 {Fault::list_streams, 1}}),
             .without_journal = true},
    Scenario{.name = "workers",
             .about = "engines and vocabularies die, some of them by a request",
             .weights = weights(
                 {{Fault::kill_engine, 5}, {Fault::kill_vocabulary, 2}, {Fault::cut_link, 2}}),
             .without_journal = true,
             .poison = true},
    Scenario{.name = "servers",
             .about = "the server dies between any two effects",
             .weights = weights({{Fault::kill_server, 6},
                                 {Fault::kill_engine, 1},
                                 {Fault::cut_link, 2},
                                 {Fault::list_streams, 1}})},
    Scenario{.name = "disk",
             .about = "the disk is slow and full, the journal small",
             .weights = weights({{Fault::fill_disk, 5},
                                 {Fault::kill_server, 2},
                                 {Fault::kill_engine, 1},
                                 {Fault::cut_link, 1}}),
             .tight = true},
    Scenario{.name = "power",
             .about = "the machine dies, and with it what was not synced",
             .weights = weights({{Fault::lose_power, 4},
                                 {Fault::kill_server, 2},
                                 {Fault::cut_link, 2},
                                 {Fault::drain, 1}})},
    Scenario{.name = "drain",
             .about = "the server is restarted in order",
             .weights = weights({{Fault::drain, 4},
                                 {Fault::cut_link, 2},
                                 {Fault::leave, 1},
                                 {Fault::kill_server, 1},
                                 {Fault::fill_disk, 1}}),
             .without_journal = true},
    Scenario{.name = "clocks",
             .about = "clocks jump",
             .weights = weights({{Fault::leap, 3},
                                 {Fault::set_wall_clock, 3},
                                 {Fault::kill_server, 3},
                                 {Fault::cut_link, 1}})},
    Scenario{.name = "hostile",
             .about = "clients resume and cancel what is not theirs, and where there is nothing",
             .weights =
                 weights({{Fault::cut_link, 3}, {Fault::kill_server, 2}, {Fault::list_streams, 3}}),
             .without_journal = true,
             .hostile = true},
    Scenario{.name = "everything",
             .about = "all of it",
             .weights = weights({{Fault::cut_link, 5},
                                 {Fault::silence_link, 1},
                                 {Fault::stall_client, 1},
                                 {Fault::leave, 1},
                                 {Fault::kill_engine, 2},
                                 {Fault::kill_vocabulary, 1},
                                 {Fault::kill_server, 3},
                                 {Fault::lose_power, 1},
                                 {Fault::drain, 1},
                                 {Fault::fill_disk, 1},
                                 {Fault::leap, 1},
                                 {Fault::set_wall_clock, 1},
                                 {Fault::list_streams, 1}}),
             .poison = true,
             .hostile = true,
             .tight = true},
};

scripted::Script draw_script(World& world) {
  return {.rate = static_cast<double>(world.between(10, 1000)),
          .jitter = world.one_in(2) ? 0.5 : 0.0,
          .prefill = world.spread(microseconds{1}, milliseconds{2}),
          .length = static_cast<std::uint32_t>(world.between(2, 80)),
          .context = static_cast<std::uint32_t>(world.between(64, 160)),
          .sequences = static_cast<std::uint32_t>(world.between(1, 6)),
          .seed = world.below(1U << 20)};
}

core::Limits draw_limits(World& world) {
  const auto queue = [&] {
    return static_cast<std::uint32_t>(world.one_in(3) ? world.between(1, 4) : 64);
  };
  return {.streams_queued_max = queue(),
          .prepares_max = queue(),
          .priority_ageing = world.one_of<Duration>({{}, milliseconds{100}, seconds{10}}),
          .orphan_ttl = world.one_in(2) ? seconds{1} : seconds{10},
          .detach_ttl = world.one_in(4) ? seconds{2} : seconds{300},
          .terminal_ttl = world.one_in(4) ? seconds{5} : seconds{600},
          .acked_ttl = world.one_in(2) ? milliseconds{100} : seconds{10},
          .streams_kept_max = world.one_in(8) ? 3U : 100'000U,
          .readers_max = world.one_in(8) ? 1U : 64U};
}

ServerPlan draw_server(World& world, Canary canary) {
  ServerPlan plan{.limits = draw_limits(world),
                  .journal = {.segment_bytes = world.between(256, 8192),
                              .segments_max = static_cast<std::uint32_t>(world.between(2, 6))},
                  .edges = static_cast<std::uint32_t>(world.between(1, 3)),
                  .edge = {.canary = canary},
                  .host = {},
                  .mail_max = world.spread(microseconds{1}, milliseconds{5})};
  if (world.one_in(3)) plan.edge.frame_bytes_max = world.between(32, 512);
  if (world.one_in(3)) plan.edge.render_bytes_max = world.between(64, 2048);
  if (world.one_in(3)) plan.edge.merge = world.spread(milliseconds{1}, milliseconds{100});
  if (world.one_in(3)) plan.edge.pending_bytes_max = 256;
  plan.host.pipe_max = world.spread(microseconds{10}, milliseconds{5});
  return plan;
}

GuestPlan draw_guest(World& world, std::uint64_t tenants) {
  GuestPlan plan{.tenant = fmt::format("tenant {}", world.below(tenants)),
                 .subprotocol = world.one_in(3) ? api::Subprotocol::binary : api::Subprotocol::json,
                 .pipe_bytes_max = world.one_in(3) ? world.between(64, 512) : 16384,
                 .delay = world.spread(microseconds{10}, milliseconds{150}),
                 .retry_max = world.spread(milliseconds{10}, seconds{2})};
  if (world.one_in(2)) plan.jitter = plan.delay;
  if (world.one_in(5)) {
    plan.read_bytes_max = world.between(8, 256);
    plan.read_pause = world.spread(milliseconds{1}, milliseconds{100});
  }
  return plan;
}

Request draw_request(Town& town, const Scenario& scenario, std::string_view tenant) {
  World& world = town.world;
  Request request{.prompt = fmt::format("story {} of {}", ++town.stories_told, tenant),
                  .tokens_max = static_cast<std::uint32_t>(world.between(1, 100))};
  if (world.one_in(4)) request.prompt += std::string(world.between(1, 30), '.');
  if (world.one_in(8)) request.stop = {world.one_of<const char*>({"the ", ".", " a", "zzz", "e"})};
  if (world.one_in(4)) request.boundary = text::Boundary::grapheme;
  request.endless = world.one_in(4);
  request.logprobs = world.one_in(8);
  request.cancels = world.one_in(12);
  request.orphan = !request.cancels && world.one_in(8);
  if (world.one_in(12)) request.deadline_ms = static_cast<std::uint32_t>(world.between(1, 5000));
  if (scenario.poison && world.one_in(8)) {
    request.poison = static_cast<std::uint32_t>(world.below(4));
  }
  if (world.one_in(2)) request.key = fmt::format("key {}", town.stories_told);
  request.priority =
      world.one_of({Priority::realtime, Priority::interactive, Priority::batch, Priority::batch});
  if (!scenario.tight && world.one_in(4)) {  // Of several contexts, often.
    request.shifts = true;
    request.endless = request.endless || world.one_in(2);
    request.tokens_max *= static_cast<std::uint32_t>(world.between(1, 5));
  }
  return request;
}

ErrandPlan draw_errand(Town& town, const Scenario& scenario, const Plan& plan,
                       std::string_view tenant) {
  using Kind = ErrandPlan::Kind;
  World& world = town.world;
  ErrandPlan errand{.at = world.now() + world.between({}, plan.faults_until - world.now())};
  if (world.one_in(2)) errand.at = world.now() + world.spread({}, milliseconds{500});
  errand.with_tokens = world.one_in(3);
  if (scenario.hostile && world.one_in(2)) {
    errand.kind = world.one_of({Kind::trespass, Kind::ahead, Kind::other_epoch, Kind::unknown});
    return errand;
  }
  if (world.one_in(5)) {
    errand.kind = Kind::watch;
    return errand;
  }
  errand.story =
      town.referee.stories().add(draw_request(town, scenario, tenant), std::string{tenant});
  if (world.one_in(6)) errand.cancel_after = world.spread(microseconds{100}, seconds{2});
  errand.acknowledges = world.one_in(5);
  errand.acknowledges_early = world.one_in(10);
  errand.reads_again = world.one_in(4);
  return errand;
}

// The same request once more, or its key with another one: somewhere, some time.
ErrandPlan draw_repeat(Town& town, const Scenario& scenario, const std::string& tenant,
                       ErrandPlan& errand) {
  World& world = town.world;
  ErrandPlan repeat = errand;
  repeat.at += world.spread({}, std::chrono::seconds{3});
  if (!world.one_in(4)) return repeat;
  Request other = draw_request(town, scenario, tenant);
  other.key = town.referee.stories()[errand.story].request.key;
  repeat.story = town.referee.stories().add(std::move(other), tenant);
  repeat.mismatch = errand.mismatch = true;  // Whoever comes second.
  return repeat;
}

}  // namespace

std::span<const Scenario> scenarios() {
  return kScenarios;
}

const Scenario* find_scenario(std::string_view name) {
  const auto found = std::ranges::find(kScenarios, name, &Scenario::name);
  return found == kScenarios.end() ? nullptr : &*found;
}

Plan draw_plan(World& world, const Scenario& scenario, Canary canary) {
  Plan plan{.script = draw_script(world),
            .server = draw_server(world, canary),
            .disk = {.sync = world.one_of({Sync::none, Sync::none, Sync::interval, Sync::always}),
                     .write_max = world.spread(microseconds{50}, milliseconds{20}),
                     .sync_interval = world.spread(milliseconds{5}, milliseconds{200})},
            .terms = {},
            .clients = {},
            .listeners = {},
            .faults_until = world.now() + world.spread(milliseconds{500}, seconds{15}),
            .faults_max = world.one_in(8) ? world.between(16, 60) : world.between(1, 16),
            .faults = {}};
  plan.server.with_journal = !(scenario.without_journal && world.one_in(4));
  if (scenario.tight && world.one_in(2)) {
    plan.server.journal.bytes_max = world.between(20'000, 80'000);
    plan.disk.write_max = world.spread(milliseconds{1}, milliseconds{300});
  }
  plan.terms = {.limits = plan.server.limits,
                .journal = plan.server.with_journal,
                .evicts = plan.server.journal.bytes_max < 100'000 ||
                          plan.server.limits.streams_kept_max < 100};
  const std::uint64_t tenants = world.between(1, 2);
  const std::uint64_t clients = world.one_in(8) ? world.between(6, 12) : world.between(1, 5);
  for (std::uint64_t i = 0; i < clients; ++i) plan.clients.push_back(draw_guest(world, tenants));
  for (std::uint64_t i = world.below(4); i > 0; --i) {
    const Duration after = world.between({}, plan.faults_until - world.now());
    plan.listeners.emplace_back(
        draw_guest(world, tenants),
        ListenerPlan{.at = world.now() + after, .as_chat = world.one_in(2)});
  }
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    plan.faults.insert(plan.faults.end(), scenario.weights[i], static_cast<Fault>(i));
  }
  return plan;
}

void draw_errands(Town& town, const Scenario& scenario, const Plan& plan,
                  std::span<Client* const> clients) {
  World& world = town.world;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::string& tenant = plan.clients[i].tenant;
    const std::uint64_t count = world.between(1, 4);
    for (std::uint64_t j = 0; j < count; ++j) {
      ErrandPlan errand = draw_errand(town, scenario, plan, tenant);
      const std::size_t who = world.below(clients.size());
      const bool keyed = errand.kind == ErrandPlan::Kind::ask &&
                         !town.referee.stories()[errand.story].request.key.empty();
      if (keyed && plan.clients[who].tenant == tenant && world.one_in(2)) {
        clients[who]->add(draw_repeat(town, scenario, tenant, errand));
      }
      clients[i]->add(errand);
    }
  }
}

}  // namespace seedance::sim
