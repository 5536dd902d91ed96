#include "server/child.h"

#include <array>
#include <csignal>
#include <utility>

#include "io/socket.h"

namespace seedance::server {
namespace {

using Flow = io::Moved::Flow;

constexpr std::size_t kReadBytes = std::size_t{64} << 10;

}  // namespace

Child::Child(std::vector<std::string> argv, std::vector<std::string> environment,
             io::Poller& poller, io::Token socket, io::Token exit)
    : argv_(std::move(argv)),
      environment_(std::move(environment)),
      poller_(&poller),
      socket_(socket),
      exit_(exit) {}

Result<void> Child::start(TimePoint now) {
  restart_at_ = kNever;
  auto process = io::ChildProcess::spawn(argv_, environment_);
  if (!process) return std::unexpected(process.error());
  process_.emplace(std::move(*process));
  reader_ = {};
  clear_outbox();
  killed_.reset();
  hung_up_ = false;
  backoff_.on_started(now);
  if (auto added = poller_->add(process_->socket(), socket_); !added) return added;
  return poller_->add(process_->exit_event(), exit_);
}

void Child::on_ready(const io::Ready& ready, TimePoint now) {
  if (!process_) return;
  if (ready.token == socket_) {
    hung_up_ = hung_up_ || ready.closed;
    if (ready.readable) read();
    if (ready.writable) flush();
    return;
  }
  const auto exit = process_->exit();
  if (!exit) return;
  hung_up_ = true;
  read();  // What it said last.
  on_end(killed_ ? *std::move(killed_) : End{cause_of(*exit), to_text(*exit)}, now);
}

void Child::read() {
  std::array<std::byte, kReadBytes> buffer;
  for (;;) {
    const io::Moved moved = io::receive(process_->socket(), buffer);
    reader_.feed(Bytes{buffer}.first(moved.bytes));
    // Without its socket it can do nothing; that it ended will be reported.
    if (moved.flow == Flow::closed) return process_->kill();
    if (moved.flow == Flow::blocked && !hung_up_) return;
  }
}

std::optional<Bytes> Child::next() {
  const auto message = reader_.next();
  if (message) return *message;
  kill("sent what is no message");
  reader_ = {};
  return std::nullopt;
}

std::optional<Child::End> Child::end() {
  return std::exchange(end_, std::nullopt);
}

void Child::flush() {
  if (!process_) return clear_outbox();
  if (outbox_.empty()) return;
  const io::Moved moved = io::send(process_->socket(), std::string_view{outbox_}.substr(sent_));
  if (moved.flow == Flow::closed) return clear_outbox();  // As the poller will report.
  sent_ += moved.bytes;
  if (sent_ == outbox_.size()) return clear_outbox();
  // Seldom: of a long one, each move costs much.
  if (sent_ >= outbox_.size() / 2) outbox_.erase(0, std::exchange(sent_, 0));
}

void Child::clear_outbox() {
  outbox_.clear();
  sent_ = 0;
}

void Child::kill(std::string reason, engine::EndCause cause) {
  if (!process_) return;
  killed_ = End{cause, std::move(reason)};
  process_->kill();
}

void Child::replace(std::vector<std::string> argv, TimePoint start_at) {
  call_next(std::move(argv));
  backoff_ = engine::Backoff{{}};
  if (!process_) restart_at_ = start_at;
}

void Child::on_end(End end, TimePoint now) {
  process_.reset();
  clear_outbox();
  end_ = std::move(end);
  restart_at_ = backoff_.on_failure(now);
}

void Child::on_time(TimePoint now) {
  if (now < restart_at_) return;
  if (const auto started = start(now); !started) {
    on_end({.text = started.error().detail}, now);
  }
}

engine::EndCause cause_of(io::Exit exit) {
  switch (exit.signal) {
    case SIGKILL:
      return engine::EndCause::killed;
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGTRAP:
      return engine::EndCause::aborted;
    default:
      return engine::EndCause::other;
  }
}

}  // namespace seedance::server
