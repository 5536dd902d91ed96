// A model that is a script: everything happens in the core's thread.
#pragma once

#include <memory>

#include "engine/backoff.h"
#include "scripted/script.h"
#include "scripted/scripted_engine.h"
#include "server/host.h"

namespace seedance::server {

class ScriptedHost final : public Host {
 public:
  ScriptedHost(core::ModelIndex model, const scripted::Script& script);

  Result<void> start(TimePoint now) override;
  void on_ready(const io::Ready&, TimePoint) override {}
  void on_time(TimePoint now) override;
  TimePoint deadline() const override;
  void prepare(const text::PrepareRequest& request, TimePoint now) override;
  void command(engine::Command command, TimePoint now) override;
  void flush() override {}

 private:
  void take_events(TimePoint now);

  const scripted::Script script_;
  std::unique_ptr<scripted::ScriptedEngine> engine_;  // None while it is dead.
  scripted::Vocabulary vocabulary_;
  engine::Backoff backoff_{{}};
  TimePoint restart_at_ = kNever;
};

}  // namespace seedance::server
