// What a model file says about itself, checked before anything trusts it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace seedance::llama {

struct ModelFile {
  std::vector<std::string> paths;  // All parts, in order: one unless the model is split.
  std::uint64_t bytes = 0;         // Of all parts.

  friend bool operator==(const ModelFile&, const ModelFile&) = default;
};

// Reads the metadata of a GGUF file (ggml's docs/gguf.md), and of the files that
// it is split into, and checks that every tensor lies inside its file. The
// message names the file at fault and gives the numbers. `path` is the first
// part. A LogCapture should live, or ggml prints its complaints.
Result<ModelFile> inspect_model_file(const std::string& path);

// Likewise a LoRA adapter's, and that it is one which the model's architecture takes. Whether its
// tensors are as large as the model's shows when it is loaded. Its bytes.
Result<std::uint64_t> inspect_adapter_file(const std::string& path, const std::string& model_path);

}  // namespace seedance::llama
