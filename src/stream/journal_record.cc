#include "stream/journal_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/crc32c.h"
#include "stream/journal_fields.h"

namespace seedance::stream {
namespace {

constexpr std::size_t kTokenBytes = 4 + 8 + 4;  // Id, time, text_bytes.
constexpr std::size_t kCandidateBytes = 4 + 4;  // Id, logprob.
constexpr std::uint8_t kWithLogprobs = 1, kKeep = 2, kEnded = 4, kFlags = 7;

// The byte that names each record is its place in the variant, from 1.
constexpr std::size_t kKinds = std::variant_size_v<JournalRecord>;
static_assert(kKinds == 6);

// The numbers of the format, in docs/formats/journal.md.
static_assert(static_cast<int>(FinishReason::stop) == 0);
static_assert(static_cast<int>(FinishReason::length) == 1);
static_assert(static_cast<int>(FinishReason::tool_calls) == 2);
static_assert(static_cast<int>(FinishReason::content_filter) == 3);
static_assert(static_cast<int>(FinishReason::cancelled) == 4);
static_assert(static_cast<int>(FinishReason::error) == 5);
static_assert(static_cast<int>(DriveRecord::Cause::engine) == 0);
static_assert(static_cast<int>(DriveRecord::Cause::server) == 1);
static_assert(static_cast<int>(DriveRecord::Cause::context) == 2);

std::uint64_t sum(const std::vector<std::uint32_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

void put_tokens(RecordWriter& out, const Tokens& tokens) {
  const std::size_t count = tokens.ids.size();
  SEEDANCE_CHECK(tokens.times.size() == count && tokens.text_bytes.size() == count,
                 "each token has its time and its text");
  SEEDANCE_CHECK(sum(tokens.text_bytes) == tokens.text.size(), "each byte of text has its token");
  SEEDANCE_CHECK(tokens.logprobs.empty() || tokens.logprobs.size() == count,
                 "each token has its logprobs, or none has");
  out.put(static_cast<std::uint32_t>(count));
  out.put(static_cast<std::uint8_t>(tokens.logprobs.empty() ? 0 : 1));
  out.put_all(tokens.ids);
  out.put_all(tokens.times);
  out.put_all(tokens.text_bytes);
  out.put_raw(tokens.text);
  for (const TokenLogprobs& logprobs : tokens.logprobs) {
    out.put(logprobs.chosen);
    out.put(static_cast<std::uint32_t>(logprobs.top.size()));
    for (const Candidate& candidate : logprobs.top) {
      out.put(candidate.token.value);
      out.put(candidate.logprob);
    }
  }
}

void get_tokens(BodyReader& in, Tokens& tokens) {
  const std::uint32_t count = in.get_count(kTokenBytes);
  const auto scored = in.get_below(2);
  in.require(scored == 0 || count > 0);
  tokens.ids.resize(count);
  tokens.times.resize(count);
  tokens.text_bytes.resize(count);
  for (TokenId& id : tokens.ids) in.get(id.value);
  for (WallTime& at : tokens.times) in.get(at);
  for (std::uint32_t& bytes : tokens.text_bytes) in.get(bytes);
  tokens.text = as_text(in.take(sum(tokens.text_bytes)));
  tokens.logprobs.resize(in.ok() && scored != 0 ? count : 0);
  for (TokenLogprobs& logprobs : tokens.logprobs) {
    in.get(logprobs.chosen);
    logprobs.top.resize(in.get_count(kCandidateBytes));
    for (Candidate& candidate : logprobs.top) {
      in.get(candidate.token.value);
      in.get(candidate.logprob);
    }
    if (!in.ok()) return;
  }
}

void put_problem(RecordWriter& out, const Problem& problem) {
  out.put(name(problem.code));
  out.put(problem.message);
  out.put(problem.param);
  out.put(static_cast<std::uint32_t>(problem.numbers.size()));
  for (const Problem::Number& number : problem.numbers) {
    out.put(number.key);
    out.put(number.value);
  }
  out.put(problem.retry_after_ms);
}

void get_problem(BodyReader& in, Problem& problem) {
  std::string code;
  in.get(code);
  std::size_t number = 0;
  while (number < kErrorCodeCount && name(static_cast<ErrorCode>(number)) != code) ++number;
  in.require(number < kErrorCodeCount);
  if (!in.ok()) return;
  problem.code = static_cast<ErrorCode>(number);
  in.get(problem.message);
  in.get(problem.param);
  problem.numbers.resize(in.get_count(sizeof(std::uint32_t) + sizeof(std::int64_t)));
  for (Problem::Number& pair : problem.numbers) {
    in.get(pair.key);
    in.get(pair.value);
  }
  in.get(problem.retry_after_ms);
}

void put_ended(RecordWriter& out, const Ended& ended) {
  const Terminal& terminal = ended.terminal;
  SEEDANCE_CHECK(terminal.problem.has_value() == (terminal.reason == FinishReason::error),
                 "an error has its problem, and nothing else has one");
  out.put(ended.at);
  out.put(static_cast<std::uint8_t>(terminal.reason));
  out.put(terminal.usage.prompt_tokens);
  out.put(terminal.usage.completion_tokens);
  out.put(terminal.usage.cached_tokens);
  out.put(terminal.usage.dropped_tokens);
  for (const Duration duration : {terminal.timing.queue, terminal.timing.prefill,
                                  terminal.timing.ttft, terminal.timing.decode}) {
    out.put(duration.count());
  }
  out.put(terminal.sha256);
  if (terminal.problem) put_problem(out, *terminal.problem);
}

void get_ended(BodyReader& in, Ended& ended) {
  Terminal& terminal = ended.terminal;
  in.get(ended.at);
  terminal.reason = in.get_below<FinishReason>(static_cast<int>(FinishReason::error) + 1);
  in.get(terminal.usage.prompt_tokens);
  in.get(terminal.usage.completion_tokens);
  in.get(terminal.usage.cached_tokens);
  in.get(terminal.usage.dropped_tokens);
  in.get(terminal.timing.queue);
  in.get(terminal.timing.prefill);
  in.get(terminal.timing.ttft);
  in.get(terminal.timing.decode);
  in.get(terminal.sha256);
  terminal.problem.reset();
  if (terminal.reason == FinishReason::error) get_problem(in, terminal.problem.emplace());
}

// Tokens keep logprobs when their stream does.
bool as_asked(const StateRecord& record) {
  const bool wanted = record.header.with_logprobs && !record.tokens.ids.empty();
  return wanted == !record.tokens.logprobs.empty();
}

void put_body(RecordWriter& out, const StateRecord& record) {
  const StreamHeader& header = record.header;
  SEEDANCE_CHECK(as_asked(record), "a stream keeps logprobs of all of its tokens or of none");
  out.put(header.stream);
  out.put(header.epoch.value);
  out.put(header.gen.value);
  out.put(header.created);
  out.put(header.prompt_tokens);
  out.put(record.server_starts);
  out.put(static_cast<std::uint8_t>((header.with_logprobs ? kWithLogprobs : 0) |
                                    (header.keep ? kKeep : 0) | (record.ended ? kEnded : 0)));
  out.put(header.body);
  for (const std::string* text :
       {&header.tenant, &header.key, &header.model, &header.model_digest, &header.request}) {
    out.put(*text);
  }
  put_tokens(out, record.tokens);
  if (record.ended) put_ended(out, *record.ended);
}

void get_body(BodyReader& in, StateRecord& record) {
  StreamHeader& header = record.header;
  in.get(header.stream);
  in.get(header.epoch.value);
  in.get(header.gen.value);
  in.get(header.created);
  in.get(header.prompt_tokens);
  in.get(record.server_starts);
  const auto flags = in.get_below(kFlags + 1);
  header.with_logprobs = (flags & kWithLogprobs) != 0;
  header.keep = (flags & kKeep) != 0;
  in.get(header.body);
  for (std::string* text :
       {&header.tenant, &header.key, &header.model, &header.model_digest, &header.request}) {
    in.get(*text);
  }
  get_tokens(in, record.tokens);
  in.require(as_asked(record));
  record.ended.reset();
  if (in.ok() && (flags & kEnded) != 0) get_ended(in, record.ended.emplace());
}

void put_body(RecordWriter& out, const TokensRecord& record) {
  out.put(record.stream);
  out.put(record.gen.value);
  out.put(record.from.value);
  put_tokens(out, record.tokens);
}

void get_body(BodyReader& in, TokensRecord& record) {
  in.get(record.stream);
  in.get(record.gen.value);
  in.get(record.from.value);
  get_tokens(in, record.tokens);
}

void put_body(RecordWriter& out, const EndRecord& record) {
  out.put(record.stream);
  out.put(record.gen.value);
  put_ended(out, record.ended);
}

void get_body(BodyReader& in, EndRecord& record) {
  in.get(record.stream);
  in.get(record.gen.value);
  get_ended(in, record.ended);
}

void put_body(RecordWriter& out, const DriveRecord& record) {
  out.put(record.stream);
  out.put(record.gen.value);
  out.put(record.epoch.value);
  out.put(static_cast<std::uint8_t>(record.cause));
}

void get_body(BodyReader& in, DriveRecord& record) {
  in.get(record.stream);
  in.get(record.gen.value);
  in.get(record.epoch.value);
  record.cause = in.get_below<DriveRecord::Cause>(3);
}

void put_body(RecordWriter& out, const ForgetRecord& record) {
  out.put(record.stream);
}

void get_body(BodyReader& in, ForgetRecord& record) {
  in.get(record.stream);
}

void put_body(RecordWriter& out, const SyncRecord& record) {
  out.put(record.boot);
  out.put(record.at);
}

void get_body(BodyReader& in, SyncRecord& record) {
  in.get(record.boot);
  in.get(record.at);
}

template <typename Record>
void encode_one(const Record& record, std::string& out) {
  RecordWriter writer{out, kind_of<Record>()};
  put_body(writer, record);
  writer.close();
}

template <typename Record>
bool decode_body(Bytes body, JournalRecord& record) {
  BodyReader in{body};
  auto* same = std::get_if<Record>(&record);
  get_body(in, same != nullptr ? *same : record.emplace<Record>());
  return in.at_end();
}

bool decode_body(std::uint8_t kind, Bytes body, JournalRecord& record) {
  switch (kind) {
    case kind_of<StateRecord>():
      return decode_body<StateRecord>(body, record);
    case kind_of<TokensRecord>():
      return decode_body<TokensRecord>(body, record);
    case kind_of<EndRecord>():
      return decode_body<EndRecord>(body, record);
    case kind_of<DriveRecord>():
      return decode_body<DriveRecord>(body, record);
    case kind_of<ForgetRecord>():
      return decode_body<ForgetRecord>(body, record);
    default:
      return decode_body<SyncRecord>(body, record);
  }
}

}  // namespace

void encode(const StateRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const TokensRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const EndRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const DriveRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const ForgetRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const SyncRecord& record, std::string& out) {
  encode_one(record, out);
}
void encode(const JournalRecord& record, std::string& out) {
  std::visit([&out](const auto& one) { encode_one(one, out); }, record);
}

Result<std::size_t> decode_record(Bytes bytes, JournalRecord& record) {
  if (bytes.size() < kRecordHeaderBytes) return fail(Errc::truncated, "a record's header");
  const auto field = [&](std::size_t at) {
    return load<std::uint32_t>(bytes.data() + at, std::endian::little);
  };
  if (field(kRecordHeaderSummed) != crc32c(bytes.first(kRecordHeaderSummed))) {
    return fail(Errc::corrupt, "the checksum of a record's header is wrong");
  }
  const std::uint32_t size = field(0);
  const std::uint32_t kind = field(4);
  if (size > kRecordBytesMax) {
    return fail(Errc::corrupt,
                fmt::format("a record of {} bytes; {} are allowed", size, kRecordBytesMax));
  }
  if (kind < 1 || kind > kKinds) {
    return fail(Errc::corrupt, fmt::format("a record of the unknown kind {:#x}", kind));
  }
  const Bytes rest = bytes.subspan(kRecordHeaderBytes);
  if (rest.size() < size) return fail(Errc::truncated, "a record's body");
  const Bytes body = rest.first(size);
  if (field(8) != crc32c(body)) return fail(Errc::corrupt, "the checksum of a record is wrong");
  if (!decode_body(static_cast<std::uint8_t>(kind), body, record)) {
    return fail(Errc::corrupt, fmt::format("the fields of a record of kind {} are wrong", kind));
  }
  return kRecordHeaderBytes + size;
}

Result<DecodedRecord> decode_record(Bytes bytes) {
  DecodedRecord decoded;
  const Result<std::size_t> size = decode_record(bytes, decoded.record);
  if (!size) return std::unexpected(size.error());
  decoded.bytes = *size;
  return decoded;
}

}  // namespace seedance::stream
