// What llama.cpp says while it works, kept for our own messages.
#pragma once

#include <deque>
#include <mutex>
#include <string>

namespace seedance::llama {

// Takes over the log of llama.cpp, ggml and llama.cpp's common, which are one for
// the process, for as long as it lives: warnings and errors are kept, the rest is
// dropped, and nothing reaches standard output. At most one at a time. Lines may
// come from any thread.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // The last errors, or if there are none the last warnings, joined by "; ", and
  // forgets all. Empty when nothing was said.
  std::string take();

  // One line of the given level (ggml_log_level).
  void add(int level, std::string_view line);

 private:
  static constexpr std::size_t kLinesMax = 4;

  std::mutex mutex_;
  std::deque<std::string> errors_;
  std::deque<std::string> warnings_;
};

}  // namespace seedance::llama
