// One whole run: a server, its disk, its clients, and what goes wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scripted/vocabulary.h"
#include "sim/scenario.h"
#include "sim/session.h"
#include "sim/world.h"

namespace seedance::sim {

struct RunOptions {
  const Scenario* scenario = nullptr;
  std::uint64_t seed = 0;
  Canary canary = Canary::none;
  Diary diary = Diary::hashed;
};

struct Outcome {
  std::optional<std::string> violation;  // Of a promise; none is good.
  std::uint64_t hash = 0;                // Of all that happened.
  std::uint64_t steps = 0;
  Duration simulated{};
  std::string diary;

  // What came about in it, so that one sees that it was no idle run.
  struct Counts {
    std::uint64_t streams = 0;
    std::uint64_t tokens = 0;  // Read by clients.
    std::uint64_t resumes = 0;
    std::uint64_t restarts = 0;  // Of readers, from 0 in a new epoch.
    std::uint64_t servers = 0;   // That were started.
    std::uint64_t faults = 0;
  } counts;
};

// The same options give the same outcome. Reads only the vocabulary: runs may go on
// side by side, each on its own thread.
Outcome run(const scripted::Vocabulary& vocabulary, const RunOptions& options);

}  // namespace seedance::sim
