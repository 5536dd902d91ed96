#include "sim/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "core/run_request.h"

namespace seedance::sim {

std::optional<Entry::Incarnation> Entry::incarnation(Epoch of) const {
  for (const Incarnation& one : past) {
    if (one.epoch == of) return one;
  }
  if (of != epoch) return std::nullopt;
  return Incarnation{
      .epoch = epoch, .tokens = tokens, .ended = end ? std::optional{ended} : std::nullopt};
}

void Ledger::on_handed_over(std::string_view records) {
  stream::JournalRecord record;
  while (!records.empty()) {
    const auto bytes = stream::decode_record(as_bytes(records), record);
    if (!bytes) return;  // The ledger says so when it is written.
    const auto* forget = std::get_if<stream::ForgetRecord>(&record);
    if (Entry* entry = forget == nullptr ? nullptr : find_there(forget->stream)) {
      entry->given_up = true;
    }
    records.remove_prefix(*bytes);
  }
}

void Ledger::on_written(std::string_view records) {
  world_.note("commit", records.size());
  while (!records.empty()) {
    const auto bytes = stream::decode_record(as_bytes(records), record_);
    if (!bytes) return world_.violate("a batch with a record that cannot be read");
    if (!apply(record_)) return;
    records.remove_prefix(*bytes);
  }
}

void Ledger::on_death(const Segments& segments, Death death) {
  before_ = std::move(entries_);
  entries_.clear();
  keys_.clear();
  world_.note("read the disk", segments.size());
  mode_ = Mode::reading;
  read(segments);
  mode_ = Mode::writing;
  for (const auto& [id, entry] : before_) compare_with_before(entry, death);
  before_.clear();
  write_down();
}

void Ledger::read(const Segments& segments) {
  for (const auto& [number, bytes] : segments) {
    if (!stream::decode_segment_header(as_bytes(bytes))) return;
    Bytes rest = as_bytes(bytes).subspan(stream::kSegmentHeaderBytes);
    while (!rest.empty()) {
      const auto size = stream::decode_record(rest, record_);
      if (!size && size.error().code == Errc::truncated) break;
      if (!size) return;
      if (!apply(record_)) return;
      rest = rest.subspan(*size);
    }
  }
}

// What was committed is still there, unless the machine died.
void Ledger::compare_with_before(const Entry& before, Death death) {
  const auto found = entries_.find(before.id);
  if (found == entries_.end()) {
    Entry& entry = entries_.emplace(before.id, before).first->second;
    if (before.there && death == Death::of_process) {
      if (!before.given_up) wrong(before.id, "a stream is gone with the death of a process");
      entry.there = false;
      entry.forgotten = true;
      forgotten_.push_back(before.id);
      return;
    }
    if (before.there) {
      entry.past.push_back({before.epoch, before.tokens,
                            before.end ? std::optional{before.ended} : std::nullopt,
                            world_.moment()});
    }
    entry.lost = entry.lost || before.there;
    entry.there = false;
    return;
  }
  Entry& entry = found->second;
  const bool less = entry.tokens.size() < before.tokens.size() || (before.end && !entry.end) ||
                    entry.epoch < before.epoch;
  if (death == Death::of_process && before.there && (less || !entry.there) && !entry.forgotten) {
    wrong(before.id, "committed records are gone with the death of a process");
  }
  if (death == Death::of_process && before.forgotten && entry.there) {
    wrong(before.id, "a forgotten stream is back after the death of a process");
  }
  entry.was_gone = before.was_gone || before.forgotten || before.lost;
  entry.past = before.past;
  entry.last_token = std::max(entry.last_token, before.last_token);
  if (entry.epoch == before.epoch) entry.epoch_began = before.epoch_began;
  if (less && !before.lost) {
    entry.past.push_back({before.epoch, before.tokens,
                          before.end ? std::optional{before.ended} : std::nullopt,
                          world_.moment()});
    entry.epoch_lost = true;
  }
  entry.epoch_lost = entry.epoch_lost || (before.epoch_lost && entry.epoch == before.epoch);
}

void Ledger::write_down() const {
  if (!world_.is_written()) return;
  for (const auto& [id, entry] : entries_) {
    world_.write(fmt::format("stream {}: epoch {}, gen {}, {} tokens{}{}{}{}", id.low,
                             entry.epoch.value, entry.gen.value, entry.tokens.size(),
                             entry.end ? ", ended" : "", entry.there ? "" : ", not there",
                             entry.lost ? ", lost" : "", entry.epoch_lost ? ", epoch lost" : ""));
    for (const Entry::Incarnation& past : entry.past) {
      world_.write(fmt::format("  had epoch {}, {} tokens{}, until {}", past.epoch.value,
                               past.tokens.size(), past.ended ? ", ended" : "", past.until.value));
    }
  }
}

void Ledger::compare(const stream::Recovery& recovery) {
  std::size_t there = 0;
  for (const auto& [id, entry] : entries_) there += entry.there ? 1 : 0;
  if (there != recovery.streams.size()) {
    return world_.violate(
        fmt::format("recovery found {} streams of {}", recovery.streams.size(), there));
  }
  for (const stream::RecoveredStream& one : recovery.streams) {
    const Entry* entry = find(one.state.header.stream);
    const bool same =
        entry != nullptr && entry->there && one.state.tokens.ids.size() == entry->tokens.size() &&
        one.state.header.gen == entry->gen && one.state.header.epoch == entry->epoch &&
        one.state.ended == entry->end && one.state.server_starts == entry->server_starts;
    if (!same) wrong(one.state.header.stream, "recovery found another stream than is on the disk");
  }
}

const Entry* Ledger::find(StreamId stream) const {
  const auto found = entries_.find(stream);
  return found == entries_.end() ? nullptr : &found->second;
}

Entry* Ledger::find_there(StreamId stream) {
  const auto found = entries_.find(stream);
  return found == entries_.end() || !found->second.there ? nullptr : &found->second;
}

bool Ledger::apply(stream::JournalRecord& record) {
  return std::visit([this](auto& one) { return apply(one); }, record);
}

bool Ledger::apply(stream::StateRecord& record) {
  const stream::StreamHeader& header = record.header;
  if (!expected_.contains(header.stream)) return wrong(header.stream, "nobody asked for it");
  Entry& entry = entries_[header.stream];
  const bool again = entry.there;
  if (!again) {
    if (entry.forgotten) return wrong(header.stream, "a forgotten stream came back");
    entry.id = header.stream;
    if (!check_new(entry, record)) return false;
    entry.there = true;
    const auto before = before_.find(entry.id);
    entry.accepted = before == before_.end() ? world_.moment() : before->second.accepted;
    entry.epoch_began = world_.moment();
    entry.epoch = header.epoch;
    entry.lost = false;
    bind_key(entry);
  }
  if (again && (header.gen < entry.gen || header.epoch < entry.epoch)) {
    return wrong(entry.id, "a state of an old gen or epoch");
  }
  if (header.epoch > entry.epoch) begin_epoch(entry, header.epoch);
  if (record.tokens.ids.size() < entry.tokens.size() && !entry.epoch_lost) {
    return wrong(entry.id, "a state with fewer tokens than there are");
  }
  if (again && record.server_starts != entry.server_starts) {
    return wrong(entry.id, "a state with another count of server starts");
  }
  entry.gen = header.gen;
  entry.server_starts = record.server_starts;
  if (!check_tokens(entry, 0, record.tokens)) return false;
  for (std::size_t i = entry.tokens.size(); i < record.tokens.ids.size(); ++i) {
    entry.tokens.push_back(moment_of(entry, i));
  }
  if (entry.end && !(record.ended && *record.ended == *entry.end)) {
    return wrong(entry.id, "a state with another ending");
  }
  if (record.ended && !entry.end) {
    if (!check_end(entry, *record.ended)) return false;
    set_end(entry, *record.ended);
  }
  return true;
}

bool Ledger::check_new(Entry& entry, const stream::StateRecord& record) {
  const stream::StreamHeader& header = record.header;
  entry.story = expected_.at(header.stream);
  const Story& story = stories_[entry.story];
  const auto request = core::decode_run_request(as_bytes(header.request));
  if (!request || request->prompt != story.prompt) return wrong(entry.id, "another prompt");
  if (header.tenant != story.tenant) return wrong(entry.id, "another tenant than who asked");
  if (header.key != story.request.key) return wrong(entry.id, "another key than was asked with");
  entry.key = header.key;
  entry.keep = header.keep;
  return true;
}

// One key names one stream for as long as that is kept.
void Ledger::bind_key(const Entry& entry) {
  if (entry.key.empty()) return;
  const std::string& tenant = stories_[entry.story].tenant;
  const auto [at, fresh] = keys_.emplace(std::pair{tenant, entry.key}, entry.id);
  if (fresh || at->second == entry.id) return;
  const Entry* other = find(at->second);
  if (other != nullptr && other->there) wrong(entry.id, "its key names another stream already");
  at->second = entry.id;
}

bool Ledger::apply(stream::TokensRecord& record) {
  Entry* entry = find_there(record.stream);
  if (entry == nullptr) return mode_ == Mode::reading || wrong(record.stream, "tokens of nothing");
  if (entry->end) return wrong(entry->id, "tokens behind the end");
  if (record.gen != entry->gen) return wrong(entry->id, "tokens of another gen");
  if (record.from.value != entry->tokens.size()) return wrong(entry->id, "a gap in the journal");
  if (entry->epoch_lost && mode_ == Mode::writing) {
    return wrong(entry->id, "tokens go on in an epoch of which some are lost");
  }
  if (!check_tokens(*entry, record.from.value, record.tokens)) return false;
  for (std::size_t i = 0; i < record.tokens.ids.size(); ++i) {
    entry->tokens.push_back(moment_of(*entry, entry->tokens.size()));
  }
  if (!record.tokens.ids.empty()) entry->server_starts = 0;
  if (!record.tokens.times.empty()) entry->last_token = record.tokens.times.back();
  return true;
}

bool Ledger::check_tokens(const Entry& entry, std::uint64_t from, const stream::Tokens& tokens) {
  const Story& story = stories_[entry.story];
  std::uint64_t at = from;
  std::string_view text = tokens.text;
  for (std::size_t i = 0; i < tokens.ids.size(); ++i, ++at) {
    if (at >= story.total()) return wrong(entry.id, "more tokens than its story has");
    if (tokens.ids[i] != story.tokens[at]) return wrong(entry.id, "a token of another story");
    const std::string_view expected = story.text_of(at, at + 1);
    if (tokens.text_bytes[i] != expected.size() || !text.starts_with(expected)) {
      return wrong(entry.id, "text of another story");
    }
    text.remove_prefix(expected.size());
  }
  const bool scored = tokens.ids.empty() || tokens.logprobs.empty() != story.request.logprobs;
  return scored || wrong(entry.id, "logprobs that nobody asked for, or none");
}

bool Ledger::apply(stream::EndRecord& record) {
  Entry* entry = find_there(record.stream);
  if (entry == nullptr) return mode_ == Mode::reading || wrong(record.stream, "the end of nothing");
  if (entry->end) return wrong(entry->id, "a second end");
  if (record.gen != entry->gen) return wrong(entry->id, "an end of another gen");
  if (!check_end(*entry, record.ended)) return false;
  set_end(*entry, record.ended);
  return true;
}

bool Ledger::check_end(const Entry& entry, const stream::Ended& end) {
  const Story& story = stories_[entry.story];
  const stream::Terminal& terminal = end.terminal;
  if (terminal.usage.completion_tokens != entry.tokens.size()) {
    return wrong(entry.id, "an end behind another number of tokens");
  }
  const bool by_itself = terminal.reason == stream::FinishReason::stop ||
                         terminal.reason == stream::FinishReason::length;
  if (by_itself && (entry.tokens.size() != story.total() || terminal.reason != story.ending)) {
    return wrong(entry.id, "not the end of its story");
  }
  if (by_itself && terminal.usage.dropped_tokens != story.dropped) {
    return wrong(entry.id, "another number of dropped tokens");
  }
  return true;
}

void Ledger::set_end(Entry& entry, const stream::Ended& end) {
  entry.end = end;
  entry.ended = world_.moment();
  const auto before = before_.find(entry.id);
  if (before != before_.end() && before->second.end) {
    entry.ended = before->second.ended;
  } else {
    ended_.push_back(entry.id);
  }
}

bool Ledger::apply(stream::DriveRecord& record) {
  Entry* entry = find_there(record.stream);
  if (entry == nullptr) return mode_ == Mode::reading || wrong(record.stream, "a drive of nothing");
  if (entry->end) return wrong(entry->id, "a drive behind the end");
  if (record.gen < entry->gen || record.epoch < entry->epoch) {
    return wrong(entry->id, "a drive of an old gen or epoch");
  }
  if (record.epoch > entry->epoch) begin_epoch(*entry, record.epoch);
  entry->gen = record.gen;
  if (record.cause == stream::DriveRecord::Cause::server) ++entry->server_starts;
  return true;
}

bool Ledger::apply(stream::ForgetRecord& record) {
  Entry* entry = find_there(record.stream);
  if (entry == nullptr) return mode_ == Mode::reading || wrong(record.stream, "nothing to forget");
  entry->there = false;
  entry->forgotten = true;
  const auto before = before_.find(entry->id);
  if (before == before_.end() || !before->second.forgotten) forgotten_.push_back(entry->id);
  return true;
}

bool Ledger::apply(stream::SyncRecord&) {
  return true;
}

void Ledger::begin_epoch(Entry& entry, Epoch epoch) {
  if (mode_ == Mode::writing) {
    entry.past.push_back({entry.epoch, entry.tokens, std::nullopt, world_.moment()});
  }
  entry.epoch_began = world_.moment();
  entry.epoch = epoch;
  entry.epoch_lost = false;
}

// A disk that is read again tells nothing new of what was known before.
Moment Ledger::moment_of(const Entry& entry, std::size_t token) const {
  const auto before = before_.find(entry.id);
  const bool known = before != before_.end() && token < before->second.tokens.size();
  return known ? before->second.tokens[token] : world_.moment();
}

bool Ledger::wrong(StreamId stream, std::string_view what) {
  world_.violate(fmt::format("journal of stream {}: {}", stream.low, what));
  return false;
}

}  // namespace seedance::sim
