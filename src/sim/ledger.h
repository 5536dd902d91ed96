// What the simulated disk holds, read by somebody who trusts nobody.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/story.h"
#include "sim/world.h"
#include "stream/journal_record.h"
#include "stream/journal_recovery.h"

namespace seedance::sim {

// The bytes of a journal's segments, by number.
using Segments = std::map<std::uint32_t, std::string>;

// One stream as the disk has it.
struct Entry {
  // What readers of one epoch could be shown, and until when.
  struct Incarnation {
    Epoch epoch;
    std::vector<Moment> tokens;  // When each was committed.
    std::optional<Moment> ended;
    Moment until{~std::uint64_t{0}};
  };

  StreamId id;
  StoryId story;
  std::string key;
  bool keep = true;
  Generation gen;
  Epoch epoch;
  Moment accepted;
  Moment epoch_began;
  std::vector<Moment> tokens;  // When each was committed.
  std::optional<stream::Ended> end;
  Moment ended;
  std::uint32_t server_starts = 0;  // Since the last token.
  WallTime last_token{};            // When it was made, as the core tells it.
  bool there = false;               // On the disk, and not forgotten.
  bool forgotten = false;
  bool given_up = false;    // The record that forgets it is to be written.
  bool was_gone = false;    // Forgotten or lost, before a power loss brought it back.
  bool lost = false;        // With a power loss, wholly.
  bool epoch_lost = false;  // Something of its epoch is lost: nothing may follow under it.
  std::vector<Incarnation> past = {};

  // Nothing when no reader could ever know that epoch.
  std::optional<Incarnation> incarnation(Epoch epoch) const;
};

enum class Death : std::uint8_t { none, of_process, of_machine };

// Reads every record that gets to the disk and holds it against the stories: no
// token that is not the story's, none missing, none twice, nobody who writes with
// an old gen, no key for two streams. It is the measure for what may be shown
// (`committed`), and for what a restarted server must know. A second reader of the
// format beside stream::JournalReader, which it is compared with. Violations go to
// the world.
class Ledger {
 public:
  Ledger(World& world, const Stories& stories) : world_(world), stories_(stories) {}

  // A stream of this name may come into being, as an answer to that story.
  void expect(StreamId stream, StoryId story) { expected_.emplace(stream, story); }

  // These records are to be written. Streams that they forget may be gone before they are:
  // their segments are not needed any more.
  void on_handed_over(std::string_view records);

  // These records are committed now.
  void on_written(std::string_view records);

  // This is what a server finds that starts after a death. What a dead one wrote
  // counts from now on, if it is there.
  void on_death(const Segments& segments, Death death);

  // Whether the server's reader found the same.
  void compare(const stream::Recovery& recovery);

  const Entry* find(StreamId stream) const;
  const std::map<StreamId, Entry>& entries() const { return entries_; }
  StoryId story_of(StreamId stream) const { return expected_.at(stream); }
  bool expects(StreamId stream) const { return expected_.contains(stream); }

  // Streams whose end was committed, or that were forgotten, since the last call.
  std::vector<StreamId> take_ended() { return std::exchange(ended_, {}); }
  std::vector<StreamId> take_forgotten() { return std::exchange(forgotten_, {}); }

 private:
  enum class Mode : std::uint8_t { writing, reading };

  bool apply(stream::JournalRecord& record);
  bool apply(stream::StateRecord& record);
  bool apply(stream::TokensRecord& record);
  bool apply(stream::EndRecord& record);
  bool apply(stream::DriveRecord& record);
  bool apply(stream::ForgetRecord& record);
  bool apply(stream::SyncRecord& record);
  bool check_new(Entry& entry, const stream::StateRecord& record);
  bool check_tokens(const Entry& entry, std::uint64_t from, const stream::Tokens& tokens);
  bool check_end(const Entry& entry, const stream::Ended& end);
  void set_end(Entry& entry, const stream::Ended& end);
  void begin_epoch(Entry& entry, Epoch epoch);
  Moment moment_of(const Entry& entry, std::size_t token) const;
  void read(const Segments& segments);
  void compare_with_before(const Entry& before, Death death);
  void write_down() const;
  void bind_key(const Entry& entry);
  Entry* find_there(StreamId stream);
  bool wrong(StreamId stream, std::string_view what);

  World& world_;
  const Stories& stories_;
  Mode mode_ = Mode::writing;
  std::map<StreamId, Entry> entries_;
  std::map<StreamId, Entry> before_;  // While a disk is read again.
  std::map<std::pair<std::string, std::string>, StreamId> keys_;
  std::unordered_map<StreamId, StoryId> expected_;
  std::vector<StreamId> ended_;
  std::vector<StreamId> forgotten_;
  stream::JournalRecord record_;  // Its memory is used again and again.
};

}  // namespace seedance::sim
