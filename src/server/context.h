// What the connections of an edge share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/delivery.h"
#include "auth/gate.h"
#include "auth/origins.h"
#include "auth/ticket_book.h"
#include "base/id.h"
#include "base/time.h"
#include "core/messages.h"
#include "core/stats.h"
#include "io/entropy.h"
#include "io/mailbox.h"
#include "io/tls.h"
#include "observe/audit.h"
#include "server/audit_log.h"
#include "server/config.h"
#include "server/counters.h"
#include "server/door.h"
#include "store/journal_metrics.h"
#include "wire/deflate.h"
#include "wire/ws_extension.h"

namespace seedance::server {

// Who may come in.
struct Access {
  std::shared_ptr<const auth::Gate> gate;  // Shared by the edges; never null.
  auth::HostRules hosts;
  auth::OriginRules origins;
};

Access access_of(const ServerConfig& config);

// Who is at the other end of a connection.
struct Caller {
  auth::Principal principal = {};  // Its tenant is empty while nobody knows.
  std::string address = {};        // Known where there is an audit log.

  core::Principal owner() const { return {.tenant = principal.tenant}; }
  // When the token that let him in holds no more, by the other clock.
  TimePoint valid_until(TimePoint now) const;
};

// A model, or one with an adapter, as clients see it: both names mean it.
struct ModelNames {
  std::string name;       // Or name+adapter.
  std::string full_name;  // Likewise, with @version behind the model's name.
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
  ServerConfig config;  // A reload replaces both of these, in their place.
  Access access;
  const Board& board;
  // Each edge takes a new one up in its own time, so they share it; null = in the clear.
  std::shared_ptr<const io::TlsContext> tls;
  Counters& counters;
  Door& door;  // Of all edges.
  io::Mailbox<core::Message>& core;
  core::EdgeId edge;
  auth::TicketBook* tickets = nullptr;  // Of all edges; null = none are issued.
  AuditLog* audit = nullptr;            // Likewise; null = off.
  bool draining = false;                // New connections are answered, but start nothing.
  io::Entropy entropy = {};
  // Of WebSockets that agreed on it: no connection has one of its own.
  wire::Deflater deflater = {};
  wire::Inflater inflater = {};

  wire::DeflateOptions deflate_options(const wire::WsDeflate& agreed) const;

  // Sends the request, which came so long ago, to the core, or says why not.
  std::optional<Problem> submit(const Caller& caller, StreamId stream,
                                const core::ReplyTo& reply_to, core::GenerateRequest request,
                                Duration waited = {});
  std::optional<Problem> ask(core::Message message);

  // For the audit log.
  void note(const Caller& caller, observe::AuditEvent event, Route route,
            std::optional<StreamId> stream = {}, int status = 0, std::string_view code = {}) const;

  // Whoever asked so reads no more.
  void give_up(const core::ReplyTo& reader);

  // Counts what a reader should not have been told, or should have been told.
  // `total` is looked at when the end was rendered.
  void check(api::DeliveryCheck& check, const api::Rendered& rendered, Offset total);
};

}  // namespace seedance::server
