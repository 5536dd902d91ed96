#include "llama/memory_fit.h"

#include <fit.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <ranges>

#include "base/check.h"
#include "llama/context_plan.h"
#include "llama/model_file.h"

namespace seedance::llama {
namespace {

// What llama.cpp notes of each token's place, besides.
constexpr std::uint64_t kRecordBytes = 64;

// What the model takes on each device; all that the machine has may be taken.
std::vector<DeviceFit> lay_out(const WorkerOptions& options, const llama_context_params& parameters,
                               std::uint32_t& trained_tokens) {
  llama_model_params model = llama_model_default_params();
  model.n_gpu_layers = options.gpu_layers;
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t layers = 0;
  std::uint32_t experts = 0;
  const auto memory =
      common_get_device_memory_data(options.model_path.c_str(), &model, &parameters, devices,
                                    layers, trained_tokens, experts, GGML_LOG_LEVEL_ERROR);
  std::vector<DeviceFit> out;
  for (std::size_t at = 0; at < memory.size(); ++at) {
    const bool host = at + 1 == memory.size();
    const std::uint64_t records = host ? std::uint64_t{parameters.n_ctx} * kRecordBytes : 0;
    out.push_back(
        {.name = host ? "memory" : ggml_backend_dev_name(devices.at(at)),
         .weights = memory[at].model,
         .streams = memory[at].context + records,
         .compute = memory[at].compute,
         .available = static_cast<std::uint64_t>(std::max<std::int64_t>(memory[at].free, 0))});
  }
  return out;
}

// It has memory for the same streams.
Result<void> add_draft(const WorkerOptions& options, const ContextPlan& plan,
                       std::vector<DeviceFit>& devices) {
  if (options.draft_model.empty()) return {};
  const WorkerOptions draft = draft_options(options, plan);
  if (const auto file = inspect_model_file(draft.model_path); !file) {
    return fail(file.error().code, "draft model: " + file.error().detail);
  }
  const auto own = plan_context(draft, plan.context_tokens);
  if (!own) return std::unexpected(own.error());
  std::uint32_t trained = 0;
  for (const DeviceFit& added : lay_out(draft, own->parameters, trained)) {
    const auto device = std::ranges::find(devices, added.name, &DeviceFit::name);
    SEEDANCE_CHECK(device != devices.end(), "both models know the same devices");
    device->weights += added.weights;
    device->streams += added.streams;
    device->compute += added.compute;
  }
  return {};
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
    std::uint32_t trained = 1;
    WorkerOptions smallest = options;
    smallest.sequences_max = 1;
    smallest.shared_tokens = 0;
    const auto first = plan_context(smallest, 256);
    if (!first) return std::unexpected(first.error());
    lay_out(options, first->parameters, trained);
    const auto plan = plan_context(options, std::max(trained, 1U));
    if (!plan) return std::unexpected(plan.error());
    MemoryFit fit{.devices = lay_out(options, plan->parameters, trained),
                  .context_tokens = plan->context_tokens,
                  .streams = plan->sequences,
                  .tokens = plan->parameters.n_ctx};
    fit.devices.back().available = available;
    if (const auto added = add_draft(options, *plan, fit.devices); !added) {
      return std::unexpected(added.error());
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
