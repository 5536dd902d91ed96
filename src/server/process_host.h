// A GGUF model: a worker process and a vocabulary process.
#pragma once

#include <string>
#include <vector>

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
  void prepare(const text::PrepareRequest& request) override;
  void command(engine::Command command, TimePoint now) override;
  void flush() override;

 private:
  void take_events();
  void take_vocabulary_events();

  const io::Token first_;
  Child worker_;
  Child vocabulary_;
  std::string worker_failure_;  // What it said before it ended.
  std::string vocabulary_failure_;
  bool vocabulary_ready_ = false;  // Once.
  std::uint32_t vocabulary_start_deaths_ = 0;
};

// What ServerConfig::program is called with.
std::vector<std::string> worker_argv(const std::string& program, const LlamaModel& options);
std::vector<std::string> vocabulary_argv(const std::string& program, const LlamaModel& options);

}  // namespace seedance::server
