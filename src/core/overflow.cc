// The part of Core that makes prompts fit their context, and answers go on when they fill it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/state.h"
#include "engine/sequence.h"
#include "text/overflow.h"

namespace seedance::core {

// The answer has its max_tokens, or a quarter of the context, but never more than half of it.
std::uint32_t Core::prompt_room(const Stream& stream) {
  const std::uint32_t context = stream.model->capacity->context_tokens;
  const std::uint32_t answer = stream.request.max_tokens.value_or(context / 4);
  return context - std::max(1U, std::min(answer, context / 2));
}

text::PrepareRequest Core::prepare_request(const Stream& stream) {
  return {.ticket = stream.number,
          .input = stream.request.input,
          .overflow = stream.request.overflow,
          .tokens_max = prompt_room(stream),
          .continues = stream.request.parent.has_value(),
          .format = stream.request.format};
}

std::optional<Problem> Core::why_no_parent(const Submit& submit, const Model& model,
                                           std::uint32_t adapter) {
  if (!submit.request.parent) return std::nullopt;
  const StreamId id = *submit.request.parent;
  const Stream* parent = find(id, submit.principal);
  const auto unfit = [&](std::string_view why) {
    return Problem{.code = ErrorCode::invalid_request,
                   .message = fmt::format("stream {} {}", to_text(id), why),
                   .param = "parent"};
  };
  if (parent == nullptr) {
    Problem problem = no_stream(id, submit.principal);
    problem.param = "parent";
    return problem;
  }
  if (!parent->log->head().done) return unfit("has not ended; wait for its end");
  if (parent->digest != model.digest_with(adapter)) {
    return unfit(fmt::format("is of other weights than those of '{}'", model.name_with(adapter)));
  }
  if (parent->prompt.empty()) return unfit("has no prompt any more; send the whole conversation");
  const std::uint64_t tokens = parent->prompt.size() + parent->log->appended().value;
  return why_not_prepared(model, input_bytes_of(submit.request) + sizeof(TokenId) * tokens);
}

// What its engine saw last, without the token that ended it: a template puts its own there.
void Core::take_parent(Stream& stream) {
  const Stream& parent = *streams_.at(*stream.request.parent);
  stream.prompt = engine::sequence_of(job_of(parent, shifted_tokens(parent)));
  if (stream.model->pieces->kind(stream.prompt.back()) == text::PieceKind::end) {
    stream.prompt.pop_back();
  }
  stream.window.keep = parent.window.keep;
}

// Puts it behind what its parent left, and cuts what there is no room for.
void Core::fit_prompt(Stream& stream, text::PreparedPrompt& prompt) {
  if (stream.request.parent) {
    prompt.tokens.insert(prompt.tokens.begin(), stream.prompt.begin(), stream.prompt.end());
    prompt.keep = stream.window.keep;
  }
  stream.window.keep = prompt.keep;  // For who continues it, too.
  const text::Overflow overflow = stream.request.overflow;
  if (overflow == text::Overflow::error) return;
  const std::uint32_t context = stream.model->capacity->context_tokens;
  const std::uint32_t room = prompt_room(stream);
  std::uint32_t keep = (room + 1) / 2;
  if (overflow == text::Overflow::shift) {
    keep = std::min(std::max(prompt.keep, 1U), context / 2);
    stream.window = {.context = context, .keep = keep};
    if (prompt.tokens.size() < context) return;  // The answer makes its room.
  }
  prompt.dropped.tokens += static_cast<std::uint32_t>(text::cut_behind(prompt.tokens, keep, room));
}

// Of its prompt and answer, so many its engine did not see when it made the last token.
std::uint32_t Core::shifted_tokens(const Stream& stream) {
  const std::uint64_t made = stream.log->appended().value;
  if (made == 0) return 0;
  return static_cast<std::uint32_t>(stream.window.dropped(stream.prompt_tokens + made - 1));
}

// Whether the answer goes on although its job ends with the next token of its log.
bool Core::shifts(const Stream& stream, engine::JobEnd end) {
  if (end != engine::JobEnd::length && end != engine::JobEnd::context) return false;
  const std::uint64_t made = stream.log->appended().value + 1;
  const std::uint64_t tokens = stream.prompt_tokens + made;
  return made < stream.tokens_max && tokens >= stream.window.next_cut(tokens - 1);
}

engine::Job Core::job_of(const Stream& stream, std::uint32_t dropped) {
  engine::Job job{.id = {stream.number},
                  .gen = stream.gen,
                  .prompt = stream.prompt,
                  .keep = stream.window.keep,
                  .dropped = dropped};
  for (Offset at{0}; at < stream.log->appended(); at = at + 1) {
    job.committed.push_back(stream.log->token(at));
  }
  return job;
}

}  // namespace seedance::core
