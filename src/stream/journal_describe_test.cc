#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/test_journal.h"

namespace seedance::stream {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(JournalDescribe, SaysWhatARecordDoes) {
  StateRecord state = make_state(1, 4);
  EXPECT_THAT(describe(state),
              AllOf(HasSubstr(to_text(stream_id(1))), HasSubstr("demo@1"), HasSubstr("4 tokens")));
  state.ended = make_end(FinishReason::length);
  EXPECT_THAT(describe(state), HasSubstr("ended: length"));
  EXPECT_THAT(describe(make_record(1, 7, 2)), HasSubstr("2 from 7"));
  EXPECT_THAT(describe(make_end_record(1)), HasSubstr("ended: stop"));
  EXPECT_THAT(describe(make_drive(1, 3)), AllOf(HasSubstr("gen 3"), HasSubstr("server")));
  EXPECT_THAT(describe(make_drive(1, 3, DriveRecord::Cause::context)), HasSubstr("context"));
  EXPECT_THAT(describe(ForgetRecord{stream_id(5)}), HasSubstr(to_text(stream_id(5))));
  EXPECT_THAT(describe(SyncRecord{.at = wall(12)}), HasSubstr("12"));
}

TEST(JournalDescribe, TellsNoTextOfPromptOrAnswer) {
  StateRecord state = make_state(1, 4);
  state.header.request = "secret";
  state.tokens.text = "secret";
  state.tokens.text_bytes = {6, 0, 0, 0};
  EXPECT_THAT(describe(state), Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace seedance::stream
