#include "server/core_loop.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace seedance::server {
namespace {

constexpr io::Token kInboxToken{0};
constexpr io::Token kJournalToken{1};
static_assert(kJournalToken.value < kHostTokens, "hosts have the tokens from kHostTokens on");
constexpr std::uint64_t kFirstHostToken = kHostTokens;

std::vector<core::ModelConfig> model_configs(const ServerConfig& config) {
  std::vector<core::ModelConfig> models;
  models.reserve(config.models.size());
  for (const ModelSpec& spec : config.models) {
    models.push_back({.name = spec.name, .version = spec.version, .digest = spec.digest});
  }
  return models;
}

std::optional<core::JournalStart> journal_start_of(const ServerConfig& config,
                                                   stream::Recovery& recovery) {
  if (!config.journal) return std::nullopt;
  return core::JournalStart{config.journal->limits, std::move(recovery)};
}

}  // namespace

Result<std::unique_ptr<CoreLoop>> CoreLoop::open(
    const ServerConfig& config, io::Mailbox<core::Message>& inbox, Board& board,
    std::span<const std::unique_ptr<EdgeInbox>> edges) {
  auto poller = io::Poller::open();
  if (!poller) return std::unexpected(poller.error());
  store::FileJournal::Opened journal;
  if (config.journal) {
    auto opened = store::FileJournal::open(config.journal->files);
    if (!opened) return std::unexpected(opened.error());
    journal = *std::move(opened);
  }
  std::unique_ptr<CoreLoop> loop{
      new CoreLoop{config, inbox, board, edges, std::move(*poller), std::move(journal)}};
  if (loop->journal_) {
    auto added = loop->journal_->events().attach(loop->poller_, kJournalToken);
    if (!added) return std::unexpected(added.error());
  }
  if (auto added = inbox.attach(loop->poller_, kInboxToken); !added) {
    return std::unexpected(added.error());
  }
  for (std::uint32_t i = 0; i < config.models.size(); ++i) {
    auto host = make_host(config, {i}, loop->poller_, {kFirstHostToken + i * kHostTokens});
    if (!host) return std::unexpected(host.error());
    loop->hosts_.push_back(std::move(*host));
  }
  return loop;
}

CoreLoop::CoreLoop(const ServerConfig& config, io::Mailbox<core::Message>& inbox, Board& board,
                   std::span<const std::unique_ptr<EdgeInbox>> edges, io::Poller poller,
                   store::FileJournal::Opened journal)
    : inbox_(inbox),
      board_(board),
      edges_(edges),
      poller_(std::move(poller)),
      journal_(std::move(journal.journal)),
      core_(config.core, model_configs(config), {.steady = io::now(), .wall = io::wall_now()},
            journal_start_of(config, journal.recovery)),
      outboxes_(edges.size()) {
  board_.stats = &core_.stats();
  if (journal_) board_.journal = &journal_->metrics();
}

Result<void> CoreLoop::start(TimePoint now) {
  for (const auto& host : hosts_) {
    if (auto started = host->start(now); !started) return started;
  }
  return {};
}

std::span<const io::Token> CoreLoop::turn() {
  own_.clear();
  const auto events = poller_.wait(deadline());
  const TimePoint now = io::now();
  core_.on_clocks({.steady = now, .wall = io::wall_now()});
  for (const io::Ready& ready : events) {
    if (ready.token >= kFirstOwnToken) {
      own_.push_back(ready.token);
    } else if (ready.token == kInboxToken) {
      take_messages(now);
    } else if (ready.token == kJournalToken) {
      take_journal_events(now);
    } else {
      hosts_.at(ready.token.value / kHostTokens - 1)->on_ready(ready, now);
    }
  }
  for (const auto& host : hosts_) {
    if (now >= host->deadline()) host->on_time(now);
  }
  if (now >= core_.deadline()) core_.on_time(now);
  carry_out(now);
  return own_;
}

TimePoint CoreLoop::deadline() const {
  TimePoint earliest = core_.deadline();
  for (const auto& host : hosts_) earliest = std::min(earliest, host->deadline());
  return earliest;
}

void CoreLoop::take_messages(TimePoint now) {
  inbox_.take(messages_);
  for (core::Message& message : messages_) core_.on_message(std::move(message), now);
}

void CoreLoop::take_journal_events(TimePoint now) {
  journal_->events().take(journal_events_);
  for (store::JournalEvent& event : journal_events_) {
    if (const auto* written = std::get_if<store::Written>(&event)) {
      core_.on_message(core::JournalWritten{written->batch}, now);
    } else if (auto* stalled = std::get_if<store::Stalled>(&event)) {
      notices_.push_back("the journal cannot be written: " + stalled->detail);
      core_.on_message(core::JournalStalled{std::move(stalled->problem)}, now);
    } else {
      notices_.emplace_back("the journal is written again");
      core_.on_message(core::JournalFlows{}, now);
    }
  }
}

bool CoreLoop::take_host_messages(TimePoint now) {
  bool any = false;
  for (const auto& host : hosts_) {
    for (core::Message& message : host->messages()) {
      core_.on_message(std::move(message), now);
      any = true;
    }
    host->messages().clear();
  }
  return any;
}

void CoreLoop::carry_out(TimePoint now) {
  take_host_messages(now);
  do {
    while (auto effect = core_.next()) carry_out(*effect, now);
  } while (take_host_messages(now));
  if (journal_) journal_->flush();
  for (const auto& host : hosts_) host->flush();
  for (std::size_t edge = 0; edge < edges_.size(); ++edge) edges_[edge]->post_all(outboxes_[edge]);
  board_.ready.store(core_.ready(), std::memory_order_relaxed);
}

void CoreLoop::carry_out(core::Effect& effect, TimePoint now) {
  if (auto* reply = std::get_if<core::Reply>(&effect)) {
    outboxes_.at(reply->to.edge.value).emplace_back(std::move(*reply));
  } else if (auto* wake = std::get_if<core::Wake>(&effect)) {
    outboxes_.at(wake->edge.value).emplace_back(std::move(*wake));
  } else if (const auto* prepare = std::get_if<core::Prepare>(&effect)) {
    hosts_.at(prepare->model.value)->prepare(prepare->request, now);
  } else if (auto* command = std::get_if<core::EngineCommand>(&effect)) {
    hosts_.at(command->model.value)->command(std::move(command->command), now);
  } else if (auto* append = std::get_if<core::JournalAppend>(&effect)) {
    journal_->append(std::move(append->write));
  } else if (const auto* remove = std::get_if<core::JournalRemove>(&effect)) {
    journal_->remove(remove->segment);
  }
}

void CoreLoop::drain(TimePoint deadline, TimePoint now) {
  core_.on_message(core::Drain{deadline}, now);
  carry_out(now);
}

Result<void> CoreLoop::close() {
  return journal_ ? journal_->close() : Result<void>{};
}

std::optional<std::string> CoreLoop::failure() const {
  for (const auto& host : hosts_) {
    if (host->failure()) return host->failure();
  }
  return std::nullopt;
}

}  // namespace seedance::server
