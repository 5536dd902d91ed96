#include "load/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace seedance::loadgen {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
    {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};
constexpr double kLongestNs = 24 * 3600e9;

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  double number = 0;
  const char* const begin = text.data();
  const auto [rest, error] = std::from_chars(begin, begin + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(rest - begin));
  for (const auto& [name, ns] : kUnits) {
    if (error != std::errc{} || unit != name) continue;
    const double total = number * ns;
    if (total >= 1 && total <= kLongestNs) return Duration{std::llround(total)};
  }
  return fail(Errc::invalid,
              fmt::format("'{}' is no time: expected a number and us, ms, s, m or h, above 0 and "
                          "at most 24h, as in 300ms",
                          text));
}

}  // namespace seedance::loadgen
