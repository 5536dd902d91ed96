#include "load/runner.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/channel.h"
#include "io/clock.h"
#include "io/connect.h"
#include "io/entropy.h"
#include "io/poller.h"
#include "io/signals.h"
#include "io/socket.h"
#include "io/timer.h"
#include "io/tls_client.h"
#include "load/native_connection.h"
#include "load/sse_connection.h"

namespace seedance::loadgen {
namespace {

using Flow = io::Moved::Flow;

constexpr Duration kConnectTimeout = std::chrono::seconds{10};
constexpr Duration kTick = std::chrono::seconds{1};
constexpr std::size_t kReadBytes = 64 << 10;
constexpr io::Token kSignal{0};
constexpr io::Token kTimer{1};
constexpr std::uint64_t kFirstLink = 2;  // Tokens of links, never used again.

Duration cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto time = [](const timeval& value) {
    return std::chrono::seconds{value.tv_sec} + std::chrono::microseconds{value.tv_usec};
  };
  return time(usage.ru_utime) + time(usage.ru_stime);
}

// What this process needs while it measures.
class CpuMeter {
 public:
  void begin(TimePoint now) {
    from_ = now;
    cpu_from_ = cpu_time();
  }
  void end(TimePoint now) {
    over = now - from_;
    cpu = cpu_time() - cpu_from_;
  }
  void on_turn(bool measuring, TimePoint now) {
    if (measuring == measuring_) return;
    measuring_ = measuring;
    if (measuring) return begin(now);
    end(now);
    done_ = true;
  }
  void finish(TimePoint now) {
    if (!done_) end(now);
  }

  Duration cpu{};
  Duration over{};

 private:
  TimePoint from_;
  Duration cpu_from_{};
  bool measuring_ = false;
  bool done_ = false;
};

// A connection, its socket, and how many requests are on it.
struct Link {
  std::unique_ptr<io::Channel> channel;
  std::unique_ptr<Connection> connection;
  TimePoint open_by;
  bool connected = false;  // As TCP knows it.

  bool open() const { return connected && channel->established() && connection->open(); }

  bool idle = false;  // Its id is in Runner::idle_.
  std::uint64_t requests = 0;
};

struct Running {
  Trace trace;
  std::uint64_t link = 0;
};

class Runner {
 public:
  Runner(const RunOptions& options, const Requests& requests, const io::Endpoint& endpoint)
      : options_(options), requests_(requests), endpoint_(endpoint) {}

  Result<RunResult> run(const std::function<void(const Progress&, const Statistics&)>& progress);

 private:
  Result<void> open();
  Result<void> open_links();

  void wait(TimePoint until);
  void on_ready(const io::Ready& ready);
  void receive(Link& link, bool closed);
  void carry_out(std::uint64_t id);
  void on_event(std::uint64_t id, const Event& event);
  void drop(std::uint64_t id, const Lost& lost);
  void on_tick();
  void time_out(std::uint64_t number);

  std::unique_ptr<Connection> new_connection();
  std::optional<std::uint64_t> add_link();
  std::optional<std::uint64_t> shared_link();
  std::optional<std::uint64_t> idle_link();
  void send(const Schedule::Send& send);
  void ask(std::uint64_t number, Running& running);
  void end(std::uint64_t number, Schedule::Outcome outcome);
  void fail(std::uint64_t number, std::string_view code, std::string_view why);

  const RunOptions& options_;
  const Requests& requests_;
  const io::Endpoint& endpoint_;
  HttpTarget http_;
  NativeTarget native_;
  std::optional<io::TlsClient> tls_;
  io::Entropy entropy_;
  std::optional<io::Poller> poller_;
  std::optional<io::Signals> signals_;
  std::optional<io::Timer> timer_;
  std::unordered_map<std::uint64_t, Link> links_;
  std::vector<std::uint64_t> idle_;  // Of HTTP: the last came last, some may be gone.
  std::uint64_t next_link_ = kFirstLink;
  std::string connect_error_;  // The last.
  std::unordered_map<std::uint64_t, Running> running_;
  std::deque<std::pair<TimePoint, std::uint64_t>> timeouts_;  // Some may have ended.
  std::optional<Schedule> schedule_;
  std::optional<Statistics> statistics_;
  std::vector<Event> events_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kReadBytes);
  TimePoint now_;
  bool interrupted_ = false;
};

Result<void> Runner::open() {
  const Target& target = options_.target;
  const bool v6 = target.host.find(':') != std::string::npos;
  const std::string host = v6 ? fmt::format("[{}]:{}", target.host, target.port)
                              : fmt::format("{}:{}", target.host, target.port);
  http_ = {host, target.path, target.api_key, target.keep_alive};
  native_ = {host, target.path, target.api_key, target.api == Api::binary};
  if (target.tls) {
    auto tls = io::TlsClient::open(*target.tls);
    if (!tls) return std::unexpected(tls.error());
    tls_.emplace(std::move(*tls));
  }
  auto poller = io::Poller::open();
  if (!poller) return std::unexpected(poller.error());
  poller_.emplace(std::move(*poller));
  auto signals = io::Signals::open({SIGINT, SIGTERM});
  if (!signals) return std::unexpected(signals.error());
  signals_.emplace(std::move(*signals));
  if (auto added = poller_->add(signals_->fd(), kSignal); !added) return added;
  auto timer = io::Timer::open();
  if (!timer) return std::unexpected(timer.error());
  timer_.emplace(std::move(*timer));
  return timer_->attach(*poller_, kTimer);
}

// Over WebSocket the connections are there before the first request is due; over TLS
// one is, which tells whether the server is trusted.
Result<void> Runner::open_links() {
  now_ = io::now();
  const std::uint64_t wanted =
      is_websocket(options_.target.api) ? options_.connections : (tls_ ? 1 : 0);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    if (!add_link()) return seedance::fail(Errc::disconnected, connect_error_);
  }
  const auto is_open = [](const auto& entry) { return entry.second.open(); };
  while (!interrupted_ && !std::ranges::all_of(links_, is_open)) {
    wait(now_ + kTick);
    on_tick();
    if (links_.size() < wanted) {
      return seedance::fail(Errc::disconnected, connect_error_);
    }
  }
  return {};
}

Result<RunResult> Runner::run(
    const std::function<void(const Progress&, const Statistics&)>& progress) {
  if (auto opened = open(); !opened) return std::unexpected(opened.error());
  if (auto opened = open_links(); !opened) return std::unexpected(opened.error());
  const TimePoint start = now_ = io::now();
  CpuMeter cpu;
  cpu.begin(start);
  schedule_.emplace(options_.shape, options_.seed, start);
  statistics_.emplace(options_.shape.warmup, options_.slo, start);
  statistics_->end_window(schedule_->full_until());
  for (TimePoint tick = start + kTick; !interrupted_;) {
    while (const auto due = schedule_->next(now_ = io::now())) send(*due);
    cpu.on_turn(statistics_->in_window(now_), now_);
    if (schedule_->over() && schedule_->in_flight() == 0) break;
    timer_->set(schedule_->deadline());
    wait(tick);
    if (now_ < tick) continue;
    tick += kTick;
    on_tick();
    if (!progress) continue;
    progress({now_ - start, schedule_->sent(), schedule_->in_flight(), schedule_->over()},
             *statistics_);
  }
  statistics_->end_window(now_);
  cpu.finish(now_);
  if (!interrupted_) statistics_->on_unsent(schedule_->count_unsent());
  return RunResult{.statistics = *std::move(statistics_),
                   .end = now_,
                   .elapsed = now_ - start,
                   .cpu = cpu.cpu,
                   .cpu_over = cpu.over,
                   .interrupted = interrupted_};
}

void Runner::wait(TimePoint until) {
  const auto ready = poller_->wait(until);
  now_ = io::now();
  for (const io::Ready& one : ready) on_ready(one);
}

void Runner::on_ready(const io::Ready& ready) {
  if (ready.token == kTimer) return;
  if (ready.token == kSignal) {
    interrupted_ = interrupted_ || signals_->next().has_value();
    return;
  }
  const std::uint64_t id = ready.token.value;
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (!link.connected) {
    if (!ready.writable && !ready.closed) return;
    if (const auto result = io::connect_result(link.channel->fd()); !result) {
      return drop(id, {std::string{kConnectFailed}, result.error().detail});
    }
    link.connected = true;
  }
  if (ready.readable || !link.channel->established()) receive(link, ready.closed);
  carry_out(id);
}

void Runner::receive(Link& link, bool closed) {
  for (;;) {
    const io::Moved moved = link.channel->receive(buffer_);
    now_ = io::now();
    if (moved.bytes > 0) {
      link.connection->on_input(std::span{buffer_}.first(moved.bytes), now_, events_);
    }
    if (moved.flow == Flow::closed) {
      std::string problem = link.channel->problem();
      if (problem.empty()) return link.connection->on_end(events_);
      events_.emplace_back(Lost{std::string{kTlsFailed}, std::move(problem)});
      return;
    }
    if (moved.flow == Flow::blocked && (!closed || moved.bytes == 0)) return;
  }
}

// What a link's connection has said and what it has to send.
void Runner::carry_out(std::uint64_t id) {
  std::vector<Event> events;
  events.swap(events_);
  for (const Event& event : events) on_event(id, event);
  events.clear();
  if (events_.empty()) events_.swap(events);  // Keeps the memory.
  const auto found = links_.find(id);
  if (found == links_.end()) return;
  Link& link = found->second;
  if (link.connected && link.channel->flush()) {
    while (!link.connection->output().empty()) {
      const io::Moved moved = link.channel->send(link.connection->output());
      link.connection->output_sent(moved.bytes);
      if (moved.flow != Flow::open) break;  // Where it is closed, reading says so.
    }
  }
  if (!is_websocket(options_.target.api) && !link.idle && link.connection->usable()) {
    link.idle = true;
    idle_.push_back(id);
  }
}

void Runner::on_event(std::uint64_t id, const Event& event) {
  if (const auto* lost = std::get_if<Lost>(&event)) return drop(id, *lost);
  const auto find = [&](std::uint64_t number) {
    const auto found = running_.find(number);
    return found == running_.end() || found->second.link != id ? nullptr : &found->second;
  };
  if (const auto* tokens = std::get_if<Tokens>(&event)) {
    Running* const running = find(tokens->request);
    if (running != nullptr) statistics_->on_tokens(running->trace, *tokens, now_);
  } else if (const auto* done = std::get_if<Done>(&event)) {
    Running* const running = find(done->request);
    if (running == nullptr) return;
    statistics_->on_done(running->trace, done->answer, now_);
    end(done->request, Schedule::Outcome::done);
  } else if (const auto* failed = std::get_if<Failed>(&event); find(failed->request) != nullptr) {
    fail(failed->request, failed->code, failed->message);
  }
}

void Runner::drop(std::uint64_t id, const Lost& lost) {
  links_.erase(id);
  connect_error_ = lost.message;
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, running] : running_) {
    if (running.link == id) numbers.push_back(number);
  }
  for (const std::uint64_t number : numbers) {
    if (lost.unseen) {
      ask(number, running_.at(number));
    } else {
      fail(number, lost.code, lost.message);
    }
  }
}

void Runner::on_tick() {
  std::vector<std::uint64_t> ids;
  ids.reserve(links_.size());
  for (const auto& [id, link] : links_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    Link& link = links_.at(id);
    if (now_ >= link.open_by && !link.open()) {
      const bool silent = !link.connected || link.channel->established();
      drop(id, {std::string{kConnectFailed},
                silent ? "the server does not answer" : "the TLS handshake did not end in time"});
      continue;
    }
    link.connection->on_time(now_, events_);
    carry_out(id);
  }
  for (; !timeouts_.empty() && timeouts_.front().first <= now_; timeouts_.pop_front()) {
    time_out(timeouts_.front().second);
  }
}

void Runner::time_out(std::uint64_t number) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const std::uint64_t id = found->second.link;
  fail(number, kTimeout, "it had not ended in time (--timeout)");
  const auto link = links_.find(id);
  if (link == links_.end()) return;
  if (!link->second.connection->cancel(number)) {
    drop(id, {std::string{kConnectionLost}, "closed after a timeout"});
  } else {
    carry_out(id);
  }
}

std::unique_ptr<Connection> Runner::new_connection() {
  if (!is_websocket(options_.target.api)) return std::make_unique<SseConnection>(http_);
  NativeConnection::Secrets secrets{.masks = entropy_.number()};
  entropy_.fill(secrets.key);
  return std::make_unique<NativeConnection>(native_, secrets);
}

std::optional<std::uint64_t> Runner::add_link() {
  auto socket = endpoint_.connect();
  Result<void> added = socket ? poller_->add(*socket, {next_link_}) : Result<void>{};
  if (!socket || !added) {
    connect_error_ = socket ? added.error().detail : socket.error().detail;
    return std::nullopt;
  }
  links_.emplace(next_link_,
                 Link{.channel = std::make_unique<io::Channel>(
                          std::move(*socket), tls_ ? &*tls_ : nullptr, options_.target.host),
                      .connection = new_connection(),
                      .open_by = now_ + kConnectTimeout});
  return next_link_++;
}

// The WebSocket with the fewest streams; a new one in place of those that are gone.
std::optional<std::uint64_t> Runner::shared_link() {
  std::uint64_t usable = 0;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t best = 0;
  for (const auto& [id, link] : links_) {
    if (!link.connection->usable()) continue;
    ++usable;
    if (link.requests >= least) continue;
    least = link.requests;
    best = id;
  }
  if (usable < options_.connections && least > 0) return add_link();
  return best;
}

std::optional<std::uint64_t> Runner::idle_link() {
  while (!idle_.empty()) {
    const std::uint64_t id = idle_.back();
    idle_.pop_back();
    const auto found = links_.find(id);
    if (found == links_.end()) continue;
    found->second.idle = false;
    return id;
  }
  return add_link();
}

void Runner::send(const Schedule::Send& send) {
  Running& running = running_[send.number];
  running.trace = statistics_->on_sent(send, now_);
  statistics_->end_window(schedule_->full_until());
  timeouts_.emplace_back(now_ + options_.timeout, send.number);
  ask(send.number, running);
}

void Runner::ask(std::uint64_t number, Running& running) {
  const auto id = is_websocket(options_.target.api) ? shared_link() : idle_link();
  if (!id) return fail(number, kConnectFailed, connect_error_);
  running.link = *id;
  Link& link = links_.at(*id);
  ++link.requests;
  link.connection->ask(number, requests_.members(number));
  carry_out(*id);
}

void Runner::end(std::uint64_t number, Schedule::Outcome outcome) {
  const auto found = running_.find(number);
  const auto link = links_.find(found->second.link);
  if (link != links_.end()) --link->second.requests;
  running_.erase(found);
  schedule_->on_end(outcome, now_);
  statistics_->end_window(schedule_->full_until());
}

void Runner::fail(std::uint64_t number, std::string_view code, std::string_view why) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  statistics_->on_failed(found->second.trace, code, why, now_);
  end(number, Schedule::Outcome::failed);
}

}  // namespace

Result<RunResult> run(const RunOptions& options, const Requests& requests,
                      const std::function<void(const Progress&, const Statistics&)>& progress) {
  io::raise_descriptor_limit();
  const Target& target = options.target;
  const auto endpoint = io::Endpoint::reach(target.host, target.port, io::now() + kConnectTimeout);
  if (!endpoint) return std::unexpected(endpoint.error());
  return Runner{options, requests, *endpoint}.run(progress);
}

}  // namespace seedance::loadgen
