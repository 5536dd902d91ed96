#include "store/file_journal.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "io/clock.h"
#include "io/signals.h"
#include "store/journal_directory.h"

namespace seedance::store {
namespace {

constexpr io::Token kInboxToken{0};

Result<io::FileLock> lock(const std::string& directory) {
  const std::string path = lock_path(directory);
  auto lock = io::FileLock::take(path);
  if (lock || lock.error().code != Errc::invalid) return lock;
  const auto holder = io::FileLock::holder(path);
  if (!holder) return lock;
  return fail(Errc::invalid,
              fmt::format("the journal in {} is in use by {}", directory,
                          *holder == 0 ? "another process" : fmt::format("process {}", *holder)));
}

// Marks in later segments say that all of these are on the disk.
Result<void> sync_segments(io::FileSystem& files, const std::string& directory,
                           const std::set<std::uint32_t>& segments) {
  for (const std::uint32_t segment : segments) {
    const auto file = files.open(segment_path(directory, segment));
    if (!file) return std::unexpected(file.error());
    if (auto synced = files.sync(*file); !synced) return synced;
  }
  return files.sync_directory(directory);
}

std::set<std::uint32_t> kept_segments(const JournalContents& contents) {
  std::set<std::uint32_t> segments;
  for (const SegmentFile& segment : contents.segments) {
    if (segment.bytes_kept > 0) segments.insert(segment.number);
  }
  return segments;
}

// What a server that died had reserved behind the end. No harm if that fails.
void give_back_reserved(io::FileSystem& files, const std::string& directory,
                        const JournalContents& contents) {
  for (const SegmentFile& segment : contents.segments) {
    if (segment.bytes_kept == 0) continue;
    const auto file = files.open(segment_path(directory, segment.number));
    if (file) (void)files.truncate(*file, segment.bytes_kept);
  }
}

Result<JournalContents> recover(io::FileSystem& files, const JournalOptions& options,
                                const stream::BootId& boot) {
  auto contents = read_journal(options.directory, boot);
  if (!contents) {
    if (contents.error().code != Errc::corrupt) return contents;
    return fail(Errc::corrupt,
                fmt::format("the journal is damaged and was left as it is: {} (seedance journal "
                            "verify {} tells more)",
                            contents.error().detail, options.directory));
  }
  if (auto done = cut(files, options.directory, *contents); !done) {
    return std::unexpected(done.error());
  }
  give_back_reserved(files, options.directory, *contents);
  if (options.sync != Sync::none) {
    auto synced = sync_segments(files, options.directory, kept_segments(*contents));
    if (!synced) return std::unexpected(synced.error());
  }
  if (contents->ended) {
    if (auto done = unmark_ended(files, options.directory); !done) {
      return std::unexpected(done.error());
    }
  }
  return contents;
}

}  // namespace

Result<FileJournal::Opened> FileJournal::open(JournalOptions options,
                                              std::unique_ptr<io::FileSystem> files) {
  if (!options.boot) {
    const auto boot = read_boot_id();
    if (!boot) return std::unexpected(boot.error());
    options.boot = *boot;
  }
  const auto parents = io::make_directory(options.directory);
  if (!parents) return std::unexpected(parents.error());
  for (const std::string& parent : *parents) {
    if (auto synced = files->sync_directory(parent); !synced) {
      return std::unexpected(synced.error());
    }
  }
  auto locked = lock(options.directory);
  if (!locked) return std::unexpected(locked.error());
  auto contents = recover(*files, options, *options.boot);
  if (!contents) return std::unexpected(contents.error());
  auto channels = open_channels();
  if (!channels) return std::unexpected(channels.error());
  std::unique_ptr<FileJournal> journal{new FileJournal{
      std::move(options), std::move(files), std::move(*locked), *contents, std::move(*channels)}};
  if (auto added = journal->inbox_.attach(journal->poller_, kInboxToken); !added) {
    return std::unexpected(added.error());
  }
  journal->start();
  return Opened{.journal = std::move(journal), .recovery = std::move(contents->recovery)};
}

FileJournal::FileJournal(JournalOptions options, std::unique_ptr<io::FileSystem> files,
                         io::FileLock lock, const JournalContents& contents, Channels channels)
    : options_(std::move(options)),
      files_(std::move(files)),
      lock_(std::move(lock)),
      lost_tail_(contents.recovery.lost_tail),
      poller_(std::move(channels.poller)),
      inbox_(std::move(channels.inbox), 0),
      events_(std::move(channels.events), 0),
      writer_(options_, *files_, metrics_, kept_segments(contents)) {}

FileJournal::~FileJournal() {
  if (thread_.joinable()) stop({.finish = false});
}

Result<FileJournal::Channels> FileJournal::open_channels() {
  auto poller = io::Poller::open();
  if (!poller) return std::unexpected(poller.error());
  auto inbox = io::Wakeup::open();
  if (!inbox) return std::unexpected(inbox.error());
  auto events = io::Wakeup::open();
  if (!events) return std::unexpected(events.error());
  return Channels{
      .poller = std::move(*poller), .inbox = std::move(*inbox), .events = std::move(*events)};
}

// Signals are other threads' business, even those that nobody handles yet.
void FileJournal::start() {
  const io::SignalsBlocked blocked;
  thread_ = std::thread{[this] { run(); }};
}

void FileJournal::run() {
  std::vector<Command> commands;
  std::optional<Stop> stop;
  while (!stop) {
    poller_.wait(writer_.deadline());
    inbox_.take(commands);
    for (Command& command : commands) {
      if (auto* append = std::get_if<Append>(&command)) {
        writer_.append(std::move(append->write), append->at);
      } else if (const auto* remove = std::get_if<Remove>(&command)) {
        writer_.remove(remove->segment);
      } else {
        stop = std::get<Stop>(command);
      }
    }
    writer_.turn(io::now());
    if (stop && stop->finish) finished_ = finish();
    events_.post_all(writer_.events());
  }
}

Result<void> FileJournal::finish() {
  if (auto finished = writer_.finish(io::now()); !finished) return finished;
  // Of a tail that was lost before, it is the first batch that tells.
  const bool told = !lost_tail_ || metrics_.bytes.value() > 0;
  return told ? mark_ended(*files_, options_.directory) : Result<void>{};
}

void FileJournal::append(stream::JournalWrite write) {
  collected_.emplace_back(Append{std::move(write), io::now()});
}

void FileJournal::remove(std::uint32_t segment) {
  collected_.emplace_back(Remove{segment});
}

void FileJournal::flush() {
  SEEDANCE_CHECK(thread_.joinable(), "a journal is not written to after its end");
  inbox_.post_all(collected_);
}

Result<void> FileJournal::close() {
  flush();
  stop({.finish = true});
  lock_.reset();
  return finished_;
}

void FileJournal::stop(Stop how) {
  inbox_.post(how);
  thread_.join();
}

}  // namespace seedance::store
