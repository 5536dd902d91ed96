#include "apps/journal_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>

#include "io/test_directory.h"
#include "store/file_journal.h"
#include "store/test_records.h"

namespace seedance::apps {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string_view text_of(const boost::json::value& value) {
  return value.as_string();
}

class JournalReportTest : public testing::Test {
 protected:
  // Three streams with two tokens each, of which the first has ended.
  void SetUp() override {
    auto opened = store::FileJournal::open({.directory = path_});
    ASSERT_TRUE(opened);
    journal_ = std::move(opened->journal);
    for (std::uint64_t batch = 1; batch <= 3; ++batch) {
      journal_->append(store::test_batch(batch, batch < 3 ? 1 : 2));
    }
    stream::JournalWrite end{.batch = 4, .segment = 2};
    stream::encode(stream::EndRecord{.stream = store::test_stream(1),
                                     .gen = {1},
                                     .ended = {.terminal = {.reason = stream::FinishReason::length},
                                               .at = WallTime{std::chrono::hours{24}}}},
                   end.bytes);
    journal_->append(std::move(end));
    ASSERT_TRUE(journal_->close());
    journal_.reset();
  }
  std::string segment(std::uint32_t number) const { return store::segment_path(path_, number); }
  void append(std::uint32_t number, const std::string& bytes) const {
    std::ofstream{segment(number), std::ios::app} << bytes;
  }
  void damage(std::uint32_t number, std::size_t at) const {
    auto bytes = *io::read_file(segment(number));
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::ofstream{segment(number)} << bytes;
  }
  JournalVerdict verdict() const { return verify_journal(path_).value_or(JournalVerdict{}); }

  const io::TestDirectory directory_;
  const std::string& path_ = directory_.path();
  std::unique_ptr<store::FileJournal> journal_;
};

TEST_F(JournalReportTest, ListsSegmentsAndStreamsWithoutTheirText) {
  const auto view = view_journal(path_);
  ASSERT_TRUE(view);
  const std::string text = inspect_text(*view, {});
  EXPECT_THAT(text, HasSubstr(path_ + ": in use by no server\n"));
  EXPECT_THAT(text, HasSubstr("0000000001.journal"));
  EXPECT_THAT(text, HasSubstr("0000000002.journal"));
  EXPECT_THAT(text, HasSubstr("3 streams, 1 of them done\n"));
  EXPECT_THAT(text, HasSubstr(to_text(store::test_stream(1)) + "  done "));
  EXPECT_THAT(text, HasSubstr(to_text(store::test_stream(2)) + "  unfinished "));
  EXPECT_THAT(text, HasSubstr("length"));
  EXPECT_THAT(text, HasSubstr("demo@1\n"));
  EXPECT_THAT(text, Not(HasSubstr("t0")));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST_F(JournalReportTest, ShowsOneStreamAndItsTextWhenAsked) {
  const auto view = view_journal(path_);
  ASSERT_TRUE(view);
  const std::string text = inspect_text(*view, {.stream = store::test_stream(2), .text = true});
  EXPECT_THAT(text, HasSubstr("tenant local, epoch 1, gen 1, 5 prompt tokens"));
  EXPECT_THAT(text, HasSubstr("\nt0t1\n"));
  EXPECT_THAT(text, Not(HasSubstr(to_text(store::test_stream(1)))));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

TEST_F(JournalReportTest, HasAFormForPrograms) {
  const auto view = view_journal(path_);
  ASSERT_TRUE(view);
  const auto object = boost::json::parse(inspect_json(*view, {})).as_object();
  EXPECT_EQ(text_of(object.at("directory")), path_);
  EXPECT_TRUE(object.at("in_use_by").is_null());
  EXPECT_TRUE(object.at("ended_in_order").as_bool());
  EXPECT_EQ(object.at("segments").as_array().size(), 2U);
  const auto& streams = object.at("streams").as_array();
  ASSERT_EQ(streams.size(), 3U);
  const auto& first = streams[0].as_object();
  EXPECT_EQ(text_of(first.at("stream")), to_text(store::test_stream(1)));
  EXPECT_EQ(text_of(first.at("state")), "done");
  EXPECT_EQ(text_of(first.at("finish_reason")), "length");
  EXPECT_EQ(text_of(first.at("ended")), "1970-01-02T00:00:00Z");
  EXPECT_EQ(first.at("tokens").to_number<int>(), 2);
  EXPECT_FALSE(first.contains("text"));
  EXPECT_TRUE(streams[1].as_object().at("finish_reason").is_null());
  const auto with_text =
      boost::json::parse(inspect_json(*view, {.stream = store::test_stream(3), .text = true}))
          .as_object();
  ASSERT_EQ(with_text.at("streams").as_array().size(), 1U);
  EXPECT_EQ(text_of(with_text.at("streams").as_array()[0].at("text")), "t0t1");
}

TEST_F(JournalReportTest, SaysWhoHasIt) {
  const auto opened = store::FileJournal::open({.directory = path_});
  ASSERT_TRUE(opened);
  const std::string said = "in use by process " + std::to_string(::getpid()) + "\n";
  EXPECT_THAT(inspect_text(*view_journal(path_), {}), HasSubstr(said));
  EXPECT_THAT(verdict().text, HasSubstr(said));
}

TEST_F(JournalReportTest, ASoundOneIsSound) {
  EXPECT_FALSE(verdict().damaged);
  EXPECT_THAT(verdict().text, HasSubstr("0000000001.journal: "));
  EXPECT_THAT(verdict().text, HasSubstr("\nsound: 3 streams, 1 of them done\n"));
}

TEST_F(JournalReportTest, ATornEndIsNoDamage) {
  append(2, "SEED");
  const auto before = *io::read_file(segment(2));
  EXPECT_FALSE(verdict().damaged);
  EXPECT_THAT(verdict().text, HasSubstr(", then 4 bytes of one that the end cuts off\n"));
  EXPECT_THAT(verdict().text, HasSubstr("sound to a torn end"));
  EXPECT_THAT(verdict().text, HasSubstr("a start cuts off 4 bytes"));
  EXPECT_EQ(*io::read_file(segment(2)), before);
}

TEST_F(JournalReportTest, DamageIsNamedByFileAndByte) {
  damage(1, stream::kSegmentHeaderBytes + 20);
  damage(2, stream::kSegmentHeaderBytes + 20);
  EXPECT_TRUE(verdict().damaged);
  EXPECT_THAT(verdict().text, HasSubstr("0000000001.journal: damaged at byte 64: "));
  EXPECT_THAT(verdict().text, HasSubstr("0000000002.journal: damaged at byte 64: "));
  EXPECT_THAT(verdict().text, HasSubstr("damaged: no server starts on it: "));
  EXPECT_EQ(view_journal(path_).error().code, Errc::corrupt);
}

// Sound bytes can still make no sense together.
TEST_F(JournalReportTest, AMissingSegmentIsDamage) {
  ASSERT_EQ(::rename(segment(2).c_str(), segment(4).c_str()), 0);
  EXPECT_TRUE(verdict().damaged);
  EXPECT_THAT(verdict().text, HasSubstr("damaged: "));
}

TEST_F(JournalReportTest, ADirectoryMustBeThere) {
  EXPECT_EQ(verify_journal(path_ + "/missing").error().code, Errc::not_found);
  EXPECT_EQ(view_journal(path_ + "/missing").error().code, Errc::not_found);
}

}  // namespace
}  // namespace seedance::apps
