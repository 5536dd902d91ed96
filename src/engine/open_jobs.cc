#include "engine/open_jobs.h"

#include <variant>

namespace seedance::engine {

void OpenJobs::on_command(const Command& command) {
  if (const auto* job = std::get_if<Job>(&command)) {
    jobs_.insert(job->id);
  } else {
    jobs_.erase(std::get<Cancel>(command).id);
  }
}

void OpenJobs::on_event(const Event& event) {
  if (const auto* step = std::get_if<Step>(&event)) {
    for (const StepToken& token : step->tokens) {
      if (token.end != JobEnd::none) jobs_.erase(token.job);
    }
  } else if (const auto* failed = std::get_if<JobFailed>(&event)) {
    jobs_.erase(failed->job);
  }
}

}  // namespace seedance::engine
