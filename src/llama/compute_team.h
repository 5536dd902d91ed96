// The threads that compute a model's steps, for work of our own between the steps.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

struct ggml_cgraph;
struct ggml_context;

namespace seedance::llama {

// ggml's threads wait for the next step in a busy loop: others beside them would find no core.
// So work is given to them as the one node of a graph (GGML_OP_CUSTOM). Belongs to the thread
// that computes the model.
class ComputeTeam {
 public:
  explicit ComputeTeam(int threads);
  ~ComputeTeam();

  // Calls work(0) to work(count - 1), each once, on several threads at the same time, and
  // returns when all are done. The first exception of these is thrown again then.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  struct Free {
    void operator()(ggml_context* context) const;
  };

  int threads_;
  std::unique_ptr<ggml_context, Free> context_;
  ggml_cgraph* graph_ = nullptr;  // In the context.
  struct Share;
  std::unique_ptr<Share> share_;
};

}  // namespace seedance::llama
