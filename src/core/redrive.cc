// The part of Core that continues streams: after the death of an engine, and after
// that of the server.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/run_request.h"
#include "core/state.h"

namespace seedance::core {
namespace {

Problem poisonous(std::uint32_t times, std::uint64_t tokens) {
  return {.code = ErrorCode::engine_failed,
          .message = fmt::format("the engine died {} times on this stream, at last while it ran "
                                 "alone, after {} tokens; the request is not tried again",
                                 times, tokens),
          .numbers = {{"deaths", times}, {"tokens", static_cast<std::int64_t>(tokens)}}};
}

}  // namespace

// An engine's death is charged to all whose jobs it had, or to the only one of them that is a
// suspect and has no token yet; a new token clears the charge.
void Core::on(EngineDown& down, TimePoint now) {
  Model& model = model_of(down.model);
  stats_.engine_ends.at(static_cast<std::size_t>(down.cause)).add();
  stats_.fallback.set(static_cast<std::int64_t>(down.rung));
  drop_commands(down.model);
  if (model.usable()) model.usable_until = now;
  model.engine_up = false;
  on_memory(model, {});  // It was the engine's.
  sum_memory();
  if (down.other_settings) acquit(model);
  std::vector<Stream*> lost;
  for (const auto& [number, stream] : active_) {
    if (stream->model == &model && stream->state == State::running) lost.push_back(stream);
  }
  const Stream* on_trial = std::exchange(model.on_trial, nullptr);
  const bool known = on_trial != nullptr && on_trial->at_engine;  // Who it was.
  for (Stream* stream : lost) {
    const bool ran = std::exchange(stream->at_engine, false);
    if (ran && !down.other_settings && (!known || stream == on_trial)) ++stream->deaths;
    if (known && stream == on_trial && ++stream->lone_deaths >= kLoneDeathsMax) {
      finish(*stream, stream::FinishReason::error,
             poisonous(stream->deaths, stream->log->appended().value), now);
    } else {
      requeue(*stream, now);
    }
  }
}

// What they were charged with, they were under settings that were at fault.
void Core::acquit(Model& model) {
  model.on_trial = nullptr;
  model.suspects.clear();
  for (const auto& [number, stream] : active_) {
    if (stream->model == &model) stream->deaths = stream->lone_deaths = 0;
  }
}

// What the owner has not taken yet must not reach the next engine.
void Core::drop_commands(ModelIndex index) {
  std::erase_if(effects_, [&](const Effect& effect) {
    const auto* command = std::get_if<EngineCommand>(&effect);
    if (command == nullptr || command->model != index) return false;
    const auto* job = std::get_if<engine::Job>(&command->command);
    Stream* stream = job == nullptr ? nullptr : find(job->id.value);
    if (stream != nullptr && stream->gen == job->gen) stream->at_engine = false;
    return true;
  });
}

void Core::requeue(Stream& stream, TimePoint now) {
  stats_.redrives.add();
  stream.recovering = true;
  stream.start_by = now + limits_.recovery_wait_max;
  set_alarm(stream, std::min(stream.start_by, stream.orphan_at));
  enqueue(stream, now);
}

// Whether who waits for an engine goes on: it does unless there has been none for long.
bool Core::wait_on(Stream& stream, TimePoint now) {
  if (stream.model == nullptr || stream.state != State::queued) return false;
  const Model& model = *stream.model;
  const TimePoint since = model.usable() ? now : model.usable_until;
  stream.start_by = since + limits_.recovery_wait_max;
  if (stream.start_by <= now) return false;
  set_alarm(stream, std::min(stream.start_by, stream.orphan_at));
  return true;
}

// `epoch_step`: what its epoch grows by if it is not done; 0 = nothing is lost.
void Core::recover(stream::RecoveredStream& recovered, std::uint32_t epoch_step, TimePoint now) {
  stream::StreamHeader& header = recovered.state.header;
  auto owned = std::make_unique<Stream>();
  Stream& stream = *owned;
  stream.id = header.stream;
  stream.number = ++last_number_;
  stream.principal.tenant = std::move(header.tenant);
  const auto [model, adapter] = choose(header.model);
  stream.model = model;
  stream.adapter = adapter;
  stream.model_name = std::move(header.model);
  stream.digest = std::move(header.model_digest);
  stream.epoch = header.epoch;
  stream.gen = header.gen;
  stream.body = header.body;
  stream.created = header.created;
  stream.prompt_tokens = header.prompt_tokens;
  stream.server_starts = recovered.state.server_starts;
  // The wall clock may have been set back meanwhile.
  stream.accepted = stream.submitted = std::min(steady(header.created), now);
  stream.from_journal = stream.recovering = stream.committed = true;
  if (auto request = decode_run_request(as_bytes(header.request))) {
    stream.prompt = std::move(request->prompt);
    stream.tokens_max = request->tokens_max;
    stream.request.sampling = std::move(request->sampling);
    stream.request.text = std::move(request->text);
    stream.request.detach = request->detach;
    stream.request.surface = request->surface;
    stream.request.include_usage = request->include_usage;
    stream.request.priority = request->priority;
    stream.window = request->window;
    stream.dropped = request->dropped;
  }
  stream.request.key = std::move(header.key);
  stream.log = log_of(recovered.state, header.with_logprobs);
  stream.journalled = stream.log->appended();
  stream.entry = &journal_->entry(stream.id);
  if (stream.log->appended() > Offset{0}) {
    stream.first_token = std::clamp(stream.log->time({0}), stream.accepted, now);
    stream.last_token =
        std::clamp(stream.log->time({stream.log->appended().value - 1}), stream.first_token, now);
  }
  take_up(std::move(owned));
  count_grammar(stream);
  stats_.streams_recovered.add();
  if (recovered.state.ended) {
    const Duration left = recovered.state.ended->at + limits_.terminal_ttl - wall(now);
    stream.ended_at = recovered.state.ended->at;
    stream.ended = std::min(steady(stream.ended_at), now);
    return keep(stream, now + std::clamp(left, Duration::zero(), limits_.terminal_ttl));
  }
  if (epoch_step > 0) {  // Also when it only ends: with tokens missing, perhaps.
    stream.epoch.value += epoch_step;
    stream.committed = false;
    put_state(stream);
    touch(stream);
  }
  if (auto problem = why_not_continued(stream)) {
    return finish(stream, stream::FinishReason::error, std::move(problem), now);
  }
  if (!can_come_back(stream)) {
    return finish(stream, stream::FinishReason::cancelled, std::nullopt, now);
  }
  stream.bytes = bytes_of(stream);
  journal_->reserve(stream.id, stream.bytes);
  stream.due = stream.submitted + limits_.queue_wait_max;
  stream.start_by = now + limits_.recovery_wait_max;
  set_alarm(stream, stream.start_by);
  enqueue(stream, now);
}

std::shared_ptr<stream::TokenLog> Core::log_of(const stream::StateRecord& state,
                                               bool with_logprobs) const {
  auto log = std::make_shared<stream::TokenLog>(with_logprobs);
  const stream::Tokens& tokens = state.tokens;
  std::string_view text = tokens.text;
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    const bool scored = i < tokens.logprobs.size();
    log->append(tokens.ids[i], text.substr(0, tokens.text_bytes[i]), steady(tokens.times[i]),
                scored ? &tokens.logprobs[i] : nullptr);
    text.remove_prefix(tokens.text_bytes[i]);
  }
  if (state.ended) log->append_terminal(state.ended->terminal);
  log->commit();
  return log;
}

std::optional<Problem> Core::why_not_continued(const Stream& stream) const {
  const auto failed = [](std::string message) {
    return Problem{.code = ErrorCode::engine_failed, .message = std::move(message)};
  };
  if (stream.model == nullptr) {
    return failed(fmt::format("the server started again without model '{}'", stream.model_name));
  }
  if (stream.model->digest_with(stream.adapter) != stream.digest) {
    return failed(
        fmt::format("the server started again with other weights as '{}'", stream.model_name));
  }
  if (stream.prompt.empty()) return failed("the stream's request cannot be read any more");
  if (stream.server_starts >= kServerStartsMax) {
    return failed(
        fmt::format("the server started {} times without a new token of this stream; it "
                    "is not tried again",
                    stream.server_starts));
  }
  return std::nullopt;
}

// The vocabulary is there: recovered streams get the state that their tokens left.
void Core::resume_recovered(Model& model, TimePoint now) {
  std::vector<Stream*> waiting;
  for (const auto& [number, stream] : active_) {
    const bool waits = stream->model == &model && stream->state == State::queued;
    if (waits && !stream->detokenizer) waiting.push_back(stream);
  }
  for (Stream* stream : waiting) replay(*stream, now);
}

// Engine and vocabulary are there: from now on nobody is waited for without end.
void Core::start_graces(Model& model, TimePoint now) {
  if (!model.usable()) return;
  for (const auto& [number, stream] : active_) {
    if (stream->model != &model || stream->state != State::queued) continue;
    if (!stream->from_journal || !stream->unread() || stream->orphan_at != kNever) continue;
    stream->orphan_at = now + limits_.detach_ttl;
    set_alarm(*stream, std::min(stream->start_by, stream->orphan_at));
  }
}

// Ends it when its last token was the last.
void Core::replay(Stream& stream, TimePoint now) {
  const stream::TokenLog& log = *stream.log;
  stream.detokenizer.emplace(stream.model->pieces, stream.request.text);
  const Offset end = log.appended();
  bool same = true;
  std::optional<stream::FinishReason> reason;
  for (Offset at{0}; at < end && same && !reason; at = at + 1) {
    visible_.clear();
    const TokenId token = log.token(at);
    stream.detokenizer->feed(token, visible_);
    if (stream.detokenizer->state() == text::Detokenizer::State::stopped ||
        stream.model->pieces->kind(token) == text::PieceKind::end) {
      reason = stream::FinishReason::stop;
    } else if (at + 1 == Offset{stream.tokens_max}) {
      reason = stream::FinishReason::length;
    }
    if (reason) stream.detokenizer->finish(visible_);
    std::string known;
    log.append_text(at, at + 1, known);
    same = known == visible_ && (!reason || at + 1 == end);
  }
  if (!same) {
    finish(stream, stream::FinishReason::error,
           Problem{.code = ErrorCode::engine_failed,
                   .message = "the server started again with another vocabulary"},
           now);
  } else if (reason) {
    finish(stream, *reason, std::nullopt, now);
  }
}

}  // namespace seedance::core
