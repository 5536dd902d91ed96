#include "store/journal_metrics.h"

namespace seedance::store {

void append_text(std::string& out, const JournalMetrics& metrics) {
  using observe::append_counter;
  using observe::append_gauge;
  append_counter(out, "seedance_journal_written_bytes_total", "Bytes written to the journal.",
                 metrics.bytes.value());
  append_counter(out, "seedance_journal_writes_total", "Calls that wrote to the journal.",
                 metrics.writes.value());
  append_counter(out, "seedance_journal_syncs_total", "Calls that brought it to the disk.",
                 metrics.syncs.value());
  append_counter(out, "seedance_journal_stalls_total", "Times that it could not be written.",
                 metrics.stalls.value());
  append_gauge(out, "seedance_journal_stalled", "1 while it cannot be written.",
               static_cast<double>(metrics.stalled.value()));
  append_gauge(out, "seedance_journal_segments", "Segment files.",
               static_cast<double>(metrics.segments.value()));
  observe::append_histogram(out, "seedance_journal_commit_seconds",
                            "From the core's append until it is in the journal.", metrics.commit);
}

}  // namespace seedance::store
