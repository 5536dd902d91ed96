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
#include "llama/system_memory.h"
#include "llama/worker.h"

namespace seedance::llama {

// Owns llama.cpp's model, context and threads. Belongs to one thread.
class Model {
 public:
  // Checks the files, maps the model, loads its adapters, makes room for the sequences, and
  // computes one token, with each adapter too, to bring the weights into memory. `progress` is told
  // 0 to 1 while the file is read; `available` bytes of memory may be taken. The error says what is
  // wrong in one sentence.
  static Result<std::unique_ptr<Model>> load(const WorkerOptions& options, LogCapture& log,
                                             const std::function<void(float)>& progress,
                                             std::uint64_t available = available_memory());
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  llama_context* context() const { return context_; }

  std::uint32_t context_tokens() const { return context_tokens_; }  // Of one sequence.
  std::uint32_t sequences_max() const { return sequences_max_; }
  std::uint32_t batch_tokens_max() const { return llama_n_batch(context_); }
  bool shares_memory() const { return shares_memory_; }  // Between the sequences.
  // What is computed from now on is changed by this adapter; 0 = by none. Where that is another
  // one than before, llama.cpp lays its next step out anew.
  void use_adapter(std::uint32_t number);
  std::uint32_t adapters() const { return static_cast<std::uint32_t>(adapters_.size()); }

  bool can_cut() const { return KvMemory::can_cut(model_); }
  // At most, with all that is kept of it (llama_state_seq_get_data).
  sched::SequenceBytes sequence_bytes() const { return sequence_bytes_; }

  std::uint32_t vocabulary_size() const { return vocabulary_size_; }
  std::span<const TokenId> end_tokens() const { return end_tokens_; }
  bool ends(TokenId token) const;
  TokenId filler() const { return filler_; }  // Some token that the model can compute.

  // Stages of load() and the milliseconds each took.
  const std::vector<std::pair<std::string, double>>& timeline() const { return timeline_; }

  // Forgets what a sequence has in memory.
  void clear(std::uint32_t sequence);

 private:
  Model() = default;
  Result<void> open(const WorkerOptions& options, LogCapture& log,
                    const std::function<void(float)>& progress);
  Result<void> check_kind(const std::string& path) const;
  Result<std::uint64_t> load_adapters(const WorkerOptions& options, LogCapture& log,
                                      std::uint64_t available);
  Result<void> warm_up_adapters(const WorkerOptions& options, LogCapture& log,
                                const std::function<void(float)>& progress);
  Result<void> make_context(const WorkerOptions& options, LogCapture& log, std::uint64_t available);
  std::uint64_t memory_needed(const std::string& path, const llama_context_params& parameters,
                              std::uint64_t available);
  std::string too_much(std::uint32_t tokens, std::uint64_t needed, std::uint64_t available) const;
  void read_vocabulary();
  Result<void> warm_up(LogCapture& log);
  Result<void> compute_token(LogCapture& log);

  llama_model_params model_parameters_ = {};
  llama_model* model_ = nullptr;
  std::vector<llama_adapter_lora*> adapters_;  // The model's.
  llama_context* context_ = nullptr;
  ggml_threadpool* threads_ = nullptr;
  std::uint32_t context_tokens_ = 0;
  std::uint32_t sequences_max_ = 0;
  bool shares_memory_ = false;
  sched::SequenceBytes sequence_bytes_ = {};
  std::uint32_t vocabulary_size_ = 0;
  std::vector<TokenId> end_tokens_;
  TokenId filler_ = {};
  std::vector<std::pair<std::string, double>> timeline_;
};

}  // namespace seedance::llama
