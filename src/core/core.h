// The core: owns the streams.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/messages.h"
#include "core/stats.h"
#include "stream/journal.h"
#include "stream/journal_recovery.h"

namespace seedance::core {

struct Limits {
  std::uint32_t streams_queued_max = 1024;  // Per model: accepted, not yet in the engine.
  // Per model: prompts that wait for the vocabulary process, and what they take of memory. One that
  // is alone there may take more.
  std::uint32_t prepares_max = 1024;
  std::uint64_t prepare_bytes_max = std::uint64_t{64} << 20;
  std::uint32_t streams_per_tenant_max = 0;             // That have not ended; 0 = any number.
  bool share_prefixes = false;                          // Between tenants (engine::Job::scope).
  Duration queue_wait_max = std::chrono::seconds{60};   // Deadline of a request that names none.
  Duration priority_ageing = std::chrono::seconds{10};  // WaitingLine.
  Duration orphan_ttl = std::chrono::seconds{10};       // Without readers, if none can come back.
  Duration detach_ttl = std::chrono::seconds{300};      // Without readers, if one can.
  Duration terminal_ttl = std::chrono::seconds{600};    // Kept after its end.
  Duration acked_ttl = std::chrono::seconds{10};        // The same, once its reader has it all.
  Duration recovery_wait_max = std::chrono::seconds{300};  // Without an engine, after a death.
  std::uint32_t streams_kept_max = 100'000;                // After their end.
  std::uint64_t kept_bytes_max = std::uint64_t{1} << 30;   // Of memory, about, that they take.
  std::uint32_t readers_max = 64;                          // Of one stream at the same time.
  std::uint32_t listed_max = 1000;                         // In one list of streams.
  std::uint32_t edges_max = 64;
  std::uint32_t shift_tokens_max = 8192;  // Of an answer that may go on behind its context.
  std::uint64_t format_bytes_max = std::uint64_t{64} << 10;    // Of a grammar or schema.
  std::uint64_t grammar_bytes_max = std::uint64_t{256} << 20;  // Of all streams' grammars.
};

// A stream that is redriven this often by server starts without a new token, or that
// alone can have caused so many deaths of its engine, ends with engine_failed.
inline constexpr std::uint32_t kServerStartsMax = 3;
inline constexpr std::uint32_t kLoneDeathsMax = 2;
// Deaths of its engine without a new token that make a stream a suspect.
inline constexpr std::uint32_t kSuspectDeaths = 2;
// So many deaths one request costs at most before it ends.
inline constexpr std::uint32_t kDeathsMax = kSuspectDeaths + kLoneDeathsMax;

// What changes a model's weights for those who ask for it, as name+adapter.
struct AdapterConfig {
  std::string name;
  std::string digest = {};
};

// So many requests are at a vocabulary process at once, so that it need not wait for the next one;
// but one that may take it long, with a grammar or schema or more bytes than these, is there alone.
// All others wait in the PrepareLine, which whoever gives up leaves.
inline constexpr std::size_t kPreparesAtOnce = 4;
inline constexpr std::uint64_t kLightPromptBytes = std::uint64_t{16} << 10;

struct ModelConfig {
  std::string name;
  std::uint32_t version = 1;
  std::string digest = {};  // Of the weights: a journalled stream is continued on no others.
  std::vector<AdapterConfig> adapters = {};  // In the order in which its engine has them.
};

// One moment on both clocks. The steady one stands still while the machine sleeps, and
// the other is set now and then.
struct Clocks {
  TimePoint steady;
  WallTime wall;
};

// The journal to go on with, and what it holds.
struct JournalStart {
  stream::JournalLimits limits;
  stream::Recovery recovery;
};

// Streams' lives: admits requests, has them prepared, queues them, gives jobs to
// engines, turns steps into committed records, ends every stream exactly once,
// and keeps it for a while for readers that come back.
//
// With a journal, everything that happened until the owner drained next() is one
// batch; what a client could see of it is held back until JournalWritten. What shows
// only what is written already is answered at once.
//
// Sans-IO: the owner passes each message with the time, then carries out next()
// until it is empty, and comes back no later than deadline(). Knows no socket,
// process or client format. Belongs to one thread; the logs that it hands out
// may be read from others.
class Core {
 public:
  // Without a journal, streams live as long as the core.
  Core(Limits limits, std::vector<ModelConfig> models, Clocks clocks = {},
       std::optional<JournalStart> journal = std::nullopt);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // The clocks now, once for each turn of the owner: for how long what ends is kept. The
  // times in a log are told by the clocks at the start, so that nothing in it jumps.
  void on_clocks(Clocks now) { clocks_ = now; }

  void on_message(Message message, TimePoint now);
  void on_time(TimePoint now);

  // The next effect to carry out, in order. Wakes come last and merged: one for
  // each edge, so several messages may be passed before a drain.
  std::optional<Effect> next();

  TimePoint deadline() const;

  // Every engine has said Ready and is up, and the journal is being written.
  bool ready() const;
  // Draining, nothing waits for the journal, and no stream is left that is not
  // left to it.
  bool drained() const;
  std::size_t streams_active() const;

  // May be read from any thread.
  const Stats& stats() const { return stats_; }

 private:
  enum class State : std::uint8_t { preparing, queued, running, done };
  struct Stream;
  struct Model;

  // What a request names.
  struct Choice {
    Model* model = nullptr;     // Null where there is no such model or adapter.
    std::uint32_t adapter = 0;  // engine::Job::adapter.
  };

  // The streams of one tenant, in the order of their requests.
  struct Owned {
    std::map<std::uint64_t, Stream*> active = {};
    std::map<std::uint64_t, Stream*> done = {};
    std::uint64_t scope = 0;  // Of its prompts (engine::Job::scope): never the same again.
  };

  // What waits for one batch of the journal.
  struct Round {
    std::uint64_t batch = 0;
    std::vector<Effect> effects = {};
    struct Growth {
      Stream* stream = nullptr;
      stream::Head head;
    };
    std::vector<Growth> growths = {};
    std::vector<std::unique_ptr<Stream>> forgotten;  // It or one before may name them.
  };

  // Of several messages each; core.cc unless said.
  void on(Submit& submit, TimePoint now);  // admission.cc
  void on(Attach& attach, TimePoint now);  // readers.cc
  void on(Acknowledge& acknowledge, TimePoint now);
  void on(ListStreams& list, TimePoint now);
  void on(CancelStream& cancel, TimePoint now);
  void on(ReaderGone& gone, TimePoint now);
  void on(VocabularyEvent& event, TimePoint now);
  void on(VocabularyDown& down, TimePoint now);
  void on(EngineEvent& event, TimePoint now);
  void on(EngineDown& down, TimePoint now);  // redrive.cc
  void on(Drain& drain, TimePoint now);
  void on(JournalWritten& written, TimePoint now);  // rounds.cc
  void on(JournalStalled& stalled, TimePoint now);
  void on(JournalFlows& flows, TimePoint now);

  void on_prepared(ModelIndex index, text::PrepareReply& reply, TimePoint now);
  void on_step(const engine::Step& step, TimePoint now);
  static void look_ahead(std::span<Stream* const> streams, std::size_t at);
  void on_token(Stream& stream, const engine::StepToken& token, TimePoint now);
  void count_pause(Duration pause);
  void publish_pauses();
  void on_job_failed(engine::JobFailed& failed, TimePoint now);

  std::optional<Problem> why_not(const Submit& submit, const Model* model) const;
  std::optional<Problem> why_full(const Model& model) const;
  std::optional<Problem> why_too_many_of(const Principal& principal) const;
  std::optional<Problem> why_not_prepared(const Model& model, std::uint64_t bytes) const;
  std::optional<Problem> why_too_long(const Model& model, std::size_t prompt_tokens) const;
  std::optional<Problem> why_too_large(const Stream& stream) const;
  std::optional<Problem> why_no_space(std::uint64_t bytes) const;
  std::optional<Problem> why_no_grammar(const Stream& stream) const;
  void count_grammar(const Stream& stream);
  static std::uint64_t bytes_without_tokens(const Stream& stream);
  static std::uint64_t token_bytes_of(const Stream& stream);
  static std::uint64_t bytes_of(const Stream& stream);
  static std::uint64_t run_bytes_of(const Stream& stream);
  Choice choose(std::string_view name);  // adapters.cc
  Problem not_found(std::string_view name) const;
  Model& model_of(ModelIndex index);
  Stream* find(std::uint64_t number);
  Stream* find(StreamId id, const Principal& principal);
  bool attach_by_key(Submit& submit, TimePoint now);
  std::optional<Problem> why_not_attached(const Stream& stream, const Submit& submit) const;
  void ask(Stream& stream);
  void ask_next(Model& model);
  std::size_t drop_prepares(ModelIndex index);
  void on_asked(Model& model, std::uint64_t number);
  void take_prompt(Stream& stream, text::PreparedPrompt& prompt) const;
  void accept(Stream& stream, TimePoint now);
  void start_queued(Model& model, TimePoint now);
  Stream* next_to_start(Model& model);
  static Stream* next_suspect(const Model& model);
  static std::uint32_t place_of(const Stream& stream);
  void start(Stream& stream, TimePoint now);
  void raise_generation(Stream& stream, stream::DriveRecord::Cause cause);
  void take_up(std::unique_ptr<Stream> owned);
  void enter(Stream& stream, State state);
  void enqueue(Stream& stream, TimePoint now);
  static void leave(Stream& stream);  // Its state.
  void publish_counts();

  // What fits a context: overflow.cc.
  static std::uint32_t prompt_room(const Stream& stream);
  static text::PrepareRequest prepare_request(const Stream& stream);
  std::optional<Problem> why_no_parent(const Submit& submit, const Model& model,
                                       std::uint32_t adapter);
  void take_parent(Stream& stream);
  static void fit_prompt(Stream& stream, text::PreparedPrompt& prompt);
  static std::uint32_t shifted_tokens(const Stream& stream);
  static bool shifts(const Stream& stream, engine::JobEnd end);
  static engine::Job job_of(const Stream& stream, std::uint32_t dropped);

  void sum_memory();
  void on_memory(Model& model, const engine::Memory& memory);

  // Readers.
  void add_reader(Stream& stream, const ReplyTo& reader);
  void remove_readers(Stream& stream);
  void on_unread(Stream& stream, TimePoint now);
  enum class Attachment : std::uint8_t { fresh, old };
  Accepted accepted_of(const Stream& stream, Attachment attachment, TimePoint now) const;
  StreamSummary summary_of(const Stream& stream) const;
  StreamState state_of(const Stream& stream) const;
  static bool can_come_back(const Stream& stream);
  Problem no_stream(StreamId id, const Principal& principal) const;

  // Recovery.
  void recover(stream::RecoveredStream& recovered, std::uint32_t epoch_step, TimePoint now);
  std::optional<Problem> why_not_continued(const Stream& stream) const;
  std::shared_ptr<stream::TokenLog> log_of(const stream::StateRecord& state,
                                           bool with_logprobs) const;
  void resume_recovered(Model& model, TimePoint now);
  void replay(Stream& stream, TimePoint now);
  void start_graces(Model& model, TimePoint now);
  void acquit(Model& model);
  void requeue(Stream& stream, TimePoint now);
  void drop_commands(ModelIndex index);
  bool wait_on(Stream& stream, TimePoint now);

  // Rounds.
  void hold(Effect effect);
  stream::LogSlice slice(const Stream& stream, Offset from) const;
  void put_tokens(Stream& stream);  // Those that are not in the journal yet.
  void put_state(Stream& stream);
  void touch(Stream& stream);
  bool close_round();
  void release(Round& round);
  void release(Effect& effect);
  void tend_journal();
  WallTime wall(TimePoint at) const { return clocks_.wall + (at - clocks_.steady); }
  WallTime log_wall(TimePoint at) const { return start_.wall + (at - start_.steady); }
  TimePoint steady(WallTime at) const { return start_.steady + (at - start_.wall); }

  // Ends. `refuse` and `forget` destroy the stream.
  void refuse(Stream& stream, Problem problem);
  void finish(Stream& stream, stream::FinishReason reason, std::optional<Problem> problem,
              TimePoint now);
  void cancel(Stream& stream, TimePoint now);
  void fail_waiting(Stream& stream, Problem problem, TimePoint now);
  void keep(Stream& stream, TimePoint until);
  static std::uint64_t memory_of(const Stream& stream);
  void expire_kept(Stream& stream);
  void forget(Stream& stream);

  void expire(Stream& stream, TimePoint now);
  void set_alarm(Stream& stream, TimePoint at);
  void wake(Stream& stream);
  std::optional<Effect> next_wake();
  void reply(const ReplyTo& to, ReplyBody body);
  void answer(Stream& stream, const ReplyTo& to, ReplyBody body);
  void answer_cancel(StreamId id, const ReplyTo& to);
  void settle_drain();

  const Limits limits_;
  const Clocks start_;
  Clocks clocks_;
  std::vector<std::unique_ptr<Model>> models_;
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
  std::pmr::unsynchronized_pool_resource memory_;  // Its entries lie side by side.
  std::pmr::unordered_map<std::uint64_t, Stream*> by_number_{&memory_};
  std::map<std::uint64_t, Stream*> active_;  // Not done, in the order of their requests.
  std::map<std::pair<TimePoint, std::uint64_t>, Stream*>
      done_;                                         // Kept, in the order of their ends.
  std::map<std::string, Owned, std::less<>> owned_;  // By tenant.
  std::uint64_t scopes_ = 0;                         // Given to them.
  std::map<std::pair<std::string, std::string>, StreamId> keys_;  // By tenant and key.
  std::map<ReplyTo, Stream*> readers_;
  std::set<std::pair<TimePoint, std::uint64_t>> alarms_;  // When, and the stream's number.
  std::uint64_t last_number_ = 0;  // Names a stream to engines and vocabularies: job id and ticket.
  std::unordered_map<StreamId, std::string> expired_;  // Lately, and their tenants.
  std::deque<StreamId> expired_order_;                 // The oldest first.
  TimePoint drain_at_ = kNever;
  bool draining_ = false;
  bool left_ = false;  // What is active now is left to the journal.

  std::optional<stream::Journal> journal_;
  std::uint64_t journal_bytes_max_ = 0;
  std::uint64_t grammar_bytes_ = 0;                 // Of streams that were accepted and not ended.
  std::uint64_t kept_bytes_ = 0;                    // About what ended streams take of memory.
  std::optional<Problem> stalled_;                  // Why the journal does not flow.
  std::deque<Round> rounds_;                        // At the journal, oldest first.
  std::vector<Effect> held_;                        // For the round being collected.
  std::vector<Stream*> touched_;                    // Streams whose logs grew in it.
  std::vector<std::unique_ptr<Stream>> forgotten_;  // In it.
  std::vector<Stream*> ahead_;  // Scratch: those that have their turn, in order.
  std::string visible_;         // Scratch: what one token made visible.
  Duration pause_{};            // So long after the token before it came each ...
  std::uint64_t pauses_ = 0;    // ... of so many tokens that are not in the statistics yet.

  std::deque<Effect> effects_;
  std::vector<std::vector<ConnectionId>> grown_;  // By edge.
  std::uint64_t round_ = 1;                       // Being collected.
  std::uint64_t wake_round_ = 1;

  Stats stats_;
};

}  // namespace seedance::core
