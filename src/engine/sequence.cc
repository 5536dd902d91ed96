#include "engine/sequence.h"

#include <algorithm>

#include "base/check.h"

namespace seedance::engine {

std::size_t sequence_tokens(const Job& job) {
  const std::size_t all = job.prompt.size() + job.committed.size();
  const std::size_t gone = std::size_t{job.keep} + job.dropped;
  return job.dropped == 0 || gone <= all ? all - job.dropped : 0;
}

std::vector<TokenId> sequence_of(const Job& job) {
  SEEDANCE_CHECK(sequence_tokens(job) > 0, "something is left to go on from");
  std::vector<TokenId> tokens;
  tokens.reserve(job.prompt.size() + job.committed.size());
  tokens.insert(tokens.end(), job.prompt.begin(), job.prompt.end());
  tokens.insert(tokens.end(), job.committed.begin(), job.committed.end());
  if (job.dropped == 0) return tokens;
  const auto begin = tokens.begin() + job.keep;
  tokens.erase(begin, begin + job.dropped);
  return tokens;
}

std::size_t prompt_left(const Job& job) {
  const std::size_t prompt = job.prompt.size();
  const std::size_t kept = std::min<std::size_t>(prompt, job.keep);
  return prompt - std::min<std::size_t>(job.dropped, prompt - kept);
}

}  // namespace seedance::engine
