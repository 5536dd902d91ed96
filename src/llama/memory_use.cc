#include "llama/memory_use.h"

#include <ggml-backend.h>
#include <llama-ext.h>

#include <cstddef>

namespace seedance::llama {

std::vector<DeviceUse> memory_use(const llama_model& model, const llama_context& context,
                                  std::uint32_t rows) {
  const auto count = static_cast<std::size_t>(llama_model_n_devices(&model));
  std::vector<ggml_backend_dev_t> devices;
  std::vector<DeviceUse> uses;
  for (std::size_t at = 0; at < count; ++at) {
    devices.push_back(llama_model_get_device(&model, static_cast<int>(at)));
    uses.push_back({.name = ggml_backend_dev_name(devices.back())});
  }
  uses.push_back({.name = "memory"});
  for (const auto& [type, bytes] : llama_get_memory_breakdown(&context)) {
    const bool host = ggml_backend_buft_is_host(type);
    std::size_t at = 0;  // Where the processor has weights in an order of its own, the machine.
    while (at < count && (host || devices[at] != ggml_backend_buft_get_device(type))) ++at;
    uses[at].weights += bytes.model;
    uses[at].mapped += host ? bytes.model : 0;
    uses[at].streams += bytes.context;
    uses[at].compute += bytes.compute;
  }
  const auto tokens =
      static_cast<std::uint64_t>(llama_vocab_n_tokens(llama_model_get_vocab(&model)));
  uses.back().compute += sizeof(float) * tokens * rows;
  return uses;
}

}  // namespace seedance::llama
