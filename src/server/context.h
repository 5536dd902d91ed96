// What the connections of an edge share.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "auth/keys.h"
#include "auth/origins.h"
#include "base/id.h"
#include "base/time.h"
#include "core/messages.h"
#include "core/stats.h"
#include "io/entropy.h"
#include "io/mailbox.h"
#include "server/config.h"
#include "server/counters.h"
#include "store/journal_metrics.h"

namespace seedance::server {

// Who may come in.
struct Access {
  auth::KeyRing keys;
  auth::HostRules hosts;
  auth::OriginRules origins;
};

// A model as clients see it: both names mean it.
struct ModelNames {
  std::string name;
  std::string full_name;  // name@version.
};

// What the edges may know without asking the core. Any thread reads it.
struct Board {
  std::atomic<bool> ready{false};  // Every model answers.
  const core::Stats* stats = nullptr;
  const store::JournalMetrics* journal = nullptr;  // Null without one.
  std::vector<ModelNames> models;
  WallTime started;

  std::int64_t streams_active() const;
};

// One for each edge; belongs to its thread.
struct EdgeContext {
  const ServerConfig& config;
  const Access& access;
  const Board& board;
  Counters& counters;
  io::Mailbox<core::Message>& core;
  core::EdgeId edge;
  bool draining = false;  // New connections are answered, but start nothing.
  io::Entropy entropy = {};
  std::unordered_map<StreamId, ConnectionId> readers = {};  // Who is to be woken for which log.

  // Sends the request to the core, or says why not.
  std::optional<Problem> submit(StreamId stream, const core::ReplyTo& reply_to,
                                core::GenerateRequest request);
  // Nobody here reads the stream any more.
  void give_up(StreamId stream);
};

}  // namespace seedance::server
