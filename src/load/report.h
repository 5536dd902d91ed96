// The figures of a run, for people and for programs.
#pragma once

#include <string>

#include "load/runner.h"

namespace seedance::loadgen {

struct ReportHead {
  std::string url;    // As it was given.
  std::string model;  // Empty: none was named.
  std::string slo;    // As it was given; empty: none.
};

// Several lines. A server's words in it have no control characters.
std::string text_report(const ReportHead& head, const RunOptions& options, const RunResult& result);

// One JSON object in one line; docs/benchmarking.md names its members.
std::string json_report(const ReportHead& head, const RunOptions& options, const RunResult& result);

// What is shown while it runs, once a second: one line, without its end.
class ProgressLine {
 public:
  std::string next(const Progress& progress, const Statistics& statistics);

 private:
  std::uint64_t tokens_ = 0;  // As of the last line.
  Duration elapsed_{};
};

}  // namespace seedance::loadgen
