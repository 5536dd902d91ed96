// The server: everything put together.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
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
  };

  std::string url;
  Duration since_run{};
  std::vector<Model> models;
};

// One server. open() checks the config, resolves the host and takes the port;
// run() starts the model processes and the edges, and serves.
class Server {
 public:
  // Errors are one line that names the key at fault. Nothing is started.
  static Result<std::unique_ptr<Server>> open(ServerConfig config);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const { return listener_.port(); }
  std::string url() const;

  // Serves until SIGINT, SIGTERM or stop(); then streams have drain_timeout to
  // end, or until the second of these. Error: a model cannot be started. Blocks
  // both signals in this thread meanwhile; this thread must live as long as the
  // server. `on_notice` is told, in a sentence for the operator, of what went
  // wrong meanwhile and was put right. Once.
  using OnReady = std::function<void(const ReadyReport&)>;
  using OnNotice = std::function<void(const std::string&)>;
  Result<void> run(const OnReady& on_ready, const OnNotice& on_notice = [](const auto&) {});

  // As a signal would. From any thread, also before run().
  void stop();

 private:
  Server(ServerConfig config, io::Listener listener, io::Wakeup core_wakeup, io::Wakeup stop);

  Result<void> start_edges();
  Result<void> serve(const io::Signals& signals, const OnReady& on_ready,
                     const OnNotice& on_notice);
  void tell_notices(const OnNotice& on_notice);
  void stop_once();
  void join_edges();
  ReadyReport report() const;

  const ServerConfig config_;
  const Access access_;
  io::Listener listener_;
  Board board_;
  Counters counters_;
  io::Mailbox<core::Message> core_inbox_;
  io::Wakeup stop_wakeup_;
  std::atomic<std::uint32_t> stops_asked_{0};
  std::uint32_t stops_ = 0;
  TimePoint began_;
  std::vector<std::unique_ptr<EdgeInbox>> inboxes_;
  std::vector<std::unique_ptr<Edge>> edges_;
  std::unique_ptr<CoreLoop> core_;
  std::vector<std::jthread> threads_;
};

}  // namespace seedance::server
