// The core's thread: messages in, effects out, carried out for real.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/core.h"
#include "io/mailbox.h"
#include "io/poller.h"
#include "server/config.h"
#include "server/context.h"
#include "server/edge.h"
#include "server/host.h"
#include "store/file_journal.h"

namespace seedance::server {

// Owns the core and the hosts of its models. Each turn sleeps until something
// happened, passes all of it to the core, then drains the effects: one send for
// each process and one post for each edge, however much there is for them.
// Belongs to one thread, which must live as long as the child processes.
class CoreLoop {
 public:
  // Everything given outlives the loop. Locks and reads the journal, if there is
  // one; starts nothing else.
  static Result<std::unique_ptr<CoreLoop>> open(const ServerConfig& config,
                                                io::Mailbox<core::Message>& inbox, Board& board,
                                                std::span<const std::unique_ptr<EdgeInbox>> edges);

  Result<void> start(TimePoint now);

  // For what else the owner waits for; `token` is at least kFirstOwnToken.
  Result<void> add(const io::Fd& fd, io::Token token) { return poller_.add(fd, token); }
  io::Poller& poller() { return poller_; }
  static constexpr io::Token kFirstOwnToken{std::uint64_t{1} << 32};

  // One turn. Gives the owner's tokens that are ready; valid until the next.
  std::span<const io::Token> turn();

  void drain(TimePoint deadline, TimePoint now);

  // Behind the last turn: everything that was committed is on the disk.
  Result<void> close();

  // For the operator, since it was asked last: why the journal cannot be written,
  // and that it can be again.
  std::vector<std::string> take_journal_notices() { return std::exchange(notices_, {}); }

  const core::Core& core() const { return core_; }
  const std::vector<std::unique_ptr<Host>>& hosts() const { return hosts_; }

  // Why a model cannot be started at all, if one cannot.
  std::optional<std::string> failure() const;

 private:
  CoreLoop(const ServerConfig& config, io::Mailbox<core::Message>& inbox, Board& board,
           std::span<const std::unique_ptr<EdgeInbox>> edges, io::Poller poller,
           store::FileJournal::Opened journal);

  TimePoint deadline() const;
  void take_messages(TimePoint now);
  bool take_host_messages(TimePoint now);
  void take_journal_events(TimePoint now);
  void carry_out(TimePoint now);
  void carry_out(core::Effect& effect, TimePoint now);

  io::Mailbox<core::Message>& inbox_;
  Board& board_;
  std::span<const std::unique_ptr<EdgeInbox>> edges_;
  io::Poller poller_;
  const std::unique_ptr<store::FileJournal> journal_;  // Null without one.
  core::Core core_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<core::Message> messages_;
  std::vector<std::vector<EdgeMessage>> outboxes_;  // By edge.
  std::vector<io::Token> own_;
  std::vector<store::JournalEvent> journal_events_;
  std::vector<std::string> notices_;
};

}  // namespace seedance::server
