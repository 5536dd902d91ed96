// Tokens per second of a worker alone: no server, no network.
//
//   worker_bench MODEL [--threads N] [--batch N] [--rounds N] [--vary]
//                [--temperature X] [--top-k N] [--top-p X] [--grammar GBNF]
//                [SEQUENCES...]
//
// Starts a worker, gives it so many jobs (greedy by default) of 32 prompt tokens and 64 output
// tokens at once, and divides the output tokens by the time until the last one.
// With --vary prompts have 16 to 48 tokens and outputs 32 to 96, and a new job
// follows each that ends, until four times as many have run. The best round counts.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
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
  engine::Sampling sampling = {.temperature = 0, .ignore_eos = true};
  std::vector<std::uint32_t> sequences;
};

Arguments parse(std::span<char*> words) {
  Arguments result;
  result.worker.context_tokens = 256;
  result.worker.sequences_max = 64;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const auto value = [&] { return at + 1 < words.size() ? words[++at] : "0"; };
    const auto number = [&] { return std::atoi(value()); };
    if (word == "--threads") {
      result.worker.threads = number();
    } else if (word == "--batch") {
      result.worker.batch_tokens_max = static_cast<std::uint32_t>(number());
    } else if (word == "--rounds") {
      result.rounds = number();
    } else if (word == "--vary") {
      result.vary = true;
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
      result.sequences.push_back(static_cast<std::uint32_t>(std::atoi(words[at])));
    }
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
  Load(MessageSocket& socket, const Arguments& arguments, std::uint32_t vocabulary)
      : socket_(socket),
        vary_(arguments.vary),
        sampling_(arguments.sampling),
        vocabulary_(vocabulary) {}

  // Output tokens per second.
  double run(std::uint32_t sequences) {
    const std::uint32_t jobs = vary_ ? 4 * sequences : sequences;
    std::uint32_t started = 0;
    std::uint32_t ended = 0;
    std::uint64_t tokens = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (started < sequences) start(started++);
    while (ended < jobs) {
      const auto event = next(socket_);
      const auto* step = std::get_if<engine::Step>(&event);
      if (step == nullptr) {
        fmt::print(stderr, "the worker failed\n");
        std::exit(1);
      }
      tokens += step->tokens.size();
      for (const auto& token : step->tokens) {
        if (token.end == engine::JobEnd::none) continue;
        ++ended;
        if (started < jobs) start(started++);
      }
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(tokens) / time.count();
  }

 private:
  void start(std::uint32_t number) {
    Prng random{number};
    engine::Job job{.id = {++id_}, .gen = {1}, .prompt = {}, .tokens_max = 64};
    std::uint64_t size = 32;
    if (vary_) {
      size = 16 + random.below(33);
      job.tokens_max = static_cast<std::uint32_t>(32 + random.below(65));
    }
    for (; size > 0; --size) {
      job.prompt.push_back({static_cast<std::int32_t>(random.below(vocabulary_ - 300) + 300)});
    }
    job.sampling = sampling_;
    job.sampling.seed = id_;
    std::string out;
    engine::encode(engine::Command{job}, out);
    static_cast<void>(socket_.send(out));
  }

  MessageSocket& socket_;
  bool vary_;
  engine::Sampling sampling_;
  std::uint32_t vocabulary_;
  std::uint64_t id_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse({argv, static_cast<std::size_t>(argc)});
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) return 1;
  if (fork() == 0) {
    close(ends[0]);
    _exit(seedance::llama::run_worker(ends[1], arguments.worker));
  }
  close(ends[1]);
  MessageSocket socket{ends[0]};
  std::optional<engine::Ready> ready;
  while (!ready) {
    const auto event = next(socket);
    if (const auto* failed = std::get_if<engine::Failed>(&event)) {
      fmt::print(stderr, "{}\n", failed->message);
      return 1;
    }
    if (const auto* is_ready = std::get_if<engine::Ready>(&event)) ready = *is_ready;
  }
  for (const auto& [stage, ms] : ready->timeline) fmt::print("{} {:.1f}\n", stage, ms);
  Load load{socket, arguments, ready->vocabulary_size};
  for (const std::uint32_t sequences : arguments.sequences) {
    double best = 0;
    for (int round = 0; round < arguments.rounds; ++round) {
      best = std::max(best, load.run(sequences));
    }
    fmt::print("{:3} sequences {:8.0f} tokens/s\n", sequences, best);
  }
  return 0;
}
