#include "llama/log_capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llama.h>
#include <log.h>

#include <utility>

namespace seedance::llama {
namespace {

// "function_name: what happened" without the name.
std::string_view without_function(std::string_view line) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos || line.substr(0, colon).contains(' ')) return line;
  return line.substr(colon + 2);
}

}  // namespace

LogCapture::LogCapture() {
  common_log_set_verbosity_thold(-1);
  llama_log_set(
      [](ggml_log_level level, const char* text, void* self) {
        static_cast<LogCapture*>(self)->add(static_cast<int>(level), text);
      },
      this);
}

LogCapture::~LogCapture() {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
}

void LogCapture::add(int level, std::string_view line) {
  if (level != GGML_LOG_LEVEL_ERROR && level != GGML_LOG_LEVEL_WARN) return;
  while (line.ends_with('\n')) line.remove_suffix(1);
  if (line.empty()) return;
  const std::scoped_lock lock{mutex_};
  auto& lines = level == GGML_LOG_LEVEL_ERROR ? errors_ : warnings_;
  if (lines.size() == kLinesMax) lines.pop_front();
  lines.emplace_back(without_function(line));
}

std::string LogCapture::take() {
  const std::scoped_lock lock{mutex_};
  const auto lines = errors_.empty() ? std::exchange(warnings_, {}) : std::exchange(errors_, {});
  errors_.clear();
  warnings_.clear();
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace seedance::llama
