#include "llama/model.h"

#include <fmt/format.h>
#include <ggml-cpu.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "llama/failure.h"

namespace seedance::llama {
namespace {

// How long ggml's own compute threads spin for the next graph before they sleep,
// in units of 131,072 pauses: about 2 ms, so that they stay awake between two
// steps and leave the processor to the server when there is no next one. (Where
// ggml is built with OpenMP its runtime's threads compute: see GOMP_SPINCOUNT.)
constexpr std::uint32_t kPoll = 1;

double ms_since(std::chrono::steady_clock::time_point begin) {
  return to_ms(std::chrono::steady_clock::now() - begin);
}

double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1U << 30U);
}

// The kernel promises more than it has and kills whoever takes it: so nothing is tried.
std::unexpected<Error> too_much(const MemoryFit& fit, const DeviceFit& device) {
  const bool host = &device == &fit.devices.back();
  const std::string needed =
      host ? fmt::format("{:.3g} GiB of memory beside the model", gib(device.least()))
           : fmt::format("{:.3g} GiB on {}, weights included", gib(device.least()), device.name);
  const std::string_view fewer = host ? "" : ", or keep fewer layers on the GPU (gpu_layers)";
  if (fit.parameters.kv_unified) {
    return fail(Errc::overloaded,
                fmt::format("kv_tokens: room for {} tokens needs {}, {:.3g} GiB are available: "
                            "give fewer{}",
                            fit.tokens, needed, gib(device.available), fewer));
  }
  return fail(Errc::overloaded,
              fmt::format("{} sequences of {} tokens need {}, {:.3g} GiB are available: use a "
                          "smaller context or fewer sequences{}",
                          fit.streams, fit.context_tokens, needed, gib(device.available), fewer));
}

// Both models know the same devices.
void add(std::vector<DeviceUse>& sum, const std::vector<DeviceUse>& uses) {
  for (std::size_t at = 0; at < sum.size(); ++at) {
    sum[at].weights += uses[at].weights;
    sum[at].mapped += uses[at].mapped;
    sum[at].streams += uses[at].streams;
    sum[at].compute += uses[at].compute;
  }
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const WorkerOptions& options, LogCapture& log,
                                           const std::function<void(float)>& progress,
                                           std::uint64_t available) {
  std::unique_ptr<Model> model{new Model};
  auto begin = std::chrono::steady_clock::now();
  const auto stage = [&](const char* name) {
    progress(1);  // It goes on.
    model->timeline_.emplace_back(name, ms_since(begin));
    begin = std::chrono::steady_clock::now();
  };
  auto fit = fit_memory(options, log, available);
  if (!fit) return std::unexpected(fit.error());
  if (const DeviceFit* device = fit->short_of()) return too_much(*fit, *device);
  model->fit_ = *std::move(fit);
  model->reuse_min_ = options.reuse_min;
  auto loaded = load_model(options, log, Load::whole, progress);
  if (!loaded) return std::unexpected(loaded.error());
  model->model_ = *std::move(loaded);
  model->read_vocabulary();
  if (const auto added = model->load_adapters(options, log); !added) {
    return std::unexpected(added.error());
  }
  stage("load");
  if (const auto opened = model->open_draft(options, log, progress); !opened) {
    return std::unexpected(opened.error());
  }
  if (const auto made = model->make_context(log); !made) return std::unexpected(made.error());
  model->start_threads();
  stage("KV");
  if (const auto warm = model->compute_token(log); !warm) return std::unexpected(warm.error());
  const std::uint64_t one = llama_state_seq_get_size(model->context_, 0);
  stage("warm-up");
  // What is left of a first token's time once everything is in memory.
  if (const auto again = model->compute_token(log); !again) return std::unexpected(again.error());
  stage("first token");
  const std::uint64_t two = llama_state_seq_get_size(model->context_, 0);
  model->sequence_bytes_ = {.fixed = one - (two - one), .token = two - one};
  model->clear(0);
  if (const auto ready = model->warm_up_adapters(options, log, progress); !ready) {
    return std::unexpected(ready.error());
  }
  if (!options.adapters.empty()) stage("adapters");
  model->taken_ = model->use();
  if (model->draft_) add(model->taken_, model->draft_->use());
  return model;
}

std::vector<DeviceUse> Model::use() const {
  return memory_use(*model_, *context_, fit_.parameters.n_outputs_max);
}

Model::~Model() {
  draft_.reset();
  if (context_ != nullptr) llama_free(context_);
  if (threads_ != nullptr) ggml_threadpool_free(threads_);
}

Result<void> Model::load_adapters(const WorkerOptions& options, LogCapture& log) {
  for (const std::string& path : options.adapters) {
    adapters_.push_back(llama_adapter_lora_init(model_.get(), path.c_str()));
    if (adapters_.back() == nullptr) {
      return fail(Errc::invalid,
                  fmt::format("adapter file '{}' cannot be loaded{}", path, because(log.take())));
    }
  }
  return {};
}

Result<void> Model::warm_up_adapters(const WorkerOptions& options, LogCapture& log,
                                     const std::function<void(float)>& progress) {
  for (std::uint32_t number = 1; number <= adapters(); ++number) {
    progress(1);
    use_adapter(number);
    if (const auto warm = warm_up(log); !warm) {
      return fail(
          warm.error().code,
          fmt::format("adapter file '{}': {}", options.adapters[number - 1], warm.error().detail));
    }
  }
  use_adapter(0);
  return {};
}

void Model::use_adapter(std::uint32_t number) {
  if (adapters_.empty()) return;
  llama_adapter_lora* adapter = number == 0 ? nullptr : adapters_.at(number - 1);
  float scale = 1;
  llama_set_adapters_lora(context_, &adapter, number == 0 ? 0 : 1, &scale);
}

void Model::read_vocabulary() {
  const llama_vocab* vocabulary = llama_model_get_vocab(model_.get());
  vocabulary_size_ = static_cast<std::uint32_t>(llama_vocab_n_tokens(vocabulary));
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(vocabulary_size_); ++id) {
    if (llama_vocab_is_eog(vocabulary, id)) end_tokens_.push_back({id});
  }
  const llama_token first = llama_vocab_bos(vocabulary);
  filler_ = {first == LLAMA_TOKEN_NULL ? 0 : first};
}

bool Model::ends(TokenId token) const {
  return std::ranges::binary_search(end_tokens_, token);
}

Result<void> Model::open_draft(const WorkerOptions& options, LogCapture& log,
                               const std::function<void(float)>& progress) {
  if (options.draft_model.empty()) return {};
  auto loaded = load_draft_model(options, *model_, log, Load::whole, progress);
  if (!loaded) return std::unexpected(loaded.error());
  draft_.reset(new Model);
  draft_->model_ = *std::move(loaded);
  draft_->fit_ = fit_;
  draft_->fit_.parameters = *fit_.draft;
  draft_->read_vocabulary();
  return {};
}

Result<void> Model::make_context(LogCapture& log) {
  context_ = llama_init_from_model(model_.get(), fit_.parameters);
  if (context_ == nullptr) {
    return fail(Errc::overloaded,
                fmt::format("no memory can be set up for {} sequences of {} tokens{}", fit_.streams,
                            fit_.context_tokens, because(log.take())));
  }
  return draft_ ? draft_->make_context(log) : Result<void>{};
}

// One set for both: only one computes at a time.
void Model::start_threads() {
  ggml_threadpool_params threads = ggml_threadpool_params_default(fit_.parameters.n_threads);
  threads.poll = kPoll;
  threads_ = ggml_threadpool_new(&threads);
  llama_attach_threadpool(context_, threads_, threads_);
  if (draft_) llama_attach_threadpool(draft_->context_, threads_, threads_);
}

// Weights that are mapped may be in memory or not.
std::uint64_t Model::own_bytes(const ResidentMemory& resident, std::uint64_t saved) const {
  const DeviceUse& host = taken_.back();
  const std::uint64_t mapped = std::min(resident.of_files, host.mapped);
  const std::uint64_t known =
      mapped + (host.weights - host.mapped) + fit_.devices.back().adapters + host.streams + saved;
  return resident.all - std::min(resident.all, known);
}

Result<void> Model::warm_up(LogCapture& log) {
  const auto done = compute_token(log);
  clear(0);
  return done;
}

// Behind those that the first sequence has. The draft model does, too.
Result<void> Model::compute_token(LogCapture& log) {
  llama_token token = filler_.value;
  const int status = llama_decode(context_, llama_batch_get_one(&token, 1));
  if (status != 0) {
    return fail(status == kDecodeNoMemory ? Errc::overloaded : Errc::invalid,
                fmt::format("the model cannot compute a token (llama_decode gave "
                            "{}){}",
                            status, because(log.take())));
  }
  llama_synchronize(context_);
  return draft_ ? draft_->warm_up(log) : Result<void>{};
}

void Model::clear(std::uint32_t sequence) {
  llama_memory_seq_rm(llama_get_memory(context_), static_cast<llama_seq_id>(sequence), -1, -1);
}

}  // namespace seedance::llama
