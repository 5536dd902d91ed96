#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "io/clock.h"
#include "io/listen_fds.h"
#include "wire/ws_handshake.h"

namespace seedance::server {
namespace {

constexpr std::size_t kDescriptorsReserved = 64;  // For everything but connections.
constexpr Duration kFinishTimeout = std::chrono::seconds{2};
constexpr Duration kFinishAtOnce = std::chrono::milliseconds{100};

constexpr io::Token kSignalToken{CoreLoop::kFirstOwnToken.value};
constexpr io::Token kStopToken{CoreLoop::kFirstOwnToken.value + 1};
constexpr io::Token kAuditToken{CoreLoop::kFirstOwnToken.value + 2};

std::uint32_t edge_count(const ServerConfig& config) {
  if (config.edges > 0) return config.edges;
  return std::max(1U, std::thread::hardware_concurrency() / 4);
}

Result<void> check(const ServerConfig& config) {
  if (config.models.empty()) return fail(Errc::invalid, "models: there must be at least one");
  if (config.edges > config.core.edges_max) {
    return fail(Errc::invalid,
                fmt::format("edges: {} are at most {}", config.edges, config.core.edges_max));
  }
  std::set<std::string_view> names;
  for (const ModelSpec& model : config.models) {
    if (model.name.empty()) return fail(Errc::invalid, "models: a model has no name");
    if (!names.insert(model.name).second) {
      return fail(Errc::invalid, fmt::format("models: '{}' is there twice", model.name));
    }
  }
  return {};
}

Result<void> check_connections(ServerConfig& config) {
  const std::size_t descriptors = io::raise_descriptor_limit();
  if (descriptors <= kDescriptorsReserved) {
    return fail(Errc::overloaded, fmt::format("only {} file descriptors are allowed; raise the "
                                              "limit (ulimit -n)",
                                              descriptors));
  }
  const auto room = std::min<std::size_t>(descriptors - kDescriptorsReserved, UINT32_MAX);
  auto& connections_max = config.limits.connections_max;
  connections_max = std::min(connections_max, static_cast<std::uint32_t>(room));
  return {};
}

// `before` is what it replaces.
Result<std::shared_ptr<const io::TlsContext>> open_tls(const ServerConfig& config,
                                                       const io::TlsContext* before) {
  if (!config.tls) return nullptr;
  auto opened = io::TlsContext::open(*config.tls, before);
  if (!opened) return std::unexpected(opened.error());
  return std::make_shared<const io::TlsContext>(*std::move(opened));
}

}  // namespace

io::ListenOptions listen_options(const ServerConfig& config) {
  return {.host = config.host,
          .port = config.port,
          .send_buffer_bytes = config.limits.send_buffer_bytes};
}

std::size_t listener_count(const ServerConfig& config) {
  return std::min<std::size_t>(edge_count(config), io::kListenFdsMax);
}

Result<std::unique_ptr<Server>> Server::open(ServerConfig config,
                                             std::vector<io::Listener> listeners) {
  if (auto checked = check(config); !checked) return std::unexpected(checked.error());
  if (auto checked = check_connections(config); !checked) return std::unexpected(checked.error());
  if (listeners.empty()) {
    auto opened = io::Listener::open_group(listen_options(config), listener_count(config));
    if (!opened) return std::unexpected(opened.error());
    listeners = *std::move(opened);
  }
  std::unique_ptr<AuditLog> audit;
  if (!config.audit_log.empty()) {
    auto opened = AuditLog::open(config.audit_log);
    if (!opened) return std::unexpected(opened.error());
    audit = *std::move(opened);
  }
  // The first hash loads two megabytes of algorithms: not on a client's time.
  (void)wire::accept_key({});
  auto core_wakeup = io::Wakeup::open();
  if (!core_wakeup) return std::unexpected(core_wakeup.error());
  auto stop = io::Wakeup::open();
  if (!stop) return std::unexpected(stop.error());
  auto tls = open_tls(config, nullptr);
  if (!tls) return std::unexpected(tls.error());
  std::unique_ptr<Server> server{new Server{std::move(config), std::move(listeners),
                                            std::move(*core_wakeup), std::move(*stop)}};

  server->tls_ = *std::move(tls);
  server->audit_ = std::move(audit);
  for (std::uint32_t i = 0; i < edge_count(server->config_); ++i) {
    auto wakeup = io::Wakeup::open();
    if (!wakeup) return std::unexpected(wakeup.error());
    server->inboxes_.push_back(std::make_unique<EdgeInbox>(std::move(*wakeup), 0));
  }
  auto core =
      CoreLoop::open(server->config_, server->core_inbox_, server->board_, server->inboxes_);
  if (!core) return std::unexpected(core.error());
  server->core_ = std::move(*core);
  if (auto added = server->stop_wakeup_.attach(server->core_->poller(), kStopToken); !added) {
    return std::unexpected(added.error());
  }
  if (!server->audit_) return server;
  if (auto added = server->audit_->notices().attach(server->core_->poller(), kAuditToken); !added) {
    return std::unexpected(added.error());
  }
  return server;
}

Server::Server(ServerConfig config, std::vector<io::Listener> listeners, io::Wakeup core_wakeup,
               io::Wakeup stop)
    : config_(std::move(config)),
      listeners_(std::move(listeners)),
      tickets_(config_.tickets),
      core_inbox_(std::move(core_wakeup), config_.limits.messages_queued_max),
      stop_wakeup_(std::move(stop)),
      drain_timeout_(config_.drain_timeout) {
  board_.started = io::wall_now();
  for (const ModelSpec& model : config_.models) {
    board_.models.push_back({model.name, model.full_name()});
    for (const Adapter& adapter : model.adapters()) {
      board_.models.push_back(
          {model.name + "+" + adapter.name, model.full_name() + "+" + adapter.name});
    }
  }
}

Server::~Server() = default;

std::string Server::url() const {
  return fmt::format("{}://{}:{}", config_.tls ? "https" : "http", listeners_.front().address(),
                     listeners_.front().port());
}

Result<void> Server::reload(ServerConfig config) {
  if (auto checked = check(config); !checked) return checked;
  if (auto checked = check_connections(config); !checked) return checked;
  if (config.tls.has_value() != config_.tls.has_value()) {
    return fail(Errc::invalid, "tls_cert: TLS is turned on or off by a restart");
  }
  const std::lock_guard lock{reloading_};
  auto tls = open_tls(config, tls_.get());
  if (!tls) return std::unexpected(tls.error());
  tls_ = *std::move(tls);
  drain_timeout_ = config.drain_timeout;
  tickets_.set_limits(config.tickets);
  if (audit_) {
    audit_->reopen();
    audit_->add({.time = io::wall_now(), .event = observe::AuditEvent::reload, .code = "ok"});
  }
  for (const auto& inbox : inboxes_) {
    inbox->post(ReloadEdge{std::make_unique<const ServerConfig>(config), tls_});
  }
  return {};
}

void Server::note_failed_reload() {
  if (!audit_) return;
  audit_->add({.time = io::wall_now(), .event = observe::AuditEvent::reload, .code = "failed"});
}

Result<void> Server::run(const OnReady& on_ready, const OnNotice& on_notice,
                         const OnReload& on_reload) {
  began_ = io::now();
  auto signals = io::Signals::open({SIGINT, SIGTERM, SIGUSR2, SIGHUP});
  if (!signals) return std::unexpected(signals.error());
  if (auto added = core_->add(signals->fd(), kSignalToken); !added) return added;
  if (auto started = core_->start(began_); !started) return started;
  if (auto started = start_edges(); !started) return started;
  auto served = serve(*signals, on_ready, on_notice, on_reload);
  join_edges();
  const auto closed = core_->close();
  return served ? closed : served;
}

Result<void> Server::start_edges() {
  for (std::uint32_t i = 0; i < inboxes_.size(); ++i) {
    std::unique_ptr<EdgeContext> context{new EdgeContext{.config = config_,
                                                         .access = access_of(config_),
                                                         .board = board_,
                                                         .tls = tls_,
                                                         .counters = counters_,
                                                         .door = door_,
                                                         .core = core_inbox_,
                                                         .edge = {i},
                                                         .tickets = &tickets_,
                                                         .audit = audit_.get()}};
    std::vector<const io::Listener*> listeners;
    for (std::size_t j = i; j < listeners_.size(); j += inboxes_.size()) {
      listeners.push_back(&listeners_[j]);
    }
    auto edge = Edge::open(std::move(context), *inboxes_[i], std::move(listeners), inboxes_);
    if (!edge) return std::unexpected(edge.error());
    edges_.push_back(std::move(*edge));
  }
  for (const auto& edge : edges_) threads_.emplace_back([&edge = *edge] { edge.run(); });
  return {};
}

Result<void> Server::serve(const io::Signals& signals, const OnReady& on_ready,
                           const OnNotice& on_notice, const OnReload& on_reload) {
  bool reported = false;
  while (!core_->core().drained()) {
    for (const io::Token token : core_->turn()) {
      if (token == kSignalToken) {
        while (const auto number = signals.next()) *number == SIGHUP ? on_reload() : stop_once();
      } else if (token == kAuditToken) {
        audit_->notices().take(audit_notices_);
        for (const std::string& notice : audit_notices_) on_notice(notice);
      } else {
        const std::uint32_t asked = stops_asked_.exchange(0);
        for (std::uint32_t i = 0; i < asked; ++i) stop_once();
      }
    }
    tell_notices(on_notice);
    if (const auto failure = core_->failure()) return fail(Errc::invalid, *failure);
    if (!reported && core_->core().ready()) {
      reported = true;
      on_ready(report());
    }
  }
  return {};
}

void Server::tell_notices(const OnNotice& on_notice) {
  for (const std::string& notice : core_->take_journal_notices()) on_notice(notice);
  for (std::size_t i = 0; i < config_.models.size(); ++i) {
    std::vector<std::string>& notices = core_->hosts().at(i)->notices();
    for (const std::string& notice : notices) {
      on_notice(fmt::format("model {}: {}", config_.models[i].name, notice));
    }
    notices.clear();
  }
}

// The first time, what runs may end; the second time it must.
void Server::stop_once() {
  const TimePoint now = io::now();
  if (audit_) {
    audit_->add({.time = io::wall_now(),
                 .event = observe::AuditEvent::admin,
                 .code = stops_ == 0 ? "drain" : "stop"});
  }
  if (stops_++ == 0) {
    for (const auto& inbox : inboxes_) inbox->post(DrainEdge{});
  }
  core_->drain(stops_ == 1 ? now + drain_timeout_.load() : now, now);
}

void Server::stop() {
  stops_asked_.fetch_add(1);
  stop_wakeup_.wake();
}

void Server::join_edges() {
  const TimePoint by = io::now() + (stops_ == 1 ? kFinishTimeout : kFinishAtOnce);
  for (const auto& inbox : inboxes_) inbox->post(FinishEdge{by});
  threads_.clear();
}

ReadyReport Server::report() const {
  ReadyReport report{.url = url(), .since_run = io::now() - began_, .models = {}};
  for (std::size_t i = 0; i < config_.models.size(); ++i) {
    const ModelSpec& spec = config_.models[i];
    const engine::Ready& ready = *core_->hosts().at(i)->ready();
    report.models.push_back({.name = spec.full_name(),
                             .context_tokens = ready.context_tokens,
                             .sequences_max = ready.sequences_max,
                             .timeline = ready.timeline,
                             .memory = ready.memory});
  }
  return report;
}

}  // namespace seedance::server
