// A GGUF model: a worker process and a vocabulary process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/fallback.h"
#include "engine/open_jobs.h"
#include "engine/watchdog.h"
#include "server/child.h"
#include "server/host.h"

namespace seedance::server {

class ProcessHost final : public Host {
 public:
  ProcessHost(core::ModelIndex model, const std::string& program, const LlamaModel& options,
              io::Poller& poller, io::Token first);

  Result<void> start(TimePoint now) override;
  void on_ready(const io::Ready& ready, TimePoint now) override;
  void on_time(TimePoint now) override;
  TimePoint deadline() const override;
  void prepare(const text::PrepareRequest& request, TimePoint now) override;
  void command(engine::Command command, TimePoint now) override;
  void flush() override;

 private:
  void take_events(TimePoint now);
  void on_event(engine::Event event, TimePoint now);
  void keep_context(std::uint32_t tokens);
  void on_end(const Child::End& end, TimePoint now);
  void take_vocabulary_events(TimePoint now);
  std::vector<std::string> next_worker() const;
  void tend(Child& child, engine::Watchdog& watchdog, std::string_view stuck, TimePoint now);

  const std::string program_;
  LlamaModel options_;
  const io::Token first_;
  Child worker_;
  Child vocabulary_;
  engine::Watchdog worker_watchdog_;
  engine::Watchdog vocabulary_watchdog_;
  engine::OpenJobs jobs_;
  engine::Fallback fallback_;
  engine::Backoff walks_{{}};                     // Down the whole chain, in vain.
  std::optional<engine::Failed> worker_failure_;  // What it said before it ended.
  std::string vocabulary_failure_;
  bool vocabulary_ready_ = false;  // Once.
  std::uint32_t vocabulary_start_deaths_ = 0;
};

// One sentence about the end of a worker, and what to do where something can be done.
std::string end_of_worker(const Child::End& end, const std::optional<engine::Failed>& said);

LlamaModel with(LlamaModel options, const LlamaFallback& fallback);
// As the settings write it: "gpu_layers=0 batch_tokens=256".
std::string to_text(const LlamaFallback& fallback);

// What ServerConfig::program is called with.
std::vector<std::string> worker_argv(const std::string& program, const LlamaModel& options);
std::vector<std::string> vocabulary_argv(const std::string& program, const LlamaModel& options);

}  // namespace seedance::server
