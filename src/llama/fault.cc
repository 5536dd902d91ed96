#include "llama/fault.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

namespace seedance::llama {
namespace {

using Kind = FaultPlan::Kind;
using Place = FaultPlan::Place;

constexpr std::string_view kTimes = "times=";

// What stands before the first `mark`; takes that and the mark away.
std::string_view take_until(std::string_view& text, char mark) {
  const std::size_t at = std::min(text.find(mark), text.size());
  const std::string_view word = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return word;
}

template <typename T, std::size_t N>
std::optional<T> find(const std::array<std::pair<std::string_view, T>, N>& table,
                      std::string_view word) {
  for (const auto& [name, value] : table) {
    if (name == word) return value;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> count_in(std::string_view text) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count == 0) return std::nullopt;
  return count;
}

std::optional<FaultPlan> parse(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kKinds{
      {{"oom", Kind::oom}, {"abort", Kind::abort}, {"hang", Kind::hang}}};
  constexpr std::array<std::pair<std::string_view, Place>, 3> kPlaces{
      {{"load", Place::load}, {"prefill", Place::prefill}, {"decode", Place::decode}}};
  const bool bounded = text.contains(',');
  std::string_view where = take_until(text, ',');
  const auto kind = find(kKinds, take_until(where, '@'));
  const bool counted = where.contains(':');
  const auto place = find(kPlaces, take_until(where, ':'));
  const auto nth = counted ? count_in(where) : std::optional{1U};
  if (!kind || !place || !nth) return std::nullopt;
  FaultPlan plan{.kind = *kind, .place = *place, .nth = *nth};
  if (!bounded) return plan;
  if (!text.starts_with(kTimes)) return std::nullopt;
  text.remove_prefix(kTimes.size());
  const auto times = count_in(take_until(text, ':'));
  if (!times || text.empty()) return std::nullopt;
  plan.times = *times;
  plan.file = text;
  return plan;
}

// Whether another worker may suffer; counts it. One byte for each.
bool count_one(const std::string& file, std::uint32_t times) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  struct stat status{};
  const bool counted =
      ::fstat(fd, &status) == 0 && status.st_size < times && ::write(fd, "x", 1) == 1;
  ::close(fd);
  return counted;
}

}  // namespace

Result<FaultPlan> parse_fault(std::string_view text) {
  if (text.empty()) return FaultPlan{};
  auto plan = parse(text);
  if (plan) return *std::move(plan);
  return fail(Errc::invalid,
              fmt::format("SEEDANCE_FAULT: \"{}\" is no fault; give oom, abort or hang, then "
                          "@load, @prefill or @decode, then :N for the N-th time and "
                          ",times=N:FILE for so many workers only: \"hang@decode:40\"",
                          text));
}

bool Fault::strike() const {
  if (plan_.times > 0 && !count_one(plan_.file, plan_.times)) return false;
  if (plan_.kind == Kind::abort) {
    prctl(PR_SET_DUMPABLE, 0);  // It would leave a core file.
    std::abort();
  }
  while (plan_.kind == Kind::hang) pause();
  return true;
}

}  // namespace seedance::llama
