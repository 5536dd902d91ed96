// A model in memory, ready to compute.
#pragma once

#include <llama.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "llama/kv_memory.h"
#include "llama/log_capture.h"
#include "llama/memory_fit.h"
#include "llama/model_loader.h"
#include "llama/system_memory.h"
#include "llama/worker.h"

namespace seedance::llama {

// Owns llama.cpp's model, context and threads. Belongs to one thread.
class Model {
 public:
  // Checks the files and, before anything is taken, whether there is memory; maps the model, loads
  // its adapters, makes room for the sequences, and computes one token, with each adapter too, to
  // bring the weights into memory. `progress` is told 0 to 1 while the file is read; `available`
  // bytes of the machine's memory may be taken. The error says what is wrong in one sentence.
  static Result<std::unique_ptr<Model>> load(const WorkerOptions& options, LogCapture& log,
                                             const std::function<void(float)>& progress,
                                             std::uint64_t available = available_memory());
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  llama_context* context() const { return context_; }

  std::uint32_t context_tokens() const { return fit_.context_tokens; }  // Of one sequence.
  std::uint32_t sequences_max() const { return fit_.streams; }
  std::uint32_t cells() const { return llama_n_ctx(context_); }  // Of all: room for a token each.
  std::uint32_t batch_tokens_max() const { return llama_n_batch(context_); }
  bool shares_memory() const { return fit_.parameters.kv_unified; }  // Between the sequences.
  // What is computed from now on is changed by this adapter; 0 = by none. Where that is another
  // one than before, llama.cpp lays its next step out anew.
  void use_adapter(std::uint32_t number);
  std::uint32_t adapters() const { return static_cast<std::uint32_t>(adapters_.size()); }

  // A small one of the same vocabulary, with memory for the same sequences; null = none.
  Model* draft() const { return draft_.get(); }

  // So many tokens that prompts have in common are computed once; 0 = none are.
  std::uint32_t reuse_min() const { return can_cut() ? reuse_min_ : 0; }

  bool can_cut() const { return KvMemory::can_cut(model_.get()); }
  // At most, with all that is kept of it (llama_state_seq_get_data).
  sched::SequenceBytes sequence_bytes() const { return sequence_bytes_; }

  std::uint32_t vocabulary_size() const { return vocabulary_size_; }
  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  bool ends(TokenId token) const;
  TokenId filler() const { return filler_; }  // Some token that the model can compute.

  // What it was to take, and takes, of each device; the machine itself is the last.
  const MemoryFit& predicted() const { return fit_; }
  const std::vector<DeviceUse>& taken() const { return taken_; }
  // Of what this process has in the machine's memory, that which is neither weights nor kept of
  // tokens.
  std::uint64_t own_bytes(const ResidentMemory& resident, std::uint64_t saved = 0) const;

  // Stages of load() and the milliseconds each took.
  const std::vector<std::pair<std::string, double>>& timeline() const { return timeline_; }

  // Forgets what a sequence has in memory.
  void clear(std::uint32_t sequence);

 private:
  Model() = default;
  Result<void> load_adapters(const WorkerOptions& options, LogCapture& log);
  Result<void> warm_up_adapters(const WorkerOptions& options, LogCapture& log,
                                const std::function<void(float)>& progress);
  Result<void> open_draft(const WorkerOptions& options, LogCapture& log,
                          const std::function<void(float)>& progress);
  Result<void> make_context(LogCapture& log);
  std::vector<DeviceUse> use() const;  // Without its draft's.
  void start_threads();
  void read_vocabulary();
  Result<void> warm_up(LogCapture& log);
  Result<void> compute_token(LogCapture& log);

  MemoryFit fit_;
  std::vector<DeviceUse> taken_;
  ModelPointer model_;
  std::vector<llama_adapter_lora*> adapters_;  // The model's.
  llama_context* context_ = nullptr;
  ggml_threadpool* threads_ = nullptr;
  std::unique_ptr<Model> draft_;
  std::uint32_t reuse_min_ = 0;
  sched::SequenceBytes sequence_bytes_ = {};
  std::uint32_t vocabulary_size_ = 0;
  std::vector<TokenId> end_tokens_;
  TokenId filler_ = {};
  std::vector<std::pair<std::string, double>> timeline_;
};

}  // namespace seedance::llama
