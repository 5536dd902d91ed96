#include "llama/memory_fit.h"

#include <fmt/format.h>
#include <ggml-backend.h>
#include <llama-ext.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <string>

#include "base/check.h"
#include "llama/context_plan.h"
#include "llama/failure.h"
#include "llama/model_file.h"
#include "llama/model_loader.h"

namespace seedance::llama {
namespace {

// A cell of llama_kv_cells, and, once it is used, its places in two trees.
constexpr std::uint64_t kRecordBytes = 144;

// Of what is available, where it decides how many streams there are: others want some, too.
constexpr double kShareTaken = 0.9;

// llama.cpp sets up the record of each token's place also where it only lays out, which takes
// 0.2 s for a million: more are laid out as fewer, and the rest is in proportion.
constexpr std::uint64_t kLaidOutMax = 1U << 20U;

struct FreeContext {
  void operator()(llama_context* context) const { llama_free(context); }
};

Result<std::vector<DeviceUse>> lay_out_whole(llama_model& model,
                                             const llama_context_params& parameters,
                                             LogCapture& log) {
  const std::unique_ptr<llama_context, FreeContext> context{
      llama_init_from_model(&model, parameters)};
  if (context) return memory_use(model, *context, parameters.n_outputs_max);
  const std::string complaint = log.take();
  return fail(code_of(complaint), fmt::format("the model cannot be set up for {} sequences: {}",
                                              parameters.n_seq_max, complaint));
}

// Beyond the window of a model that sees only the last tokens, each takes the same.
std::uint64_t proportional_from(const llama_model& model, const llama_context_params& parameters) {
  const auto window = static_cast<std::uint64_t>(std::max(0, llama_model_n_swa(&model)));
  return std::max(kLaidOutMax / 4, parameters.n_seq_max * (window + parameters.n_ubatch));
}

Result<std::vector<DeviceUse>> lay_out(llama_model& model, llama_context_params parameters,
                                       LogCapture& log) {
  const std::uint64_t all = parameters.n_ctx;
  const std::uint64_t few = proportional_from(model, parameters);
  if (all <= std::max(kLaidOutMax, 2 * few)) return lay_out_whole(model, parameters, log);
  parameters.n_ctx = static_cast<std::uint32_t>(few);
  const auto at_few = lay_out_whole(model, parameters, log);
  if (!at_few) return std::unexpected(at_few.error());
  parameters.n_ctx = static_cast<std::uint32_t>(2 * few);
  auto uses = lay_out_whole(model, parameters, log);
  if (!uses) return uses;
  const double times = static_cast<double>(all - (2 * few)) / static_cast<double>(few);
  const auto add = [&](std::uint64_t& bytes, std::uint64_t before) {
    const double more = static_cast<double>(bytes) - static_cast<double>(before);
    bytes += static_cast<std::uint64_t>(std::ceil(std::max(0.0, more * times)));
  };
  for (std::size_t at = 0; at < uses->size(); ++at) {
    add((*uses)[at].streams, (*at_few)[at].streams);
    add((*uses)[at].compute, (*at_few)[at].compute);
  }
  return uses;
}

Result<std::uint64_t> adapter_bytes(const WorkerOptions& options, std::uint64_t available) {
  std::uint64_t bytes = 0;
  for (const std::string& path : options.adapters) {
    const auto own = inspect_adapter_file(path, options.model_path);
    if (!own) return std::unexpected(own.error());
    bytes += *own;
    if (bytes <= available) continue;
    constexpr double kGib = 1U << 30U;
    return fail(Errc::overloaded,
                fmt::format("adapter file '{}' needs {:.3g} GiB with those before it, {:.3g} GiB "
                            "are available: give fewer adapters",
                            path, static_cast<double>(bytes) / kGib,
                            static_cast<double>(available) / kGib));
  }
  return bytes;
}

// Those of adapters lie where the weights are that they change: each device has about its part.
void add_adapters(std::uint64_t bytes, std::vector<DeviceFit>& devices) {
  std::uint64_t weights = 1;
  for (const DeviceFit& device : devices) weights += device.weights;
  for (DeviceFit& device : devices) {
    const double part = static_cast<double>(device.weights) / static_cast<double>(weights);
    device.adapters = static_cast<std::uint64_t>(std::ceil(static_cast<double>(bytes) * part));
  }
}

// What is free on a device of the model. One that is no GPU has the machine's memory.
std::uint64_t free_on(ggml_backend_dev_t device, std::uint64_t available) {
  const auto type = ggml_backend_dev_type(device);
  const bool gpu = type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU;
  std::size_t free = 0;
  std::size_t total = 0;
  ggml_backend_dev_memory(device, &free, &total);
  return total == 0 && !gpu ? available : free;
}

// As they are laid out.
struct Models {
  ModelPointer model;
  ModelPointer draft;  // Null = none.
};

// It has memory for the same streams.
Result<void> add_draft(llama_model& draft, const WorkerOptions& options, const ContextPlan& plan,
                       MemoryFit& fit, LogCapture& log) {
  const auto own = plan_context(draft_options(options, plan), plan.context_tokens);
  if (!own) return std::unexpected(own.error());
  const auto uses = lay_out(draft, own->parameters, log);
  if (!uses) return std::unexpected(uses.error());
  for (const DeviceUse& use : *uses) {
    const auto device = std::ranges::find(fit.devices, use.name, &DeviceFit::name);
    SEEDANCE_CHECK(device != fit.devices.end(), "both models know the same devices");
    device->weights += use.weights;
    device->mapped += use.mapped;
    device->streams += use.streams;
    device->compute += use.compute;
  }
  fit.devices.back().records += own->parameters.n_ctx * kRecordBytes;
  fit.draft = own->parameters;
  return {};
}

Result<MemoryFit> fit_of(const Models& models, const WorkerOptions& options,
                         const ContextPlan& plan, std::uint64_t adapters, std::uint64_t available,
                         LogCapture& log) {
  llama_model& model = *models.model;
  const auto uses = lay_out(model, plan.parameters, log);
  if (!uses) return std::unexpected(uses.error());
  MemoryFit fit{.devices = {},
                .context_tokens = plan.context_tokens,
                .streams = plan.sequences,
                .tokens = plan.parameters.n_ctx,
                .parameters = plan.parameters};
  for (const DeviceUse& use : *uses) {
    const auto at = static_cast<int>(fit.devices.size());
    const bool host = at == llama_model_n_devices(&model);
    fit.devices.push_back({use});
    fit.devices.back().records = host ? fit.tokens * kRecordBytes : 0;
    fit.devices.back().available =
        host ? available : free_on(llama_model_get_device(&model, at), available);
  }
  add_adapters(adapters, fit.devices);
  if (models.draft) {
    if (const auto added = add_draft(*models.draft, options, plan, fit, log); !added) {
      return std::unexpected(added.error());
    }
  }
  return fit;
}

Result<Models> lay_out_models(const WorkerOptions& options, LogCapture& log) {
  auto model = load_model(options, log, Load::layout, [](float) {});
  if (!model) return std::unexpected(model.error());
  Models models{.model = *std::move(model), .draft = {}};
  if (options.draft_model.empty()) return models;
  auto draft = load_draft_model(options, *models.model, log, Load::layout, [](float) {});
  if (!draft) return std::unexpected(draft.error());
  models.draft = *std::move(draft);
  return models;
}

Result<MemoryFit> lay_out(const WorkerOptions& options, LogCapture& log, std::uint64_t available) {
  const auto models = lay_out_models(options, log);
  if (!models) return std::unexpected(models.error());
  const auto adapters = adapter_bytes(options, available);
  if (!adapters) return std::unexpected(adapters.error());
  const auto trained =
      static_cast<std::uint32_t>(std::max(1, llama_model_n_ctx_train(models->model.get())));
  auto plan = plan_context(options, trained);
  if (!plan) return std::unexpected(plan.error());
  auto fit = fit_of(*models, options, *plan, *adapters, available, log);
  if (fit && !fit->fits() && options.sequences_max == 0) {
    plan = plan_context(options, trained, fit->room(kShareTaken));
    if (!plan) return std::unexpected(plan.error());
    fit = fit_of(*models, options, *plan, *adapters, available, log);
    if (fit) fit->spares = !plan->parameters.kv_unified;
  }
  if (fit) {
    fit->warnings =
        asked_in_vain(options, trained, fit->context_tokens, {.gpu = llama_supports_gpu_offload()});
  }
  return fit;
}

}  // namespace

bool MemoryFit::fits() const {
  return std::ranges::all_of(
      devices, [](const DeviceFit& device) { return device.together() <= device.available; });
}

const DeviceFit* MemoryFit::short_of() const {
  const auto found = std::ranges::find_if(
      devices, [](const DeviceFit& device) { return device.least() > device.available; });
  return found == devices.end() ? nullptr : &*found;
}

double MemoryFit::bytes_per_token() const {
  std::uint64_t bytes = 0;
  for (const DeviceFit& device : devices) bytes += device.streams + device.records;
  return static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(tokens, 1));
}

std::uint64_t MemoryFit::streams_max(std::uint64_t tokens_each) const {
  return std::min<std::uint64_t>(kSequencesMax, room(1) / std::max<std::uint64_t>(tokens_each, 1));
}

std::uint64_t MemoryFit::room(double share) const {
  double most = static_cast<double>(std::numeric_limits<std::uint32_t>::max());
  for (const DeviceFit& device : devices) {
    const double fixed = static_cast<double>(device.weights + device.adapters + device.compute);
    const double left = (share * static_cast<double>(device.available)) - fixed;
    if (left < 0) return 0;
    const std::uint64_t kept = device.streams + device.records;
    if (kept > 0)
      most = std::min(most, left / static_cast<double>(kept) * static_cast<double>(tokens));
  }
  return static_cast<std::uint64_t>(most);
}

Result<MemoryFit> fit_memory(const WorkerOptions& options, LogCapture& log,
                             std::uint64_t available) {
  try {
    auto fit = lay_out(options, log, available);
    if (fit) log.take();  // What it said of a context that nobody computes in.
    return fit;
  } catch (const std::exception& error) {
    return fail(code_of(error.what()), fmt::format("model file '{}' cannot be laid out: {}: {}",
                                                   options.model_path, error.what(), log.take()));
  }
}

}  // namespace seedance::llama
