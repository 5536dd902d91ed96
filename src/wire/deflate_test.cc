#include "wire/deflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <vector>

#include "base/random.h"
#include "wire/ws_frame.h"

namespace seedance::wire {
namespace {

using namespace std::string_literals;
using Status = Inflater::Status;

constexpr std::size_t kPlenty = 1 << 20;

std::string compressed(std::string_view message, const DeflateOptions& options = {}) {
  Deflater deflater;
  std::string out;
  deflater.compress(as_bytes(message), options, out);
  return out;
}

struct Inflated {
  Status status = Status::corrupt;
  std::string text;

  friend bool operator==(const Inflated&, const Inflated&) = default;
};

Inflated inflated(std::string_view bytes, std::size_t bytes_max = kPlenty) {
  Inflater inflater;
  Inflated out;
  out.status = inflater.inflate(as_bytes(bytes), bytes_max, out.text);
  return out;
}

// Words, so that there is something to refer back to, at all distances.
std::string story(std::size_t bytes) {
  std::string out;
  for (std::uint64_t i = 0; out.size() < bytes; ++i) {
    out += "word" + std::to_string(counter_random(7, i) % 3000) + " ";
  }
  out.resize(bytes);
  return out;
}

// The examples of RFC 7692 section 7.2.3.
TEST(Inflater, ReadsTheExamplesOfTheStandard) {
  const Inflated hello{Status::whole, "Hello"};
  EXPECT_EQ(inflated("\xf2\x48\xcd\xc9\xc9\x07\x00"s), hello);
  EXPECT_EQ(inflated("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s), hello);          // Stored.
  EXPECT_EQ(inflated("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s), hello);                      // BFINAL.
  EXPECT_EQ(inflated("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s), hello);  // Two.
  EXPECT_EQ(inflated("\x00"s), (Inflated{Status::whole, ""}));
}

TEST(Inflater, ReadsWhatOthersMakeOfNothingAndOfALastBlock) {
  EXPECT_EQ(inflated(""), (Inflated{Status::whole, ""}));
  EXPECT_EQ(inflated("\xf3\x48\xcd\xc9\xc9\x07\x00"s), (Inflated{Status::whole, "Hello"}));
}

TEST(Deflater, IsUnderstoodAtEveryLevelAndWindow) {
  Deflater deflater;
  Inflater inflater;
  for (const std::size_t bytes : {0UZ, 1UZ, 100UZ, 4096UZ, 100'000UZ}) {
    const std::string message = story(bytes);
    for (int level = 1; level <= 9; level += 4) {
      for (int bits = 8; bits <= 15; ++bits) {
        std::string out = "before";
        deflater.compress(as_bytes(message), {level, bits}, out);
        ASSERT_TRUE(out.starts_with("before"));
        std::string back = "old";
        ASSERT_EQ(inflater.inflate(as_bytes(out).subspan(6), bytes, back), Status::whole);
        ASSERT_EQ(back, message) << bytes << " " << level << " " << bits;
      }
    }
  }
}

// A peer that asked for a small window keeps no more than that.
TEST(Deflater, NeverRefersFurtherBackThanTheWindow) {
  const std::string message = story(50'000);
  for (int bits = 8; bits <= 15; ++bits) {
    for (const int level : {1, 6, 9}) {
      std::string bytes = compressed(message, {level, bits}) + "\0\0\xFF\xFF"s;
      z_stream reader{};
      ASSERT_EQ(::inflateInit2(&reader, -bits), Z_OK);
      reader.next_in = reinterpret_cast<Bytef*>(bytes.data());
      reader.avail_in = static_cast<uInt>(bytes.size());
      std::string back;
      for (int result = Z_OK; result == Z_OK && back.size() < message.size();) {
        Bytef byte = 0;  // One at a time: the window is all that is remembered.
        reader.next_out = &byte;
        reader.avail_out = 1;
        result = ::inflate(&reader, Z_SYNC_FLUSH);
        back += static_cast<char>(byte);
      }
      EXPECT_EQ(back, message) << bits << " " << level;
      ::inflateEnd(&reader);
    }
  }
}

TEST(Deflater, UsesNothingOfTheMessageBefore) {
  Deflater deflater;
  std::string first;
  std::string second;
  deflater.compress(as_bytes(story(1000)), {}, first);
  deflater.compress(as_bytes(story(1000)), {}, second);
  EXPECT_EQ(first, second);
  EXPECT_EQ(inflated(second).text, story(1000));
}

TEST(Deflater, MakesLittleMoreOfWhatCannotBeCompressed) {
  std::string noise(100'000, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) {
    noise[i] = static_cast<char>(counter_random(1, i));
  }
  EXPECT_LE(compressed(noise).size(), compressed_bytes_max(noise.size()));
  EXPECT_EQ(inflated(compressed(noise)).text, noise);
}

// C4: a bomb.
TEST(Inflater, StopsAtTheLimit) {
  const std::string bomb = compressed(std::string(8'000'000, '\0'));
  ASSERT_LT(bomb.size(), 50'000U);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    const Inflated result = inflated(bomb, limit);
    EXPECT_EQ(result.status, Status::too_big);
    EXPECT_LE(result.text.size(), limit);
  }
  EXPECT_EQ(inflated(compressed("12345"), 5).status, Status::whole);
  EXPECT_EQ(inflated(compressed("12345"), 4).status, Status::too_big);
  // Many small last blocks, one behind the other.
  std::string last;
  for (int i = 0; i < 100; ++i) last += "\xf3\x48\xcd\xc9\xc9\x07\x00"s;
  EXPECT_EQ(inflated(last, 499).status, Status::too_big);
  EXPECT_EQ(inflated(last, 500).status, Status::whole);
}

TEST(Inflater, RefusesWhatIsNotDeflated) {
  EXPECT_EQ(inflated("\xFF\xFF\xFF\xFF"s).status, Status::corrupt);
  EXPECT_EQ(inflated("hello, this is no compressed text").status, Status::corrupt);
  // A distance beyond the beginning: what other messages said cannot be reached.
  Inflater inflater;
  std::string out;
  ASSERT_EQ(inflater.inflate(as_bytes(compressed("a secret")), kPlenty, out), Status::whole);
  EXPECT_EQ(inflater.inflate(as_bytes("\x02\x23\x00"s), kPlenty, out), Status::corrupt);
}

TEST(Inflater, RefusesWhatIsCutOff) {
  const std::string message = story(2000);
  const std::string whole = compressed(message);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const Inflated result = inflated(whole.substr(0, size));
    EXPECT_FALSE(result.status == Status::whole && result.text == message) << size;
  }
  EXPECT_EQ(inflated(whole.substr(0, whole.size() / 2)).status, Status::corrupt);
}

TEST(Inflater, ReadsOnBehindAMessageThatWasRefused) {
  Inflater inflater;
  std::string out;
  EXPECT_EQ(inflater.inflate(as_bytes("\xFF\xFF"), kPlenty, out), Status::corrupt);
  EXPECT_EQ(inflater.inflate(as_bytes(compressed(story(999))), 5, out), Status::too_big);
  EXPECT_EQ(inflater.inflate(as_bytes(compressed("good")), kPlenty, out), Status::whole);
  EXPECT_EQ(out, "good");
}

std::string frame(Opcode opcode, std::string_view payload, Compressed marked = Compressed::no) {
  std::string out;
  append_frame_header(out, opcode, Fin::yes, payload.size(), marked);
  return out += payload;
}

TEST(CompressFrames, TouchesOnlyWhatIsWorthIt) {
  const std::string big = story(2000);
  const std::string small = frame(Opcode::text, "small");
  const std::string ping = frame(Opcode::ping, "p");
  std::string noise;
  for (std::uint64_t i = 0; i < 300; ++i) noise += static_cast<char>(counter_random(1, i));
  std::string frames = "sent before" + small + frame(Opcode::text, big) + ping +
                       frame(Opcode::binary, noise) + frame(Opcode::binary, big) + small;
  Deflater deflater;
  const DeflateOptions options{.level = 6, .window_bits = 9};
  compress_frames(frames, 11, deflater, options);
  const std::string packed = compressed(big, options);
  EXPECT_EQ(frames, "sent before" + small + frame(Opcode::text, packed, Compressed::yes) + ping +
                        frame(Opcode::binary, noise) +
                        frame(Opcode::binary, packed, Compressed::yes) + small);
  std::string only_small = small + small;
  compress_frames(only_small, 0, deflater, options);
  EXPECT_EQ(only_small, small + small);
}

}  // namespace
}  // namespace seedance::wire
