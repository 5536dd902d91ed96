// Which jobs an engine was given and has not ended.
#pragma once

#include <cstddef>
#include <unordered_set>

#include "engine/job.h"

namespace seedance::engine {

// Sees what goes to an engine and what comes from it; cleared when it dies. A job that
// is cancelled is done: what still comes of it counts for nothing.
class OpenJobs {
 public:
  void on_command(const Command& command);
  void on_event(const Event& event);
  void clear() { jobs_.clear(); }

  std::size_t size() const { return jobs_.size(); }

 private:
  std::unordered_set<JobId> jobs_;
};

}  // namespace seedance::engine
