// How long a server takes to recover its journal.
//
//   journal_bench write DIR [--finished N] [--running N] [--tokens N]
//   journal_bench recover DIR
//
// `write` runs a core on the scripted engine with a journal of files in DIR until so many
// streams have ended, then until so many more are half done, and stops there as a killed
// server does. `recover` does what a server does then, up to the jobs for the engine.
// Each prints one JSON line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/core.h"
#include "io/clock.h"
#include "io/poller.h"
#include "scripted/scripted_engine.h"
#include "store/file_journal.h"

namespace {

using namespace seedance;

constexpr core::ModelIndex kModel{0};
constexpr io::Token kJournalToken{1};
constexpr std::uint32_t kSequences = 128;

struct Arguments {
  std::string directory;
  std::uint32_t finished = 10'000;
  std::uint32_t running = 100;
  std::uint32_t tokens = 200;  // Of each stream.
};

[[noreturn]] void fail_with(const Error& error) {
  fmt::print(stderr, "journal_bench: {}\n", error.detail);
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) fail_with(result.error());
  return *std::move(result);
}

scripted::Script script_of(const Arguments& arguments) {
  return {.rate = 0, .prefill = {}, .length = arguments.tokens, .sequences = kSequences};
}

core::Limits limits() {
  core::Limits limits;
  limits.terminal_ttl = std::chrono::hours{24};
  limits.detach_ttl = std::chrono::hours{24};
  return limits;
}

double ms_since(TimePoint began) {
  return to_ms(io::now() - began);
}

// A core, its engine and its journal in one thread, with their effects carried out.
class Machine {
 public:
  Machine(const Arguments& arguments, store::FileJournal::Opened opened)
      : vocabulary_(script_of(arguments).context),
        journal_(std::move(opened.journal)),
        core_(
            limits(), {{.name = "scripted", .digest = "script:"}},
            {.steady = io::now(), .wall = io::wall_now()},
            core::JournalStart{{.bytes_max = std::uint64_t{8} << 30}, std::move(opened.recovery)}),
        engine_(script_of(arguments)),
        poller_(must(io::Poller::open())) {
    if (auto added = journal_->events().attach(poller_, kJournalToken); !added) {
      fail_with(added.error());
    }
  }

  void start() {
    pass(core::VocabularyEvent{kModel, vocabulary_.ready()});
    take_engine_events();
  }

  void submit(std::uint64_t number) {
    core::GenerateRequest request{.input = fmt::format("Tell me story number {}.", number)};
    pass(core::Submit{.reply_to = {.request = number},
                      .principal = {},
                      .stream = {1, number},
                      .entropy = number,
                      .wall = io::wall_now(),
                      .request = std::move(request)});
  }

  // One step of the engine and of the journal.
  void step() {
    engine_.on_time(io::now());
    take_engine_events();
    settle();
  }

  // Waits until everything that was asked of the journal is written.
  void settle() {
    journal_->flush();
    while (written_ < asked_) {
      poller_.wait(kNever);
      std::vector<store::JournalEvent> events;
      journal_->events().take(events);
      for (const store::JournalEvent& event : events) {
        const auto* written = std::get_if<store::Written>(&event);
        if (written == nullptr) fail_with({Errc::invalid, "the journal cannot be written"});
        written_ = written->batch;
        pass(core::JournalWritten{written_});
      }
      journal_->flush();
    }
  }

  std::size_t active() const { return core_.streams_active(); }
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t tokens() const { return core_.stats().tokens_generated.value(); }
  const store::FileJournal& journal() const { return *journal_; }

 private:
  void pass(core::Message message) {
    core_.on_message(std::move(message), io::now());
    while (auto effect = core_.next()) carry_out(*effect);
  }

  void take_engine_events() {
    while (auto event = engine_.next()) pass(core::EngineEvent{kModel, std::move(*event)});
  }

  void carry_out(core::Effect& effect) {
    if (auto* prepare = std::get_if<core::Prepare>(&effect)) {
      core_.on_message(core::VocabularyEvent{kModel, vocabulary_.prepare(prepare->request)},
                       io::now());
    } else if (auto* command = std::get_if<core::EngineCommand>(&effect)) {
      jobs_ += std::holds_alternative<engine::Job>(command->command) ? 1 : 0;
      engine_.on_command(std::move(command->command), io::now());
    } else if (auto* append = std::get_if<core::JournalAppend>(&effect)) {
      asked_ = append->write.batch;
      journal_->append(std::move(append->write));
    } else if (const auto* remove = std::get_if<core::JournalRemove>(&effect)) {
      journal_->remove(remove->segment);
    }
  }

  scripted::Vocabulary vocabulary_;
  std::unique_ptr<store::FileJournal> journal_;
  core::Core core_;
  scripted::ScriptedEngine engine_;
  io::Poller poller_;
  std::uint64_t asked_ = 0;    // Batches.
  std::uint64_t written_ = 0;  // Likewise.
  std::uint64_t jobs_ = 0;
};

int write(const Arguments& arguments) {
  const TimePoint began = io::now();
  Machine machine{arguments, must(store::FileJournal::open({.directory = arguments.directory}))};
  machine.start();
  std::uint64_t number = 0;
  while (number < arguments.finished || machine.active() > 0) {
    while (number < arguments.finished && machine.active() < kSequences) machine.submit(++number);
    machine.step();
  }
  for (std::uint32_t i = 0; i < arguments.running; ++i) machine.submit(++number);
  for (std::uint32_t i = 0; i < arguments.tokens / 2; ++i) machine.step();
  if (machine.active() != arguments.running) fail_with({Errc::invalid, "some ended too early"});
  fmt::print("{{\"streams\":{},\"tokens\":{},\"ms\":{:.1f}}}\n", number, machine.tokens(),
             ms_since(began));
  std::fflush(stdout);
  std::_Exit(0);  // As a server that is killed: nothing is closed.
}

int recover(const Arguments& arguments) {
  const TimePoint began = io::now();
  auto opened = must(store::FileJournal::open({.directory = arguments.directory}));
  const double read_ms = ms_since(began);
  const std::size_t streams = opened.recovery.streams.size();
  std::uint64_t bytes = 0;
  for (const auto& [segment, size] : opened.recovery.segments) bytes += size;
  Machine machine{arguments, std::move(opened)};
  const double core_ms = ms_since(began) - read_ms;
  machine.start();
  machine.settle();
  const double total_ms = ms_since(began);
  fmt::print(
      "{{\"streams\":{},\"running\":{},\"bytes\":{},\"jobs\":{},\"read_ms\":{:.1f},"
      "\"core_ms\":{:.1f},\"drive_ms\":{:.1f},\"total_ms\":{:.1f}}}\n",
      streams, machine.active(), bytes, machine.jobs(), read_ms, core_ms,
      total_ms - read_ms - core_ms, total_ms);
  std::fflush(stdout);
  std::_Exit(0);  // The journal stays as it is, to be recovered again.
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"How long a server takes to recover its journal"};
  app.require_subcommand(1);
  CLI::App* writing = app.add_subcommand("write", "Write a journal of scripted streams");
  CLI::App* recovering = app.add_subcommand("recover", "Recover it, up to the jobs");
  writing->add_option("DIR", arguments.directory)->required();
  writing->add_option("--finished", arguments.finished, "Streams that have ended");
  writing->add_option("--running", arguments.running, "Streams that are half done");
  writing->add_option("--tokens", arguments.tokens, "Of each stream");
  recovering->add_option("DIR", arguments.directory)->required();
  CLI11_PARSE(app, argc, argv);
  return writing->parsed() ? write(arguments) : recover(arguments);
}
