// seedance worker: the process that runs one model; `seedance serve` starts it.
#include <cstdlib>
#include <memory>

#include "apps/command.h"
#include "llama/worker.h"

namespace seedance::apps {

Command add_worker(CLI::App& parent) {
  struct Options {
    int fd = -1;
    llama::WorkerOptions worker;
  };
  auto options = std::make_shared<Options>();  // Shared: the parser fills what `run` reads.
  llama::WorkerOptions& worker = options->worker;
  CLI::App* app = parent.add_subcommand("worker", "Run a model for `seedance serve`")->group("");
  app->add_option("--fd", options->fd, "Socket to the server")->required();
  app->add_option("--model", worker.model_path)->required();
  app->add_option("--ctx-size", worker.context_tokens);
  app->add_option("--parallel", worker.sequences_max);
  app->add_option("--threads", worker.threads);
  app->add_option("--gpu-layers", worker.gpu_layers);
  app->add_option("--batch-tokens", worker.batch_tokens_max);
  app->add_option("--step-target-ms", worker.step_target_ms);
  app->add_option("--speculate-tokens", worker.draft_tokens_max);
  app->add_flag_callback("--no-ngrams", [&worker] { worker.draft_ngrams = false; });
  app->add_option("--draft-model", worker.draft_model);
  app->add_option("--step-max-ms", worker.step_max_ms);
  app->add_option("--prefill-pause-ms", worker.prefill_pause_ms);
  app->add_option("--kv-tokens", worker.shared_tokens);
  app->add_option("--kv-type", worker.kv_type);
  app->add_option("--park-memory", worker.park_memory_mb);
  app->add_option("--grammar-memory", worker.grammar_bytes_max);
  app->add_option("--prefix-reuse-min", worker.reuse_min);
  app->add_option("--adapter", worker.adapters)->allow_extra_args(false);
  return {app, [options] {
            if (const char* fault = std::getenv("SEEDANCE_FAULT")) options->worker.fault = fault;
            return llama::run_worker(options->fd, options->worker);
          }};
}

}  // namespace seedance::apps
