// seedance-sim: runs the simulator over scenarios and seeds, or replays one.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "io/clock.h"
#include "scripted/vocabulary.h"
#include "sim/simulation.h"

namespace seedance::apps {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr std::uint64_t kFailuresMax = 10;  // Then enough is known.

struct Flags {
  std::string scenario = "all";
  std::optional<std::uint64_t> seed;
  std::string seeds = "0..99";
  bool seeds_given = false;
  std::uint64_t seconds = 0;
  unsigned jobs = 0;
  bool trace = false;
  bool list = false;
  std::string canary = "none";
};

struct Task {
  const sim::Scenario* scenario = nullptr;
  std::uint64_t seed = 0;
};

// Of this thread, for whoever finds the process dying. Set before a run.
thread_local Task running_now;

// A broken assumption aborts in the middle of a run: say which one it was. Only
// what may be called in a signal handler.
void on_abort(int) {
  if (running_now.scenario == nullptr) return;
  std::array<char, 128> line{};
  const auto end = fmt::format_to_n(line.data(), line.size(), "aborted: --scenario {} --seed {}\n",
                                    running_now.scenario->name, running_now.seed);
  (void)!::write(2, line.data(), static_cast<std::size_t>(end.out - line.data()));
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto first = number(text.substr(0, dots));
  const auto last = number(text.substr(dots + 2));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair{*first, *last};
}

// Deals out runs to threads, and adds up what came of them.
class Runner {
 public:
  Runner(std::vector<const sim::Scenario*> scenarios, std::uint64_t first, std::uint64_t last,
         std::optional<TimePoint> until, sim::Canary canary)
      : scenarios_(std::move(scenarios)),
        first_(first),
        last_(last),
        until_(until),
        canary_(canary) {}

  int run(unsigned jobs) {
    const TimePoint begun = io::now();
    std::vector<std::thread> threads;
    threads.reserve(jobs);
    for (unsigned i = 0; i < jobs; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    const double seconds = std::chrono::duration<double>(io::now() - begun).count();
    fmt::print(
        "{} runs of {} scenarios: {} failed; {} streams, {} tokens read, {} resumes, "
        "{} restarts of readers, {} servers, {} faults, {} steps; {:.1f} s, {:.2f} ms a run\n",
        runs_, scenarios_.size(), failed_, counts_.streams, counts_.tokens, counts_.resumes,
        counts_.restarts, counts_.servers, counts_.faults, steps_, seconds,
        runs_ == 0 ? 0.0 : seconds * jobs * 1000 / static_cast<double>(runs_));
    return failed_ > 0 ? kFailed : kDone;
  }

 private:
  std::optional<Task> next() {
    const std::uint64_t at = next_.fetch_add(1);
    const Task task{scenarios_[at % scenarios_.size()], first_ + at / scenarios_.size()};
    if (until_ ? io::now() >= *until_ : task.seed > last_) return std::nullopt;
    return failed_ >= kFailuresMax ? std::nullopt : std::optional{task};
  }

  void work() {
    while (const auto task = next()) {
      running_now = *task;
      const sim::Outcome outcome = sim::run(
          vocabulary_, {.scenario = task->scenario, .seed = task->seed, .canary = canary_});
      running_now = {};
      add(*task, outcome);
    }
  }

  void add(const Task& task, const sim::Outcome& outcome) {
    const std::scoped_lock lock{mutex_};
    ++runs_;
    steps_ += outcome.steps;
    counts_.streams += outcome.counts.streams;
    counts_.tokens += outcome.counts.tokens;
    counts_.resumes += outcome.counts.resumes;
    counts_.restarts += outcome.counts.restarts;
    counts_.servers += outcome.counts.servers;
    counts_.faults += outcome.counts.faults;
    if (!outcome.violation) return;
    ++failed_;
    fmt::print(stderr,
               "FAILED after {} steps: {}\n  seedance-sim --scenario {} --seed {} --trace\n",
               outcome.steps, *outcome.violation, task.scenario->name, task.seed);
  }

  const scripted::Vocabulary vocabulary_{1024};
  const std::vector<const sim::Scenario*> scenarios_;
  const std::uint64_t first_;
  const std::uint64_t last_;
  const std::optional<TimePoint> until_;
  const sim::Canary canary_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::mutex mutex_;  // Guards what follows.
  std::uint64_t runs_ = 0;
  std::uint64_t steps_ = 0;
  sim::Outcome::Counts counts_;
};

std::int64_t to_ms_since_1970() {
  const auto since = io::wall_now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

int replay(const sim::Scenario& scenario, std::uint64_t seed, sim::Canary canary, bool trace) {
  const scripted::Vocabulary vocabulary{1024};
  running_now = {&scenario, seed};
  const sim::Outcome outcome =
      sim::run(vocabulary, {.scenario = &scenario,
                            .seed = seed,
                            .canary = canary,
                            .diary = trace ? sim::Diary::written : sim::Diary::hashed});
  running_now = {};
  fmt::print("{}", outcome.diary);
  fmt::print(
      "{} {}: {} steps, {:.3f} s simulated, hash {:016x}, {} streams, {} tokens read, "
      "{} resumes, {} servers, {} faults\n",
      scenario.name, seed, outcome.steps, std::chrono::duration<double>(outcome.simulated).count(),
      outcome.hash, outcome.counts.streams, outcome.counts.tokens, outcome.counts.resumes,
      outcome.counts.servers, outcome.counts.faults);
  if (!outcome.violation) return kDone;
  fmt::print(stderr, "FAILED: {}\n", *outcome.violation);
  return kFailed;
}

int complain(std::string_view line) {
  fmt::print(stderr, "seedance-sim: {}\n", line);
  return kUsage;
}

int run(const Flags& flags) {
  if (flags.list) {
    for (const sim::Scenario& one : sim::scenarios()) fmt::print("{:12}{}\n", one.name, one.about);
    return kDone;
  }
  const auto canary = sim::parse_canary(flags.canary);
  if (!canary) return complain("there is no canary " + flags.canary);
  std::vector<const sim::Scenario*> scenarios;
  for (const sim::Scenario& one : sim::scenarios()) {
    if (flags.scenario == "all" || flags.scenario == one.name) scenarios.push_back(&one);
  }
  if (scenarios.empty()) return complain("there is no scenario " + flags.scenario);
  if (flags.seed && scenarios.size() == 1) {
    return replay(*scenarios.front(), *flags.seed, *canary, flags.trace);
  }
  auto range = parse_range(flags.seeds);
  if (flags.seed) range = {*flags.seed, *flags.seed};
  if (!range) return complain("--seeds is FIRST..LAST");
  std::optional<TimePoint> until;
  if (flags.seconds > 0) {
    until = io::now() + std::chrono::seconds{flags.seconds};
    if (!flags.seeds_given) range->first = static_cast<std::uint64_t>(to_ms_since_1970());
    fmt::print("from seed {}\n", range->first);
  }
  const unsigned jobs =
      flags.jobs > 0 ? flags.jobs : std::max(1U, std::thread::hardware_concurrency());
  return Runner{std::move(scenarios), range->first, range->second, until, *canary}.run(jobs);
}

int run(int argc, char** argv) {
  Flags flags;
  CLI::App app{
      "Runs the server's logic under a simulated outside in which things go wrong: one seed, "
      "one run.\nA seed that fails prints what was violated, and is replayed with --scenario "
      "and --seed.",
      "seedance-sim"};
  app.footer("Exit codes: 0 all promises were kept, 1 some were not, 2 wrong flags.");
  app.add_option("--scenario", flags.scenario, "One of --list, or all")->capture_default_str();
  app.add_option("--seed", flags.seed, "Run this seed");
  app.add_option("--seeds", flags.seeds, "Run these, FIRST..LAST, of each scenario")
      ->capture_default_str();
  app.add_option("--seconds", flags.seconds,
                 "Run ever more seeds, for so long: from the first of --seeds, else new ones");
  app.add_option("--jobs", flags.jobs, "Runs at the same time (default: one for each CPU)");
  app.add_flag("--trace", flags.trace, "With one scenario and seed: print what happens");
  app.add_flag("--list", flags.list, "List the scenarios");
  app.add_option("--canary", flags.canary, "Plant a bug, to see it found");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return complain(error.what());
  }
  flags.seeds_given = app.count("--seeds") > 0;
  std::signal(SIGABRT, on_abort);
  return run(flags);
}

}  // namespace
}  // namespace seedance::apps

int main(int argc, char** argv) {
  try {
    return seedance::apps::run(argc, argv);
  } catch (const std::exception& error) {  // Of a library: our own code does not throw.
    return seedance::apps::complain(error.what());
  }
}
