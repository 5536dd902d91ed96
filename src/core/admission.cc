// The part of Core that takes requests in: from a submission to a job.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/state.h"

namespace seedance::core {
namespace {

Problem too_many(std::string_view what, std::uint32_t count, std::uint32_t max) {
  return {.code = ErrorCode::overloaded,
          .message = fmt::format("{} requests are {} already, of at most {}; try again later",
                                 count, what, max),
          .numbers = {{"queued", count}, {"queue_limit", max}},
          .retry_after_ms = kRetryAfterMs};
}

}  // namespace

Problem shutting_down() {
  return {.code = ErrorCode::overloaded,
          .message = "the server is shutting down; try again in a moment",
          .retry_after_ms = kRetryAfterMs};
}

void Core::on(Submit& submit, TimePoint now) {
  Model* model = find_model(submit.request.model);
  if (auto problem = why_not(submit, model)) {
    stats_.refused.at(static_cast<std::size_t>(problem->code)).add();
    return reply(submit.reply_to, Refused{*std::move(problem)});
  }
  auto owned = std::make_unique<Stream>();
  Stream& stream = *owned;
  stream.id = submit.stream;
  stream.number = ++last_number_;
  stream.reply_to = submit.reply_to;
  stream.principal = std::move(submit.principal);
  stream.model = model;
  stream.request = std::move(submit.request);
  if (!stream.request.seeded) stream.request.sampling.seed = submit.entropy;
  stream.created = submit.wall;
  stream.submitted = now;
  stream.start_by = now + stream.request.deadline.value_or(limits_.queue_wait_max);
  ++model->count.at(static_cast<std::size_t>(State::preparing));
  ++model->prepares;
  by_number_.emplace(stream.number, &stream);
  streams_.emplace(stream.id, std::move(owned));
  set_alarm(stream, stream.start_by);
  publish_counts();
  effects_.push_back(
      Prepare{model->index, {.ticket = stream.number, .input = std::move(stream.request.input)}});
}

std::optional<Problem> Core::why_not(const Submit& submit, const Model* model) const {
  SEEDANCE_CHECK(submit.reply_to.edge.value < limits_.edges_max, "edges are numbered from 0");
  SEEDANCE_CHECK(!streams_.contains(submit.stream), "stream ids are fresh");
  if (draining_) return shutting_down();
  if (model == nullptr) {
    std::string names;
    for (const auto& one : models_) names += (names.empty() ? "" : ", ") + one->name;
    return Problem{.code = ErrorCode::model_not_found,
                   .message = fmt::format("there is no model '{}' here; there is: {}",
                                          submit.request.model, names),
                   .param = "model"};
  }
  if (!model->capacity || !model->vocabulary_up) {
    return Problem{
        .code = ErrorCode::model_loading,
        .message = fmt::format("model '{}' is loading; try again in a moment", model->full_name),
        .retry_after_ms = kRetryAfterMs};
  }
  const std::uint32_t vocabulary = model->capacity->vocabulary_size;
  const auto unknown = [vocabulary](const auto& bias) {
    return std::cmp_greater_equal(bias.first.value, vocabulary);
  };
  if (std::ranges::any_of(submit.request.sampling.logit_bias, unknown)) {
    return Problem{.code = ErrorCode::invalid_request,
                   .message = fmt::format("\"logit_bias\" names a token that is not one of the {} "
                                          "of '{}'",
                                          vocabulary, model->full_name),
                   .param = "logit_bias"};
  }
  if (auto problem = why_full(*model)) return problem;
  if (model->prepares >= limits_.prepares_max) {
    return too_many("being prepared", model->prepares, limits_.prepares_max);
  }
  return std::nullopt;
}

void Core::on(VocabularyEvent& event, TimePoint now) {
  Model& model = model_of(event.model);
  if (auto* ready = std::get_if<text::VocabularyReady>(&event.event)) {
    model.pieces = std::make_shared<const text::PieceTable>(std::move(ready->pieces));
    model.vocabulary_up = true;
  } else if (auto* prepared = std::get_if<text::PrepareReply>(&event.event)) {
    on_prepared(event.model, *prepared, now);
  }
}

void Core::on(VocabularyDown& down, TimePoint) {
  Model& model = model_of(down.model);
  model.vocabulary_up = false;
  model.prepares = 0;
  std::vector<Stream*> lost;
  for (const auto& [number, stream] : by_number_) {
    if (stream->model == &model && stream->state == State::preparing) lost.push_back(stream);
  }
  for (Stream* stream : lost) {
    refuse(*stream, {.code = ErrorCode::engine_failed,
                     .message = "the prompt could not be prepared: its process died; try again",
                     .retry_after_ms = kRetryAfterMs});
  }
}

void Core::on_prepared(ModelIndex index, text::PrepareReply& reply, TimePoint now) {
  if (std::uint32_t& prepares = model_of(index).prepares; prepares > 0) --prepares;
  Stream* stream = find(reply.ticket);
  if (stream == nullptr || stream->state != State::preparing) return;  // Given up meanwhile.
  SEEDANCE_CHECK(stream->model->index == index, "tickets are unique over all models");
  if (auto* problem = std::get_if<Problem>(&reply.outcome)) {
    return refuse(*stream, std::move(*problem));
  }
  auto& prompt = std::get<text::PreparedPrompt>(reply.outcome);
  if (auto problem = why_too_long(*stream->model, prompt.tokens.size())) {
    return refuse(*stream, *std::move(problem));
  }
  // Others were accepted while it was prepared.
  if (auto problem = why_full(*stream->model)) return refuse(*stream, *std::move(problem));
  accept(*stream, prompt, now);
}

std::optional<Problem> Core::why_full(const Model& model) const {
  const std::uint32_t queued = model.in(State::queued);
  if (queued < limits_.streams_queued_max) return std::nullopt;
  return too_many("queued", queued, limits_.streams_queued_max);
}

std::optional<Problem> Core::why_too_long(const Model& model, std::size_t prompt_tokens) const {
  const std::uint32_t context = model.capacity->context_tokens;
  if (prompt_tokens == 0) {
    return Problem{.code = ErrorCode::invalid_request,
                   .message = "the prompt has no tokens; give at least one",
                   .param = "prompt"};
  }
  if (prompt_tokens < context) return std::nullopt;
  return Problem{
      .code = ErrorCode::context_length_exceeded,
      .message = fmt::format("the prompt has {} tokens, but the context of '{}' holds {} with at "
                             "least one for the answer; shorten the prompt",
                             prompt_tokens, model.full_name, context),
      .numbers = {{"prompt_tokens", static_cast<std::int64_t>(prompt_tokens)},
                  {"context_tokens", context}}};
}

void Core::accept(Stream& stream, text::PreparedPrompt& prompt, TimePoint now) {
  Model& model = *stream.model;
  stream.accepted = now;
  stream.prompt = std::move(prompt.tokens);
  stream.prompt_tokens = static_cast<std::uint32_t>(stream.prompt.size());
  const std::uint32_t room = model.capacity->context_tokens - stream.prompt_tokens;
  stream.tokens_max = std::min(room, stream.request.max_tokens.value_or(room));
  stream.log = std::make_shared<stream::TokenLog>(stream.request.sampling.logprobs);
  text::TextOptions options = std::move(stream.request.text);
  std::ranges::move(prompt.stop, std::back_inserter(options.stop));
  stream.detokenizer.emplace(model.pieces, std::move(options));
  stats_.streams_accepted.add();
  stats_.tokens_prompt.add(stream.prompt_tokens);
  const bool starts = model.queue.empty() && model.takes_jobs();
  enter(stream, State::queued);
  reply(stream.reply_to, Accepted{.stream = stream.id,
                                  .epoch = {1},
                                  .log = stream.log,
                                  .pieces = model.pieces,
                                  .model = model.full_name,
                                  .prompt_tokens = stream.prompt_tokens,
                                  .queue = starts ? 0 : model.in(State::queued),
                                  .created = stream.created});
  start_queued(model, now);
}

void Core::start_queued(Model& model, TimePoint) {
  SEEDANCE_CHECK(model.queue.size() == model.in(State::queued), "who left the queue is not in it");
  while (!model.queue.empty() && model.takes_jobs()) {
    Stream* stream = model.queue.begin()->second;
    enter(*stream, State::running);
    stream->start_by = kNever;
    set_alarm(*stream, stream->orphan_at);
    effects_.push_back(
        EngineCommand{model.index, engine::Job{.id = {stream->number},
                                               .gen = stream->gen,
                                               .prompt = std::move(stream->prompt),
                                               .tokens_max = stream->tokens_max,
                                               .sampling = std::move(stream->request.sampling)}});
  }
}

}  // namespace seedance::core
