#include "store/journal_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::store {
namespace {

TEST(JournalMetrics, HaveATextForm) {
  JournalMetrics metrics;
  metrics.bytes.add(1234);
  metrics.writes.add(3);
  metrics.syncs.add(2);
  metrics.stalls.add();
  metrics.stalled.set(1);
  metrics.segments.set(7);
  metrics.commit.observe(0.003);
  std::string text;
  append_text(text, metrics);
  for (const char* line :
       {"seedance_journal_written_bytes_total 1234\n", "seedance_journal_writes_total 3\n",
        "seedance_journal_syncs_total 2\n", "seedance_journal_stalls_total 1\n",
        "seedance_journal_stalled 1\n", "seedance_journal_segments 7\n",
        "seedance_journal_commit_seconds_count 1\n"}) {
    EXPECT_THAT(text, testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace seedance::store
