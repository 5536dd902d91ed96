#include "apps/memory_text.h"

#include <fmt/format.h>

#include <cstdint>

namespace seedance::apps {
namespace {

double mib(std::uint64_t bytes) {
  constexpr double kMib = 1U << 20U;
  return static_cast<double>(bytes) / kMib;
}

double together(const engine::DeviceMemory& memory) {
  return mib(memory.weights) + mib(memory.kv) + mib(memory.compute);
}

}  // namespace

std::string memory_text(std::span<const engine::DeviceReport> reports) {
  std::string out;
  for (const auto& [device, predicted, taken] : reports) {
    out += fmt::format(
        "{}{} takes {:.1f} MiB (weights {:.1f}, tokens {:.1f}, a step {:.1f}), {:+.1f} beside the "
        "prediction ({:.1f}, {:.1f}, {:.1f})",
        out.empty() ? "" : "; ", device, together(taken), mib(taken.weights), mib(taken.kv),
        mib(taken.compute), together(taken) - together(predicted), mib(predicted.weights),
        mib(predicted.kv), mib(predicted.compute));
  }
  return out;
}

}  // namespace seedance::apps
