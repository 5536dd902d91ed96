// Random histories of a journal, cut off anywhere: what is read back is what a plain
// map of streams held at that point.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <vector>

#include "base/random.h"
#include "stream/journal.h"
#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

using Model = std::map<StreamId, StateRecord>;
using Files = std::map<std::uint32_t, std::string>;

// One thing that the disk did: bytes behind a segment, or its removal.
struct Step {
  std::uint32_t segment = 0;
  bool removal = false;
  std::uint64_t batch = 0;  // That it writes; of a removal, the last one that was written.
  std::string bytes;
  std::vector<std::size_t> ends;  // Of each record.
  std::vector<Model> models;      // Behind each record.
  std::set<StreamId> forgotten;   // Of a removal: streams that could be in it.
};

struct Read {
  Recovery recovery;
  Files files;  // Cut to what counts.
};

Result<Read> read(const Files& files, const BootId& boot) {
  JournalReader reader{{.boot = boot}};
  Read result;
  for (const auto& [number, bytes] : files) {
    const auto kept = reader.on_segment(number, as_bytes(bytes));
    if (!kept) return std::unexpected(kept.error());
    if (*kept > 0) result.files[number] = bytes.substr(0, *kept);
  }
  result.recovery = reader.finish();
  return result;
}

Model streams_of(const Recovery& recovery) {
  Model model;
  for (const RecoveredStream& stream : recovery.streams) {
    model.emplace(stream.state.header.stream, stream.state);
  }
  return model;
}

// One life of a server: from what was recovered to its death.
class Life {
 public:
  Life(Prng& random, const Recovery& recovery, std::uint64_t& last_stream, bool with_marks)
      : random_(random),
        last_stream_(last_stream),
        with_marks_(with_marks),
        journal_({.segment_bytes = 200 + random.below(500),
                  .segments_max = static_cast<std::uint32_t>(1 + random.below(3))},
                 recovery),
        model_(streams_of(recovery)) {}

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t i = random_.below(5); i > 0; --i) act();
      end_round();
    }
  }

  // Forgets everything, and has it removed.
  void run_down() {
    const Model model = model_;
    for (const auto& [id, state] : model) forget(id);
    end_round();
    write_until(journal_.collecting() - 1);
    remove();
    EXPECT_LE(journal_.segments(), 1U);
    EXPECT_EQ(journal_.reserved(), 0U);
  }

  const std::vector<Step>& steps() const { return steps_; }
  const Journal& journal() const { return journal_; }
  std::uint64_t removals() const { return removals_; }
  std::uint64_t copies() const { return copies_; }

 private:
  void act() {
    const std::uint64_t choice = random_.below(20);
    if (choice < 4 || model_.empty()) return open();
    auto at = model_.begin();
    std::advance(at, random_.below(model_.size()));
    StateRecord& state = at->second;
    if (choice < 6) return forget(at->first);
    if (choice < 7) return put_state(state);
    if (state.ended) return;
    if (choice < 9) return end(state);
    if (choice < 11) return drive(state);
    append(state);
  }

  void open() {
    StateRecord state = make_state(++last_stream_, 0, random_.below(3) == 0);
    const StreamId id = state.header.stream;
    journal_.reserve(id, random_.below(1000));
    put_state(model_.emplace(id, std::move(state)).first->second);
  }

  void put_state(StateRecord& state) {
    if (random_.below(4) == 0) ++state.header.epoch.value;
    journal_.put(state);
    written(state);
  }

  void forget(StreamId id) {
    journal_.forget(id);
    model_.erase(id);
    forgotten_.insert(id);
    written(ForgetRecord{id});
  }

  void end(StateRecord& state) {
    const auto reason = static_cast<FinishReason>(random_.below(6));
    const EndRecord record{state.header.stream, state.header.gen, make_end(reason)};
    journal_.put(record);
    state.ended = record.ended;
    written(record);
  }

  void drive(StateRecord& state) {
    const auto cause = static_cast<DriveRecord::Cause>(random_.below(3));
    if (cause == DriveRecord::Cause::server) ++state.server_starts;
    ++state.header.gen.value;
    state.header.epoch.value += static_cast<std::uint32_t>(random_.below(2));
    const DriveRecord record{state.header.stream, state.header.gen, state.header.epoch, cause};
    journal_.put(record);
    written(record);
  }

  void append(StateRecord& state) {
    const std::uint64_t from = state.tokens.ids.size();
    const std::uint64_t count = 1 + random_.below(3);
    const bool scored = state.header.with_logprobs;
    const TokensRecord record{
        state.header.stream, state.header.gen, {from}, make_tokens(from, count, scored)};
    journal_.put(record);
    state.tokens = make_tokens(0, from + count, scored);
    state.server_starts = 0;
    written(record);
  }

  void written(const JournalRecord& record) {
    encode(record, pending_.bytes);
    pending_.ends.push_back(pending_.bytes.size());
    pending_.models.push_back(model_);
  }

  void end_round() {
    for (const StreamId id : journal_.to_forward()) {
      ++copies_;
      put_state(model_.at(id));
    }
    if (auto write = journal_.take()) add(*write);
    const std::uint64_t last = journal_.collecting() - 1;
    if (last > written_ && random_.below(3) != 0)
      write_until(last - random_.below(last - written_));
    remove();
  }

  // What the owner makes of a batch: a header in front of a segment, sync marks.
  void add(const JournalWrite& write) {
    EXPECT_EQ(write.bytes, pending_.bytes);
    Step step{.segment = write.segment, .batch = write.batch};
    if (write.segment != segment_) step.bytes = make_segment(write.segment, {});
    segment_ = write.segment;
    if (with_marks_ && random_.below(4) == 0) {
      encode(SyncRecord{.boot = kBoot}, step.bytes);
      step.ends.push_back(step.bytes.size());
      step.models.push_back(steps_.empty() ? Model{} : last_model_);
      marks_.push_back(steps_.size());
    }
    for (const std::size_t end : pending_.ends) step.ends.push_back(end + step.bytes.size());
    step.bytes += pending_.bytes;
    for (Model& model : pending_.models) step.models.push_back(std::move(model));
    last_model_ = step.models.back();
    steps_.push_back(std::move(step));
    pending_ = {};
  }

  void write_until(std::uint64_t batch) {
    written_ = batch;
    journal_.on_written(batch);
  }

  void remove() {
    for (const std::uint32_t segment : journal_.removable()) {
      ++removals_;
      steps_.push_back(
          {.segment = segment, .removal = true, .batch = written_, .forgotten = forgotten_});
    }
  }

  Prng& random_;
  std::uint64_t& last_stream_;
  const bool with_marks_;
  Journal journal_;
  Model model_;
  Model last_model_;
  std::set<StreamId> forgotten_;
  Step pending_;
  std::uint32_t segment_ = 0;
  std::vector<Step> steps_;
  std::vector<std::size_t> marks_;
  std::uint64_t written_ = 0;
  std::uint64_t removals_ = 0;
  std::uint64_t copies_ = 0;

 public:
  const std::vector<std::size_t>& marks() const { return marks_; }  // Steps that begin with one.
};

// The files when the first steps are done, but for removals: of those, the first few
// are, whenever they come.
Files files_after(Files files, std::span<const Step> steps, std::size_t done,
                  std::uint64_t removals) {
  for (const Step& step : steps.first(done)) {
    if (!step.removal) files[step.segment] += step.bytes;
  }
  for (const Step& step : steps) {
    if (!step.removal) continue;
    if (removals-- == 0) break;
    files.erase(step.segment);
  }
  return files;
}

// How many removals may be carried out when this batch is not whole on the disk.
std::uint64_t removals_before(std::span<const Step> steps, std::uint64_t batch) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      steps, [batch](const Step& step) { return step.removal && step.batch < batch; }));
}

// What a reader may find where the records say `model`, when the first removals are
// carried out: the same, or without a stream that was forgotten before it was written so.
void expect_model(const Model& found, const Model& model, std::span<const Step> steps,
                  std::uint64_t removals) {
  std::set<StreamId> forgotten;
  for (const Step& step : steps) {
    if (step.removal && removals-- > 0) forgotten = step.forgotten;
    if (removals == 0) break;
  }
  Model expected;
  for (const auto& [id, state] : model) {
    if (found.contains(id) || !forgotten.contains(id)) expected.emplace(id, state);
  }
  EXPECT_EQ(found, expected);
}

class JournalHistory : public testing::TestWithParam<std::uint64_t> {
 protected:
  // The server dies while `steps[at]` is being written, behind `size` bytes of it. Of
  // the removals that do not depend on it, any number was carried out.
  void check_death(const Files& before, const Model& model_before, std::span<const Step> steps,
                   std::size_t at, std::size_t size) {
    const Step& last = steps[at];
    const std::uint64_t removals = removals_before(steps, last.batch);
    for (const std::uint64_t carried_out :
         {removals, std::uint64_t{0}, random_.below(removals + 1)}) {
      files_ = files_after(before, steps, at, carried_out);
      files_[last.segment] += last.bytes.substr(0, size);
      const auto result = read(files_, kBoot);
      ASSERT_TRUE(result) << result.error().detail;
      expect_model(streams_of(result->recovery), model_at(model_before, steps, at, size), steps,
                   carried_out);
      ASSERT_FALSE(HasFailure());
      ASSERT_FALSE(result->recovery.lost_tail);
      read_ = *result;
      model_ = streams_of(read_.recovery);
    }
  }

  static Model model_at(const Model& model_before, std::span<const Step> steps, std::size_t at,
                        std::size_t size) {
    const Step& last = steps[at];
    for (std::size_t i = last.ends.size(); i > 0; --i) {
      if (last.ends[i - 1] <= size) return last.models[i - 1];
    }
    for (const Step& step : std::views::reverse(steps.first(at))) {
      if (!step.models.empty()) return step.models.back();
    }
    return model_before;
  }

  // At the front and the end of every record, and somewhere inside.
  std::vector<std::size_t> cuts_of(const Step& step) {
    std::vector<std::size_t> cuts = {0};
    std::size_t begin = 0;
    for (const std::size_t end : step.ends) {
      cuts.push_back(begin + 1 + random_.below(end - begin - 1));
      cuts.push_back(begin = end);
    }
    return cuts;
  }

  // Where in its segment a record of a step begins.
  static std::size_t place_of(std::span<const Step> steps, std::size_t at, std::size_t record) {
    const Step& step = steps[at];
    const std::size_t before = files_after({}, steps, at, 0)[step.segment].size();
    if (record > 0) return before + step.ends[record - 1];
    return before == 0 ? kSegmentHeaderBytes : before;
  }

  // What a power loss can do to a file from its byte `from` on: it ends at `at`, or is
  // zeros, or has another byte at `at`.
  void harm(Files& files, std::uint32_t segment, std::size_t from, std::size_t at) {
    std::string& file = files.at(segment);
    switch (random_.below(3)) {
      case 0:
        file.resize(at);
        files.erase(files.upper_bound(segment), files.end());
        break;
      case 1:
        std::fill(file.begin() + static_cast<std::ptrdiff_t>(from), file.end(), '\0');
        break;
      default:
        file[at] = static_cast<char>(file[at] ^ (1 << random_.below(8)));
    }
  }

  // One of the writes from `begin` on, of which there is one.
  std::size_t write_from(std::span<const Step> steps, std::size_t begin) {
    for (;;) {
      const std::size_t at = begin + random_.below(steps.size() - begin);
      if (!steps[at].removal) return at;
    }
  }

  Prng random_{GetParam()};
  std::uint64_t last_stream_ = 0;
  Files files_;
  Model model_;
  Read read_;
};

TEST_P(JournalHistory, ReadsBackWhatWasThereWhereverTheServerDies) {
  std::uint64_t removals = 0;
  std::uint64_t copies = 0;
  for (int number = 0; number < 4; ++number) {
    const Files before = read_.files;
    const Model model_before = model_;
    Life life{random_, read_.recovery, last_stream_, false};
    life.run(20);
    const std::vector<Step>& steps = life.steps();
    std::uint64_t bytes = 0;
    for (const auto& [segment, file] : files_after(before, steps, steps.size(), life.removals())) {
      bytes += file.size();
    }
    EXPECT_EQ(life.journal().bytes(), bytes);
    removals += life.removals();
    copies += life.copies();
    for (std::size_t at = 0; at < steps.size(); ++at) {
      if (steps[at].removal) continue;
      for (const std::size_t cut : cuts_of(steps[at])) {
        check_death(before, model_before, steps, at, cut);
        if (HasFatalFailure()) FAIL() << "life " << number << ", step " << at << ", byte " << cut;
      }
    }
    // The next life begins behind one of these deaths.
    const std::size_t at = write_from(steps, 0);
    const std::vector<std::size_t> cuts = cuts_of(steps[at]);
    check_death(before, model_before, steps, at, cuts[random_.below(cuts.size())]);
  }
  EXPECT_GT(removals, 0U);
  EXPECT_GT(copies, 0U);
  Life last{random_, read_.recovery, last_stream_, false};
  last.run(10);
  last.run_down();
}

// With power, everything behind the last sync mark may be lost or turned to zeros.
TEST_P(JournalHistory, ReadsBackWhatWasBeforeTheDamageWhenPowerIsLost) {
  for (int number = 0; number < 12; ++number) {
    Life life{random_, {}, last_stream_, true};
    life.run(20);
    if (life.marks().empty()) continue;
    const std::vector<Step>& steps = life.steps();
    const std::size_t mark = life.marks().back();
    // Segments are removed when what replaces them is on the disk.
    const std::uint64_t removals = removals_before(steps, steps[mark].batch);
    Files files = files_after({}, steps, steps.size(), removals);

    const std::size_t at = write_from(steps, mark);
    const std::size_t record = random_.below(steps[at].ends.size());
    if (at == mark && record == 0) continue;  // The mark itself.
    const std::size_t place = place_of(steps, at, record);
    const std::size_t size = place_of(steps, at, record + 1) - place;
    harm(files, steps[at].segment, place, place + random_.below(size));
    const auto result = read(files, kOtherBoot);
    ASSERT_TRUE(result) << result.error().detail;
    const std::size_t begin = record == 0 ? 0 : steps[at].ends[record - 1];
    expect_model(streams_of(result->recovery), model_at({}, steps, at, begin), steps, removals);
    EXPECT_TRUE(result->recovery.lost_tail);
    EXPECT_EQ(result->files.rbegin()->first, steps[at].segment);
    EXPECT_EQ(result->files.rbegin()->second.size(), place);

    // Read again, it is the same, and whole.
    const auto again = read(result->files, kOtherBoot);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->recovery.streams, result->recovery.streams);
    EXPECT_EQ(again->recovery.bytes_cut, 0U);

    // Before the mark it would be corruption.
    auto& [segment, safe] = *files.begin();
    const bool marked = segment == steps[mark].segment;
    const std::size_t other = random_.below(marked ? place_of(steps, mark, 0) : safe.size());
    safe[other] = static_cast<char>(safe[other] ^ 1);
    EXPECT_FALSE(read(files, kOtherBoot)) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, JournalHistory, testing::Range<std::uint64_t>(0, 5));

}  // namespace
}  // namespace seedance::stream
