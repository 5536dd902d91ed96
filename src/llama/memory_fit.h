// How much memory a model will take, without taking it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "llama/log_capture.h"
#include "llama/worker.h"

namespace seedance::llama {

// On one device, or in the machine's memory. In bytes.
struct DeviceFit {
  std::string name;
  std::uint64_t weights = 0;    // With those of adapters and of a draft model, as all else.
  std::uint64_t streams = 0;    // What is kept of their tokens.
  std::uint64_t compute = 0;    // Room for one step.
  std::uint64_t available = 0;  // That may be taken.

  std::uint64_t together() const { return weights + streams + compute; }
};

struct MemoryFit {
  std::vector<DeviceFit> devices;    // The machine itself is the last.
  std::uint32_t context_tokens = 0;  // Of one stream.
  std::uint32_t streams = 0;
  std::uint64_t tokens = 0;  // That there is room for, of all streams.

  bool fits() const;
  double bytes_per_token() const;
  // How many streams of as many tokens there is memory for, whatever was asked; 0 where the
  // weights and a step do not fit. Where a token costs nothing, at most llama.cpp's most.
  std::uint64_t streams_max(std::uint64_t tokens_each) const;
};

// Has llama.cpp lay the model out without reading its weights. `available` bytes of the
// machine's memory may be taken. The error says what is wrong with file or options.
Result<MemoryFit> fit_memory(const WorkerOptions& options, LogCapture& log,
                             std::uint64_t available);

}  // namespace seedance::llama
