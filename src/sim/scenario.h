// What can happen in a run, and how often.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "scripted/script.h"
#include "sim/client.h"
#include "sim/disk.h"
#include "sim/errand.h"
#include "sim/listener.h"
#include "sim/server.h"
#include "sim/story.h"
#include "sim/world.h"

namespace seedance::sim {

enum class Fault : std::uint8_t {
  cut_link,      // In the middle of any byte.
  silence_link,  // Half open: neither end is told.
  stall_client,  // It reads nothing for a while.
  leave,         // A client closes and comes back later, or never.
  kill_engine,   // Some steps from now.
  kill_vocabulary,
  kill_server,  // Between two of its effects.
  lose_power,
  drain,           // And start again.
  fill_disk,       // For a while.
  leap,            // The steady clock, by minutes.
  set_wall_clock,  // Forwards or back, by hours.
  list_streams,
};

inline constexpr std::size_t kFaultCount = 13;

struct Scenario {
  std::string_view name;
  std::string_view about;
  std::array<std::uint8_t, kFaultCount> weights{};  // By Fault; 0 = never.
  bool without_journal = false;                     // Sometimes.
  bool poison = false;                              // Some requests kill their engine.
  bool hostile = false;                             // Some clients want what is not theirs.
  bool tight = false;                               // The journal has hardly room.
};

std::span<const Scenario> scenarios();
const Scenario* find_scenario(std::string_view name);

// Everything that is settled before a run begins.
struct Plan {
  scripted::Script script;
  ServerPlan server;
  DiskPlan disk;
  Terms terms;
  std::vector<GuestPlan> clients;
  std::vector<std::pair<GuestPlan, ListenerPlan>> listeners;
  TimePoint faults_until;
  std::uint64_t faults_max = 0;
  std::vector<Fault> faults;  // To be drawn from.
};

// Drawn from the world's dice.
Plan draw_plan(World& world, const Scenario& scenario, Canary canary);

// Gives the clients their errands, and the stories that they ask for.
void draw_errands(Town& town, const Scenario& scenario, const Plan& plan,
                  std::span<Client* const> clients);

}  // namespace seedance::sim
