#include "llama/model_loader.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "llama/failure.h"
#include "llama/kv_memory.h"
#include "llama/model_file.h"
#include "llama/same_vocabulary.h"

namespace seedance::llama {
namespace {

Result<void> check_kind(const llama_model* model, const std::string& path) {
  const auto refuse = [&](std::string_view kind) {
    return fail(Errc::invalid, fmt::format("model file '{}' holds {}, which cannot continue a text "
                                           "token by token",
                                           path, kind));
  };
  if (!llama_model_has_decoder(model)) return refuse("an encoder");
  if (llama_model_has_encoder(model)) return refuse("an encoder with a decoder");
  if (llama_model_is_diffusion(model)) return refuse("a diffusion model");
  if (llama_vocab_n_tokens(llama_model_get_vocab(model)) <= 0) {
    return refuse("a model without vocabulary");
  }
  return {};
}

}  // namespace

Result<ModelPointer> load_model(const WorkerOptions& options, LogCapture& log, Load load,
                                const std::function<void(float)>& progress) {
  const auto file = inspect_model_file(options.model_path);
  if (!file) return fail(file.error().code, file.error().detail + because(log.take()));
  llama_backend_init();
  llama_model_params parameters = llama_model_default_params();
  parameters.n_gpu_layers = options.gpu_layers;
  parameters.no_alloc = load == Load::layout;
  parameters.load_mode = load == Load::layout ? LLAMA_LOAD_MODE_NONE : LLAMA_LOAD_MODE_MMAP;
  parameters.progress_callback = [](float share, void* tell) {
    (*static_cast<const std::function<void(float)>*>(tell))(share);
    return true;
  };
  parameters.progress_callback_user_data = const_cast<std::function<void(float)>*>(&progress);
  std::vector<const char*> paths;
  for (const std::string& path : file->paths) paths.push_back(path.c_str());
  ModelPointer model{llama_model_load_from_splits(paths.data(), paths.size(), parameters)};
  if (!model) {
    const std::string complaint = log.take();
    return fail(code_of(complaint), fmt::format("model file '{}' cannot be loaded{}",
                                                options.model_path, because(complaint)));
  }
  if (const auto kind = check_kind(model.get(), options.model_path); !kind) {
    return std::unexpected(kind.error());
  }
  return model;
}

Result<ModelPointer> load_draft_model(WorkerOptions options, const llama_model& model,
                                      LogCapture& log, Load load,
                                      const std::function<void(float)>& progress) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid, fmt::format("draft_model: '{}' {}", options.draft_model, why));
  };
  constexpr std::string_view kCannotCut =
      "keeps a state, or a window of the last tokens, from which no guess can be cut off again";
  if (!KvMemory::can_cut(&model)) {
    return fail(Errc::invalid, fmt::format("draft_model: the model '{}' {}: leave draft_model out",
                                           options.model_path, kCannotCut));
  }
  options.model_path = options.draft_model;
  auto draft = load_model(options, log, load, progress);
  if (!draft) return fail(draft.error().code, "draft_model: " + draft.error().detail);
  if (const auto differs = vocabulary_difference(llama_model_get_vocab(&model),
                                                 llama_model_get_vocab(draft->get()))) {
    return refuse("cannot guess for this model: its vocabulary " + *differs);
  }
  if (!KvMemory::can_cut(draft->get())) return refuse(std::string{kCannotCut});
  return draft;
}

}  // namespace seedance::llama
