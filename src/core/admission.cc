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

Problem too_long_a_format(const text::AnswerFormat& format, std::uint64_t max) {
  return {.code = ErrorCode::invalid_request,
          .message = fmt::format("\"{}\" has {} bytes, at most {} are taken", format.param,
                                 format.text.size(), max),
          .param = format.param,
          .numbers = {{"bytes", static_cast<std::int64_t>(format.text.size())},
                      {"bytes_max", static_cast<std::int64_t>(max)}}};
}

Problem vocabulary_died() {
  return {.code = ErrorCode::engine_failed,
          .message = "the prompt could not be prepared: its process died; try again",
          .retry_after_ms = kRetryAfterMs};
}

}  // namespace

Problem is_loading(std::string_view model) {
  return {.code = ErrorCode::model_loading,
          .message = fmt::format("model '{}' is loading; try again in a moment", model),
          .retry_after_ms = kRetryAfterMs};
}

Problem shutting_down() {
  return {.code = ErrorCode::overloaded,
          .message = "the server is shutting down; try again in a moment",
          .retry_after_ms = kRetryAfterMs};
}

void Core::on(Submit& submit, TimePoint now) {
  if (!draining_ && attach_by_key(submit, now)) return;
  const auto [model, adapter] = choose(submit.request.model);
  auto problem = why_not(submit, model);
  if (!problem) problem = why_no_parent(submit, *model, adapter);
  if (!problem) {
    problem = why_too_many_of(submit.principal);
    if (problem) stats_.tenant_refused.add();
  }
  if (problem) {
    stats_.refused.at(static_cast<std::size_t>(problem->code)).add();
    return reply(submit.reply_to, Refused{*std::move(problem)});
  }
  auto owned = std::make_unique<Stream>();
  Stream& stream = *owned;
  stream.id = submit.stream;
  stream.number = ++last_number_;
  stream.principal = std::move(submit.principal);
  stream.model = model;
  stream.adapter = adapter;
  stream.model_name = model->name_with(adapter);
  stream.digest = model->digest_with(adapter);
  stream.body = submit.body;
  stream.request = std::move(submit.request);
  if (!stream.request.seeded) stream.request.sampling.seed = submit.entropy;
  stream.created = submit.wall;
  stream.submitted = now - submit.waited;
  stream.due = stream.submitted + stream.request.deadline.value_or(limits_.queue_wait_max);
  stream.start_by = stream.due;
  if (stream.request.parent) take_parent(stream);
  take_up(std::move(owned));
  add_reader(stream, submit.reply_to);
  set_alarm(stream, stream.start_by);
  ask(stream);
  publish_counts();
}

// The stream keeps its input, to be prepared again should the process die.
void Core::ask(Stream& stream) {
  const std::uint64_t bytes =
      input_bytes_of(stream.request) + sizeof(TokenId) * stream.prompt.size();
  const bool light =
      stream.request.format.kind == text::AnswerFormat::Kind::any && bytes <= kLightPromptBytes;
  stream.model->to_prepare.enter(stream.principal.tenant,
                                 {.number = stream.number, .bytes = bytes, .light = light});
  ask_next(*stream.model);
}

void Core::ask_next(Model& model) {
  while (const auto next = model.to_prepare.first()) {
    const bool goes_along = next->light && model.asked.size() < kPreparesAtOnce &&
                            std::ranges::all_of(model.asked, &PrepareLine::Request::light);
    if (!model.vocabulary_up || (!model.asked.empty() && !goes_along)) return;
    model.to_prepare.take();
    model.asked.push_back(*next);
    model.asked_bytes += next->bytes;
    effects_.emplace_back(Prepare{model.index, prepare_request(*find(next->number))});
  }
}

void Core::on_asked(Model& model, std::uint64_t number) {
  const auto found = std::ranges::find(model.asked, number, &PrepareLine::Request::number);
  if (found == model.asked.end()) return;
  model.asked_bytes -= found->bytes;
  model.asked.erase(found);
  ask_next(model);
  publish_counts();
}

std::optional<Problem> Core::why_not(const Submit& submit, const Model* model) const {
  SEEDANCE_CHECK(submit.reply_to.edge.value < limits_.edges_max, "edges are numbered from 0");
  SEEDANCE_CHECK(!streams_.contains(submit.stream), "stream ids are fresh");
  if (draining_) return shutting_down();
  if (stalled_) return stalled_;
  if (model == nullptr) return not_found(submit.request.model);
  if (!model->capacity || !model->vocabulary_up) {
    return is_loading(model->full_name);
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
  if (submit.request.format.text.size() > limits_.format_bytes_max) {
    return too_long_a_format(submit.request.format, limits_.format_bytes_max);
  }
  if (auto problem = why_full(*model)) return problem;
  return why_not_prepared(*model, input_bytes_of(submit.request));
}

std::optional<Problem> Core::why_too_many_of(const Principal& principal) const {
  const std::uint32_t max = limits_.streams_per_tenant_max;
  const auto owned = owned_.find(principal.tenant);
  if (max == 0 || owned == owned_.end()) return std::nullopt;
  const auto streams = static_cast<std::int64_t>(owned->second.active.size());
  if (streams < max) return std::nullopt;
  return Problem{.code = ErrorCode::stream_limit,
                 .message = fmt::format("{} streams of your tenant have not ended, of at most {}; "
                                        "wait for one to end",
                                        streams, max),
                 .numbers = {{"streams", streams}, {"streams_max", max}},
                 .retry_after_ms = kRetryAfterMs};
}

std::optional<Problem> Core::why_not_prepared(const Model& model, std::uint64_t bytes) const {
  const auto asked = static_cast<std::uint32_t>(model.preparing());
  if (asked >= limits_.prepares_max) return too_many("being prepared", asked, limits_.prepares_max);
  const std::uint64_t max = limits_.prepare_bytes_max;
  if (asked == 0 || model.prepare_bytes() + bytes <= max) return std::nullopt;
  return Problem{.code = ErrorCode::overloaded,
                 .message = fmt::format("{} requests of {} bytes are being prepared, and this one "
                                        "of {} would be more than {} bytes; try again later",
                                        asked, model.prepare_bytes(), bytes, max),
                 .numbers = {{"queued", asked},
                             {"bytes", static_cast<std::int64_t>(bytes)},
                             {"bytes_taken", static_cast<std::int64_t>(model.prepare_bytes())},
                             {"bytes_max", static_cast<std::int64_t>(max)}},
                 .retry_after_ms = kRetryAfterMs};
}

void Core::on(VocabularyEvent& event, TimePoint now) {
  Model& model = model_of(event.model);
  if (auto* ready = std::get_if<text::VocabularyReady>(&event.event)) {
    model.pieces = std::make_shared<const text::PieceTable>(std::move(ready->pieces));
    model.vocabulary_up = true;
    ask_next(model);
    resume_recovered(model, now);
    start_graces(model, now);
    start_queued(model, now);
  } else if (auto* prepared = std::get_if<text::PrepareReply>(&event.event)) {
    on_prepared(event.model, *prepared, now);
  }
}

// The prompt that it was at is the suspect, and is not tried again. The others wait for the
// next process.
void Core::on(VocabularyDown& down, TimePoint) {
  Model& model = model_of(down.model);
  model.vocabulary_up = false;
  const std::size_t never_sent = drop_prepares(down.model);  // The newest ones.
  if (model.asked.size() > never_sent) {
    if (Stream* suspect = find(model.asked.front().number)) refuse(*suspect, vocabulary_died());
  }
  for (const PrepareLine::Request& each : model.asked) {
    if (const Stream* stream = find(each.number)) {
      model.to_prepare.enter(stream->principal.tenant, each);
    }
  }
  model.asked.clear();
  model.asked_bytes = 0;
  publish_counts();
}

// What the owner has not taken yet must not reach a process that is not ready.
std::size_t Core::drop_prepares(ModelIndex index) {
  return std::erase_if(effects_, [&](const Effect& effect) {
    const auto* prepare = std::get_if<Prepare>(&effect);
    return prepare != nullptr && prepare->model == index;
  });
}

void Core::on_prepared(ModelIndex index, text::PrepareReply& reply, TimePoint now) {
  on_asked(model_of(index), reply.ticket);
  Stream* stream = find(reply.ticket);
  if (stream == nullptr || stream->state != State::preparing) return;  // Given up meanwhile.
  SEEDANCE_CHECK(stream->model->index == index, "tickets are unique over all models");
  stream->request.input = {};
  stream->request.format = {};
  if (auto* problem = std::get_if<Problem>(&reply.outcome)) {
    return refuse(*stream, std::move(*problem));
  }
  auto& prompt = std::get<text::PreparedPrompt>(reply.outcome);
  fit_prompt(*stream, prompt);
  if (auto problem = why_too_long(*stream->model, prompt.tokens.size())) {
    return refuse(*stream, *std::move(problem));
  }
  // Others were accepted while it was prepared.
  if (auto problem = why_full(*stream->model)) return refuse(*stream, *std::move(problem));
  if (stalled_) return refuse(*stream, *stalled_);
  take_prompt(*stream, prompt);
  if (auto problem = why_too_large(*stream)) return refuse(*stream, *std::move(problem));
  if (auto problem = why_no_space(stream->bytes)) return refuse(*stream, *std::move(problem));
  if (auto problem = why_no_grammar(*stream)) return refuse(*stream, *std::move(problem));
  accept(*stream, now);
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

// What its state has for those alone who run it. Its prompt is there for who continues it.
std::uint64_t Core::run_bytes_of(const Stream& stream) {
  const engine::Sampling& sampling = stream.request.sampling;
  return sampling.grammar.size() + (sizeof(TokenId) + sizeof(float)) * sampling.logit_bias.size();
}

std::uint64_t Core::bytes_without_tokens(const Stream& stream) {
  constexpr std::uint64_t kFixed = 1024;
  std::uint64_t texts = stream.principal.tenant.size() + stream.request.key.size();
  for (const std::string& stop : stream.request.text.stop) {
    texts += sizeof(std::uint32_t) + stop.size();
  }
  return kFixed + texts + sizeof(TokenId) * stream.prompt.size() + run_bytes_of(stream);
}

// Of each of its tokens, about.
std::uint64_t Core::token_bytes_of(const Stream& stream) {
  constexpr std::uint64_t kToken = 96;
  constexpr std::uint64_t kLogprob = 8;
  const engine::Sampling& sampling = stream.request.sampling;
  return kToken + (sampling.logprobs ? kLogprob * (1 + std::uint64_t{sampling.top_logprobs}) : 0);
}

// What the stream may become in the journal at most, about. Its log, if it has one,
// is written already.
std::uint64_t Core::bytes_of(const Stream& stream) {
  const std::uint64_t done = stream.log ? stream.log->appended().value : 0;
  const std::uint64_t left = stream.tokens_max - std::min<std::uint64_t>(done, stream.tokens_max);
  return bytes_without_tokens(stream) + left * token_bytes_of(stream);
}

// The journal copies a stream forward as one record, and has no room but its own.
std::optional<Problem> Core::why_too_large(const Stream& stream) const {
  if (!journal_) return std::nullopt;
  const auto max = std::min<std::uint64_t>(stream::kRecordBytesMax, journal_bytes_max_);
  const std::uint64_t fixed = bytes_without_tokens(stream);
  const std::uint64_t tokens = fixed < max ? (max - fixed) / token_bytes_of(stream) : 0;
  if (stream.tokens_max <= tokens) return std::nullopt;
  return Problem{.code = ErrorCode::invalid_request,
                 .message = fmt::format(
                     "a stream of {} prompt tokens and {} max_tokens can take {} bytes, but "
                     "the journal holds at most {} of one; ask for at most {} max_tokens, "
                     "for fewer logprobs or with a shorter prompt",
                     stream.prompt_tokens, stream.tokens_max, stream.bytes, max, tokens),
                 .param = "max_tokens",
                 .numbers = {{"bytes", static_cast<std::int64_t>(stream.bytes)},
                             {"bytes_max", static_cast<std::int64_t>(max)},
                             {"max_tokens", static_cast<std::int64_t>(tokens)}}};
}

std::optional<Problem> Core::why_no_space(std::uint64_t bytes) const {
  if (!journal_ || journal_->can_reserve(bytes)) return std::nullopt;
  const auto used = static_cast<std::int64_t>(journal_->bytes() + journal_->reserved());
  return Problem{
      .code = ErrorCode::overloaded,
      .message = fmt::format("the journal has no room for another stream: {} of {} bytes "
                             "are taken or promised; try again later or ask for fewer "
                             "max_tokens",
                             used, journal_bytes_max_),
      .numbers = {{"bytes", static_cast<std::int64_t>(bytes)},
                  {"bytes_taken", used},
                  {"bytes_max", static_cast<std::int64_t>(journal_bytes_max_)}},
      .retry_after_ms = kRetryAfterMs};
}

// What a client asks for in a few bytes may become a large grammar.
std::optional<Problem> Core::why_no_grammar(const Stream& stream) const {
  const std::uint64_t bytes = stream.request.sampling.grammar.size();
  if (bytes == 0 || grammar_bytes_ + bytes <= limits_.grammar_bytes_max) return std::nullopt;
  return Problem{.code = ErrorCode::overloaded,
                 .message = fmt::format("the grammars of streams that have not ended take {} of {} "
                                        "bytes, and this one has {}; try again later, or with a "
                                        "simpler grammar or schema",
                                        grammar_bytes_, limits_.grammar_bytes_max, bytes),
                 .numbers = {{"bytes", static_cast<std::int64_t>(bytes)},
                             {"bytes_taken", static_cast<std::int64_t>(grammar_bytes_)},
                             {"bytes_max", static_cast<std::int64_t>(limits_.grammar_bytes_max)}},
                 .retry_after_ms = kRetryAfterMs};
}

void Core::count_grammar(const Stream& stream) {
  grammar_bytes_ += stream.request.sampling.grammar.size();
  stats_.grammar_bytes.set(static_cast<std::int64_t>(grammar_bytes_));
}

void Core::accept(Stream& stream, TimePoint now) {
  Model& model = *stream.model;
  count_grammar(stream);
  stream.accepted = now;
  stream.log = std::make_shared<stream::TokenLog>(stream.request.sampling.logprobs);
  stream.detokenizer.emplace(model.pieces, stream.request.text);
  stats_.streams_accepted.add();
  stats_.tokens_prompt.add(stream.prompt_tokens);
  stream.committed = !journal_;
  if (journal_) {
    journal_->reserve(stream.id, stream.bytes);
    put_state(stream);
  }
  touch(stream);
  enqueue(stream, now);
  start_queued(model, now);
  auto attachment = Attachment::fresh;
  for (const ReplyTo& reader : stream.readers) {
    Accepted accepted = accepted_of(stream, std::exchange(attachment, Attachment::old), now);
    accepted.queue = place_of(stream);
    answer(stream, reader, std::move(accepted));
  }
}

// In the queue, from 1; 0 when it is at the engine.
std::uint32_t Core::place_of(const Stream& stream) {
  if (stream.state != State::queued) return 0;
  return static_cast<std::uint32_t>(stream.model->line.place(stream.number));
}

void Core::take_prompt(Stream& stream, text::PreparedPrompt& prompt) const {
  stream.prompt = std::move(prompt.tokens);
  stream.prompt_tokens = static_cast<std::uint32_t>(stream.prompt.size());
  stream.dropped = prompt.dropped;
  const std::uint32_t left = stream.model->capacity->context_tokens - stream.prompt_tokens;
  const std::uint32_t room =
      stream.window.context > 0 ? std::max(limits_.shift_tokens_max, left) : left;
  stream.tokens_max = std::min(room, stream.request.max_tokens.value_or(room));
  std::ranges::move(prompt.stop, std::back_inserter(stream.request.text.stop));
  stream.request.sampling.grammar = std::move(prompt.grammar);
  stream.bytes = bytes_of(stream);
}

void Core::start_queued(Model& model, TimePoint now) {
  SEEDANCE_CHECK(model.line.size() == model.in(State::queued), "who left the queue is not in it");
  model.line.on_time(now);
  while (!stalled_ && !left_ && model.usable()) {
    Stream* stream = next_to_start(model);
    if (stream == nullptr) return;
    start(*stream, now);
  }
}

// Suspects first; then as the line is.
Core::Stream* Core::next_to_start(Model& model) {
  if (model.on_trial != nullptr) return nullptr;
  if (model.suspects.empty()) {
    const auto lowest = model.takes();
    const auto first = lowest ? model.line.first(*lowest) : std::nullopt;
    return first ? find(*first) : nullptr;
  }
  model.on_trial = next_suspect(model);
  return model.on_trial;
}

// A suspect has a sequence at once, and is the only one at the engine that has no token yet.
// Who is accused already goes first, and has nobody at all beside it: that decides.
Core::Stream* Core::next_suspect(const Model& model) {
  const auto accused =
      std::ranges::find_if(model.suspects, [](const auto& one) { return one.second->accused(); });
  if (accused != model.suspects.end()) {
    return model.in(State::running) == 0 ? accused->second : nullptr;
  }
  const bool free = model.unproven == 0 && model.in(State::running) < model.capacity->sequences_max;
  return free ? model.suspects.begin()->second : nullptr;
}

// Fences off whoever had the stream before.
void Core::raise_generation(Stream& stream, stream::DriveRecord::Cause cause) {
  ++stream.gen.value;
  if (!journal_) return;
  journal_->put(stream::DriveRecord{
      .stream = stream.id, .gen = stream.gen, .epoch = stream.epoch, .cause = cause});
}

// Of one that runs, the job has ended because its context is full.
void Core::start(Stream& stream, TimePoint) {
  using Cause = stream::DriveRecord::Cause;
  put_tokens(stream);  // Made under the generation that ends here.
  Cause cause = Cause::engine;
  if (stream.state == State::running) {
    cause = Cause::context;
    stats_.shifts.add();
  }
  if (std::exchange(stream.from_journal, false)) {
    stream.started = true;
    cause = Cause::server;
  }
  enter(stream, State::running);
  stream.at_engine = false;
  stream.start_by = kNever;
  set_alarm(stream, stream.orphan_at);
  if (std::exchange(stream.started, true)) raise_generation(stream, cause);
  const std::uint64_t tokens = stream.prompt_tokens + stream.log->appended().value;
  const std::uint64_t room = stream.window.next_cut(tokens) - stream.prompt_tokens;
  engine::Job job = job_of(stream, static_cast<std::uint32_t>(stream.window.dropped(tokens)));
  job.scope = limits_.share_prefixes ? 0 : owned_.at(stream.principal.tenant).scope;
  job.adapter = stream.adapter;
  job.tokens_max = static_cast<std::uint32_t>(std::min<std::uint64_t>(stream.tokens_max, room));
  job.sampling = stream.request.sampling;
  job.priority = stream.request.priority;
  hold(EngineCommand{stream.model->index, std::move(job)});
}

}  // namespace seedance::core
