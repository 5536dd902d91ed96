#include "models/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace seedance::models {
namespace {

using ::testing::HasSubstr;

// Writes GGUF as its specification says.
class Writer {
 public:
  Writer& raw(std::string_view bytes) {
    out_ += bytes;
    return *this;
  }
  template <std::integral T>
  Writer& put(T value) {
    append(out_, value, std::endian::little);
    return *this;
  }
  Writer& text(std::string_view value) {
    return put(static_cast<std::uint64_t>(value.size())).raw(value);
  }
  Writer& head(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    return raw("GGUF").put(version).put(tensors).put(entries);
  }
  Writer& tensor(std::string_view name, std::vector<std::uint64_t> sizes, std::uint32_t type,
                 std::uint64_t offset) {
    text(name).put(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) put(size);
    return put(type).put(offset);
  }
  Writer& pad(std::size_t alignment) {
    while (out_.size() % alignment != 0) out_ += '\0';
    return *this;
  }
  const std::string& str() const { return out_; }
  Result<GgufHead> read() const { return read_gguf_head(as_bytes(out_)); }

 private:
  std::string out_;
};

// Two tensors, and one entry of each kind.
Writer sample() {
  Writer out;
  out.head(2, 5);
  out.text("general.architecture").put(8U).text("llama");
  out.text("tokens").put(9U).put(8U).put(std::uint64_t{2}).text("a").text("bc");
  out.text("scores").put(9U).put(6U).put(std::uint64_t{2}).put(0U).put(0U);
  out.text("split.count").put(2U).put(std::uint16_t{3});
  out.text("general.alignment").put(4U).put(64U);
  out.tensor("a", {32, 2}, 8, 0).tensor("b", {3}, 0, 128).pad(64);
  return out.raw(std::string(128 + 12, 'x'));
}

TEST(Gguf, ReadsTheHead) {
  const auto head = sample().read();
  ASSERT_TRUE(head) << head.error().detail;
  EXPECT_EQ(*head, (GgufHead{"llama", 2, 0, 3}));
  EXPECT_TRUE(Writer{}.head(0, 0, 2).read());
}

TEST(Gguf, SaysThatItIsCutShortAtEveryLength) {
  const std::string whole = sample().str();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto head = read_gguf_head(as_bytes(std::string_view{whole}.substr(0, size)));
    ASSERT_FALSE(head) << size;
    EXPECT_EQ(head.error().code, Errc::truncated) << size;
  }
}

TEST(Gguf, RefusesOtherFilesAndVersions) {
  EXPECT_THAT(read_gguf_head({}).error().detail, HasSubstr("not a GGUF file"));
  EXPECT_THAT(Writer{}.raw("GGML").put(3U).read().error().detail, HasSubstr("not a GGUF file"));
  EXPECT_THAT(Writer{}.head(0, 0, 1).read().error().detail, HasSubstr("version 1"));
  EXPECT_THAT(Writer{}.head(0, 0, 4).read().error().detail, HasSubstr("version 4"));
}

TEST(Gguf, RefusesShapesThatOverflow) {
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  const auto code = [](const Writer& writer) { return writer.read().error().code; };
  EXPECT_EQ(code(Writer{}.head(1, 0).tensor("t", {kHuge, 2}, 0, 0)), Errc::corrupt);
  EXPECT_EQ(code(Writer{}.head(1, 0).tensor("t", {kHuge}, 0, 0)), Errc::corrupt);
  EXPECT_EQ(code(Writer{}.head(1, 0).tensor("t", {8}, 0, kHuge)), Errc::corrupt);
  EXPECT_EQ(code(Writer{}.head(1, 0).tensor("t", {1, 1, 1, 1, 1}, 0, 0)), Errc::corrupt);
  EXPECT_EQ(code(Writer{}.head(1, 0).tensor("t", {1}, 99, kHuge)), Errc::truncated);
  EXPECT_EQ(code(Writer{}.head(kHuge, 0)), Errc::truncated);
  EXPECT_EQ(code(Writer{}.head(0, kHuge)), Errc::truncated);
  EXPECT_EQ(code(Writer{}.head(0, 1).text("k").put(9U).put(4U).put(kHuge)), Errc::truncated);
  EXPECT_EQ(code(Writer{}.head(0, 1).put(kHuge)), Errc::truncated);
}

TEST(Gguf, RefusesDamagedMetadata) {
  const auto code = [](const Writer& writer) { return writer.read().error().code; };
  EXPECT_EQ(code(Writer{}.head(0, 1).text("k").put(13U)), Errc::corrupt);
  EXPECT_EQ(code(Writer{}.head(0, 1).text("general.alignment").put(4U).put(0U)), Errc::corrupt);
  Writer nested;
  nested.head(0, 1).text("k").put(9U);
  for (int i = 0; i < 100; ++i) nested.put(9U).put(std::uint64_t{1});
  EXPECT_EQ(code(nested), Errc::corrupt);
}

TEST(SplitName, NamesAllPartsFromOne) {
  const auto name = parse_split_name("/m/big-q4-00001-of-00003.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, (SplitName{"/m/big-q4", 0, 3}));
  EXPECT_EQ(split_path(*name, 2), "/m/big-q4-00003-of-00003.gguf");
  for (const char* other : {"m.gguf", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf",
                            "m-0000a-of-00003.gguf", "-00001-of-00003.gguf", ""}) {
    EXPECT_FALSE(parse_split_name(other)) << other;
  }
}

TEST(ModelName, IsTheFileNameWithoutItsEndings) {
  EXPECT_EQ(model_name_of("/models/tiny.gguf"), "tiny");
  EXPECT_EQ(model_name_of("tiny"), "tiny");
  EXPECT_EQ(model_name_of("a.b/big-00001-of-00003.gguf"), "big");
}

}  // namespace
}  // namespace seedance::models
