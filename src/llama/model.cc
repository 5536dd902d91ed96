#include "llama/model.h"

#include <fit.h>
#include <fmt/format.h>
#include <ggml-cpu.h>

#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "llama/context_plan.h"
#include "llama/failure.h"
#include "llama/model_file.h"

namespace seedance::llama {
namespace {

// How long ggml's own compute threads spin for the next graph before they sleep,
// in units of 131,072 pauses: about 2 ms, so that they stay awake between two
// steps and leave the processor to the server when there is no next one. (Where
// ggml is built with OpenMP its runtime's threads compute: see GOMP_SPINCOUNT.)
constexpr std::uint32_t kPoll = 1;

// Of what is available, where it decides how many sequences there are: others want some, too.
constexpr double kShareTaken = 0.9;

double ms_since(std::chrono::steady_clock::time_point begin) {
  return to_ms(std::chrono::steady_clock::now() - begin);
}

std::string because(const std::string& reasons) {
  return reasons.empty() ? "" : ": " + reasons;
}

double gib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1U << 30U);
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
  if (const auto opened = model->open(options, log, progress); !opened) {
    return std::unexpected(opened.error());
  }
  model->read_vocabulary();
  const auto adapter_bytes = model->load_adapters(options, log, available);
  if (!adapter_bytes) return std::unexpected(adapter_bytes.error());
  stage("load");
  if (const auto made = model->make_context(options, log, available - *adapter_bytes); !made) {
    return std::unexpected(made.error());
  }
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
  return model;
}

Model::~Model() {
  if (context_ != nullptr) llama_free(context_);
  if (threads_ != nullptr) ggml_threadpool_free(threads_);
  if (model_ != nullptr) llama_model_free(model_);
}

Result<void> Model::open(const WorkerOptions& options, LogCapture& log,
                         const std::function<void(float)>& progress) {
  const auto file = inspect_model_file(options.model_path);
  if (!file) {
    return fail(file.error().code, file.error().detail + because(log.take()));
  }
  llama_backend_init();
  model_parameters_ = llama_model_default_params();
  model_parameters_.n_gpu_layers = options.gpu_layers;
  model_parameters_.load_mode = LLAMA_LOAD_MODE_MMAP;
  model_parameters_.progress_callback = [](float share, void* tell) {
    (*static_cast<const std::function<void(float)>*>(tell))(share);
    return true;
  };
  model_parameters_.progress_callback_user_data =
      const_cast<std::function<void(float)>*>(&progress);
  std::vector<const char*> paths;
  for (const std::string& path : file->paths) paths.push_back(path.c_str());
  model_ = llama_model_load_from_splits(paths.data(), paths.size(), model_parameters_);
  model_parameters_.progress_callback = nullptr;
  if (model_ == nullptr) {
    const std::string complaint = log.take();
    return fail(code_of(complaint), fmt::format("model file '{}' cannot be loaded{}",
                                                options.model_path, because(complaint)));
  }
  return check_kind(options.model_path);
}

Result<void> Model::check_kind(const std::string& path) const {
  const auto refuse = [&](std::string_view kind) {
    return fail(Errc::invalid, fmt::format("model file '{}' holds {}, which cannot continue a text "
                                           "token by token",
                                           path, kind));
  };
  if (!llama_model_has_decoder(model_)) return refuse("an encoder");
  if (llama_model_has_encoder(model_)) return refuse("an encoder with a decoder");
  if (llama_model_is_diffusion(model_)) return refuse("a diffusion model");
  if (llama_vocab_n_tokens(llama_model_get_vocab(model_)) <= 0) {
    return refuse("a model without vocabulary");
  }
  return {};
}

// They count in what a context has room for: so they come first. Gives their bytes, all of which
// are in memory then.
Result<std::uint64_t> Model::load_adapters(const WorkerOptions& options, LogCapture& log,
                                           std::uint64_t available) {
  std::uint64_t bytes = 0;
  for (const std::string& path : options.adapters) {
    const auto own = inspect_adapter_file(path, options.model_path);
    if (!own) return fail(own.error().code, own.error().detail + because(log.take()));
    bytes += *own;
    if (bytes > available) {
      return fail(Errc::overloaded,
                  fmt::format("adapter file '{}' needs {:.3g} GiB with those before it, {:.3g} GiB "
                              "are available: give fewer adapters",
                              path, gib(bytes), gib(available)));
    }
    adapters_.push_back(llama_adapter_lora_init(model_, path.c_str()));
    if (adapters_.back() == nullptr) {
      return fail(Errc::invalid,
                  fmt::format("adapter file '{}' cannot be loaded{}", path, because(log.take())));
    }
  }
  return bytes;
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
  const llama_vocab* vocabulary = llama_model_get_vocab(model_);
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

Result<void> Model::make_context(const WorkerOptions& options, LogCapture& log,
                                 std::uint64_t available) {
  const auto trained = static_cast<std::uint32_t>(std::max(1, llama_model_n_ctx_train(model_)));
  auto plan = plan_context(options, trained);
  if (!plan) return std::unexpected(plan.error());
  std::uint64_t needed = memory_needed(options.model_path, plan->parameters, available);
  if (needed > available && options.sequences_max == 0) {
    const double share = kShareTaken * static_cast<double>(available) / static_cast<double>(needed);
    plan =
        plan_context(options, trained, static_cast<std::uint64_t>(share * plan->parameters.n_ctx));
    if (!plan) return std::unexpected(plan.error());
    needed = memory_needed(options.model_path, plan->parameters, available);
  }
  const llama_context_params& parameters = plan->parameters;
  context_tokens_ = plan->context_tokens;
  sequences_max_ = plan->sequences;
  shares_memory_ = parameters.kv_unified;
  if (needed > available)
    return fail(Errc::overloaded, too_much(parameters.n_ctx, needed, available));
  log.take();
  context_ = llama_init_from_model(model_, parameters);
  if (context_ == nullptr) {
    return fail(Errc::overloaded,
                fmt::format("no memory can be set up for {} sequences of {} tokens{}",
                            sequences_max_, context_tokens_, because(log.take())));
  }
  ggml_threadpool_params threads = ggml_threadpool_params_default(parameters.n_threads);
  threads.poll = kPoll;
  threads_ = ggml_threadpool_new(&threads);
  llama_attach_threadpool(context_, threads_, threads_);
  return {};
}

// The kernel promises more than it has and kills whoever takes it: so look first.
// The quick bound holds for usual attention; the exact number needs llama.cpp to
// load the metadata once more and to keep a record of each token's place.
std::uint64_t Model::memory_needed(const std::string& path, const llama_context_params& parameters,
                                   std::uint64_t available) {
  constexpr std::uint64_t kRecordBytes = 64;
  const std::uint64_t records = parameters.n_ctx * kRecordBytes;
  const std::uint64_t width = static_cast<std::uint64_t>(llama_model_n_embd(model_));
  const std::uint64_t layers = static_cast<std::uint64_t>(llama_model_n_layer(model_));
  const std::uint64_t bound = records + parameters.n_ctx * layers * width * 2 * sizeof(ggml_fp16_t);
  if (bound < available / 2 || records > available / 2) return bound;
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t unused = 0;
  const auto exact =
      common_get_device_memory_data(path.c_str(), &model_parameters_, &parameters, devices, unused,
                                    unused, unused, GGML_LOG_LEVEL_ERROR);
  return records + exact.back().context + exact.back().compute;
}

std::string Model::too_much(std::uint32_t tokens, std::uint64_t needed,
                            std::uint64_t available) const {
  if (shares_memory_) {
    return fmt::format(
        "kv_tokens: room for {} tokens needs {:.3g} GiB of memory beside the model, "
        "{:.3g} GiB are available: give fewer",
        tokens, gib(needed), gib(available));
  }
  return fmt::format(
      "{} sequences of {} tokens need {:.3g} GiB of memory beside the model, {:.3g} "
      "GiB are available: use a smaller context or fewer sequences",
      sequences_max_, context_tokens_, gib(needed), gib(available));
}

Result<void> Model::warm_up(LogCapture& log) {
  auto done = compute_token(log);
  clear(0);
  return done;
}

// Behind those that the first sequence has.
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
  return {};
}

void Model::clear(std::uint32_t sequence) {
  llama_memory_seq_rm(llama_get_memory(context_), static_cast<llama_seq_id>(sequence), -1, -1);
}

}  // namespace seedance::llama
