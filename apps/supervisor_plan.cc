#include "apps/supervisor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "apps/command.h"

namespace seedance::apps {
namespace {

std::string how(io::Exit exit) {
  if (exit.signal != 0) return fmt::format("died by signal {}", exit.signal);
  return fmt::format("ended with code {}", exit.code);
}

// Of a server that ended because it should.
int code_of_stopped(io::Exit exit) {
  if (exit.signal == SIGTERM || exit.signal == SIGINT) return kDone;
  return exit.signal == 0 ? exit.code : int{kFailed};
}

}  // namespace

SupervisorPlan::SupervisorPlan(Limits limits) : limits_(limits) {
  start();
}

void SupervisorPlan::start() {
  start_at_ = kNever;
  ready_at_.reset();
  running_ = true;
  steps_.emplace_back(Start{});
}

void SupervisorPlan::on_signal(int number, TimePoint) {
  if (number == SIGUSR2) {
    if (stopping_) return;
    replacing_ = true;
  } else if (number != SIGHUP) {
    stopping_ = true;
  }
  if (running_) {
    steps_.emplace_back(Send{number});
  } else if (stopping_) {
    start_at_ = kNever;
    steps_.emplace_back(End{kDone});
  } else if (replacing_) {
    replacing_ = false;
    start();
  }
}

void SupervisorPlan::on_ready(TimePoint now) {
  ready_at_ = now;
  ever_ready_ = true;
  failed_starts_ = 0;
}

void SupervisorPlan::on_end(io::Exit exit, TimePoint now) {
  running_ = false;
  const bool ended_well = exit == io::Exit{};
  if (stopping_) {
    if (exit.signal != 0) steps_.emplace_back(Say{"the server " + how(exit)});
    steps_.emplace_back(End{code_of_stopped(exit)});
  } else if (replacing_) {
    replacing_ = false;
    failures_ = 0;
    if (!ended_well) steps_.emplace_back(Say{"the server " + how(exit)});
    steps_.emplace_back(Say{"starting the server anew"});
    start();
  } else if (ended_well) {
    steps_.emplace_back(End{kDone});
  } else if (exit == io::Exit{.code = kUsage} && !ever_ready_) {
    steps_.emplace_back(End{kUsage});  // It has said what is wrong.
  } else {
    fail(exit, now);
  }
}

void SupervisorPlan::fail(io::Exit exit, TimePoint now) {
  if (!ready_at_) ++failed_starts_;
  if (failed_starts_ >= limits_.failed_starts_max) {
    steps_.emplace_back(Say{fmt::format("the server {} before it was ready, {} times in a row",
                                        how(exit), failed_starts_)});
    steps_.emplace_back(End{exit.signal == 0 ? exit.code : int{kFailed}});
    return;
  }
  if (ready_at_ && now - *ready_at_ >= limits_.long_run) failures_ = 0;
  Duration pause = failures_ == 0 ? Duration::zero() : limits_.first_pause;
  for (std::uint32_t i = 1; i < failures_ && pause < limits_.longest_pause; ++i) pause *= 2;
  pause = std::min(pause, limits_.longest_pause);
  ++failures_;
  std::string line = fmt::format("the server {}; starting it again", how(exit));
  if (pause > Duration::zero()) line += fmt::format(" in {:.1f} s", to_ms(pause) / 1000);
  steps_.emplace_back(Say{std::move(line)});
  start_at_ = now + pause;
}

void SupervisorPlan::on_time(TimePoint now) {
  if (now >= start_at_) start();
}

std::optional<SupervisorPlan::Step> SupervisorPlan::next() {
  if (steps_.empty()) return std::nullopt;
  Step step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

}  // namespace seedance::apps
