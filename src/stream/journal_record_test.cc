#include "stream/journal_record.h"

#include <gtest/gtest.h>

#include "base/crc32c.h"
#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

std::vector<JournalRecord> all_records() {
  StateRecord ended = make_state(3, 4, true);
  ended.ended = make_end(FinishReason::error, 4);
  ended.server_starts = 2;
  return {make_state(1),
          make_state(2, 7),
          ended,
          make_record(1, 0),
          make_record(1, 5, 3),
          make_record(1, 1, 2, 9, true),
          make_record(1, 8, 0),
          make_end_record(1),
          make_end_record(1, FinishReason::error, 4),
          make_drive(1, 2),
          make_drive(1, 7, DriveRecord::Cause::engine, 3),
          make_drive(1, 8, DriveRecord::Cause::context),
          ForgetRecord{stream_id(1)},
          SyncRecord{.boot = kBoot, .at = wall(-5)}};
}

std::string encoded(const JournalRecord& record) {
  std::string out;
  encode(record, out);
  return out;
}

// A record with right checksums around any body.
std::string framed(std::uint32_t kind, std::string_view body) {
  std::string out;
  append(out, static_cast<std::uint32_t>(body.size()), std::endian::little);
  append(out, kind, std::endian::little);
  append(out, crc32c(as_bytes(body)), std::endian::little);
  append(out, crc32c(as_bytes(out)), std::endian::little);
  return out += body;
}

Errc code_of(std::string_view bytes) {
  const auto record = decode_record(as_bytes(bytes));
  EXPECT_FALSE(record) << bytes.size();
  return record ? Errc::invalid : record.error().code;
}

TEST(JournalRecord, ReadsBack) {
  for (const JournalRecord& record : all_records()) {
    const std::string bytes = encoded(record) + "behind";
    const auto read = decode_record(as_bytes(bytes));
    ASSERT_TRUE(read) << read.error().detail;
    EXPECT_EQ(read->record, record);
    EXPECT_EQ(read->bytes, bytes.size() - 6);
  }
}

TEST(JournalRecord, ReadsIntoOneThatHeldAnother) {
  JournalRecord read;
  for (const JournalRecord& before : all_records()) {
    for (const JournalRecord& record : all_records()) {
      read = before;
      const std::string bytes = encoded(record);
      EXPECT_EQ(decode_record(as_bytes(bytes), read), bytes.size());
      EXPECT_EQ(read, record);
    }
  }
}

TEST(JournalRecord, IsTruncatedAtEveryByteBeforeItsEnd) {
  for (const JournalRecord& record : all_records()) {
    const std::string bytes = encoded(record);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(code_of(bytes.substr(0, size)), Errc::truncated) << size;
    }
  }
}

TEST(JournalRecord, IsCorruptWithAnyBitFlipped) {
  for (const JournalRecord& record : all_records()) {
    const std::string bytes = encoded(record);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      EXPECT_EQ(code_of(flipped), Errc::corrupt) << bit;
    }
  }
}

// What a disk gives that had the size of a file, but not its pages.
TEST(JournalRecord, IsNoRunOfZeros) {
  EXPECT_EQ(code_of(std::string(kRecordHeaderBytes, '\0')), Errc::corrupt);
  EXPECT_EQ(code_of(std::string(4096, '\0')), Errc::corrupt);
  EXPECT_EQ(code_of(std::string(kRecordHeaderBytes - 1, '\0')), Errc::truncated);
}

TEST(JournalRecord, OfOneTokenOrASyncIsSmall) {
  TokensRecord record = make_record(1, 3);
  record.tokens.text = " the";
  record.tokens.text_bytes = {4};
  EXPECT_EQ(encoded(record).size(), 69U);
  EXPECT_EQ(encoded(SyncRecord{}).size(), kSyncRecordBytes);
}

TEST(JournalRecord, HasItsBytesAsThePageSays) {
  const std::string bytes =
      encoded(DriveRecord{.stream = {.high = 0x0102030405060708, .low = 0x1112131415161718},
                          .gen = {0x21222324},
                          .epoch = {0x31323334},
                          .cause = DriveRecord::Cause::server});
  const std::string_view body =
      "\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11"
      "\x24\x23\x22\x21\x34\x33\x32\x31\x01";
  EXPECT_EQ(bytes, framed(4, body));
}

TEST(JournalRecord, KnowsItsKinds) {
  const std::string body = encoded(ForgetRecord{stream_id(1)}).substr(kRecordHeaderBytes);
  EXPECT_TRUE(decode_record(as_bytes(framed(5, body))));
  EXPECT_EQ(code_of(framed(0, body)), Errc::corrupt);
  EXPECT_EQ(code_of(framed(7, body)), Errc::corrupt);
  EXPECT_EQ(code_of(framed(5 + 0x100, body)), Errc::corrupt);  // A reserved byte.
}

TEST(JournalRecord, BelievesNoSizeThatIsNotAllowed) {
  std::string bytes;
  append(bytes, kRecordBytesMax + 1, std::endian::little);
  append(bytes, 5U, std::endian::little);
  append(bytes, 0U, std::endian::little);
  append(bytes, crc32c(as_bytes(bytes)), std::endian::little);
  EXPECT_EQ(code_of(bytes), Errc::corrupt);
}

// Right checksums do not make a body right.
TEST(JournalRecord, ChecksEveryField) {
  const std::string tokens = encoded(make_record(1, 1)).substr(kRecordHeaderBytes);
  constexpr std::size_t kCount = 28, kScored = 32, kTextBytes = 45;
  EXPECT_TRUE(decode_record(as_bytes(framed(2, tokens))));
  const auto with = [](std::string body, std::size_t at, char value) {
    body.at(at) = value;
    return body;
  };
  EXPECT_EQ(code_of(framed(2, with(tokens, kCount, 2))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kCount, 0))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kCount + 3, '\x7F'))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kScored, 1))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kScored, 2))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kTextBytes, 0))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, with(tokens, kTextBytes, 2))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, tokens + "x")), Errc::corrupt);
  EXPECT_EQ(code_of(framed(2, "")), Errc::corrupt);

  const std::string end = encoded(make_end_record(1)).substr(kRecordHeaderBytes);
  constexpr std::size_t kReason = 28;
  EXPECT_TRUE(decode_record(as_bytes(framed(3, end))));
  EXPECT_EQ(code_of(framed(3, with(end, kReason, 6))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(3, with(end, kReason, 5))), Errc::corrupt);  // Without a problem.
  std::string failed = encoded(make_end_record(1, FinishReason::error)).substr(kRecordHeaderBytes);
  failed.replace(failed.find("engine_failed"), 13, "engine_foiled");
  EXPECT_EQ(code_of(framed(3, failed)), Errc::corrupt);

  const std::string drive = encoded(make_drive(1, 1)).substr(kRecordHeaderBytes);
  EXPECT_EQ(code_of(framed(4, with(drive, drive.size() - 1, 3))), Errc::corrupt);

  const std::string state = encoded(make_state(2, 3)).substr(kRecordHeaderBytes);
  constexpr std::size_t kFlags = 40;
  EXPECT_TRUE(decode_record(as_bytes(framed(1, state))));
  EXPECT_EQ(code_of(framed(1, with(state, kFlags, 8))), Errc::corrupt);
  EXPECT_EQ(code_of(framed(1, with(state, kFlags, 3))), Errc::corrupt);  // No logprobs there.
  EXPECT_EQ(code_of(framed(1, with(state, kFlags, 6))), Errc::corrupt);  // No end there.
}

// A count of logprobs that the body cannot hold.
TEST(JournalRecord, BelievesNoCountOfLogprobs) {
  TokensRecord record = make_record(1, 0, 1, 1, true);
  std::string body = encoded(record).substr(kRecordHeaderBytes);
  body.replace(body.size() - 4, 4, "\xFF\xFF\xFF\x0F");
  EXPECT_EQ(code_of(framed(2, body)), Errc::corrupt);
}

TEST(JournalRecordDeathTest, WritesNothingThatItWouldNotRead) {
  std::string out;
  TokensRecord tokens = make_record(1, 1);
  tokens.tokens.text += "more";
  EXPECT_DEATH(encode(tokens, out), "each byte of text");
  StateRecord state = make_state(1, 1);
  state.header.with_logprobs = true;
  EXPECT_DEATH(encode(state, out), "logprobs");
  EndRecord end = make_end_record(1);
  end.ended.terminal.problem = Problem{};
  EXPECT_DEATH(encode(end, out), "an error has its problem");
}

}  // namespace
}  // namespace seedance::stream
