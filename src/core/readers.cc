// The part of Core that deals with who reads a stream: coming, coming back, going.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "core/state.h"

namespace seedance::core {
namespace {

constexpr std::size_t kExpiredKept = 10'000;
// About what a stream that ended takes of memory, beside its tokens, and each of these:
// blocks of a log are half empty at worst.
constexpr std::uint64_t kKeptStreamBytes = 4096;
constexpr std::uint64_t kKeptTokenBytes =
    2 * (sizeof(TokenId) + sizeof(TimePoint) + sizeof(std::uint32_t));
constexpr std::uint64_t kKeptLogprobsBytes = 2 * sizeof(stream::TokenLogprobs) + 16;

Problem too_many_readers(std::uint32_t max) {
  return {.code = ErrorCode::stream_limit,
          .message = fmt::format("{} readers are on this stream already; try again later", max),
          .numbers = {{"readers_max", max}},
          .retry_after_ms = kRetryAfterMs};
}

}  // namespace

Problem too_many_wait(std::uint32_t max) {
  return {.code = ErrorCode::overloaded,
          .message = fmt::format("{} requests about this stream wait for the journal already; try "
                                 "again later",
                                 max),
          .numbers = {{"waiting_max", max}},
          .retry_after_ms = kRetryAfterMs};
}

namespace {

Problem cursor_ahead(Offset from, Offset head) {
  const auto asked = static_cast<std::int64_t>(from.value);
  const auto there = static_cast<std::int64_t>(head.value);
  return {.code = ErrorCode::cursor_ahead,
          .message = fmt::format("token {} was asked for, but the stream has {}; what you hold is "
                                 "of another stream: start again from 0",
                                 asked, there),
          .param = "seq",
          .numbers = {{"seq", asked}, {"head", there}}};
}

Problem wrong_epoch(Epoch asked, Epoch there) {
  return {.code = ErrorCode::epoch_mismatch,
          .message = fmt::format("the log is in epoch {} now, not {}: tokens that you hold may be "
                                 "lost; start again from 0",
                                 there.value, asked.value),
          .param = "epoch",
          .numbers = {{"epoch", there.value}}};
}

}  // namespace

std::string_view name(StreamState state) {
  switch (state) {
    case StreamState::queued:
      return "queued";
    case StreamState::prefill:
      return "prefill";
    case StreamState::decode:
      return "decode";
    case StreamState::recovering:
      return "recovering";
    case StreamState::done:
      return "done";
  }
  return "unknown";
}

bool Core::can_come_back(const Stream& stream) {
  const GenerateRequest& request = stream.request;
  if (request.detach != Detach::automatic) return request.detach == Detach::keep;
  return request.surface == Surface::native || !request.key.empty();
}

StreamState Core::state_of(const Stream& stream) const {
  if (stream.state == State::done) return StreamState::done;
  if (stream.recovering) return StreamState::recovering;
  if (stream.state != State::running) return StreamState::queued;
  return stream.log->appended() == Offset{0} ? StreamState::prefill : StreamState::decode;
}

void Core::add_reader(Stream& stream, const ReplyTo& reader) {
  const bool fresh = readers_.emplace(reader, &stream).second;
  SEEDANCE_CHECK(fresh, "an edge numbers its requests once");
  stream.readers.push_back(reader);
  if (std::exchange(stream.orphan_at, kNever) != kNever) set_alarm(stream, stream.start_by);
}

void Core::remove_readers(Stream& stream) {
  for (const ReplyTo& reader : stream.readers) readers_.erase(reader);
  stream.readers.clear();
}

void Core::on(ReaderGone& gone, TimePoint now) {
  const auto found = readers_.find(gone.reader);
  if (found == readers_.end()) return;
  Stream& stream = *found->second;
  readers_.erase(found);
  stream.readers.erase(std::ranges::find(stream.readers, gone.reader));
  std::erase_if(stream.waiting, [&](const Reply& reply) { return reply.to == gone.reader; });
  if (!stream.unread() || stream.state == State::done) return;
  if (stream.state == State::preparing) return forget(stream);
  on_unread(stream, now);
}

void Core::on_unread(Stream& stream, TimePoint now) {
  if (stream.request.detach == Detach::cancel) return cancel(stream, now);
  stream.orphan_at = now + (can_come_back(stream) ? limits_.detach_ttl : limits_.orphan_ttl);
  set_alarm(stream, std::min(stream.start_by, stream.orphan_at));
}

// True when the request's key names a stream: it is answered.
bool Core::attach_by_key(Submit& submit, TimePoint now) {
  if (submit.request.key.empty()) return false;
  const auto found = keys_.find({submit.principal.tenant, submit.request.key});
  if (found == keys_.end()) return false;
  Stream& stream = *streams_.at(found->second);
  if (auto problem = why_not_attached(stream, submit)) {
    stats_.refused.at(static_cast<std::size_t>(problem->code)).add();
    reply(submit.reply_to, Refused{*std::move(problem)});
    return true;
  }
  if (stream.state == State::preparing || !stream.log->head().done) {
    add_reader(stream, submit.reply_to);
  }
  if (stream.state != State::preparing) {
    answer(stream, submit.reply_to, accepted_of(stream, Attachment::old, now));
  }
  return true;
}

std::optional<Problem> Core::why_not_attached(const Stream& stream, const Submit& submit) const {
  if (stream.body != submit.body) {
    return Problem{.code = ErrorCode::idempotency_mismatch,
                   .message =
                       "the key was used before with another request; a key names one "
                       "request as long as its stream is kept: choose another",
                   .param = "key"};
  }
  if (stream.readers.size() >= limits_.readers_max) return too_many_readers(limits_.readers_max);
  // Its logprobs are shown by the names of tokens. Of a model that is gone nobody knows them.
  const bool scored = stream.log && stream.log->with_logprobs();
  if (scored && stream.model != nullptr && !stream.model->pieces) {
    return is_loading(stream.model_name);
  }
  return std::nullopt;
}

void Core::on(Attach& attach, TimePoint now) {
  Stream* stream = find(attach.stream, attach.principal);
  std::optional<Problem> problem;
  if (stream == nullptr) {
    problem = no_stream(attach.stream, attach.principal);
  } else if (attach.epoch && *attach.epoch != stream->epoch) {
    problem = wrong_epoch(*attach.epoch, stream->epoch);
  } else if (attach.from > stream->log->head().end) {
    problem = cursor_ahead(attach.from, stream->log->head().end);
  } else if (stream->readers.size() >= limits_.readers_max) {
    problem = too_many_readers(limits_.readers_max);
  }
  if (problem) {
    const bool held = stream != nullptr && !stream->committed;
    const std::uint32_t max = 2 * limits_.readers_max;
    if (held && stream->waiting.size() >= max) problem = too_many_wait(max);
    stats_.refused.at(static_cast<std::size_t>(problem->code)).add();
    const Refused refused{*std::move(problem)};
    return held && stream->waiting.size() < max ? answer(*stream, attach.reply_to, refused)
                                                : reply(attach.reply_to, refused);
  }
  const stream::Head head = stream->log->head();
  if (!head.done) add_reader(*stream, attach.reply_to);
  answer(*stream, attach.reply_to,
         Resumed{.stream = accepted_of(*stream, Attachment::old, now),
                 .from = attach.from,
                 .head = head.end,
                 .state = state_of(*stream)});
}

void Core::on(Acknowledge& acknowledge, TimePoint now) {
  Stream* stream = find(acknowledge.stream, acknowledge.principal);
  if (stream == nullptr) return;
  const stream::Head head = stream->log->head();
  if (!head.done || head.end != acknowledge.from) return;
  set_alarm(*stream, std::min(stream->alarm, now + limits_.acked_ttl));
}

void Core::on(ListStreams& list, TimePoint) {
  StreamList out;
  const auto add = [&](const std::map<std::uint64_t, Stream*>& streams) {
    for (const auto& [number, stream] : streams | std::views::reverse) {
      if (out.streams.size() >= limits_.listed_max) return;
      if (stream->committed) out.streams.push_back(summary_of(*stream));
    }
  };
  const auto owned = owned_.find(list.principal.tenant);
  if (owned != owned_.end()) {
    add(owned->second.active);
    add(owned->second.done);
  }
  std::ranges::sort(out.streams, std::greater{}, &StreamSummary::stream);
  reply(list.reply_to, std::move(out));
}

Accepted Core::accepted_of(const Stream& stream, Attachment attachment, TimePoint now) const {
  const TimePoint expires = stream.state == State::done ? stream.alarm : now + limits_.terminal_ttl;
  return {.stream = stream.id,
          .epoch = stream.epoch,
          .attached = attachment == Attachment::old,
          .log = stream.log,
          .pieces = stream.model == nullptr ? nullptr : stream.model->pieces,
          .model = stream.model_name,
          .prompt_tokens = stream.prompt_tokens,
          .queue = 0,
          .created = stream.created,
          .expires_at = wall(expires),
          .surface = stream.request.surface,
          .include_usage = stream.request.include_usage,
          .dropped = stream.dropped};
}

StreamSummary Core::summary_of(const Stream& stream) const {
  const stream::Head head = stream.log->head();
  StreamSummary out{.stream = stream.id,
                    .epoch = stream.epoch,
                    .state = state_of(stream),
                    .model = stream.model_name,
                    .created = stream.created,
                    .expires_at = {},
                    .prompt_tokens = stream.prompt_tokens,
                    .tokens = static_cast<std::uint32_t>(head.end.value),
                    .finish_reason = {}};
  if (head.done) {
    out.expires_at = wall(stream.alarm);
    out.finish_reason = stream.log->terminal().reason;
  } else if (out.state == StreamState::done) {
    out.state = StreamState::decode;  // Its end is on its way to the journal.
  }
  return out;
}

Core::Stream* Core::find(StreamId id, const Principal& principal) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return nullptr;
  Stream& stream = *found->second;
  return stream.principal == principal && stream.state != State::preparing ? &stream : nullptr;
}

// Tells only its owner that a stream has been there.
Problem Core::no_stream(StreamId id, const Principal& principal) const {
  const auto expired = expired_.find(id);
  if (expired != expired_.end() && expired->second == principal.tenant) {
    return {.code = ErrorCode::stream_expired,
            .message = fmt::format("stream {} is not kept any more; ask again", to_text(id)),
            .param = "stream"};
  }
  return {.code = ErrorCode::stream_not_found,
          .message = fmt::format("there is no stream {}", to_text(id)),
          .param = "stream"};
}

std::uint64_t Core::memory_of(const Stream& stream) {
  const stream::TokenLog& log = *stream.log;
  const Offset end = log.appended();
  std::uint64_t token = kKeptTokenBytes;
  if (log.with_logprobs() && end > Offset{0}) {
    token += kKeptLogprobsBytes + log.logprobs({0}).top.size() * sizeof(stream::Candidate);
  }
  return kKeptStreamBytes + stream.prompt.size() * sizeof(TokenId) + end.value * token +
         2 * log.text_end(end);
}

// The stream has ended; it stays for readers until then.
void Core::keep(Stream& stream, TimePoint until) {
  enter(stream, State::done);
  active_.erase(stream.number);
  done_.emplace(std::pair{stream.ended, stream.number}, &stream);
  Owned& owned = owned_.at(stream.principal.tenant);
  owned.active.erase(stream.number);
  owned.done.emplace(stream.number, &stream);
  stream.prompt.shrink_to_fit();
  kept_bytes_ += memory_of(stream);
  stream.start_by = kNever;
  stream.orphan_at = kNever;
  set_alarm(stream, until);
  if (journal_) journal_->shrink(stream.id, run_bytes_of(stream));
  stream.request.sampling.logit_bias = {};
  grammar_bytes_ -= stream.request.sampling.grammar.size();
  std::string{}.swap(stream.request.sampling.grammar);
  count_grammar(stream);
  stream.detokenizer.reset();
}

void Core::expire_kept(Stream& stream) {
  if (journal_) journal_->forget(stream.id);
  expired_.emplace(stream.id, stream.principal.tenant);
  expired_order_.push_back(stream.id);
  if (expired_order_.size() > kExpiredKept) {
    expired_.erase(expired_order_.front());
    expired_order_.pop_front();
  }
  kept_bytes_ -= memory_of(stream);
  forget(stream);
}

}  // namespace seedance::core
