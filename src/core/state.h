// What the core keeps of each stream and model. Private to the core's sources.
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/context_window.h"
#include "core/core.h"
#include "core/prepare_line.h"
#include "core/waiting_line.h"

namespace seedance::core {

inline constexpr std::uint32_t kRetryAfterMs = 1000;

// What a request is told whose model is not ready yet.
Problem is_loading(std::string_view model);
// What a request is told that a drain leaves no time for.
Problem shutting_down();
// What is told to whom a stream cannot answer before the journal flows.
Problem too_many_wait(std::uint32_t max);

struct Core::Stream {
  // What each token needs comes first, in few cache lines.
  std::uint64_t number = 0;
  Model* model = nullptr;
  std::uint32_t adapter = 0;  // engine::Job::adapter.
  // Shared with the edges that read it.
  std::shared_ptr<stream::TokenLog> log;
  stream::Journal::Entry* entry = nullptr;  // Once its state was put.
  Generation gen{1};                        // Who may append: its last job.
  std::uint64_t touched_in = 0;             // The round that already holds its growth.
  std::uint64_t grown_in = 0;               // The wake round that already holds it.
  Offset journalled;                        // Tokens that were put into the journal.
  TimePoint last_token;
  boost::container::small_vector<ReplyTo, 1> readers;  // Until its end is committed.
  std::vector<Reply> waiting;  // For its beginning: at most two for each reader that it may have.
  std::uint32_t deaths = 0;    // Of its engine since its last token.
  std::uint32_t lone_deaths = 0;  // Of these, those that nobody else can have caused.
  std::uint32_t server_starts = 0;
  State state = State::preparing;
  bool committed = false;     // Its beginning is, in its epoch.
  bool recovering = false;    // Until its next token.
  bool proven = false;        // Its present job made a token.
  bool started = false;       // It was given to an engine before.
  bool at_engine = false;     // Its present job was, not only put into a round.
  bool from_journal = false;  // The server started since its last job.
  bool forgotten = false;     // Only a round still names it.
  StreamId id;
  std::optional<text::Detokenizer> detokenizer;

  Principal principal;
  std::string model_name;  // Model::name_with; also when there is no such model any more.
  std::string digest;      // Model::digest_with.
  Epoch epoch{1};
  GenerateRequest request;
  stream::Sha256 body{};
  std::vector<TokenId> prompt;  // While it is prepared, what its parent left.
  std::uint32_t prompt_tokens = 0;
  std::uint32_t cached_tokens = 0;  // Of these; known with the first token.
  std::uint32_t tokens_max = 0;

  std::vector<ReplyTo> cancels;  // For which its end is awaited: as many as readers at most.
  std::uint64_t bytes = 0;       // About what it may become in the journal.
  WallTime created;
  TimePoint submitted;
  TimePoint accepted;
  TimePoint first_token;
  TimePoint ended;
  WallTime ended_at;
  Duration prefill{};
  ContextWindow window;   // Of Overflow::shift.
  text::Dropped dropped;  // Of its prompt.

  TimePoint start_by = kNever;   // To be running by.
  TimePoint due;                 // The same as it was asked for: its place in the line.
  TimePoint orphan_at = kNever;  // Nobody reads it: ends then.
  TimePoint alarm = kNever;      // Its entry in alarms_.

  bool unread() const { return readers.empty(); }
  bool suspect() const { return deaths >= kSuspectDeaths; }
  bool accused() const { return lone_deaths > 0; }
};

struct Core::Model {
  explicit Model(Duration ageing) : line(ageing) {}

  ModelIndex index;
  std::string name;       // As clients ask for it.
  std::string full_name;  // name@version.
  std::string digest;
  std::vector<AdapterConfig> adapters;
  // Shared by all streams of the model, also while a new vocabulary process starts.
  std::shared_ptr<const text::PieceTable> pieces;
  bool vocabulary_up = false;
  std::optional<engine::Ready> capacity;  // Since the engine was first ready.
  bool engine_up = false;
  engine::Memory memory;  // As the engine told last.
  PrepareLine to_prepare;
  // At the vocabulary process, the oldest first. Who was given up meanwhile stays until it is
  // answered.
  std::deque<PrepareLine::Request> asked;
  std::uint64_t asked_bytes = 0;              // Of all of these.
  WaitingLine line;                           // Those in State::queued.
  TimePoint usable_until{};                   // When the engine that is not usable now last was.
  std::map<std::uint64_t, Stream*> suspects;  // Of those in the queue.
  Stream* on_trial = nullptr;                 // A suspect that runs and is not proven.
  std::uint32_t unproven = 0;                 // Of those that run.
  std::array<std::uint32_t, kPriorityCount> running{};  // Those that run, by class.
  std::array<std::uint32_t, 4> count{};                 // Streams by State.

  // Of the model with one of its adapters: name@version+adapter.
  std::string name_with(std::uint32_t adapter) const;
  std::string digest_with(std::uint32_t adapter) const;

  std::uint32_t in(State state) const { return count.at(static_cast<std::size_t>(state)); }

  // A few more than run at once, so that a free sequence never waits for a
  // round trip to the core.
  std::uint32_t jobs_max() const {
    return capacity->sequences_max + std::max(1U, capacity->sequences_max / 8);
  }

  std::size_t preparing() const { return to_prepare.size() + asked.size(); }
  std::uint64_t prepare_bytes() const { return to_prepare.bytes() + asked_bytes; }

  bool usable() const { return engine_up && pieces; }

  // The lowest class of which it takes a job. Those of lower classes do not count: the engine
  // has them wait for it.
  std::optional<Priority> takes() const {
    std::optional<Priority> lowest;
    std::uint32_t jobs = 0;
    for (const Priority priority : kPriorities) {
      jobs += running.at(rank(priority));
      if (usable() && jobs < jobs_max()) lowest = priority;
    }
    return lowest;
  }
};

}  // namespace seedance::core
