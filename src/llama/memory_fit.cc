#include "llama/memory_fit.h"

#include <fit.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <ranges>

#include "llama/context_plan.h"
#include "llama/model_file.h"

namespace seedance::llama {
namespace {

// What llama.cpp notes of each token's place, besides.
constexpr std::uint64_t kRecordBytes = 64;

common_device_memory_data_vec lay_out(const WorkerOptions& options,
                                      const llama_context_params& parameters,
                                      std::vector<ggml_backend_dev_t>& devices,
                                      std::uint32_t& trained_tokens) {
  llama_model_params model = llama_model_default_params();
  model.n_gpu_layers = options.gpu_layers;
  std::uint32_t layers = 0;
  std::uint32_t experts = 0;
  return common_get_device_memory_data(options.model_path.c_str(), &model, &parameters, devices,
                                       layers, trained_tokens, experts, GGML_LOG_LEVEL_ERROR);
}

// Where the weights are that they change: each device has about its part.
Result<void> add_adapters(const WorkerOptions& options, std::vector<DeviceFit>& devices) {
  std::uint64_t bytes = 0;
  for (const std::string& path : options.adapters) {
    const auto adapter = inspect_adapter_file(path, options.model_path);
    if (!adapter) return std::unexpected(adapter.error());
    bytes += *adapter;
  }
  std::uint64_t weights = 1;
  for (const DeviceFit& device : devices) weights += device.weights;
  for (DeviceFit& device : devices) {
    const double part = static_cast<double>(device.weights) / static_cast<double>(weights);
    device.weights += static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * part));
  }
  return {};
}

}  // namespace

bool MemoryFit::fits() const {
  return std::ranges::all_of(
      devices, [](const DeviceFit& device) { return device.together() <= device.available; });
}

double MemoryFit::bytes_per_token() const {
  std::uint64_t bytes = 0;
  for (const DeviceFit& device : devices) bytes += device.streams;
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(tokens, 1));
}

std::uint64_t MemoryFit::streams_max(std::uint64_t tokens_each) const {
  std::uint64_t most = kSequencesMax;
  for (const DeviceFit& device : devices) {
    const std::uint64_t fixed = device.weights + device.compute;
    if (fixed > device.available) return 0;
    if (device.streams == 0 || tokens == 0) continue;
    const double each = static_cast<double>(device.streams) / static_cast<double>(tokens) *
                        static_cast<double>(tokens_each);
    most = std::min(
        most, static_cast<std::uint64_t>(static_cast<double>(device.available - fixed) / each));
  }
  return most;
}

Result<MemoryFit> fit_memory(const WorkerOptions& options, LogCapture& log,
                             std::uint64_t available) {
  const auto file = inspect_model_file(options.model_path);
  if (!file) return std::unexpected(file.error());
  llama_backend_init();
  try {
    // Once for what the model was made for, which only a look into it tells.
    std::vector<ggml_backend_dev_t> devices;
    std::uint32_t trained = 1;
    WorkerOptions smallest = options;
    smallest.sequences_max = 1;
    smallest.shared_tokens = 0;
    const auto first = plan_context(smallest, 256);
    if (!first) return std::unexpected(first.error());
    lay_out(options, first->parameters, devices, trained);
    const auto plan = plan_context(options, std::max(trained, 1U));
    if (!plan) return std::unexpected(plan.error());
    devices.clear();
    const auto memory = lay_out(options, plan->parameters, devices, trained);
    MemoryFit fit{.devices = {},
                  .context_tokens = plan->context_tokens,
                  .streams = plan->sequences,
                  .tokens = plan->parameters.n_ctx};
    for (std::size_t at = 0; at < memory.size(); ++at) {
      const bool host = at + 1 == memory.size();
      fit.devices.push_back({.name = host ? "memory" : ggml_backend_dev_name(devices.at(at)),
                             .weights = memory[at].model,
                             .streams = memory[at].context + (host ? fit.tokens * kRecordBytes : 0),
                             .compute = memory[at].compute,
                             .available = host ? available
                                               : static_cast<std::uint64_t>(
                                                     std::max<std::int64_t>(memory[at].free, 0))});
    }
    if (const auto added = add_adapters(options, fit.devices); !added) {
      return std::unexpected(added.error());
    }
    return fit;
  } catch (const std::exception& error) {
    return fail(Errc::invalid, fmt::format("model file '{}' cannot be laid out: {}: {}",
                                           options.model_path, error.what(), log.take()));
  }
}

}  // namespace seedance::llama
