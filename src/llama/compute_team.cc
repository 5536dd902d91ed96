#include "llama/compute_team.h"

#include <ggml-cpu.h>
#include <ggml.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace seedance::llama {

// What the threads take from.
struct ComputeTeam::Share {
  const std::function<void(std::size_t)>* work = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> done = 0;
  std::vector<std::uint8_t> scratch;

  void take() {
    for (std::size_t at; (at = next.fetch_add(1, std::memory_order_acq_rel)) < count;) {
      (*work)(at);
      done.fetch_add(1, std::memory_order_release);
    }
  }
};

void ComputeTeam::Free::operator()(ggml_context* context) const {
  ggml_free(context);
}

ComputeTeam::ComputeTeam(int threads) : threads_(threads), share_(std::make_shared<Share>()) {
  constexpr std::size_t kNodes = 1;
  context_.reset(ggml_init(
      {.mem_size = (4 * ggml_tensor_overhead()) + ggml_graph_overhead_custom(kNodes, false),
       .mem_buffer = nullptr,
       .no_alloc = true}));
  SEEDANCE_CHECK(context_ != nullptr, "a context of a few hundred bytes can be had");
  graph_ = ggml_new_graph_custom(context_.get(), kNodes, false);
  const auto each = [](ggml_tensor*, int, int, void* share) { static_cast<Share*>(share)->take(); };
  ggml_build_forward_expand(graph_, ggml_custom_4d(context_.get(), GGML_TYPE_F32, 1, 1, 1, 1,
                                                   nullptr, 0, each, threads_, share_.get()));
}

void ComputeTeam::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  share_->work = &work;
  share_->count = count;
  share_->done.store(0, std::memory_order_relaxed);
  share_->next.store(0, std::memory_order_release);
  if (threads_ > 1 && count > 1) {
    ggml_cplan plan = ggml_graph_plan(graph_, threads_, nullptr);
    share_->scratch.resize(plan.work_size);
    plan.work_data = share_->scratch.data();
    ggml_graph_compute(graph_, &plan);
  }
  share_->take();  // All that are left: where no thread could be had, all.
  SEEDANCE_CHECK(share_->done.load(std::memory_order_acquire) == count, "no part is left out");
}

}  // namespace seedance::llama
