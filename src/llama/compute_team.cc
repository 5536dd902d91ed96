#include "llama/compute_team.h"

#include <ggml-cpu.h>
#include <ggml.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "base/check.h"

#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#endif

namespace seedance::llama {
namespace {

// ggml starts and ends a graph with a barrier for all its threads. ThreadSanitizer does not see
// into them, so it is told that what was before one of these is done behind the other.
#if __has_feature(thread_sanitizer)
void before_barrier(void* at) {
  __tsan_release(at);
}
void behind_barrier(void* at) {
  __tsan_acquire(at);
}
#else
void before_barrier(void* /*at*/) {}
void behind_barrier(void* /*at*/) {}
#endif

}  // namespace

// What the threads take from.
struct ComputeTeam::Share {
  const std::function<void(std::size_t)>* work = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next = 0;
  std::vector<std::uint8_t> scratch;

  std::atomic<bool> failed = false;
  std::exception_ptr failure = {};  // The first.

  // Nothing may be thrown through ggml.
  void take() noexcept {
    for (std::size_t at; (at = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        (*work)(at);
      } catch (...) {
        if (!failed.exchange(true, std::memory_order_relaxed)) failure = std::current_exception();
      }
    }
  }
};

void ComputeTeam::Free::operator()(ggml_context* context) const {
  ggml_free(context);
}

ComputeTeam::ComputeTeam(int threads) : threads_(threads), share_(std::make_unique<Share>()) {
  constexpr std::size_t kNodes = 1;
  context_.reset(ggml_init(
      {.mem_size = (4 * ggml_tensor_overhead()) + ggml_graph_overhead_custom(kNodes, false),
       .mem_buffer = nullptr,
       .no_alloc = true}));
  SEEDANCE_CHECK(context_ != nullptr, "a context of a few hundred bytes can be had");
  graph_ = ggml_new_graph_custom(context_.get(), kNodes, false);
  const auto each = [](ggml_tensor*, int, int, void* share) {
    behind_barrier(share);
    static_cast<Share*>(share)->take();
    before_barrier(share);
  };
  ggml_build_forward_expand(graph_, ggml_custom_4d(context_.get(), GGML_TYPE_F32, 1, 1, 1, 1,
                                                   nullptr, 0, each, threads_, share_.get()));
}

ComputeTeam::~ComputeTeam() = default;

void ComputeTeam::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  share_->work = &work;
  share_->count = count;
  share_->next.store(0, std::memory_order_relaxed);
  if (threads_ > 1 && count > 1) {
    ggml_cplan plan = ggml_graph_plan(graph_, threads_, nullptr);
    share_->scratch.resize(plan.work_size);
    plan.work_data = share_->scratch.data();
    before_barrier(share_.get());
    ggml_graph_compute(graph_, &plan);
    behind_barrier(share_.get());
  }
  share_->take();  // All that are left: with one thread, all.
  if (share_->failed.exchange(false, std::memory_order_relaxed)) {
    std::rethrow_exception(std::exchange(share_->failure, nullptr));
  }
}

}  // namespace seedance::llama
