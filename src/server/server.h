// The server: everything put together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/mailbox.h"
#include "io/signals.h"
#include "io/socket.h"
#include "server/config.h"
#include "server/context.h"
#include "server/core_loop.h"
#include "server/edge.h"

namespace seedance::server {

// What there is to say when every model answers for the first time.
struct ReadyReport {
  struct Model {
    std::string name;  // name@version.
    std::uint32_t context_tokens = 0;
    std::uint32_t sequences_max = 0;
    // Stages of its start: name and milliseconds.
    std::vector<std::pair<std::string, double>> timeline;
    std::vector<engine::DeviceReport> memory;  // As in engine::Ready.
  };

  std::string url;
  Duration since_run{};
  std::vector<Model> models;
};

// The address that the config names, and what holds for every connection to it.
io::ListenOptions listen_options(const ServerConfig& config);

// How many listening sockets there should be on it.
std::size_t listener_count(const ServerConfig& config);

// One server. open() checks the config and takes its address, or takes over
// listeners that are open; run() starts the model processes and the edges, and
// serves.
class Server {
 public:
  // Where `listeners` are given they are served, and host and port mean nothing.
  // Errors are one line that names the key at fault. Nothing is started.
  static Result<std::unique_ptr<Server>> open(ServerConfig config,
                                              std::vector<io::Listener> listeners = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return listeners_.front().port(); }
  std::string url() const;

  // Serves until SIGINT, SIGTERM, SIGUSR2 or stop(). Then nothing new is taken: who
  // connects waits, for whoever serves the listeners next. Streams have drain_timeout
  // to end, or until the second of these. Error: a model cannot be started. Blocks
  // these signals in this thread meanwhile; this thread must live as long as the
  // server. `on_notice` is told, in a sentence for the operator, of what went wrong
  // meanwhile and was put right; `on_reload`, that there was a SIGHUP. Once.
  using OnReady = std::function<void(const ReadyReport&)>;
  using OnNotice = std::function<void(const std::string&)>;
  using OnReload = std::function<void()>;
  Result<void> run(
      const OnReady& on_ready, const OnNotice& on_notice = [](const auto&) {},
      const OnReload& on_reload = [] {});

  // Takes over from `config`, which is the server's own in all else: who may come
  // in, how answers are sent, the limits of connections, drain_timeout. From any
  // thread, at any time. Error: as open(), and nothing changes.
  Result<void> reload(ServerConfig config);
  // For the audit log: somebody asked for one, and nothing could be taken over. From any thread.
  void note_failed_reload();

  // As a signal would. From any thread, also before run().
  void stop();

 private:
  Server(ServerConfig config, std::vector<io::Listener> listeners, io::Wakeup core_wakeup,
         io::Wakeup stop);

  Result<void> start_edges();
  Result<void> serve(const io::Signals& signals, const OnReady& on_ready, const OnNotice& on_notice,
                     const OnReload& on_reload);
  void tell_notices(const OnNotice& on_notice);
  void stop_once();
  void join_edges();
  ReadyReport report() const;

  const ServerConfig config_;
  const std::vector<io::Listener> listeners_;
  Board board_;
  Counters counters_;
  Door door_;
  auth::TicketBook tickets_;
  std::unique_ptr<AuditLog> audit_;  // Null = off.
  std::vector<std::string> audit_notices_;
  io::Mailbox<core::Message> core_inbox_;
  io::Wakeup stop_wakeup_;
  std::mutex reloading_;
  std::shared_ptr<const io::TlsContext> tls_;  // As the edges have it, or will.
  std::atomic<Duration> drain_timeout_;
  std::atomic<std::uint32_t> stops_asked_{0};
  std::uint32_t stops_ = 0;
  TimePoint began_;
  std::vector<std::unique_ptr<EdgeInbox>> inboxes_;
  std::vector<std::unique_ptr<Edge>> edges_;
  std::unique_ptr<CoreLoop> core_;
  std::vector<std::jthread> threads_;
};

}  // namespace seedance::server
