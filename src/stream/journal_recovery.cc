#include "stream/journal_recovery.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/crc32c.h"

namespace seedance::stream {
namespace {

constexpr std::uint32_t kEpochStepMax = 1U << 20;

constexpr std::string_view kEndedAlready = "a record of a stream that has ended";

std::unexpected<Error> corrupt(std::uint32_t segment, std::size_t at, std::string_view what) {
  return fail(Errc::corrupt, fmt::format("{}, byte {}: {}", segment_name(segment), at, what));
}

bool all_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

// Whether a sync mark stands anywhere in these bytes. Damage may have taken the
// headers that lead to it, so every place is looked at. The boot id, which no
// client knows, tells a mark from a text that was sent to look like one; without
// one, every mark counts.
bool has_mark(Bytes bytes, const std::optional<BootId>& boot) {
  std::string sample;
  encode(SyncRecord{}, sample);
  const std::string_view begin = std::string_view{sample}.substr(0, 8);  // Size and kind.
  const std::string_view text = as_text(bytes);
  JournalRecord record;
  for (std::size_t at = text.find(begin); at != text.npos; at = text.find(begin, at + 1)) {
    if (!decode_record(bytes.subspan(at), record)) continue;
    const auto* mark = std::get_if<SyncRecord>(&record);
    if (mark != nullptr && (!boot || mark->boot == *boot)) return true;
  }
  return false;
}

void append_tokens(Tokens& to, Tokens& more) {
  to.ids.insert(to.ids.end(), more.ids.begin(), more.ids.end());
  to.times.insert(to.times.end(), more.times.begin(), more.times.end());
  to.text_bytes.insert(to.text_bytes.end(), more.text_bytes.begin(), more.text_bytes.end());
  to.text += more.text;
  std::ranges::move(more.logprobs, std::back_inserter(to.logprobs));
}

// What speaks against `next` as a newer state of the same stream.
std::string_view contradiction(const StateRecord& last, const StateRecord& next) {
  if (next.header.gen < last.header.gen || next.header.epoch < last.header.epoch) {
    return "a state of an older gen or epoch than the stream's";
  }
  if (next.header.epoch == last.header.epoch && next.tokens.ids.size() < last.tokens.ids.size()) {
    return "a state with fewer tokens than the stream's";
  }
  if (last.ended && !next.ended) return "a state without the end of its stream";
  return {};
}

}  // namespace

Result<std::size_t> JournalReader::on_segment(std::uint32_t number, Bytes bytes) {
  SEEDANCE_CHECK(number > last_, "segments are fed in the order of their numbers");
  const std::uint32_t expected = last_ == 0 ? number : last_ + 1;
  if (first_ == 0) first_ = number;
  last_ = number;
  const Result<SegmentHeader> header = decode_segment_header(bytes);
  if (header && header->segment != number) {
    return corrupt(number, 0, fmt::format("the header of segment {}", header->segment));
  }
  if (damage_) return behind_damage(number, bytes, header);
  if (number != expected) {
    damage_ = Damage{.segment = expected, .at = 0, .what = "the segment is missing"};
    return behind_damage(number, bytes, header);
  }
  if (!header) return without_header(number, bytes, header.error());
  boot_ = header->boot;
  exposed_ = header->boot != options_.boot && !header->synced_always;
  Segment segment{.number = number, .bytes = bytes, .header = *header};
  return read_records(segment);
}

Result<std::size_t> JournalReader::read_records(Segment& segment) {
  std::size_t at = kSegmentHeaderBytes;
  std::string what;
  while (at < segment.bytes.size()) {
    const Result<std::size_t> size = decode_record(segment.bytes.subspan(at), record_);
    if (!size && size.error().code == Errc::truncated) break;
    what = size ? std::visit([&](auto& one) { return apply(one, *size, segment); }, record_)
                : size.error().detail;
    if (!what.empty()) break;
    at += *size;
  }
  if (!what.empty()) {
    // What always was on the disk before it counted ends in what did not count yet,
    // behind a mark.
    const bool may_be_damaged =
        segment.header.boot != options_.boot &&
        (!segment.header.synced_always || segment.marked || at == kSegmentHeaderBytes);
    if (!may_be_damaged) return corrupt(segment.number, at, what);
    const auto kept = cut(segment.number, segment.bytes, {segment.number, at, std::move(what)});
    if (!kept) return kept;
  } else {
    recovery_.bytes_cut += segment.bytes.size() - at;
  }
  recovery_.segments.emplace_back(segment.number, at);
  return at;
}

// The process died as it began the segment, or the disk never had its first page.
Result<std::size_t> JournalReader::without_header(std::uint32_t number, Bytes bytes,
                                                  const Error& error) {
  if (error.code == Errc::truncated) {
    recovery_.bytes_cut += bytes.size();
    damage_ = Damage{.segment = number, .at = 0, .what = error.detail};
    return 0;
  }
  // Of the first one nobody knows the boot: it may hold nothing that could be lost.
  const bool may_be_damaged =
      boot_ ? *boot_ != options_.boot && all_zero(bytes.first(kSegmentHeaderBytes))
            : all_zero(bytes);
  if (!may_be_damaged) return corrupt(number, 0, error.detail);
  return cut(number, bytes, {number, 0, error.detail});
}

Result<std::size_t> JournalReader::cut(std::uint32_t number, Bytes bytes, Damage damage) {
  const std::size_t at = damage.at;
  if (has_mark(bytes.subspan(at), boot_)) {
    return corrupt(number, at, damage.what + ", before a sync mark");
  }
  recovery_.bytes_cut += bytes.size() - at;
  damage_ = std::move(damage);
  return at;
}

// A segment that was begun in this boot, after the damaged one was read as whole,
// or that was begun when the damaged one was on the disk, shows that the damage is
// not of a lost tail.
Result<std::size_t> JournalReader::behind_damage(std::uint32_t number, Bytes bytes,
                                                 const Result<SegmentHeader>& header) {
  const bool present = header && header->boot == options_.boot;
  if (present || has_mark(bytes, header ? header->boot : boot_)) {
    return corrupt(damage_->segment, damage_->at,
                   fmt::format("{}, but {} is newer", damage_->what, segment_name(number)));
  }
  recovery_.bytes_cut += bytes.size();
  return 0;
}

Recovery JournalReader::finish() {
  Recovery recovery = std::move(recovery_);
  recovery.lost_tail = exposed_;
  recovery.epoch_step = 1 + crc32c(std::as_bytes(std::span{options_.boot})) % kEpochStepMax;
  recovery.streams.reserve(streams_.size());
  for (auto& [id, held] : streams_) {
    if (held.exposed && !held.recovered.state.ended) recovery.lost_tail = true;
    recovery.streams.push_back(std::move(held.recovered));
  }
  std::ranges::sort(recovery.streams, {},
                    [](const RecoveredStream& one) { return one.state.header.stream; });
  return recovery;
}

std::string_view JournalReader::apply(StateRecord& record, std::size_t bytes, Segment& segment) {
  const StreamId stream = record.header.stream;
  bool exposed = exposed_;
  if (const Held* held = find(stream)) {
    const StateRecord& last = held->recovered.state;
    const std::string_view wrong = contradiction(last, record);
    if (!wrong.empty()) return wrong;
    // Copying forward is not driving.
    if (record.header.epoch == last.header.epoch) exposed = held->exposed;
  }
  forgotten_.erase(stream);
  streams_[stream] = {
      .recovered = {.state = std::move(record), .segment = segment.number, .bytes = bytes},
      .exposed = exposed};
  return {};
}

std::string_view JournalReader::apply(TokensRecord& record, std::size_t bytes, Segment&) {
  Held* held = find(record.stream);
  if (held == nullptr) return unknown(record.stream);
  StateRecord& state = held->recovered.state;
  Tokens& more = record.tokens;
  if (state.ended) return kEndedAlready;
  if (record.gen != state.header.gen) return "tokens of another gen than the stream's";
  if (record.from.value != state.tokens.ids.size())
    return "tokens that do not follow the last ones";
  if ((state.header.with_logprobs && !more.ids.empty()) == more.logprobs.empty()) {
    return "tokens whose logprobs are not as the stream has them";
  }
  if (!more.ids.empty()) state.server_starts = 0;
  held->recovered.bytes += bytes;
  append_tokens(state.tokens, more);
  return {};
}

std::string_view JournalReader::apply(EndRecord& record, std::size_t bytes, Segment&) {
  Held* held = find(record.stream);
  if (held == nullptr) return unknown(record.stream);
  StateRecord& state = held->recovered.state;
  if (state.ended) return kEndedAlready;
  if (record.gen != state.header.gen) return "an end of another gen than the stream's";
  held->recovered.bytes += bytes;
  state.ended = std::move(record.ended);
  return {};
}

std::string_view JournalReader::apply(DriveRecord& record, std::size_t bytes, Segment&) {
  Held* held = find(record.stream);
  if (held == nullptr) return unknown(record.stream);
  StreamHeader& header = held->recovered.state.header;
  if (held->recovered.state.ended) return kEndedAlready;
  if (record.gen < header.gen || record.epoch < header.epoch) {
    return "a drive of an older gen or epoch than the stream's";
  }
  header.gen = record.gen;
  header.epoch = record.epoch;
  held->exposed = exposed_;
  held->recovered.bytes += bytes;
  if (record.cause == DriveRecord::Cause::server) ++held->recovered.state.server_starts;
  return {};
}

std::string_view JournalReader::apply(ForgetRecord& record, std::size_t, Segment&) {
  if (streams_.erase(record.stream) == 0) {
    const std::string_view wrong = unknown(record.stream);
    if (!wrong.empty()) return wrong;
  }
  forgotten_.insert(record.stream);
  return {};
}

std::string_view JournalReader::apply(SyncRecord& record, std::size_t, Segment& segment) {
  if (record.boot != segment.header.boot) return "a sync mark of another boot than its segment's";
  segment.marked = true;
  return {};
}

// Segments go oldest first, so what is left can begin with records of a stream whose
// state stood in one that is gone: the stream was forgotten or copied forward since.
// Such records say nothing.
std::string_view JournalReader::unknown(StreamId stream) const {
  const bool began_before = first_ > 1 && !forgotten_.contains(stream);
  return began_before ? std::string_view{} : "a record of a stream that is not there";
}

JournalReader::Held* JournalReader::find(StreamId stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : &found->second;
}

}  // namespace seedance::stream
