#include "sim/host.h"

#include <algorithm>
#include <utility>

namespace seedance::sim {
namespace {

constexpr core::ModelIndex kModel{0};
constexpr Duration kPipeMin = std::chrono::microseconds{5};

}  // namespace

Host::Host(World& world, Actor self, HostPlan plan, const Stories& stories, Blames& blames)
    : world_(world), self_(self), plan_(plan), stories_(stories), blames_(blames) {
  start_engine();
  start_vocabulary();
}

void Host::start_engine() {
  engine_starts_ = kNever;
  engine_ = std::make_unique<scripted::ScriptedEngine>(stories_.script());
  engine_backoff_.on_started(world_.now());
  const auto ready = engine_->next();  // What it says first.
  send(events_, core::EngineEvent{kModel, *ready}, world_.spread(plan_.load_min, plan_.load_max));
}

void Host::start_vocabulary() {
  vocabulary_starts_ = kNever;
  vocabulary_up_ = true;
  vocabulary_backoff_.on_started(world_.now());
  send(replies_, core::VocabularyEvent{kModel, stories_.vocabulary().ready()},
       world_.spread(plan_.load_min, plan_.load_max));
}

void Host::command(engine::Command command) {
  know(command);
  if (!engine_) return;  // Into a closed pipe: the core cannot tell.
  TimePoint arrives = world_.now() + world_.spread(kPipeMin, plan_.pipe_max);
  if (!commands_.empty()) arrives = std::max(arrives, commands_.back().arrives);
  commands_.push_back({arrives, std::move(command)});
  world_.wake(self_, deadline());
}

void Host::prepare(text::PrepareRequest request) {
  if (!vocabulary_up_) return;
  TimePoint arrives = world_.now() + world_.spread(kPipeMin, 4 * plan_.pipe_max);
  if (!prepares_.empty()) arrives = std::max(arrives, prepares_.back().arrives);
  prepares_.push_back({arrives, std::move(request)});
  world_.wake(self_, deadline());
}

void Host::send(std::deque<UnderWay<core::Message>>& pipe, core::Message message, Duration delay) {
  TimePoint arrives = world_.now() + delay;
  if (!pipe.empty()) arrives = std::max(arrives, pipe.back().arrives);
  pipe.push_back({arrives, std::move(message)});
  world_.wake(self_, deadline());
}

TimePoint Host::deadline() const {
  TimePoint earliest = std::min(engine_starts_, vocabulary_starts_);
  if (engine_) earliest = std::min(earliest, engine_->deadline());
  const auto front = [&](const auto& pipe) {
    if (!pipe.empty()) earliest = std::min(earliest, pipe.front().arrives);
  };
  front(commands_);
  front(events_);
  front(prepares_);
  front(replies_);
  return earliest;
}

void Host::turn() {
  const TimePoint now = world_.now();
  if (now >= engine_starts_) start_engine();
  if (now >= vocabulary_starts_) start_vocabulary();
  while (!prepares_.empty() && prepares_.front().arrives <= now) {
    send(replies_,
         core::VocabularyEvent{kModel, stories_.vocabulary().prepare(prepares_.front().body)},
         world_.spread(kPipeMin, plan_.pipe_max));
    prepares_.pop_front();
  }
  while (!commands_.empty() && commands_.front().arrives <= now) {
    engine_->on_command(std::move(commands_.front().body), now);
    commands_.pop_front();
  }
  run_engine();
  world_.wake(self_, deadline());
}

// What the core takes to be at the engine.
void Host::know(const engine::Command& command) {
  if (const auto* job = std::get_if<engine::Job>(&command)) {
    const auto story = stories_.find(job->prompt);
    if (!story) return world_.violate("a job with a prompt that nobody asked for");
    if (job->priority != stories_[*story].request.priority) {
      return world_.violate("a job of another priority than was asked for");
    }
    jobs_[job->id] = {job->gen, *story, job->committed.size()};
  } else {
    jobs_.erase(std::get<engine::Cancel>(command).id);
  }
}

void Host::run_engine() {
  if (!engine_) return;
  engine_->on_time(world_.now());
  while (engine_) {
    auto event = engine_->next();
    if (!event) return;
    if (const auto* step = std::get_if<engine::Step>(&*event)) {
      if (!on_step(*step)) return kill_engine();
    } else if (const auto* failed = std::get_if<engine::JobFailed>(&*event)) {
      world_.violate("the engine refused a job: " + failed->problem.message);
    }
    send(events_, core::EngineEvent{kModel, *std::move(event)},
         world_.spread(kPipeMin, plan_.pipe_max));
  }
}

// False when the engine dies instead.
bool Host::on_step(const engine::Step& step) {
  if (dies_in_) {
    if (*dies_in_ == 0) return false;
    --*dies_in_;
  }
  for (const engine::StepToken& token : step.tokens) {
    const auto running = jobs_.find(token.job);
    if (running == jobs_.end()) continue;  // Its cancel is under way.
    const auto& poison = stories_[running->second.story].request.poison;
    if (poison && running->second.next >= *poison) return false;
  }
  world_.note("step", step.tokens.size());
  for (const engine::StepToken& token : step.tokens) {
    const auto running = jobs_.find(token.job);
    if (running == jobs_.end()) continue;
    ++running->second.next;
    blames_[{running->second.story, running->first}] = {};
    if (token.end != engine::JobEnd::none) jobs_.erase(running);
  }
  return true;
}

void Host::kill_engine() {
  world_.note("engine dies", jobs_.size());
  commands_.clear();
  dies_in_.reset();
  engine_.reset();
  engine_starts_ = engine_backoff_.on_failure(world_.now());
  send(events_, core::EngineDown{kModel}, world_.spread(kPipeMin, plan_.pipe_max));
}

// The core hears of the death: whatever it gave is lost.
void Host::charge() {
  for (const auto& [id, running] : jobs_) {
    Blame& blame = blames_[{running.story, id}];
    ++blame.deaths;
    blame.alone = jobs_.size() == 1;
  }
  jobs_.clear();
}

void Host::kill_vocabulary() {
  if (!vocabulary_up_) return;
  world_.note("vocabulary dies", prepares_.size());
  prepares_.clear();
  vocabulary_up_ = false;
  vocabulary_starts_ = vocabulary_backoff_.on_failure(world_.now());
  send(replies_, core::VocabularyDown{kModel}, world_.spread(kPipeMin, plan_.pipe_max));
}

std::vector<core::Message> Host::take_messages() {
  std::vector<core::Message> messages;
  const auto take = [&](auto& pipe) {
    while (!pipe.empty() && pipe.front().arrives <= world_.now()) {
      if (std::holds_alternative<core::EngineDown>(pipe.front().body)) charge();
      messages.push_back(std::move(pipe.front().body));
      pipe.pop_front();
    }
  };
  take(events_);
  take(replies_);
  return messages;
}

}  // namespace seedance::sim
