#include "base/rfc3339.h"

#include <fmt/format.h>

namespace seedance {
namespace {

// Without the "Z".
std::string to_seconds(WallTime time) {
  using std::chrono::floor;
  const auto seconds = floor<std::chrono::seconds>(time.time_since_epoch());
  const auto days = floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const std::chrono::hh_mm_ss clock{seconds - days};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace

std::string to_rfc3339(WallTime time) {
  return to_seconds(time) + "Z";
}

std::string to_rfc3339_ms(WallTime time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  const auto rest = ms - std::chrono::floor<std::chrono::seconds>(ms);
  return to_seconds(time) + fmt::format(".{:03}Z", rest.count());
}

}  // namespace seedance
