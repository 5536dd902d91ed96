// Has a small model guess what a large one will say.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "llama/batch.h"
#include "llama/model.h"
#include "sched/model_draft.h"

namespace seedance::llama {

// Carries out what sched::ModelDraft wants, on a model with memory for the same slots. Belongs to
// one thread.
class DraftRunner {
 public:
  explicit DraftRunner(Model& model);

  // Reads `texts`, one for each work, and guesses by the highest logit. Nothing when the model
  // could not: then it holds nothing any more.
  std::optional<std::vector<std::vector<TokenId>>> run(
      std::span<const sched::DraftWork> work, std::span<const std::span<const TokenId>> texts);

 private:
  bool read(std::span<const sched::DraftWork> work,
            std::span<const std::span<const TokenId>> texts);
  bool compute();
  TokenId best(std::size_t row) const;

  Model& model_;
  Batch batch_;
  std::vector<std::size_t> last_rows_;  // Of the texts, in the batch.
};

}  // namespace seedance::llama
