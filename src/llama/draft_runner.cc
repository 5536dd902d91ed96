#include "llama/draft_runner.h"

#include "llama/logits.h"

namespace seedance::llama {

DraftRunner::DraftRunner(Model& model) : model_(model), batch_(model.batch_tokens_max()) {}

std::optional<std::vector<std::vector<TokenId>>> DraftRunner::run(
    std::span<const sched::DraftWork> work, std::span<const std::span<const TokenId>> texts) {
  const auto forget = [this] {
    llama_memory_clear(llama_get_memory(model_.context()), false);
    return std::nullopt;
  };
  if (!read(work, texts)) return forget();
  const std::uint32_t wanted = work.front().guesses;
  std::vector<std::vector<TokenId>> guesses(work.size());
  while (work.back().count == 0) work = work.first(work.size() - 1);
  for (std::uint32_t count = 0; count < wanted; ++count) {
    if (count > 0) {
      batch_.clear();
      for (std::size_t at = 0; at < work.size(); ++at) {
        const std::uint32_t position = work[at].begin + work[at].count + count - 1;
        batch_.add(work[at].slot, position, guesses[at].back(), true);
      }
      if (!compute()) return forget();
    }
    for (std::size_t at = 0; at < work.size(); ++at) {
      guesses[at].push_back(best(count == 0 ? last_rows_[at] : at));
    }
  }
  return guesses;
}

bool DraftRunner::read(std::span<const sched::DraftWork> work,
                       std::span<const std::span<const TokenId>> texts) {
  batch_.clear();
  last_rows_.clear();
  for (std::size_t at = 0; at < work.size(); ++at) {
    const auto& [slot, begin, count, guesses] = work[at];
    if (!llama_memory_seq_rm(llama_get_memory(model_.context()),
                             static_cast<llama_seq_id>(slot.value), static_cast<llama_pos>(begin),
                             -1)) {
      return false;
    }
    for (std::uint32_t index = 0; index < count; ++index) {
      batch_.add(slot, begin + index, texts[at][index], guesses > 0 && index + 1 == count);
    }
    last_rows_.push_back(batch_.size() - 1);
  }
  return compute();
}

bool DraftRunner::compute() {
  const int status = llama_decode(model_.context(), batch_.view());
  llama_synchronize(model_.context());  // A device computes on behind the call.
  return status == 0;
}

TokenId DraftRunner::best(std::size_t row) const {
  const float* logits = llama_get_logits_ith(model_.context(), static_cast<std::int32_t>(row));
  return {best_token({logits, model_.vocabulary_size()}).value_or(model_.filler().value)};
}

}  // namespace seedance::llama
