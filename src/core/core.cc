#include "core/core.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/state.h"

namespace seedance::core {
namespace {

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

Core::Core(Limits limits, std::vector<ModelConfig> models) : limits_(limits) {
  for (ModelConfig& config : models) {
    auto model = std::make_unique<Model>();
    model->index = {static_cast<std::uint32_t>(models_.size())};
    model->full_name = fmt::format("{}@{}", config.name, config.version);
    model->name = std::move(config.name);
    models_.push_back(std::move(model));
  }
}

Core::~Core() = default;

void Core::on_message(Message message, TimePoint now) {
  std::visit([&](auto& body) { on(body, now); }, message);
}

void Core::on_time(TimePoint now) {
  while (!alarms_.empty() && alarms_.begin()->first <= now) {
    Stream* stream = find(alarms_.begin()->second);
    SEEDANCE_CHECK(stream != nullptr, "an alarm is cleared when its stream ends");
    expire(*stream, now);
  }
  if (now < drain_at_) return;
  drain_at_ = kNever;
  // The newest first: who waits is gone before a sequence becomes free.
  while (!by_number_.empty()) {
    Stream& stream = *by_number_.rbegin()->second;
    if (stream.state == State::preparing) {
      refuse(stream, shutting_down());
    } else {
      cancel(stream, now);
    }
  }
}

std::optional<Effect> Core::next() {
  if (!effects_.empty()) {
    Effect effect = std::move(effects_.front());
    effects_.pop_front();
    return effect;
  }
  if (grown_.empty()) return std::nullopt;
  auto first = grown_.extract(grown_.begin());
  if (grown_.empty()) ++wake_round_;
  return Wake{.edge = first.key(), .streams = std::move(first.mapped())};
}

TimePoint Core::deadline() const {
  return std::min(drain_at_, alarms_.empty() ? kNever : alarms_.begin()->first);
}

bool Core::ready() const {
  return std::ranges::all_of(
      models_, [](const auto& model) { return model->engine_up && model->vocabulary_up; });
}

bool Core::drained() const {
  return draining_ && streams_.empty();
}

std::size_t Core::streams_active() const {
  return streams_.size();
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
    start_queued(model, now);
  }
}

void Core::on(EngineDown& down, TimePoint now) {
  Model& model = model_of(down.model);
  model.engine_up = false;
  std::vector<Stream*> lost;
  for (const auto& [number, stream] : by_number_) {
    if (stream->model == &model && stream->state == State::running) lost.push_back(stream);
  }
  for (Stream* stream : lost) {
    finish(
        *stream, stream::FinishReason::error,
        Problem{.code = ErrorCode::engine_failed,
                .message = fmt::format("the engine stopped after {} tokens; try again",
                                       stream->log->appended().value),
                .numbers = {{"tokens", static_cast<std::int64_t>(stream->log->appended().value)}},
                .retry_after_ms = kRetryAfterMs},
        now);
  }
}

void Core::on_step(const engine::Step& step, TimePoint now) {
  for (const engine::StepToken& token : step.tokens) {
    Stream* stream = find(token.job.value);
    // Of a stream that ended meanwhile, or of somebody who may not append any more.
    if (stream == nullptr || stream->state != State::running || stream->gen != token.gen) continue;
    on_token(*stream, token, now);
  }
}

void Core::on_token(Stream& stream, const engine::StepToken& token, TimePoint now) {
  stream.visible.clear();
  stream.detokenizer->feed(token.token, stream.visible);
  const bool ended = token.end != engine::JobEnd::none;
  if (ended) stream.detokenizer->finish(stream.visible);
  const bool stopped = stream.detokenizer->state() == text::Detokenizer::State::stopped;
  if (stream.log->appended() == Offset{0}) {
    stream.first_token = now;
    stream.prefill = token.prefill;
    stats_.ttft_seconds.observe(seconds(now - stream.accepted));
    stats_.prefill_seconds.observe(seconds(token.prefill));
    stats_.queue_seconds.observe(seconds(now - stream.accepted - token.prefill));
  } else {
    stats_.inter_token_seconds.observe(seconds(now - stream.last_token));
  }
  stream.last_token = now;
  stats_.tokens_generated.add();
  stream.log->append(token.token, stream.visible, now,
                     token.logprobs.empty() ? nullptr : token.logprobs.data());
  if (!stopped && !ended) {
    stream.log->commit();
    return mark_grown(stream);
  }
  if (!ended) {
    effects_.push_back(
        EngineCommand{stream.model->index, engine::Cancel{{stream.number}, stream.gen}});
  }
  finish(stream, stopped ? stream::FinishReason::stop : reason_of(token.end), std::nullopt, now);
}

void Core::on_job_failed(engine::JobFailed& failed, TimePoint now) {
  Stream* stream = find(failed.job.value);
  if (stream == nullptr || stream->state != State::running || stream->gen != failed.gen) return;
  finish(*stream, stream::FinishReason::error, std::move(failed.problem), now);
}

// Ends.

void Core::on(CancelStream& request, TimePoint now) {
  const auto found = streams_.find(request.stream);
  if (found == streams_.end() || found->second->principal != request.principal) {
    return reply(
        request.reply_to,
        Refused{{.code = ErrorCode::stream_not_found,
                 .message = fmt::format("there is no running stream {}", to_text(request.stream)),
                 .param = "stream"}});
  }
  cancel(*found->second, now);
  reply(request.reply_to, CancelDone{request.stream});
}

void Core::on(ReaderGone& gone, TimePoint now) {
  const auto found = streams_.find(gone.stream);
  if (found == streams_.end()) return;
  Stream& stream = *found->second;
  if (stream.state == State::preparing) return forget(stream);
  if (stream.request.detach == Detach::cancel) return cancel(stream, now);
  const bool keep = stream.request.detach == Detach::keep;
  stream.orphan_at = now + (keep ? limits_.detach_ttl : limits_.orphan_ttl);
  set_alarm(stream, std::min(stream.start_by, stream.orphan_at));
}

void Core::on(Drain& drain, TimePoint now) {
  draining_ = true;
  drain_at_ = drain.deadline;
  std::vector<Stream*> unread;  // Nobody can come back for them.
  for (const auto& [number, stream] : by_number_) {
    if (stream->orphan_at != kNever) unread.push_back(stream);
  }
  for (Stream* stream : unread) cancel(*stream, now);
  on_time(now);
}

void Core::expire(Stream& stream, TimePoint now) {
  if (stream.orphan_at <= now) return cancel(stream, now);
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - stream.submitted);
  fail_waiting(stream,
               {.code = ErrorCode::deadline_exceeded,
                .message = fmt::format("the request waited {} ms and no sequence became free in "
                                       "time; try again later or allow a longer deadline_ms",
                                       waited.count()),
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
  reply(stream.reply_to, Refused{std::move(problem)});
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
  log.append_terminal(
      {.reason = reason,
       .usage = {.prompt_tokens = stream.prompt_tokens, .completion_tokens = tokens},
       .timing = timing,
       .sha256 = sha256_of(log),
       .problem = std::move(problem)});
  log.commit();
  mark_grown(stream);
  stats_.streams_ended.at(static_cast<std::size_t>(reason)).add();
  stats_.total_seconds.observe(seconds(now - stream.accepted));
  forget(stream);
}

void Core::forget(Stream& stream) {
  set_alarm(stream, kNever);
  leave(stream);
  by_number_.erase(stream.number);
  streams_.erase(StreamId{stream.id});
  publish_counts();
}

// Bookkeeping.

void Core::enter(Stream& stream, State state) {
  leave(stream);
  Model& model = *stream.model;
  ++model.count.at(static_cast<std::size_t>(state));
  if (state == State::queued) model.queue.emplace(stream.number, &stream);
  stream.state = state;
  publish_counts();
}

void Core::leave(Stream& stream) {
  --stream.model->count.at(static_cast<std::size_t>(stream.state));
  if (stream.state == State::queued) stream.model->queue.erase(stream.number);
}

void Core::publish_counts() {
  const auto total = [this](State state) {
    std::int64_t sum = 0;
    for (const auto& model : models_) sum += model->in(state);
    return sum;
  };
  stats_.streams_preparing.set(total(State::preparing));
  stats_.streams_queued.set(total(State::queued));
  stats_.streams_running.set(total(State::running));
}

void Core::set_alarm(Stream& stream, TimePoint at) {
  if (stream.alarm != kNever) alarms_.erase({stream.alarm, stream.number});
  stream.alarm = at;
  if (at != kNever) alarms_.emplace(at, stream.number);
}

void Core::mark_grown(Stream& stream) {
  if (stream.grown_in == wake_round_) return;
  stream.grown_in = wake_round_;
  grown_[stream.reply_to.edge].push_back(stream.id);
}

void Core::reply(const ReplyTo& to, std::variant<Accepted, Refused, CancelDone> body) {
  effects_.push_back(Reply{.to = to, .body = std::move(body)});
}

Core::Model* Core::find_model(std::string_view name) {
  if (name.empty()) return models_.size() == 1 ? models_.front().get() : nullptr;
  const auto found = std::ranges::find_if(
      models_, [&](const auto& model) { return name == model->name || name == model->full_name; });
  return found == models_.end() ? nullptr : found->get();
}

Core::Model& Core::model_of(ModelIndex index) {
  return *models_.at(index.value);
}

Core::Stream* Core::find(std::uint64_t number) {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

}  // namespace seedance::core
