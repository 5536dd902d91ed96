// What runs a model for the core: processes, or the scripted engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/messages.h"
#include "engine/job.h"
#include "io/poller.h"
#include "server/config.h"

namespace seedance::server {

// An engine and a vocabulary, kept alive. Belongs to the core's thread: that
// passes what the poller says and the time, carries effects here, calls flush()
// once for all of them, and takes messages() after each of these.
class Host {
 public:
  static constexpr std::uint32_t kStartDeathsMax = 3;

  virtual ~Host() = default;

  virtual Result<void> start(TimePoint now) = 0;
  virtual void on_ready(const io::Ready& ready, TimePoint now) = 0;
  virtual void on_time(TimePoint now) = 0;
  virtual TimePoint deadline() const = 0;

  virtual void prepare(const text::PrepareRequest& request, TimePoint now) = 0;
  virtual void command(engine::Command command, TimePoint now) = 0;
  virtual void flush() = 0;

  // For the core, in order; the caller empties it.
  std::vector<core::Message>& messages() { return messages_; }

  // For the operator: what ended and is started again. The caller empties it.
  std::vector<std::string>& notices() { return notices_; }

  // Set when a process that never was ready will never be: it said why, or it died
  // kStartDeathsMax times. One line.
  const std::optional<std::string>& failure() const { return failure_; }

  // Of the engine that said Ready last.
  const std::optional<engine::Ready>& ready() const { return ready_; }

 protected:
  explicit Host(core::ModelIndex model) : model_(model) {}

  enum class End : std::uint8_t { told, died };

  void tell_engine(engine::Event event);
  // Says that of this model; one with other settings has not failed yet.
  void tell_engine_down(const std::string& reason, End end, core::EngineDown down = {});
  // `deaths` are those of this process, so far.
  void note_failed_start(const std::string& reason, End end, std::uint32_t& deaths);
  void note_restart(const std::string& reason);

  const core::ModelIndex model_;
  std::vector<core::Message> messages_;
  std::vector<std::string> notices_;
  std::optional<std::string> failure_;
  std::optional<engine::Ready> ready_;

 private:
  std::uint32_t start_deaths_ = 0;  // Of the engine.
};

// How many tokens of the poller a host uses, from the first that it is given.
inline constexpr std::uint64_t kHostTokens = 4;

// Fails when the spec is wrong. Starts nothing.
Result<std::unique_ptr<Host>> make_host(const ServerConfig& config, core::ModelIndex model,
                                        io::Poller& poller, io::Token first);

}  // namespace seedance::server
