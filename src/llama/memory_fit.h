// How much memory a model will take, without taking that of its weights and tokens.
#pragma once

#include <llama.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "llama/log_capture.h"
#include "llama/memory_use.h"
#include "llama/worker.h"

namespace seedance::llama {

// What one device has to give, and what would be taken of it, by a draft model too.
struct DeviceFit : DeviceUse {
  std::uint64_t adapters = 0;   // Their weights, about.
  std::uint64_t records = 0;    // What llama.cpp notes of each token's place, at most.
  std::uint64_t available = 0;  // That may be taken.

  std::uint64_t together() const { return weights + adapters + streams + records + compute; }
  // Without what the kernel can drop and read from the file again.
  std::uint64_t least() const { return together() - mapped; }
};

struct MemoryFit {
  std::vector<DeviceFit> devices;    // The machine itself is the last.
  std::uint32_t context_tokens = 0;  // Of one stream.
  std::uint32_t streams = 0;
  std::uint64_t tokens = 0;                        // That there is room for, of all streams.
  llama_context_params parameters = {};            // Of the context that was laid out.
  std::optional<llama_context_params> draft = {};  // Of the draft model's.
  bool spares = false;  // There are as many streams as fit, with something left to others.
  std::vector<std::string> warnings = {};  // As asked_in_vain() has them.

  bool fits() const;
  // The device that has less than the least that would be taken of it; null where all have that.
  const DeviceFit* short_of() const;
  double bytes_per_token() const;
  // How many streams of as many tokens there is memory for, whatever was asked; 0 where the
  // weights and a step do not fit. Where a token costs nothing, at most llama.cpp's most.
  std::uint64_t streams_max(std::uint64_t tokens_each) const;
  // How many tokens there is memory for where `share` of what is available may be taken.
  std::uint64_t room(double share) const;
};

// Has llama.cpp lay the model out without reading its weights. Where the options leave the number
// of streams open there are as many as fit. `available` bytes of the machine's memory may be
// taken. The error says what is wrong with file or options, that adapters do not fit, or why the
// draft model cannot guess for the model.
Result<MemoryFit> fit_memory(const WorkerOptions& options, LogCapture& log,
                             std::uint64_t available);

}  // namespace seedance::llama
