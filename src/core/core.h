// The core: owns the streams.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/messages.h"
#include "core/stats.h"

namespace seedance::core {

struct Limits {
  std::uint32_t streams_queued_max = 1024;  // Per model: accepted, not yet in the engine.
  std::uint32_t prepares_max = 256;         // Per model: prompts at the vocabulary process.
  Duration queue_wait_max = std::chrono::seconds{60};  // Deadline of a request that names none.
  Duration orphan_ttl = std::chrono::seconds{10};
  Duration detach_ttl = std::chrono::seconds{300};
  std::uint32_t edges_max = 64;
};

struct ModelConfig {
  std::string name;
  std::uint32_t version = 1;
};

// Streams' lives: admits requests, has them prepared, queues them, gives jobs to
// engines, turns steps into committed records, ends every stream exactly once.
//
// Sans-IO: the owner passes each message with the time, then carries out next()
// until it is empty, and comes back no later than deadline(). Knows no socket,
// process or client format. Belongs to one thread; the logs that it hands out
// may be read from others.
class Core {
 public:
  Core(Limits limits, std::vector<ModelConfig> models);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void on_message(Message message, TimePoint now);
  void on_time(TimePoint now);

  // The next effect to carry out, in order. Wakes come last and merged: one for
  // each edge, so several messages may be passed before a drain.
  std::optional<Effect> next();

  TimePoint deadline() const;

  // Every engine has said Ready and is up.
  bool ready() const;
  // Draining, and no stream is left.
  bool drained() const;
  std::size_t streams_active() const;

  // May be read from any thread.
  const Stats& stats() const { return stats_; }

 private:
  enum class State : std::uint8_t { preparing, queued, running };
  struct Stream;
  struct Model;

  void on(Submit& submit, TimePoint now);
  void on(CancelStream& cancel, TimePoint now);
  void on(ReaderGone& gone, TimePoint now);
  void on(VocabularyEvent& event, TimePoint now);
  void on(VocabularyDown& down, TimePoint now);
  void on(EngineEvent& event, TimePoint now);
  void on(EngineDown& down, TimePoint now);
  void on(Drain& drain, TimePoint now);

  void on_prepared(ModelIndex index, text::PrepareReply& reply, TimePoint now);
  void on_step(const engine::Step& step, TimePoint now);
  void on_token(Stream& stream, const engine::StepToken& token, TimePoint now);
  void on_job_failed(engine::JobFailed& failed, TimePoint now);

  std::optional<Problem> why_not(const Submit& submit, const Model* model) const;
  std::optional<Problem> why_full(const Model& model) const;
  std::optional<Problem> why_too_long(const Model& model, std::size_t prompt_tokens) const;
  Model* find_model(std::string_view name);
  Model& model_of(ModelIndex index);
  Stream* find(std::uint64_t number);
  void accept(Stream& stream, text::PreparedPrompt& prompt, TimePoint now);
  void start_queued(Model& model, TimePoint now);
  void enter(Stream& stream, State state);
  static void leave(Stream& stream);  // Its state.
  void publish_counts();

  // Each destroys the stream.
  void refuse(Stream& stream, Problem problem);
  void finish(Stream& stream, stream::FinishReason reason, std::optional<Problem> problem,
              TimePoint now);
  void cancel(Stream& stream, TimePoint now);
  void fail_waiting(Stream& stream, Problem problem, TimePoint now);
  void forget(Stream& stream);

  void expire(Stream& stream, TimePoint now);
  void set_alarm(Stream& stream, TimePoint at);
  void mark_grown(Stream& stream);
  void reply(const ReplyTo& to, std::variant<Accepted, Refused, CancelDone> body);

  const Limits limits_;
  std::vector<std::unique_ptr<Model>> models_;
  std::unordered_map<StreamId, std::unique_ptr<Stream>> streams_;
  std::map<std::uint64_t, Stream*> by_number_;            // In the order of their requests.
  std::set<std::pair<TimePoint, std::uint64_t>> alarms_;  // When, and the stream's number.
  std::uint64_t last_number_ = 0;  // Names a stream to engines and vocabularies: job id and ticket.
  TimePoint drain_at_ = kNever;
  bool draining_ = false;

  std::deque<Effect> effects_;
  std::map<EdgeId, std::vector<StreamId>> grown_;
  std::uint64_t wake_round_ = 1;

  Stats stats_;
};

}  // namespace seedance::core
