#include "server/scripted_host.h"

#include <algorithm>
#include <utility>

namespace seedance::server {

ScriptedHost::ScriptedHost(core::ModelIndex model, const scripted::Script& script)
    : Host(model), script_(script), vocabulary_(script.context) {}

Result<void> ScriptedHost::start(TimePoint now) {
  if (!ready_) messages_.emplace_back(core::VocabularyEvent{model_, vocabulary_.ready()});
  restart_at_ = kNever;
  engine_ = std::make_unique<scripted::ScriptedEngine>(script_);
  backoff_.on_started(now);
  take_events(now);
  return {};
}

void ScriptedHost::on_time(TimePoint now) {
  if (now >= restart_at_) (void)start(now);
  if (!engine_ || now < engine_->deadline()) return;
  engine_->on_time(now);
  take_events(now);
}

TimePoint ScriptedHost::deadline() const {
  return engine_ ? engine_->deadline() : restart_at_;
}

void ScriptedHost::prepare(const text::PrepareRequest& request, TimePoint) {
  messages_.emplace_back(core::VocabularyEvent{model_, vocabulary_.prepare(request)});
}

void ScriptedHost::command(engine::Command command, TimePoint now) {
  if (!engine_) return;
  engine_->on_command(std::move(command), now);
  take_events(now);
}

void ScriptedHost::take_events(TimePoint now) {
  while (auto event = engine_->next()) {
    if (const auto* failed = std::get_if<engine::Failed>(&*event)) {
      tell_engine_down(failed->message, End::told);
      engine_.reset();
      restart_at_ = backoff_.on_failure(now);
      return;
    }
    if (std::holds_alternative<engine::Step>(*event)) backoff_.on_work();
    tell_engine(std::move(*event));
  }
}

}  // namespace seedance::server
