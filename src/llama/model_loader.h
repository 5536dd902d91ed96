// Brings a model file in.
#pragma once

#include <llama.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "base/result.h"
#include "llama/log_capture.h"
#include "llama/worker.h"

namespace seedance::llama {

struct FreeModel {
  void operator()(llama_model* model) const { llama_model_free(model); }
};
using ModelPointer = std::unique_ptr<llama_model, FreeModel>;

enum class Load : std::uint8_t {
  whole,   // Its weights, too: those on the CPU are mapped.
  layout,  // Without them: says where they would lie, and takes no memory for them.
};

// Checks the file, and that it continues a text token by token. `progress` is told 0 to 1.
Result<ModelPointer> load_model(const WorkerOptions& options, LogCapture& log, Load load,
                                const std::function<void(float)>& progress);

// The draft model, in the same way. The error also says why it cannot guess for `model`.
Result<ModelPointer> load_draft_model(WorkerOptions options, const llama_model& model,
                                      LogCapture& log, Load load,
                                      const std::function<void(float)>& progress);

}  // namespace seedance::llama
