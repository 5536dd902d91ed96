#include "scripted/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace seedance::scripted {
namespace {

constexpr std::string_view kKeys =
    "mode, rate, jitter, prefill, step, length, context, sequences, seed and fault";
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
constexpr Duration kPrefillMax = std::chrono::seconds{1};
constexpr Duration kStepMax = std::chrono::seconds{10};
constexpr Duration kStallMax = std::chrono::hours{1};
constexpr double kRateMin = 0.001;
constexpr double kRateMax = 1e6;

// The parts before and after the first `mark`; the second is empty without one.
std::pair<std::string_view, std::string_view> split(std::string_view text, char mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
Result<void> set_number(T& field, std::string_view key, std::string_view text, T min, T max) {
  const std::optional<T> value = number<T>(text);
  if (!value || !(*value >= min && *value <= max)) {
    return fail(Errc::invalid,
                fmt::format("script: {}={}: must be a number from {} to {}", key, text, min, max));
  }
  field = *value;
  return {};
}

// The time stands in `text`, at the end of the value.
Result<void> set_time(Duration& field, std::string_view key, std::string_view value,
                      std::string_view text, Duration max) {
  const std::size_t unit_at = text.find_first_not_of("0123456789.");
  const std::string_view unit = text.substr(std::min(unit_at, text.size()));
  const double scale = unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
  const auto count = number<double>(text.substr(0, text.size() - unit.size()));
  const double time = count.value_or(-1) * scale;
  if (scale == 0 || !(time >= 0 && time <= static_cast<double>(max.count()))) {
    return fail(
        Errc::invalid,
        fmt::format("script: {}={}: must be a time such as 500us, 20ms or 1.5s, at most "
                    "{}s",
                    key, value, std::chrono::duration_cast<std::chrono::seconds>(max).count()));
  }
  field = Duration{std::llround(time)};
  return {};
}

Result<void> set_mode(Script& script, std::string_view text) {
  if (text != "prose" && text != "echo") {
    return fail(Errc::invalid, fmt::format("script: mode={}: must be prose or echo", text));
  }
  script.mode = text == "echo" ? Mode::echo : Mode::prose;
  return {};
}

Result<void> set_rate(Script& script, std::string_view text) {
  if (text != "0") return set_number(script.rate, "rate", text, kRateMin, kRateMax);
  script.rate = 0;
  return {};
}

template <typename T>
Result<void> set_fault(std::optional<T>& fault, std::string_view text, T value) {
  if (fault) return fail(Errc::invalid, fmt::format("script: fault={}: given twice", text));
  fault = std::move(value);
  return {};
}

Result<void> add_fault(Script& script, std::string_view text) {
  const auto [kind, where] = split(text, '@');
  const auto [place, time_text] = split(where, ':');
  const std::optional<std::uint64_t> at = number<std::uint64_t>(place);
  const bool timed = where.size() != place.size();
  if (at && kind == "die" && !timed && *at > 0) return set_fault(script.die_at_step, text, *at);
  if (at && kind == "fail" && !timed) return set_fault(script.fail_at_token, text, *at);
  if (at && kind == "stall" && timed) {
    Stall stall{.token = *at};
    if (auto set = set_time(stall.time, "fault", text, time_text, kStallMax); !set) return set;
    return set_fault(script.stall, text, stall);
  }
  return fail(Errc::invalid,
              fmt::format("script: fault={}: must be die@STEP (from 1), fail@TOKEN or "
                          "stall@TOKEN:TIME",
                          text));
}

Result<void> set(Script& script, std::string_view key, std::string_view value) {
  if (key == "mode") return set_mode(script, value);
  if (key == "rate") return set_rate(script, value);
  if (key == "jitter") return set_number(script.jitter, key, value, 0.0, 1.0);
  if (key == "prefill") return set_time(script.prefill, key, value, value, kPrefillMax);
  if (key == "step") return set_time(script.step, key, value, value, kStepMax);
  if (key == "length") return set_number(script.length, key, value, 1U, 1'000'000'000U);
  if (key == "context") return set_number(script.context, key, value, 2U, 100'000'000U);
  if (key == "sequences") return set_number(script.sequences, key, value, 1U, 1'000'000U);
  if (key == "seed") return set_number(script.seed, key, value, std::uint64_t{0}, kAny);
  if (key == "fault") return add_fault(script, value);
  return fail(Errc::invalid, fmt::format("script: unknown key '{}'; keys are {}", key, kKeys));
}

}  // namespace

Result<Script> parse_script(std::string_view text) {
  Script script;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const auto [item, rest] = split(text, ',');
    if (rest.empty() && item.size() != text.size()) {
      return fail(Errc::invalid, "script: a comma at the end");
    }
    const auto [key, value] = split(item, '=');
    if (value.empty()) {
      return fail(Errc::invalid, fmt::format("script: '{}' is not key=value", item));
    }
    if (key != "fault" && !seen.insert(key).second) {
      return fail(Errc::invalid, fmt::format("script: {} is given twice", key));
    }
    if (const auto done = set(script, key, value); !done) return std::unexpected(done.error());
    text = rest;
  }
  return script;
}

std::string story_of(const Script& script) {
  constexpr int kNarrator = 2;
  return fmt::format("script:{}:{}:{}:{}", kNarrator, static_cast<int>(script.mode), script.length,
                     script.seed);
}

}  // namespace seedance::scripted
