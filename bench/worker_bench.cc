// Tokens per second of a worker alone: no server, no network.
//
//   worker_bench MODEL [--threads N] [--batch N] [--rounds N] [--vary]
//                [--temperature X] [--top-k N] [--top-p X] [--draft N] [--words N]
//                [--draft-model PATH] [--output N] [--grammar GBNF] [--cpu] [SEQUENCES...]
//
// Starts a worker, gives it so many jobs (greedy by default) of 32 prompt tokens and 64 output
// tokens at once, and divides the output tokens by the time until the last one.
// With --vary prompts have 16 to 48 tokens and outputs 32 to 96, and a new job
// follows each that ends, until four times as many have run. The best round counts. With
// --words no others than so many are said, prompts included: one makes a text that says itself
// again. With --draft a second worker guesses so many tokens ahead and has each round after the
// first; the ratio is the median of the rounds' ratios. It guesses from what repeats, or with
// --draft-model by that model alone. With --cpu the worker's processor time
// counts instead of the clock's: for one thread on a machine that does other things, too.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "engine/codec.h"
#include "llama/message_socket.h"
#include "llama/worker.h"

namespace {

using seedance::Prng;
using seedance::TokenId;
using seedance::llama::MessageSocket;
namespace engine = seedance::engine;

struct Arguments {
  seedance::llama::WorkerOptions worker;
  int rounds = 3;
  bool vary = false;
  bool cpu = false;
  std::uint32_t draft = 0;
  std::string draft_model;
  std::uint32_t words = 0;  // 0 = all.
  std::uint32_t output = 64;
  engine::Sampling sampling = {.temperature = 0, .ignore_eos = true};
  std::vector<std::uint32_t> sequences;
};

int to_number(const char* word) {
  return static_cast<int>(std::strtol(word, nullptr, 10));
}

Arguments parse(std::span<char*> words) {
  Arguments result;
  result.worker.context_tokens = 1024;
  result.worker.sequences_max = 64;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const auto value = [&] { return at + 1 < words.size() ? words[++at] : "0"; };
    const auto number = [&] { return to_number(value()); };
    if (word == "--threads") {
      result.worker.threads = number();
    } else if (word == "--batch") {
      result.worker.batch_tokens_max = static_cast<std::uint32_t>(number());
    } else if (word == "--rounds") {
      result.rounds = number();
    } else if (word == "--vary") {
      result.vary = true;
    } else if (word == "--cpu") {
      result.cpu = true;
    } else if (word == "--draft") {
      result.draft = static_cast<std::uint32_t>(number());
    } else if (word == "--draft-model") {
      result.draft_model = value();
    } else if (word == "--words") {
      result.words = static_cast<std::uint32_t>(number());
    } else if (word == "--output") {
      result.output = static_cast<std::uint32_t>(number());
    } else if (word == "--temperature") {
      result.sampling.temperature = std::strtof(value(), nullptr);
    } else if (word == "--top-k") {
      result.sampling.top_k = number();
    } else if (word == "--top-p") {
      result.sampling.top_p = std::strtof(value(), nullptr);
    } else if (word == "--grammar") {
      result.sampling.grammar = value();
    } else if (result.worker.model_path.empty()) {
      result.worker.model_path = word;
    } else {
      result.sequences.push_back(static_cast<std::uint32_t>(to_number(words[at])));
    }
  }
  for (std::uint32_t word = 0; word < result.words; ++word) {
    result.sampling.logit_bias.push_back({{static_cast<std::int32_t>(300 + word)}, 500.0F});
  }
  if (result.sequences.empty()) result.sequences = {1, 8, 32, 64};
  return result;
}

engine::Event next(MessageSocket& socket) {
  const auto body = socket.receive(MessageSocket::Wait::yes);
  if (body) {
    if (auto event = engine::decode_event(**body)) return *std::move(event);
  }
  return engine::Failed{"the worker is gone"};
}

class Load {
 public:
  Load(MessageSocket& socket, clockid_t clock, const Arguments& arguments, std::uint32_t vocabulary)
      : socket_(socket),
        clock_(clock),
        vary_(arguments.vary),
        sampling_(arguments.sampling),
        output_(arguments.output),
        words_(arguments.words > 0 ? arguments.words : vocabulary - 300) {}

  // Output tokens per second.
  double run(std::uint32_t sequences) {
    const std::uint32_t jobs = vary_ ? 4 * sequences : sequences;
    std::uint32_t started = 0;
    std::uint32_t ended = 0;
    std::uint64_t tokens = 0;
    const double begin = now();
    while (started < sequences) start(started++);
    while (ended < jobs) {
      const auto event = next(socket_);
      const auto* step = std::get_if<engine::Step>(&event);
      if (std::holds_alternative<engine::Alive>(event) ||
          std::holds_alternative<engine::Memory>(event)) {
        continue;
      }
      if (step == nullptr) {
        fmt::print(stderr, "the worker failed\n");
        std::exit(1);
      }
      tokens += step->tokens.size();
      drafted += step->drafted;
      accepted += step->accepted;
      for (const auto& token : step->tokens) {
        if (token.end == engine::JobEnd::none) continue;
        ++ended;
        if (started < jobs) start(started++);
      }
    }
    return static_cast<double>(tokens) / (now() - begin);
  }

  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;

 private:
  double now() const {
    timespec time{};
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + (static_cast<double>(time.tv_nsec) / 1e9);
  }

  void start(std::uint32_t number) {
    Prng random{number};
    engine::Job job{.id = {++id_}, .gen = {1}, .prompt = {}, .tokens_max = output_};
    std::uint64_t size = 32;
    if (vary_) {
      size = 16 + random.below(33);
      job.tokens_max = static_cast<std::uint32_t>(32 + random.below(65));
    }
    for (; size > 0; --size) {
      job.prompt.push_back({static_cast<std::int32_t>(random.below(words_) + 300)});
    }
    job.sampling = sampling_;
    job.sampling.seed = id_;
    std::string out;
    engine::encode(engine::Command{job}, out);
    static_cast<void>(socket_.send(out));
  }

  MessageSocket& socket_;
  clockid_t clock_;
  bool vary_;
  engine::Sampling sampling_;
  std::uint32_t output_;
  std::uint32_t words_;
  std::uint64_t id_ = 0;
};

// A worker in a process of its own.
class Worker {
 public:
  Worker(const Arguments& arguments, std::uint32_t draft) : socket_(start(arguments, draft)) {
    if (arguments.cpu) clock_getcpuclockid(process_, &clock_);
    while (!load_) {
      const auto event = next(socket_);
      if (const auto* failed = std::get_if<engine::Failed>(&event)) {
        fmt::print(stderr, "{}\n", failed->message);
        std::exit(1);
      }
      const auto* ready = std::get_if<engine::Ready>(&event);
      if (ready == nullptr) continue;
      for (const auto& [stage, ms] : ready->timeline) fmt::print("{} {:.1f}\n", stage, ms);
      load_.emplace(socket_, clock_, arguments, ready->vocabulary_size);
    }
  }

  Load& load() { return *load_; }

 private:
  int start(const Arguments& arguments, std::uint32_t draft) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::exit(1);
    process_ = fork();
    if (process_ == 0) {
      close(ends[0]);
      auto options = arguments.worker;
      options.draft_tokens_max = draft;
      if (draft > 0) options.draft_model = arguments.draft_model;
      options.draft_ngrams = options.draft_model.empty();
      _exit(seedance::llama::run_worker(ends[1], options));
    }
    close(ends[1]);
    return ends[0];
  }

  pid_t process_ = 0;
  clockid_t clock_ = CLOCK_MONOTONIC;
  MessageSocket socket_;
  std::optional<Load> load_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse({argv, static_cast<std::size_t>(argc)});
  Worker plain{arguments, 0};
  std::optional<Worker> ahead;
  if (arguments.draft > 0) ahead.emplace(arguments, arguments.draft);
  for (const std::uint32_t sequences : arguments.sequences) {
    double best = 0;
    std::vector<double> ratios;
    for (int round = 0; round < arguments.rounds; ++round) {
      const double rate = plain.load().run(sequences);
      best = std::max(best, rate);
      if (ahead) ratios.push_back(ahead->load().run(sequences) / rate);
    }
    fmt::print("{:3} sequences {:8.0f} tokens/s", sequences, best);
    if (ahead) {
      Load& load = ahead->load();
      fmt::print("  guessing {:5.2f} times as many; {} of {} guesses right", median(ratios),
                 std::exchange(load.accepted, 0), std::exchange(load.drafted, 0));
    }
    fmt::print("\n");
  }
  return 0;
}
