#include "core/core.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"
#include "core/state.h"

namespace seedance::core {
namespace {

constexpr Duration kExpireAgain = std::chrono::seconds{1};

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

stream::Sha256 sha256_of(const stream::TokenLog& log) {
  std::string text;
  log.append_text({0}, log.appended(), text);
  stream::Sha256 digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

stream::FinishReason reason_of(engine::JobEnd end) {
  return end == engine::JobEnd::stop ? stream::FinishReason::stop : stream::FinishReason::length;
}

}  // namespace

Core::Core(Limits limits, std::vector<ModelConfig> models, Clocks clocks,
           std::optional<JournalStart> journal)
    : limits_(limits), start_(clocks), clocks_(clocks) {
  for (ModelConfig& config : models) {
    auto model = std::make_unique<Model>(limits_.priority_ageing);
    model->index = {static_cast<std::uint32_t>(models_.size())};
    model->full_name = fmt::format("{}@{}", config.name, config.version);
    model->name = std::move(config.name);
    model->digest = std::move(config.digest);
    model->adapters = std::move(config.adapters);
    model->usable_until = clocks.steady;
    models_.push_back(std::move(model));
  }
  if (!journal) return;
  journal_.emplace(journal->limits, journal->recovery);
  journal_bytes_max_ = journal->limits.bytes_max;
  const stream::Recovery& recovery = journal->recovery;
  const std::uint32_t epoch_step = recovery.lost_tail ? recovery.epoch_step : 0;
  for (stream::RecoveredStream& recovered : journal->recovery.streams) {
    recover(recovered, epoch_step, start_.steady);
  }
  publish_counts();
}

Core::~Core() = default;

void Core::on_message(Message message, TimePoint now) {
  std::visit([&](auto& body) { on(body, now); }, message);
  settle_drain();
}

void Core::on_time(TimePoint now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    Stream* stream = find(alarms_.begin()->second);
    SEEDANCE_CHECK(stream != nullptr, "an alarm is cleared when its stream ends");
    expire(*stream, now);
  }
  if (now < drain_at_) return settle_drain();
  drain_at_ = kNever;
  // The newest first: who waits is gone before a sequence becomes free.
  std::vector<Stream*> active;
  active.reserve(active_.size());
  for (const auto& [number, stream] : active_) active.push_back(stream);
  for (Stream* stream : active | std::views::reverse) {
    if (stream->state == State::preparing) {
      refuse(*stream, shutting_down());
    } else if (!journal_ || !can_come_back(*stream)) {
      cancel(*stream, now);
    }
  }
  left_ = true;
}

std::optional<Effect> Core::next() {
  while (effects_.empty() && close_round()) {
  }
  if (!effects_.empty()) {
    Effect effect = std::move(effects_.front());
    effects_.pop_front();
    return effect;
  }
  return next_wake();
}

TimePoint Core::deadline() const {
  return std::min(drain_at_, alarms_.empty() ? kNever : alarms_.begin()->first);
}

bool Core::ready() const {
  return !stalled_ && std::ranges::all_of(models_, [](const auto& model) {
    return model->engine_up && model->vocabulary_up;
  });
}

bool Core::drained() const {
  if (!draining_ || (!active_.empty() && !left_)) return false;
  const bool written = rounds_.empty() && held_.empty() && touched_.empty() && effects_.empty();
  return written || (stalled_ && left_);
}

std::size_t Core::streams_active() const {
  return active_.size();
}

// Whom nobody waits for is left to the journal.
void Core::settle_drain() {
  if (!draining_ || left_ || !journal_ || active_.empty()) return;
  left_ = std::ranges::all_of(active_, [](const auto& entry) {
    return entry.second->state != State::preparing && entry.second->unread() &&
           can_come_back(*entry.second);
  });
}

// Engines.

void Core::on(EngineEvent& event, TimePoint now) {
  Model& model = model_of(event.model);
  if (auto* step = std::get_if<engine::Step>(&event.event)) {
    on_step(*step, now);
    start_queued(model, now);
  } else if (auto* failed = std::get_if<engine::JobFailed>(&event.event)) {
    on_job_failed(*failed, now);
    start_queued(model, now);
  } else if (auto* ready = std::get_if<engine::Ready>(&event.event)) {
    if (model.capacity) stats_.engine_restarts.add();
    model.capacity = std::move(*ready);
    model.engine_up = true;
    sum_memory();
    start_graces(model, now);
    start_queued(model, now);
  } else if (const auto* memory = std::get_if<engine::Memory>(&event.event)) {
    on_memory(model, *memory);
  }
}

void Core::on_step(const engine::Step& step, TimePoint now) {
  stats_.sequences_parked.add(step.parked);
  stats_.sequences_restored.add(step.restored);
  stats_.tokens_drafted.add(step.drafted);
  stats_.drafts_accepted.add(step.accepted);
  if (left_) return;  // Whoever takes over makes these tokens.
  ahead_.clear();
  for (const engine::StepToken& token : step.tokens) ahead_.push_back(find(token.job.value));
  for (std::size_t at = 0; at < step.tokens.size(); ++at) {
    look_ahead(ahead_, at);
    const engine::StepToken& token = step.tokens[at];
    Stream* stream = ahead_[at];  // An end takes nobody away.
    // Of a stream that ended meanwhile, or of somebody who may not append any more.
    if (stream == nullptr || stream->state != State::running || stream->gen != token.gen) continue;
    on_token(*stream, token, now);
    // To the journal while it is near, with the others that the step made for it.
    if (at + 1 == ahead_.size() || ahead_[at + 1] != stream) put_tokens(*stream);
  }
  publish_pauses();
}

// The memory of the next streams, which the edges may have looked at last, comes while
// this one has its turn.
void Core::look_ahead(std::span<Stream* const> streams, std::size_t at) {
  constexpr std::size_t kStreamBytes = 6 * kCacheLineBytes;  // Of it, what a token needs.
  const auto ahead = [&](std::size_t turns) {
    return at + turns < streams.size() ? streams[at + turns] : nullptr;
  };
  if (const Stream* stream = ahead(6)) prefetch(stream, kStreamBytes);
  if (const Stream* stream = ahead(4); stream != nullptr && stream->log) {
    stream->log->prefetch_end_places();
    if (stream->entry != nullptr) prefetch(stream->entry, sizeof *stream->entry);
  }
  if (const Stream* stream = ahead(2); stream != nullptr && stream->log) {
    stream->log->prefetch_end();
  }
}

void Core::on_token(Stream& stream, const engine::StepToken& token, TimePoint now) {
  visible_.clear();
  stream.detokenizer->feed(token.token, visible_);
  const bool goes_on = shifts(stream, token.end);
  const bool ended = token.end != engine::JobEnd::none && !goes_on;
  if (ended) stream.detokenizer->finish(visible_);
  const bool stopped = stream.detokenizer->state() == text::Detokenizer::State::stopped;
  if (stream.log->appended() == Offset{0}) {
    stream.first_token = now;
    stream.prefill = token.prefill;
    stream.cached_tokens = std::min(token.reused, stream.prompt_tokens);
    stats_.tokens_cached.add(stream.cached_tokens);
    stats_.ttft_seconds.observe(seconds(now - stream.accepted));
    stats_.prefill_seconds.observe(seconds(token.prefill));
    stats_.queue_seconds.at(rank(stream.request.priority))
        .observe(seconds(now - stream.accepted - token.prefill));
  } else {
    count_pause(now - stream.last_token);
  }
  stream.last_token = now;
  stream.recovering = false;
  stream.deaths = stream.lone_deaths = stream.server_starts = 0;
  Model& model = *stream.model;
  if (!std::exchange(stream.proven, true)) --model.unproven;
  if (model.on_trial == &stream) model.on_trial = nullptr;
  stats_.tokens_generated.add();
  stream.log->append(token.token, visible_, now,
                     token.logprobs.empty() ? nullptr : token.logprobs.data());
  touch(stream);
  if (goes_on && !stopped) return start(stream, now);
  if (!stopped && !ended) return;
  if (token.end == engine::JobEnd::none) {
    effects_.push_back(
        EngineCommand{stream.model->index, engine::Cancel{{stream.number}, stream.gen}});
  }
  finish(stream, stopped ? stream::FinishReason::stop : reason_of(token.end), std::nullopt, now);
}

// Streams that run together have the same pauses: those are looked up once.
void Core::count_pause(Duration pause) {
  if (pause != pause_) publish_pauses();
  pause_ = pause;
  ++pauses_;
}

void Core::publish_pauses() {
  const std::uint64_t pauses = std::exchange(pauses_, 0);
  if (pauses > 0) stats_.inter_token_seconds.observe(seconds(pause_), pauses);
}

void Core::on_job_failed(engine::JobFailed& failed, TimePoint now) {
  Stream* stream = find(failed.job.value);
  if (stream == nullptr || stream->state != State::running || stream->gen != failed.gen) return;
  finish(*stream, stream::FinishReason::error, std::move(failed.problem), now);
}

// Ends.

void Core::on(CancelStream& request, TimePoint now) {
  const auto found = streams_.find(request.stream);
  const bool own = found != streams_.end() && found->second->principal == request.principal;
  if (!own) {
    return reply(request.reply_to, Refused{no_stream(request.stream, request.principal)});
  }
  if (found->second->state != State::done) cancel(*found->second, now);
  answer_cancel(request.stream, request.reply_to);
}

// Behind the end that it tells of. Who was being prepared is gone.
void Core::answer_cancel(StreamId id, const ReplyTo& to) {
  const auto found = streams_.find(id);
  if (!journal_ || found == streams_.end() || found->second->log->head().done) {
    return reply(to, CancelDone{id});
  }
  Stream& stream = *found->second;
  if (stream.cancels.size() >= limits_.readers_max) {
    return reply(to, Refused{too_many_wait(limits_.readers_max)});
  }
  stream.cancels.push_back(to);
}

void Core::on(Drain& drain, TimePoint now) {
  draining_ = true;
  drain_at_ = drain.deadline;
  std::vector<Stream*> unread;  // Nobody can come back for them.
  for (const auto& [number, stream] : active_) {
    const bool left = journal_ && can_come_back(*stream);
    if (stream->orphan_at != kNever && !left) unread.push_back(stream);
  }
  for (Stream* stream : unread) cancel(*stream, now);
  on_time(now);
}

void Core::expire(Stream& stream, TimePoint now) {
  if (stream.state == State::done) {
    if (stream.log->head().done) return expire_kept(stream);
    return set_alarm(stream, now + kExpireAgain);  // Its end is on its way to the journal.
  }
  if (stream.orphan_at <= now) return cancel(stream, now);
  if (stream.recovering) {
    if (wait_on(stream, now)) return;
    return finish(stream, stream::FinishReason::error,
                  Problem{.code = ErrorCode::engine_failed,
                          .message = "the engine died and no new one could continue the stream in "
                                     "time; try again later",
                          .retry_after_ms = kRetryAfterMs},
                  now);
  }
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - stream.submitted);
  fail_waiting(
      stream,
      {.code = ErrorCode::deadline_exceeded,
       .message = fmt::format("the request waited {} ms and {} in time; try again later or "
                              "allow a longer deadline_ms",
                              waited.count(),
                              stream.state == State::preparing ? "its prompt was not prepared"
                                                               : "no sequence became free"),
       .numbers = {{"waited_ms", waited.count()}},
       .retry_after_ms = kRetryAfterMs},
      now);
}

void Core::cancel(Stream& stream, TimePoint now) {
  if (stream.state == State::preparing) {
    return refuse(stream, {.code = ErrorCode::cancelled,
                           .message = "the request was cancelled before it was accepted"});
  }
  if (stream.state == State::running) {
    effects_.push_back(
        EngineCommand{stream.model->index, engine::Cancel{{stream.number}, stream.gen}});
  }
  Model& model = *stream.model;
  finish(stream, stream::FinishReason::cancelled, std::nullopt, now);
  start_queued(model, now);
}

void Core::fail_waiting(Stream& stream, Problem problem, TimePoint now) {
  if (stream.state == State::preparing) return refuse(stream, std::move(problem));
  finish(stream, stream::FinishReason::error, std::move(problem), now);
}

void Core::refuse(Stream& stream, Problem problem) {
  stats_.refused.at(static_cast<std::size_t>(problem.code)).add();
  const Refused refused{std::move(problem)};
  for (const ReplyTo& reader : stream.readers) reply(reader, refused);
  forget(stream);
}

void Core::finish(Stream& stream, stream::FinishReason reason, std::optional<Problem> problem,
                  TimePoint now) {
  stream::TokenLog& log = *stream.log;
  const auto tokens = static_cast<std::uint32_t>(log.appended().value);
  stream::Timing timing{.queue = now - stream.accepted};
  if (tokens > 0) {
    timing.prefill = stream.prefill;
    timing.ttft = stream.first_token - stream.accepted;
    timing.queue = timing.ttft - timing.prefill;
    timing.decode = stream.last_token - stream.first_token;
  }
  stream.ended = now;
  stream.ended_at = wall(now);
  put_tokens(stream);
  log.append_terminal({.reason = reason,
                       .usage = {.prompt_tokens = stream.prompt_tokens,
                                 .completion_tokens = tokens,
                                 .cached_tokens = stream.cached_tokens,
                                 .dropped_tokens = stream.dropped.tokens + shifted_tokens(stream)},
                       .timing = timing,
                       .sha256 = sha256_of(log),
                       .problem = std::move(problem)});
  if (journal_) {
    journal_->put(
        stream::EndRecord{stream.id, stream.gen, {log.appended_terminal(), stream.ended_at}});
  }
  touch(stream);
  stats_.streams_ended.at(static_cast<std::size_t>(reason)).add();
  stats_.total_seconds.observe(seconds(now - stream.accepted));
  keep(stream, now + limits_.terminal_ttl);
}

void Core::forget(Stream& stream) {
  set_alarm(stream, kNever);
  leave(stream);
  remove_readers(stream);
  const auto key = keys_.find({stream.principal.tenant, stream.request.key});
  if (key != keys_.end() && key->second == stream.id) keys_.erase(key);
  by_number_.erase(stream.number);
  active_.erase(stream.number);
  done_.erase({stream.ended, stream.number});
  const auto owned = owned_.find(stream.principal.tenant);
  owned->second.active.erase(stream.number);
  owned->second.done.erase(stream.number);
  if (owned->second.active.empty() && owned->second.done.empty()) owned_.erase(owned);
  stream.forgotten = true;
  const auto node = streams_.extract(stream.id);
  if (stream.touched_in != 0) forgotten_.push_back(std::move(node.mapped()));
  publish_counts();
}

// Bookkeeping.

// A stream that is new here. Of two with one key, which the loss of power can leave, the
// newest has it.
void Core::take_up(std::unique_ptr<Stream> owned) {
  Stream& stream = *owned;
  const std::string& tenant = stream.principal.tenant;
  by_number_.emplace(stream.number, &stream);
  active_.emplace(stream.number, &stream);
  Owned& theirs = owned_[tenant];
  if (theirs.scope == 0) theirs.scope = ++scopes_;
  theirs.active.emplace(stream.number, &stream);
  if (!stream.request.key.empty()) {
    keys_.insert_or_assign({tenant, stream.request.key}, stream.id);
  }
  if (stream.model != nullptr) ++stream.model->count.at(static_cast<std::size_t>(stream.state));
  streams_.emplace(stream.id, std::move(owned));
}

void Core::enter(Stream& stream, State state) {
  leave(stream);
  stream.state = state;
  if (stream.model != nullptr) {
    Model& model = *stream.model;
    ++model.count.at(static_cast<std::size_t>(state));
    if (state == State::running) {
      stream.proven = false;
      ++model.unproven;
      ++model.running.at(rank(stream.request.priority));
    }
  }
  publish_counts();
}

void Core::enqueue(Stream& stream, TimePoint now) {
  Model& model = *stream.model;
  model.line.enter(stream.number, stream.request.priority, stream.due, now);
  if (stream.suspect()) model.suspects.emplace(stream.number, &stream);
  enter(stream, State::queued);
}

void Core::leave(Stream& stream) {
  if (stream.model == nullptr) return;
  Model& model = *stream.model;
  --model.count.at(static_cast<std::size_t>(stream.state));
  if (stream.state == State::preparing) {
    model.to_prepare.leave(stream.principal.tenant, stream.number);
  } else if (stream.state == State::queued) {
    model.line.leave(stream.number);
    model.suspects.erase(stream.number);
  } else if (stream.state == State::running) {
    if (!stream.proven) --model.unproven;
    --model.running.at(rank(stream.request.priority));
    if (model.on_trial == &stream) model.on_trial = nullptr;
  }
}

void Core::publish_counts() {
  const auto total = [this](State state) {
    std::int64_t sum = 0;
    for (const auto& model : models_) sum += model->in(state);
    return sum;
  };
  std::uint64_t prepare_bytes = 0;
  for (const auto& model : models_) prepare_bytes += model->prepare_bytes();
  stats_.prepare_bytes.set(static_cast<std::int64_t>(prepare_bytes));
  stats_.streams_preparing.set(total(State::preparing));
  stats_.streams_queued.set(total(State::queued));
  for (const Priority priority : kPriorities) {
    std::size_t depth = 0;
    for (const auto& model : models_) depth += model->line.size(priority);
    stats_.queue_depth.at(rank(priority)).set(static_cast<std::int64_t>(depth));
  }
  stats_.streams_running.set(total(State::running));
  stats_.streams_kept.set(static_cast<std::int64_t>(done_.size()));
}

void Core::set_alarm(Stream& stream, TimePoint at) {
  if (stream.alarm != kNever) alarms_.erase({stream.alarm, stream.number});
  stream.alarm = at;
  if (at != kNever) alarms_.emplace(at, stream.number);
}

void Core::reply(const ReplyTo& to, ReplyBody body) {
  effects_.push_back(Reply{.to = to, .body = std::move(body)});
}

// At once when the stream's beginning, in its epoch, is written; else behind that.
void Core::answer(Stream& stream, const ReplyTo& to, ReplyBody body) {
  if (stream.committed) return reply(to, std::move(body));
  stream.waiting.push_back({.to = to, .body = std::move(body)});
}

Core::Model& Core::model_of(ModelIndex index) {
  return *models_.at(index.value);
}

Core::Stream* Core::find(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

}  // namespace seedance::core
