#include "sim/referee.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/unicode.h"

namespace seedance::sim {
namespace {

// So many times the engine has to die with somebody who may fail for it.
constexpr std::uint32_t kDeathsMin = core::kSuspectDeaths + core::kLoneDeathsMax;
// By so much the core may hear of its engine later than the referee.
constexpr Duration kNewsMax = std::chrono::seconds{1};
// So long an end may be on its way to the journal.
constexpr Duration kWriteMax = std::chrono::seconds{30};

std::string sha256_of(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace

Referee::Referee(World& world, Stories& stories, Ledger& ledger, Terms terms)
    : world_(world), stories_(stories), ledger_(ledger), terms_(terms) {}

// What was asked.

StreamId Referee::name_stream(StoryId story) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(world_.wall().time_since_epoch());
  const StreamId id{static_cast<std::uint64_t>(ms.count()) << 16, ++names_};
  facts_.emplace(id, Facts{.story = story,
                           .named = world_.now(),
                           .unread_since = world_.now(),
                           .acked = std::nullopt});
  ledger_.expect(id, story);
  return id;
}

void Referee::on_ack(StreamId stream, std::uint64_t total) {
  const Entry* entry = ledger_.find(stream);
  const bool counts = !terms_.journal || (entry != nullptr && entry->tokens.size() == total);
  Facts& facts = facts_.at(stream);
  if (counts && !facts.acked) facts.acked = world_.now();
}

// Of the server.

void Referee::on_server_start() {
  server_start_ = world_.now();
  ++server_starts_;
  draining_ = false;
  engine_lost_ = world_.now();
  for (auto& [id, facts] : facts_) facts.unread_since = world_.now();
}

void Referee::on_engine_ready() {
  if (long_without_engine()) long_outage_ = world_.now();
  engine_lost_ = kNever;
}

void Referee::on_engine_down() {
  if (engine_lost_ == kNever) engine_lost_ = world_.now();
}

bool Referee::long_without_engine() const {
  return engine_lost_ != kNever &&
         world_.now() - engine_lost_ + kNewsMax >= terms_.limits.recovery_wait_max;
}

void Referee::on_server_end() {
  if (long_without_engine()) long_outage_ = world_.now();
  for (auto& [id, facts] : facts_) {
    if (facts.readers == 0) facts.note_unread(world_.now());
    facts.readers = 0;
    facts.unread_since = kNever;
  }
}

void Referee::on_reader(StreamId stream) {
  Facts& facts = facts_.at(stream);
  if (facts.readers++ == 0) facts.note_unread(world_.now());
}

void Referee::on_reader_gone(StreamId stream) {
  Facts& facts = facts_.at(stream);
  if (--facts.readers == 0) facts.unread_since = world_.now();
}

void Referee::on_wall_clock_set() {
  wall_set_ = world_.now();
  for (auto& [id, facts] : facts_) {
    const Entry* entry = ledger_.find(id);
    facts.clock_set = facts.clock_set || (entry != nullptr && entry->end);
  }
}

void Referee::review() {
  for (const StreamId id : ledger_.take_ended()) judge_end(*ledger_.find(id));
  for (const StreamId id : ledger_.take_forgotten()) {
    const Entry& entry = *ledger_.find(id);
    if (!entry.end) {
      wrong(id, "forgotten before its end");
    } else if (!may_be_forgotten(entry)) {
      wrong(id, "forgotten too early");
    }
  }
}

void Referee::judge_end(const Entry& entry) {
  const stream::Terminal& terminal = entry.end->terminal;
  world_.note("end", entry.id.low, static_cast<std::uint64_t>(terminal.reason),
              entry.tokens.size());
  if (wall_set_ && world_.now() - *wall_set_ < kWriteMax) facts_.at(entry.id).clock_set = true;
  switch (terminal.reason) {
    case stream::FinishReason::stop:
    case stream::FinishReason::length:
      return;  // The ledger knows the story's end.
    case stream::FinishReason::cancelled:
      if (!may_be_cancelled(entry)) wrong(entry.id, "cancelled, and nobody asked for it");
      return;
    case stream::FinishReason::error:
      if (!terminal.problem || !may_fail(entry, terminal.problem->code)) {
        wrong(entry.id, fmt::format("failed without cause: {}",
                                    terminal.problem ? terminal.problem->message : "no problem"));
      }
      return;
    default:
      wrong(entry.id, "ended for a reason that there is not");
  }
}

// Detaching is not cancelling: only who asked for it, or who is gone for long.
bool Referee::may_be_cancelled(const Entry& entry) const {
  const Facts& facts = facts_.at(entry.id);
  const Story& story = stories_[entry.story];
  if (story.cancel_asked) return true;
  if (!entry.keep && (draining_ || server_start_ > facts.named)) return true;
  if (!terms_.journal && draining_) return true;
  if (story.request.cancels) return facts.readers == 0 || facts.longest_unread > Duration{};
  const bool unread_now = facts.readers == 0 && facts.unread_since != kNever;
  const Duration unread = unread_now ? world_.now() - facts.unread_since : Duration{};
  return std::max(unread, facts.longest_unread) >=
         (entry.keep ? terms_.limits.detach_ttl : terms_.limits.orphan_ttl);
}

bool Referee::may_fail(const Entry& entry, ErrorCode code) const {
  const Facts& facts = facts_.at(entry.id);
  const Story& story = stories_[entry.story];
  if (code == ErrorCode::deadline_exceeded) {
    const auto deadline = story.request.deadline_ms == 0
                              ? terms_.limits.queue_wait_max
                              : Duration{std::chrono::milliseconds{story.request.deadline_ms}};
    return world_.now() - facts.named >= deadline;
  }
  if (code != ErrorCode::engine_failed) return false;
  const auto begin = blames_.lower_bound({entry.story, engine::JobId{}});
  const bool poisonous = std::any_of(begin, blames_.end(), [&](const auto& one) {
    const auto& [of, blame] = one;
    return of.first == entry.story && blame.deaths >= kDeathsMin && blame.alone;
  });
  const bool waited = long_without_engine() || facts.named <= long_outage_;
  return poisonous || entry.server_starts >= core::kServerStartsMax || waited;
}

bool Referee::may_be_forgotten(const Entry& entry) const {
  if (!entry.end) return false;
  const Facts& facts = facts_.at(entry.id);
  if (terms_.evicts || facts.clock_set) return true;
  if (facts.acked && world_.now() - *facts.acked >= terms_.limits.acked_ttl) return true;
  return world_.wall() - entry.end->at >= terms_.limits.terminal_ttl;
}

void Referee::check_list(std::string_view tenant, const core::StreamList& list) {
  for (const core::StreamSummary& one : list.streams) {
    const auto known = facts_.find(one.stream);
    if (known == facts_.end() || stories_[known->second.story].tenant != tenant) {
      return wrong(one.stream, "listed for somebody else");
    }
    if (!terms_.journal) continue;
    const Entry* entry = ledger_.find(one.stream);
    if (entry == nullptr) return wrong(one.stream, "listed before it was committed");
    if (one.tokens > entry->tokens.size()) {
      return wrong(one.stream, "listed with more tokens than are committed");
    }
    if (one.finish_reason && !entry->end) wrong(one.stream, "listed as ended too early");
  }
}

// What clients get.

void Referee::on_accepted(StoryId story, const ServerMessage& message, Moment moment) {
  if (!message.stream || !facts_.contains(*message.stream)) {
    return world_.violate("a stream was accepted that nobody asked for");
  }
  const StreamId id = *message.stream;
  Facts& facts = facts_.at(id);
  if (facts.story != story) return wrong(id, "accepted for another request");
  if (!message.attached && std::exchange(facts.accepted, true)) {
    return wrong(id, "accepted as new for a second time");
  }
  if (!terms_.journal) return;
  const Entry* entry = ledger_.find(id);
  const auto incarnation = entry == nullptr ? std::nullopt : entry->incarnation(message.epoch);
  if (!incarnation) return wrong(id, "accepted in an epoch that is not in the journal");
  const bool committed =
      entry->accepted <= moment && (message.epoch != entry->epoch || entry->epoch_began <= moment);
  if (!committed) wrong(id, "accepted before it was committed");
}

void Referee::on_resumed(const Reading& asked, const ServerMessage& message, Moment moment) {
  if (message.stream != asked.stream) return wrong(asked.stream, "resumed as another stream");
  if (asked.next > 0 && message.epoch != asked.epoch) {
    return wrong(asked.stream, "resumed in another epoch than was asked for");
  }
  if (message.from != asked.next) return wrong(asked.stream, "resumed at another token");
  if (message.from > message.head) return wrong(asked.stream, "resumed ahead of the head");
  Reading reading = asked;
  reading.epoch = message.epoch;
  if (message.head > 0) judge_shown(reading, message.head, moment);
}

void Referee::judge_shown(const Reading& reading, std::uint64_t end, Moment moment) {
  if (!terms_.journal) return;
  const Entry* entry = ledger_.find(reading.stream);
  const auto incarnation = entry == nullptr ? std::nullopt : entry->incarnation(reading.epoch);
  if (!incarnation) return wrong(reading.stream, "shown in an epoch that is not in the journal");
  if (incarnation->tokens.size() < end || incarnation->tokens[end - 1] > moment) {
    return wrong(reading.stream, "shown before it was committed");
  }
  if (moment > incarnation->until) wrong(reading.stream, "shown in an epoch that is over");
}

void Referee::on_chunk(const Reading& reading, const ServerMessage& chunk, Moment moment) {
  const Story& story = stories_[reading.story];
  if (chunk.n == 0) return wrong(reading.stream, "a chunk without tokens");
  if (chunk.seq != reading.next) {
    return wrong(reading.stream,
                 fmt::format("token {} was awaited, {} came", reading.next, chunk.seq));
  }
  const std::uint64_t end = chunk.seq + chunk.n;
  if (end > story.total()) return wrong(reading.stream, "more tokens than its story has");
  if (chunk.text != story.text_of(chunk.seq, end)) return wrong(reading.stream, "another text");
  if (!is_utf8(chunk.text)) return wrong(reading.stream, "a chunk that is no whole UTF-8");
  for (std::size_t i = 0; i < chunk.tokens.size(); ++i) {
    if (chunk.tokens[i] != story.tokens[chunk.seq + i])
      return wrong(reading.stream, "another token");
  }
  judge_shown(reading, end, moment);
}

void Referee::on_done(const Reading& reading, const ServerMessage& done, Moment moment) {
  const Story& story = stories_[reading.story];
  if (done.seq != reading.next || done.completion_tokens != reading.next) {
    return wrong(reading.stream, "an end behind another number of tokens");
  }
  if (done.sha256 != sha256_of(story.text_of(0, done.seq))) {
    return wrong(reading.stream, "the hash of another text");
  }
  const std::string ending = done.finish_reason + " " + done.code;
  if (!terms_.journal) {
    std::optional<std::string>& known = facts_.at(reading.stream).ending;
    if (known && *known != ending) wrong(reading.stream, "two endings");
    known = ending;
    return;
  }
  on_end(reading, moment);
  const Entry* entry = ledger_.find(reading.stream);
  if (entry == nullptr || !entry->end || reading.epoch != entry->epoch || entry->epoch_lost) return;
  const stream::Terminal& terminal = entry->end->terminal;
  const std::string_view code = terminal.problem ? name(terminal.problem->code) : "";
  if (ending != fmt::format("{} {}", stream::name(terminal.reason), code)) {
    wrong(reading.stream, "another end than is in the journal");
  }
}

void Referee::on_end(const Reading& reading, Moment moment) {
  if (!terms_.journal) return;
  if (reading.next > 0) judge_shown(reading, reading.next, moment);
  const Entry* entry = ledger_.find(reading.stream);
  const auto incarnation = entry == nullptr ? std::nullopt : entry->incarnation(reading.epoch);
  if (!incarnation || !incarnation->ended || *incarnation->ended > moment) {
    return wrong(reading.stream, "an end was shown before it was committed");
  }
  if (incarnation->tokens.size() != reading.next) {
    wrong(reading.stream, "an end before all tokens were shown");
  }
}

void Referee::on_refused_resume(const Reading& asked, std::string_view code) {
  if (code == name(ErrorCode::stream_not_found) || code == name(ErrorCode::stream_expired)) {
    if (!may_be_gone(asked.stream)) wrong(asked.stream, "not found, and should be there");
  } else if (code == name(ErrorCode::epoch_mismatch)) {
    const Entry* entry = ledger_.find(asked.stream);
    const auto is_other = [&](const auto& one) { return one.epoch != asked.epoch; };
    // Another one is in the journal, or was until power was lost once more.
    const bool other =
        entry == nullptr || is_other(*entry) || std::ranges::any_of(entry->past, is_other);
    if (!other) wrong(asked.stream, "refused in its own epoch");
  } else if (code != name(ErrorCode::overloaded) && code != name(ErrorCode::stream_limit)) {
    wrong(asked.stream, fmt::format("resume refused as {}", code));
  }
}

bool Referee::may_be_gone(StreamId stream) const {
  if (!terms_.journal) return true;
  const Entry* entry = ledger_.find(stream);
  return entry == nullptr || !entry->there || entry->was_gone || may_be_forgotten(*entry);
}

bool Referee::is_epoch(StreamId stream, Epoch epoch) const {
  const Entry* entry = ledger_.find(stream);
  return entry != nullptr && entry->epoch == epoch;
}

bool Referee::all_ended() const {
  return std::ranges::all_of(ledger_.entries(), [](const auto& one) {
    return !one.second.there || one.second.end.has_value();
  });
}

void Referee::wrong(StreamId stream, std::string_view what) {
  world_.violate(fmt::format("stream {}: {}", stream.low, what));
}

}  // namespace seedance::sim
