// What a sequence costs that has to wait: saved and restored, or computed again.
//
//   seedance_bench_park MODEL [--threads N] [--kv-type TYPE] [--kv-tokens N] [--rounds N]
//                       [TOKENS...]
//
// For each number of tokens a sequence is computed in one slot of a model's memory, saved in the
// host's and restored in another slot, round after round. Processor time of all threads, medians,
// and the median of the rounds' ratios: with one thread it can be had on a busy machine, too.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>
#include <vector>

#include "base/random.h"
#include "llama/kv_memory.h"
#include "llama/model.h"

namespace {

using namespace seedance;

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (static_cast<double>(time.tv_sec) * 1e3) + (static_cast<double>(time.tv_nsec) / 1e6);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

class Bench {
 public:
  explicit Bench(llama::Model& model)
      : model_(model), memory_(model.context(), model.shares_memory(), model.sequence_bytes()) {}

  bool run(std::uint32_t tokens, int rounds) {
    std::array<std::vector<double>, 4> times;
    for (int round = 0; round <= rounds; ++round) {
      const double begun = now_ms();
      if (!compute(tokens)) return false;
      const double computed = now_ms();
      if (!move({4}, {0}, tokens)) return false;
      const double saved = now_ms();
      if (!move({1}, {4}, tokens)) return false;
      const double restored = now_ms();
      for (const std::uint32_t slot : {0U, 1U}) model_.clear(slot);
      if (round == 0) continue;
      times[0].push_back(computed - begun);
      times[1].push_back(saved - computed);
      times[2].push_back(restored - saved);
      times[3].push_back((restored - computed) / (computed - begun));
    }
    fmt::print(
        "{:5} tokens: computed {:9.2f} ms, saved {:7.3f}, restored {:7.3f}, {:.4f} of it; {} kB\n",
        tokens, median(times[0]), median(times[1]), median(times[2]), median(times[3]),
        model_.sequence_bytes().of(tokens) / 1000);
    return true;
  }

 private:
  bool compute(std::uint32_t tokens) {
    llama_batch batch = llama_batch_init(static_cast<std::int32_t>(tokens), 0, 1);
    for (std::uint32_t at = 0; at < tokens; ++at) {
      batch.token[at] = static_cast<llama_token>(random_.below(model_.vocabulary_size()));
      batch.pos[at] = static_cast<llama_pos>(at);
      batch.n_seq_id[at] = 1;
      batch.seq_id[at][0] = 0;
      batch.logits[at] = at + 1 == tokens ? 1 : 0;
    }
    batch.n_tokens = static_cast<std::int32_t>(tokens);
    const int status = llama_decode(model_.context(), batch);
    llama_synchronize(model_.context());
    llama_batch_free(batch);
    return status == 0;
  }

  bool move(sched::Slot to, sched::Slot from, std::uint32_t tokens) {
    const sched::KvChange change{.slot = to, .from = from, .tokens = tokens};
    const auto moves = memory_.carry_out({&change, 1});
    return moves && moves->at(0).done;
  }

  llama::Model& model_;
  llama::KvMemory memory_;
  Prng random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"What a sequence costs that has to wait"};
  llama::WorkerOptions options{.sequences_max = 4, .threads = 1};
  int rounds = 5;
  std::vector<std::uint32_t> sizes{64, 128, 256, 512, 1024, 2048};
  app.add_option("MODEL", options.model_path)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--kv-type", options.kv_type);
  app.add_option("--kv-tokens", options.shared_tokens);
  app.add_option("--rounds", rounds);
  app.add_option("TOKENS", sizes);
  CLI11_PARSE(app, argc, argv);
  options.context_tokens = *std::ranges::max_element(sizes);
  llama::LogCapture log;
  const auto model = llama::Model::load(options, log, [](float) {});
  if (!model) {
    fmt::print(stderr, "{}\n", model.error().detail);
    return 1;
  }
  Bench bench{**model};
  for (const std::uint32_t tokens : sizes) {
    if (bench.run(tokens, rounds)) continue;
    fmt::print(stderr, "{} tokens cannot be computed and moved\n", tokens);
    return 1;
  }
  return 0;
}
