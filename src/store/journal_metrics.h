// What a journal of files counts.
#pragma once

#include <string>

#include "observe/metric.h"

namespace seedance::store {

// Written by the journal's thread, read by any.
struct JournalMetrics {
  observe::Counter bytes;
  observe::Counter writes;
  observe::Counter syncs;
  observe::Counter stalls;
  observe::Gauge stalled;     // 1 while it is.
  observe::Gauge segments;    // Files that are there.
  observe::Histogram commit;  // From append() until the batch counts as written.
};

// In Prometheus' text form, as seedance_journal_*.
void append_text(std::string& out, const JournalMetrics& metrics);

}  // namespace seedance::store
