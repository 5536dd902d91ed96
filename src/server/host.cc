#include "server/host.h"

#include "scripted/script.h"
#include "server/process_host.h"
#include "server/scripted_host.h"

namespace seedance::server {

void Host::tell_engine(engine::Event event) {
  if (const auto* ready = std::get_if<engine::Ready>(&event)) {
    if (!ready_ || ready_->warnings != ready->warnings) {
      for (const std::string& warning : ready->warnings) notices_.push_back("warning: " + warning);
    }
    ready_ = *ready;
  }
  messages_.emplace_back(core::EngineEvent{model_, std::move(event)});
}

void Host::tell_engine_down(const std::string& reason, End end, core::EngineDown down) {
  if (down.other_settings) {
    start_deaths_ = 0;
  } else if (!ready_) {
    note_failed_start(reason, end, start_deaths_);
  }
  note_restart(reason);
  down.model = model_;
  messages_.emplace_back(down);
}

void Host::note_failed_start(const std::string& reason, End end, std::uint32_t& deaths) {
  if (failure_) return;
  if (end == End::told || ++deaths >= kStartDeathsMax) failure_ = reason;
}

void Host::note_restart(const std::string& reason) {
  if (!failure_) notices_.push_back(reason + "; it is started again");
}

Result<std::unique_ptr<Host>> make_host(const ServerConfig& config, core::ModelIndex model,
                                        io::Poller& poller, io::Token first) {
  const ModelSpec& spec = config.models.at(model.value);
  if (const auto* scripted = std::get_if<ScriptedModel>(&spec.engine)) {
    const auto script = scripted::parse_script(scripted->script);
    if (!script) return std::unexpected(script.error());
    return std::make_unique<ScriptedHost>(model, *script);
  }
  return std::make_unique<ProcessHost>(model, config.program, std::get<LlamaModel>(spec.engine),
                                       poller, first);
}

}  // namespace seedance::server
