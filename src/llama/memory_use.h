// What a model and its context take of each device's memory.
#pragma once

#include <llama.h>

#include <cstdint>
#include <string>
#include <vector>

namespace seedance::llama {

// On one device, or in the machine's memory. In bytes.
struct DeviceUse {
  std::string name;
  std::uint64_t weights = 0;  // Without adapters'.
  std::uint64_t mapped = 0;   // Of these, what lies in the file and is read again where need be.
  std::uint64_t streams = 0;  // What is kept of their tokens.
  std::uint64_t compute = 0;  // Room for one step.
};

// One for each of the model's devices; the machine itself is the last. Of a model that was laid out
// only (no_alloc), what it would take. `rows` of logits are what one step gives at most
// (n_outputs_max): llama.cpp makes room for them as it needs them and does not tell.
std::vector<DeviceUse> memory_use(const llama_model& model, const llama_context& context,
                                  std::uint32_t rows);

}  // namespace seedance::llama
