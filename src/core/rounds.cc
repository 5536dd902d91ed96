// The part of Core that speaks to the journal: what must be written before what is
// shown.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/run_request.h"
#include "core/state.h"

namespace seedance::core {
namespace {

// Of all that the journal may hold, what is kept of ended streams at most: the rest
// is for those that run.
constexpr std::uint64_t kKeptShare = 2;

}  // namespace

void Core::hold(Effect effect) {
  if (journal_) {
    held_.push_back(std::move(effect));
  } else {
    release(effect);
  }
}

// What was appended to its log from there on.
stream::LogSlice Core::slice(const Stream& stream, Offset from) const {
  return {.stream = stream.id,
          .gen = stream.gen,
          .log = *stream.log,
          .from = from,
          .to = stream.log->appended(),
          .to_wall = log_wall({}).time_since_epoch()};
}

void Core::put_state(Stream& stream) {
  stream::StateRecord record{
      .header = {.stream = stream.id,
                 .epoch = stream.epoch,
                 .gen = stream.gen,
                 .created = stream.created,
                 .tenant = stream.principal.tenant,
                 .key = stream.request.key,
                 .body = stream.body,
                 .model = stream.model_name,
                 .model_digest = stream.digest,
                 .prompt_tokens = stream.prompt_tokens,
                 .with_logprobs = stream.log->with_logprobs(),
                 .keep = can_come_back(stream),
                 .request = encode(RunRequest{.prompt = stream.prompt,
                                              .tokens_max = stream.tokens_max,
                                              .sampling = stream.request.sampling,
                                              .text = stream.request.text,
                                              .detach = stream.request.detach,
                                              .surface = stream.request.surface,
                                              .include_usage = stream.request.include_usage,
                                              .priority = stream.request.priority,
                                              .window = stream.window,
                                              .dropped = stream.dropped})},
      .tokens = to_tokens(slice(stream, {0})),
      .ended = {}};
  if (stream.log->appended_head().done) {
    record.ended = stream::Ended{stream.log->appended_terminal(), stream.ended_at};
  }
  journal_->put(record);
  stream.entry = &journal_->entry(stream.id);
  stream.journalled = stream.log->appended();
}

void Core::put_tokens(Stream& stream) {
  if (!journal_ || stream.journalled == stream.log->appended()) return;
  journal_->put(slice(stream, stream.journalled), *stream.entry);
  stream.journalled = stream.log->appended();
}

void Core::touch(Stream& stream) {
  if (std::exchange(stream.touched_in, round_) != round_) touched_.push_back(&stream);
}

// Ends the round that is being collected. False when there was nothing in it.
bool Core::close_round() {
  tend_journal();
  if (held_.empty() && touched_.empty()) {
    auto write = journal_ ? journal_->take() : std::nullopt;
    if (rounds_.empty()) forgotten_.clear();
    if (!write) return false;  // Otherwise a drive or a forgotten stream: nobody waits for it.
    rounds_.push_back({.batch = write->batch, .forgotten = std::exchange(forgotten_, {})});
    effects_.emplace_back(JournalAppend{*std::move(write)});
    return true;
  }
  Round round{.effects = std::exchange(held_, {}), .forgotten = std::exchange(forgotten_, {})};
  round.growths.reserve(touched_.size());
  for (Stream* stream : touched_) {
    if (stream->forgotten) continue;
    put_tokens(*stream);
    round.growths.push_back({stream, stream->log->appended_head()});
  }
  touched_.clear();
  ++round_;
  auto write = journal_ ? journal_->take() : std::nullopt;
  if (write) {
    round.batch = write->batch;
    rounds_.push_back(std::move(round));
    effects_.emplace_back(JournalAppend{*std::move(write)});
  } else if (rounds_.empty()) {
    release(round);
  } else {  // Behind what it may depend on.
    round.batch = rounds_.back().batch;
    rounds_.push_back(std::move(round));
  }
  return true;
}

void Core::release(Round& round) {
  for (const Round::Growth& growth : round.growths) {
    Stream& stream = *growth.stream;
    const bool grew = stream.log->head() != growth.head;
    stream.log->commit(growth.head);
    if (stream.forgotten) continue;
    stream.committed = true;
    if (!stream.waiting.empty()) {
      for (Reply& reply : std::exchange(stream.waiting, {})) {
        effects_.emplace_back(std::move(reply));
      }
    }
    if (grew) wake(stream);
    if (!growth.head.done) continue;
    for (const ReplyTo& to : std::exchange(stream.cancels, {})) reply(to, CancelDone{stream.id});
    remove_readers(stream);
  }
  for (Effect& effect : round.effects) release(effect);
}

void Core::release(Effect& effect) {
  const auto* command = std::get_if<EngineCommand>(&effect);
  if (const auto* job =
          command == nullptr ? nullptr : std::get_if<engine::Job>(&command->command)) {
    Stream* stream = find(job->id.value);
    const bool wanted =
        stream != nullptr && stream->state == State::running && stream->gen == job->gen;
    if (!wanted) return;  // Cancelled, or given anew, while it waited for the journal.
    stream->at_engine = true;
  }
  effects_.push_back(std::move(effect));
}

void Core::on(JournalWritten& written, TimePoint) {
  SEEDANCE_CHECK(journal_, "only a journal writes");
  journal_->on_written(written.batch);
  while (!rounds_.empty() && rounds_.front().batch <= written.batch) {
    release(rounds_.front());
    rounds_.pop_front();
  }
}

void Core::on(JournalStalled& stalled, TimePoint) {
  stalled_ = std::move(stalled.problem);
}

void Core::on(JournalFlows&, TimePoint now) {
  stalled_.reset();
  for (const auto& model : models_) start_queued(*model, now);
}

// Keeps the journal small: drops the oldest ended streams when there is too much of
// it, copies forward what old segments hold, removes those that nobody needs.
void Core::tend_journal() {
  const auto too_many = [this] {
    return done_.size() > limits_.streams_kept_max || kept_bytes_ > limits_.kept_bytes_max ||
           (journal_ && journal_->ended_bytes() > journal_bytes_max_ / kKeptShare);
  };
  while (!done_.empty() && too_many() && done_.begin()->second->log->head().done) {
    expire_kept(*done_.begin()->second);
  }
  if (!journal_) return;
  for (const StreamId id : journal_->to_forward()) {
    const auto found = streams_.find(id);
    if (found != streams_.end() && found->second->log) put_state(*found->second);
  }
  for (const std::uint32_t segment : journal_->removable()) {
    effects_.emplace_back(JournalRemove{segment});
  }
}

void Core::wake(Stream& stream) {
  // Without a reader the round may have no wake at all, and so no end.
  if (stream.unread() || std::exchange(stream.grown_in, wake_round_) == wake_round_) return;
  for (const ReplyTo& reader : stream.readers) {
    const std::size_t edge = reader.edge.value;
    if (edge >= grown_.size()) grown_.resize(edge + 1);
    grown_[edge].push_back(reader.connection);
  }
}

std::optional<Effect> Core::next_wake() {
  const auto next = std::ranges::find_if_not(grown_, &std::vector<ConnectionId>::empty);
  if (next == grown_.end()) return std::nullopt;
  Wake wake{.edge = {static_cast<std::uint32_t>(next - grown_.begin())},
            .connections = std::exchange(*next, {})};
  if (std::ranges::all_of(grown_, &std::vector<ConnectionId>::empty)) ++wake_round_;
  return wake;
}

}  // namespace seedance::core
