// What tests of the core share: a core, and everything that it asked for.
#pragma once

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/core.h"

namespace seedance::core {

inline constexpr TimePoint kStart{std::chrono::seconds{1000}};
inline constexpr ModelIndex kModel{0};
inline constexpr std::uint32_t kContext = 100;

// Tokens 0..25 are the letters; 26 ends; 27 is half a character.
inline constexpr TokenId kEnd{26};
inline constexpr TokenId kHalf{27};
inline TokenId letter(char c) {
  return {c - 'a'};
}

inline text::PieceTable letters() {
  text::PieceTable table;
  for (char c = 'a'; c <= 'z'; ++c) table.add({&c, 1}, text::PieceKind::text);
  table.add("</s>", text::PieceKind::end);
  table.add("\xF0\x9F", text::PieceKind::text);
  return table;
}

// The bytes of a journal's segments, by number.
using Disk = std::map<std::uint32_t, std::string>;

enum class Writing : std::uint8_t { at_once, by_hand };

// A core, and everything that it asked for, sorted by kind.
class Harness {
 public:
  // Without a journal.
  explicit Harness(Limits limits = {}) : core{limits, {{.name = "letters"}}, kClocks} {}

  // With one, that goes on behind `disk`.
  explicit Harness(Disk disk, Writing how = Writing::at_once, Limits limits = {},
                   stream::JournalLimits journal = {},
                   std::vector<ModelConfig> models = {{.name = "letters", .digest = "d"}})
      : core{limits, std::move(models), kClocks, JournalStart{journal, recovered(disk)}},
        segments{std::move(disk)},
        writing{how} {
    drain();
  }

  // With one, that says this after a restart.
  explicit Harness(stream::Recovery recovery, Writing how = Writing::at_once, Limits limits = {})
      : core{limits,
             {{.name = "letters", .digest = "d"}},
             kClocks,
             JournalStart{{}, std::move(recovery)}},
        writing{how} {
    drain();
  }

  static stream::Recovery recovered(const Disk& disk) {
    stream::JournalReader reader{{}};
    for (const auto& [number, bytes] : disk) {
      const auto counted = reader.on_segment(number, as_bytes(bytes));
      EXPECT_TRUE(counted) << counted.error().detail;
    }
    return reader.finish();
  }

  // The journal has written all that it was asked to.
  void written() { pass(JournalWritten{last_batch}); }

  void pass(Message message) {
    core.on_message(std::move(message), now);
    drain();
  }
  void advance(Duration by) {
    now += by;
    core.on_time(now);
    drain();
  }
  void start(std::uint32_t sequences = 2, std::uint32_t context = kContext) {
    pass(VocabularyEvent{kModel, text::VocabularyReady{.pieces = letters()}});
    pass(EngineEvent{
        kModel, engine::Ready{
                    .context_tokens = context, .sequences_max = sequences, .vocabulary_size = 28}});
  }
  StreamId submit(GenerateRequest request = {}, stream::Sha256 body = {}) {
    const StreamId id{1, ++last};
    pass(Submit{.reply_to = reader(id),
                .principal = {},
                .stream = id,
                .entropy = 77,
                .wall = {},
                .body = body,
                .request = std::move(request)});
    return id;
  }
  static ReplyTo reader(StreamId submitted) { return {.request = submitted.low}; }
  void gone(StreamId submitted) { pass(ReaderGone{reader(submitted)}); }
  void attach(StreamId stream, Offset from = {}, std::optional<Epoch> epoch = Epoch{1}) {
    pass(Attach{.reply_to = {.request = ++last},
                .principal = {},
                .stream = stream,
                .from = from,
                .epoch = epoch});
  }
  void prepared(std::size_t tokens = 3, std::vector<std::string> stop = {}) {
    ASSERT_FALSE(prepares.empty());
    const std::uint64_t ticket = prepares.front().request.ticket;
    prepares.pop_front();
    pass(VocabularyEvent{
        kModel,
        text::PrepareReply{ticket, text::PreparedPrompt{std::vector<TokenId>(tokens, letter('p')),
                                                        std::move(stop)}}});
  }
  // A request that is accepted; its job is the last one.
  StreamId run(GenerateRequest request = {}) {
    const StreamId id = submit(std::move(request));
    prepared();
    return id;
  }
  void step(std::vector<engine::StepToken> tokens) {
    pass(EngineEvent{kModel, engine::Step{std::move(tokens)}});
  }
  void say(const engine::Job& job, std::string_view word, engine::JobEnd end = {}) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      step({{.job = job.id,
             .gen = job.gen,
             .token = letter(word[i]),
             .end = i + 1 == word.size() ? end : engine::JobEnd::none}});
    }
  }
  void end(const engine::Job& job) {
    step({{.job = job.id, .gen = job.gen, .token = kEnd, .end = engine::JobEnd::stop}});
  }
  const Accepted& accepted(std::size_t i = 0) { return acceptances.at(i); }
  std::string text(std::size_t i = 0) {
    const stream::TokenLog& log = *accepted(i).log;
    std::string out;
    log.append_text({0}, log.head().end, out);
    return out;
  }
  const stream::Terminal& terminal(std::size_t i = 0) { return accepted(i).log->terminal(); }

  Core core;
  TimePoint now = kStart;
  std::vector<Accepted> acceptances;
  std::vector<Problem> refusals;
  std::vector<StreamId> cancelled;
  std::vector<Wake> wakes;
  std::deque<Prepare> prepares;
  std::vector<engine::Job> jobs;
  std::vector<engine::Cancel> cancels;
  std::vector<Resumed> resumed;
  std::vector<StreamList> lists;
  Disk segments;  // What the journal holds.
  std::vector<std::uint32_t> removed;
  std::uint64_t last_batch = 0;
  Writing writing = Writing::at_once;
  std::uint64_t last = 0;  // Number of a stream or request.

  static constexpr Clocks kClocks{kStart, WallTime{std::chrono::hours{500'000}}};

 private:
  void drain() {
    while (auto effect = core.next()) {
      std::visit([this](auto& body) { take(body); }, *effect);
    }
  }
  void take(JournalAppend& append) {
    std::string& segment = segments[append.write.segment];
    if (segment.empty()) {
      stream::encode(stream::SegmentHeader{.segment = append.write.segment}, segment);
    }
    segment += append.write.bytes;
    last_batch = append.write.batch;
    if (writing == Writing::at_once) core.on_message(JournalWritten{last_batch}, now);
  }
  void take(JournalRemove& remove) {
    segments.erase(remove.segment);
    removed.push_back(remove.segment);
  }
  void take(Resumed& body) { resumed.push_back(std::move(body)); }
  void take(StreamList& body) { lists.push_back(std::move(body)); }
  void take(Reply& reply) {
    std::visit([this](auto& body) { take(body); }, reply.body);
  }
  void take(Accepted& body) { acceptances.push_back(std::move(body)); }
  void take(Refused& body) { refusals.push_back(std::move(body.problem)); }
  void take(CancelDone& body) { cancelled.push_back(body.stream); }
  void take(Wake& wake) { wakes.push_back(std::move(wake)); }
  void take(Prepare& prepare) { prepares.push_back(std::move(prepare)); }
  void take(EngineCommand& command) {
    if (auto* job = std::get_if<engine::Job>(&command.command)) {
      jobs.push_back(std::move(*job));
    } else {
      cancels.push_back(std::get<engine::Cancel>(command.command));
    }
  }
};

}  // namespace seedance::core
