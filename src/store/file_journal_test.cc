#include "store/file_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "io/clock.h"
#include "io/test_directory.h"
#include "store/test_files.h"
#include "store/test_records.h"

namespace seedance::store {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A journal's owner, as the core's loop is.
class Owner {
 public:
  explicit Owner(std::unique_ptr<FileJournal> journal)
      : journal_(std::move(journal)), poller_(*io::Poller::open()) {
    EXPECT_TRUE(journal_->events().attach(poller_, {7}));
  }

  // Until an event of that kind was said; false when none comes.
  template <typename Event>
  bool await(const Event& event) {
    const TimePoint until = io::now() + 60s;
    std::vector<JournalEvent> events;
    while (std::ranges::find(said_, JournalEvent{event}) == said_.end()) {
      if (io::now() >= until) return false;
      poller_.wait(until);
      journal_->events().take(events);
      said_.insert(said_.end(), events.begin(), events.end());
    }
    return true;
  }
  bool append(std::uint64_t first, std::uint64_t last, std::uint32_t segment) {
    for (std::uint64_t batch = first; batch <= last; ++batch) {
      journal_->append(test_batch(batch, segment));
    }
    journal_->flush();
    return await(Written{last});
  }

  std::unique_ptr<FileJournal> journal_;
  io::Poller poller_;
  std::vector<JournalEvent> said_;
};

FileJournal::Opened open_with(
    const JournalOptions& options,
    std::unique_ptr<io::FileSystem> files = std::make_unique<io::SystemFiles>()) {
  auto opened = FileJournal::open(options, std::move(files));
  EXPECT_TRUE(opened) << opened.error().detail;
  return *std::move(opened);
}

class FileJournalTest : public testing::Test {
 protected:
  JournalOptions options() const { return {.directory = path_, .boot = kTestBoot}; }
  FileJournal::Opened open() const { return open_with(options()); }
  std::vector<std::string> names() const { return *io::list_directory(path_); }

  const io::TestDirectory directory_;
  const std::string path_ = directory_.path() + "/journal";
};

TEST_F(FileJournalTest, GoesOnWhereItEnded) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    const io::TestDirectory directory;
    const JournalOptions options{.directory = directory.path() + "/a/b", .sync = sync};
    auto first = FileJournal::open(options);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->recovery.streams.empty());
    Owner one{std::move(first->journal)};
    EXPECT_TRUE(one.append(1, 5, 1));
    EXPECT_TRUE(one.journal_->close());

    auto second = FileJournal::open(options);
    ASSERT_TRUE(second);
    EXPECT_EQ(batches_in(second->recovery), 5U);
    EXPECT_FALSE(second->recovery.lost_tail);
    EXPECT_EQ(second->recovery.next_segment(), 2U);
    Owner two{std::move(second->journal)};
    EXPECT_TRUE(two.append(6, 9, 2));
    EXPECT_TRUE(two.journal_->close());
    EXPECT_EQ(two.journal_->metrics().segments.value(), 2);
    EXPECT_EQ(two.journal_->metrics().commit.count(), 4U);

    auto third = FileJournal::open(options);
    ASSERT_TRUE(third);
    EXPECT_EQ(batches_in(third->recovery), 9U);
  }
}

TEST_F(FileJournalTest, ItsDirectoryIsForItsOwnerOnly) {
  Owner owner{open().journal};
  EXPECT_TRUE(owner.append(1, 1, 1));
  struct stat status{};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(::stat(segment_path(path_, 1).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(FileJournalTest, IsOpenedByOneAtATime) {
  auto first = open();
  const auto second = FileJournal::open(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::invalid);
  EXPECT_EQ(second.error().detail,
            "the journal in " + path_ + " is in use by process " + std::to_string(::getpid()));
  EXPECT_TRUE(first.journal->close());
  auto third = open();
  third.journal.reset();
  open();
}

TEST_F(FileJournalTest, WritesNothingBeforeTheFlush) {
  Owner owner{open().journal};
  owner.journal_->append(test_batch(1, 1));
  EXPECT_THAT(names(), testing::ElementsAre("lock"));
  EXPECT_EQ(owner.journal_->metrics().writes.value(), 0U);
  owner.journal_->flush();
  EXPECT_TRUE(owner.await(Written{1}));
  EXPECT_TRUE(owner.append(2, 3, 1));
  EXPECT_TRUE(owner.journal_->close());
  EXPECT_EQ(batches_in(path_), 3U);
}

TEST_F(FileJournalTest, ClosingWritesWhatIsNotFlushed) {
  auto journal = open().journal;
  journal->append(test_batch(1, 1));
  journal->append(test_batch(2, 1));
  EXPECT_TRUE(journal->close());
  EXPECT_EQ(batches_in(path_), 2U);
}

TEST_F(FileJournalTest, RemovesSegments) {
  Owner owner{open().journal};
  EXPECT_TRUE(owner.append(1, 3, 1));
  owner.journal_->append(test_copy(3, 2));
  owner.journal_->remove(1);
  owner.journal_->flush();
  EXPECT_TRUE(owner.append(4, 4, 2));
  EXPECT_THAT(names(), Not(Contains("0000000001.journal")));
  EXPECT_EQ(batches_in(path_), 4U);
}

// What the core does: streams come and go, old segments are copied forward and
// removed. Whatever the moment at which it ends, the streams are all there.
TEST_F(FileJournalTest, CarriesOutWhatAJournalAsksFor) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    const io::TestDirectory directory;
    const JournalOptions options{.directory = directory.path(), .sync = sync, .boot = kTestBoot};
    auto opened = open_with(options);
    stream::Journal core{{.segment_bytes = 2000, .segments_max = 3}, opened.recovery};
    Owner owner{std::move(opened.journal)};
    std::map<std::uint64_t, std::uint64_t> tokens;  // By stream.
    for (std::uint64_t round = 1; round <= 80; ++round) {
      if (round % 10 == 1) {
        core.put(test_state(round, 0));
        tokens[round] = 0;
      }
      if (tokens.size() > 4) {
        core.forget(test_stream(tokens.begin()->first));
        tokens.erase(tokens.begin());
      }
      for (auto& [number, count] : tokens) {
        core.put(stream::TokensRecord{.stream = test_stream(number),
                                      .gen = {1},
                                      .from = {count},
                                      .tokens = test_tokens(count, 2)});
        count += 2;
      }
      for (const StreamId stream : core.to_forward()) {
        core.put(test_state(stream.low, tokens.at(stream.low)));
      }
      const std::uint64_t batch = core.collecting();
      owner.journal_->append(*core.take());
      owner.journal_->flush();
      ASSERT_TRUE(owner.await(Written{batch}));
      core.on_written(batch);
      for (const std::uint32_t segment : core.removable()) owner.journal_->remove(segment);
      owner.journal_->flush();
    }
    owner.journal_.reset();
    const auto again = open_with(options);
    EXPECT_GT(again.recovery.segments.front().first, 3U);
    EXPECT_EQ(again.recovery.segments.back().first + 1, again.recovery.next_segment());
    std::map<std::uint64_t, std::uint64_t> found;
    for (const auto& stream : again.recovery.streams) {
      const std::uint64_t count = stream.state.tokens.ids.size();
      EXPECT_EQ(stream.state.tokens, test_tokens(0, count));
      found[stream.state.header.stream.low] = count;
    }
    EXPECT_EQ(found, tokens);
  }
}

// A mark says that all before its segment is on the disk.
TEST_F(FileJournalTest, BringsWhatItFindsToTheDiskBeforeItMarksAnything) {
  Owner owner{open().journal};
  EXPECT_TRUE(owner.append(1, 2, 1));
  EXPECT_TRUE(owner.append(3, 4, 2));
  owner.journal_.reset();
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    auto files = std::make_unique<FaultyFiles>();
    const FaultyFiles& disk = *files;
    JournalOptions options = this->options();
    options.sync = sync;
    const auto opened = open_with(options, std::move(files));
    EXPECT_EQ(disk.syncs(), sync == Sync::none ? 0U : 2U);
  }
}

TEST_F(FileJournalTest, BringsTheDirectoriesThatItMakesToTheDisk) {
  JournalOptions options = this->options();
  options.directory = path_ + "/a/b";
  for (const bool first : {true, false}) {
    auto files = std::make_unique<FaultyFiles>();
    const FaultyFiles& disk = *files;
    const auto opened = open_with(options, std::move(files));
    const std::vector<std::string> made{directory_.path(), path_, path_ + "/a"};
    EXPECT_EQ(disk.synced_directories(), first ? made : std::vector<std::string>{});
  }
  options.directory = path_ + "/c";
  auto files = std::make_unique<FaultyFiles>();
  files->fail_syncs(true);
  EXPECT_FALSE(FileJournal::open(options, std::move(files)));
}

// What was reserved and not written is no part of the file, so that nothing shows it.
TEST_F(FileJournalTest, GivesBackWhatADeadServerHadReserved) {
  const auto blocks = [this] {
    struct stat status{};
    EXPECT_EQ(::stat(segment_path(path_, 1).c_str(), &status), 0);
    return status.st_blocks * 512;
  };
  {
    Owner owner{open().journal};
    EXPECT_TRUE(owner.append(1, 2, 1));
  }
  const auto reserved = static_cast<std::int64_t>(options().segment_reserve_bytes);
  if (blocks() < reserved) GTEST_SKIP() << "the file system reserves nothing";
  const auto opened = open();
  EXPECT_LT(blocks(), reserved / 16);
  EXPECT_EQ(batches_in(opened.recovery), 2U);
}

TEST_F(FileJournalTest, CutsATornTail) {
  Owner owner{open().journal};
  EXPECT_TRUE(owner.append(1, 4, 1));
  EXPECT_TRUE(owner.journal_->close());
  const auto whole = *io::read_file(segment_path(path_, 1));
  std::ofstream{segment_path(path_, 1)} << whole.substr(0, whole.size() - 1);
  std::ofstream{segment_path(path_, 2)} << "S";
  std::ofstream{path_ + "/notes"} << "not ours";
  auto again = open();
  EXPECT_EQ(batches_in(again.recovery), 3U);
  EXPECT_GT(again.recovery.bytes_cut, 1U);
  EXPECT_EQ(again.recovery.next_segment(), 2U);
  EXPECT_LT(io::read_file(segment_path(path_, 1))->size(), whole.size() - 1);
  EXPECT_THAT(names(), testing::ElementsAre("0000000001.journal", "lock", "notes"));
}

TEST_F(FileJournalTest, RefusesADamagedOneAndLeavesItAsItIs) {
  Owner owner{open().journal};
  EXPECT_TRUE(owner.append(1, 4, 1));
  EXPECT_TRUE(owner.append(5, 6, 2));
  EXPECT_TRUE(owner.journal_->close());
  auto bytes = *io::read_file(segment_path(path_, 1));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream{segment_path(path_, 1)} << bytes;
  std::ofstream{segment_path(path_, 2), std::ios::app} << "torn";
  const auto torn = *io::read_file(segment_path(path_, 2));
  const auto refused = FileJournal::open(options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::corrupt);
  EXPECT_THAT(refused.error().detail, HasSubstr(segment_path(path_, 1)));
  EXPECT_THAT(refused.error().detail, HasSubstr(", byte "));
  EXPECT_THAT(refused.error().detail, HasSubstr("seedance journal verify " + path_));
  EXPECT_EQ(*io::read_file(segment_path(path_, 1)), bytes);
  EXPECT_EQ(*io::read_file(segment_path(path_, 2)), torn);
}

TEST_F(FileJournalTest, KnowsWhetherTheMachineTookATailWithIt) {
  const auto lost_tail = [&](Sync sync, bool in_order) {
    const io::TestDirectory directory;
    JournalOptions options{.directory = directory.path(), .sync = sync, .boot = kOtherBoot};
    Owner owner{open_with(options).journal};
    EXPECT_TRUE(owner.append(1, 2, 1));
    if (in_order) EXPECT_TRUE(owner.journal_->close());
    owner.journal_.reset();
    options.boot = kTestBoot;
    const auto opened = FileJournal::open(options);
    EXPECT_EQ(batches_in(opened->recovery), 2U);
    return opened->recovery.lost_tail;
  };
  EXPECT_TRUE(lost_tail(Sync::none, false));
  EXPECT_TRUE(lost_tail(Sync::interval, false));
  EXPECT_FALSE(lost_tail(Sync::always, false));
  EXPECT_FALSE(lost_tail(Sync::none, true));
  EXPECT_FALSE(lost_tail(Sync::interval, true));
}

// A start that ends before it wrote the new epochs does not make them needless.
TEST_F(FileJournalTest, ALostTailIsToldUntilItIsWritten) {
  JournalOptions then = options();
  then.boot = kOtherBoot;
  Owner owner{open_with(then).journal};
  EXPECT_TRUE(owner.append(1, 2, 1));
  owner.journal_.reset();
  for (int start = 0; start < 2; ++start) {
    auto opened = open();
    EXPECT_TRUE(opened.recovery.lost_tail);
    EXPECT_TRUE(opened.journal->close());
  }
}

TEST_F(FileJournalTest, SaysThatItStallsAndThatItFlows) {
  auto files = std::make_unique<FaultyFiles>();
  files->fail(5, 1, FaultyFiles::Harm::half);
  Owner owner{open_with(options(), std::move(files)).journal};
  EXPECT_TRUE(owner.append(1, 1, 1));
  EXPECT_TRUE(owner.append(2, 2, 1));
  EXPECT_TRUE(owner.await(Flows{}));
  EXPECT_TRUE(std::ranges::any_of(owner.said_, [](const JournalEvent& event) {
    return std::holds_alternative<Stalled>(event);
  }));
  EXPECT_EQ(owner.journal_->metrics().stalls.value(), 1U);
  EXPECT_TRUE(owner.journal_->close());
  EXPECT_EQ(batches_in(path_), 2U);
}

TEST_F(FileJournalTest, ClosingOnAFullDiskSaysWhatIsMissing) {
  auto files = std::make_unique<FaultyFiles>();
  files->fail(5, UINT64_MAX, FaultyFiles::Harm::half);
  Owner owner{open_with(options(), std::move(files)).journal};
  EXPECT_TRUE(owner.append(1, 1, 1));
  owner.journal_->append(test_batch(2, 1));
  const auto closed = owner.journal_->close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().detail, HasSubstr("1 batches with"));
  auto again = open();
  EXPECT_EQ(batches_in(again.recovery), 1U);
}

// Any call may fail at the start: then it does not start, and the next one finds
// what there was.
TEST_F(FileJournalTest, AFailureAtTheStartChangesNothingThatCounts) {
  for (std::uint64_t failing = 0;; ++failing) {
    const io::TestDirectory directory;
    const JournalOptions options{
        .directory = directory.path(), .sync = Sync::interval, .boot = kTestBoot};
    Owner owner{open_with(options).journal};
    ASSERT_TRUE(owner.append(1, 3, 1));
    ASSERT_TRUE(owner.journal_->close());
    std::ofstream{segment_path(directory.path(), 1), std::ios::app} << "torn";
    std::ofstream{segment_path(directory.path(), 2)} << "torn";
    auto files = std::make_unique<FaultyFiles>();
    files->fail(failing, 1, FaultyFiles::Harm::half);
    const auto first = FileJournal::open(options, std::move(files));
    if (first) {
      EXPECT_GE(failing, 5U);
      return;
    }
    const auto second = FileJournal::open(options);
    ASSERT_TRUE(second) << second.error().detail;
    EXPECT_EQ(batches_in(second->recovery), 3U);
  }
}

// A process that writes until it is killed, and says on a pipe what was written.
[[noreturn]] void write_for_ever(const JournalOptions& options, int pipe) {
  Owner owner{open_with(options).journal};
  std::uint64_t batch = 0;
  for (;;) {
    const std::uint64_t first = batch + 1;
    batch += 1 + batch % 5;
    const auto segment = static_cast<std::uint32_t>(1 + first / 200);
    if (!owner.append(first, batch, segment)) ::_exit(1);
    owner.said_.clear();
    if (::write(pipe, &batch, sizeof(batch)) != sizeof(batch)) ::_exit(1);
  }
}

TEST_F(FileJournalTest, KilledItHasAllThatItSaidWasWritten) {
  for (const Sync sync : {Sync::none, Sync::interval, Sync::always}) {
    const io::TestDirectory directory;
    const JournalOptions options{
        .directory = directory.path(), .sync = sync, .sync_interval = 1ms, .boot = kTestBoot};
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const io::Fd reading{ends[0]};
    io::Fd writing{ends[1]};
    const pid_t child = ::fork();
    if (child == 0) write_for_ever(options, writing.get());
    ASSERT_GT(child, 0);
    writing.close();
    std::uint64_t batch = 0;
    std::uint64_t said = 0;
    while (::read(reading.get(), &said, sizeof(said)) == sizeof(said)) {
      batch = said;
      if (batch > 500) ::kill(child, SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    const auto opened = FileJournal::open(options);
    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_FALSE(opened->recovery.lost_tail);
    EXPECT_GE(batches_in(opened->recovery), batch);
    EXPECT_GT(batch, 500U);
  }
}

}  // namespace
}  // namespace seedance::store
