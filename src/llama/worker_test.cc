#include "llama/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "engine/codec.h"
#include "llama/test_child.h"
#include "llama/test_file.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using engine::EndCause;
using engine::JobEnd;
using testing::HasSubstr;
using testing::StartsWith;

// One thread: on a busy machine two wait for each other more than they compute.
WorkerOptions options_for(std::string path) {
  return {.model_path = std::move(path), .context_tokens = 256, .threads = 1};
}

// A worker process and what it said.
class TestWorker {
 public:
  explicit TestWorker(const WorkerOptions& options)
      : child_([&](int fd) { return run_worker(fd, options); }) {}

  void send(const engine::Command& command) {
    std::string out;
    engine::encode(command, out);
    child_.send(out);
  }

  // The next event; nothing when the worker has closed its end.
  std::optional<engine::Event> next_of_all() {
    const auto body = child_.receive();
    if (!body) return std::nullopt;
    auto event = engine::decode_event(*body);
    EXPECT_TRUE(event) << event.error().detail;
    return *std::move(event);
  }

  // Skips Memory events.
  std::optional<engine::Event> next() {
    while (true) {
      auto event = next_of_all();
      if (!event || !std::holds_alternative<engine::Memory>(*event)) return event;
    }
  }

  // Skips Loading events.
  std::optional<engine::Event> next_but_loading() {
    while (true) {
      auto event = next();
      if (!event || !std::holds_alternative<engine::Loading>(*event)) return event;
    }
  }

  engine::Ready ready() {
    auto event = next_but_loading();
    EXPECT_TRUE(event && std::holds_alternative<engine::Ready>(*event));
    return std::get<engine::Ready>(*event);
  }

  TestChild& child() { return child_; }

 private:
  TestChild child_;
};

// What a worker says that cannot run a model; it ends with 2.
std::string failure(const WorkerOptions& options, EndCause cause = EndCause::refused) {
  TestWorker worker{options};
  const auto event = worker.next_but_loading();
  EXPECT_TRUE(event && std::holds_alternative<engine::Failed>(*event));
  EXPECT_EQ(worker.next(), std::nullopt);
  EXPECT_EQ(worker.child().wait(), 2);
  EXPECT_EQ(std::get<engine::Failed>(*event).cause, cause);
  return std::get<engine::Failed>(*event).message;
}

TEST(Worker, ReportsProgressThenWhatItCanDo) {
  TestWorker worker{options_for(test_model_path())};
  float progress = -1;
  auto event = worker.next();
  for (; event && std::holds_alternative<engine::Loading>(*event); event = worker.next()) {
    EXPECT_GE(std::get<engine::Loading>(*event).progress, progress);
    progress = std::get<engine::Loading>(*event).progress;
  }
  EXPECT_EQ(progress, 1);
  ASSERT_TRUE(event && std::holds_alternative<engine::Ready>(*event));
  const auto& ready = std::get<engine::Ready>(*event);
  EXPECT_EQ(ready.context_tokens, 256);
  EXPECT_EQ(ready.sequences_max, 64);
  EXPECT_EQ(ready.vocabulary_size, 4096);
  ASSERT_EQ(ready.memory.size(), 1U);
  EXPECT_EQ(ready.memory[0].device, "memory");
  EXPECT_EQ(ready.memory[0].taken.kv, ready.memory[0].predicted.kv);
  EXPECT_GT(ready.memory[0].taken.kv, 0U);
  const auto stages = std::views::keys(ready.timeline);
  EXPECT_THAT(std::vector(stages.begin(), stages.end()),
              testing::ElementsAre("load", "KV", "warm-up", "first token"));
}

// Each chosen token is checked by a lone forward pass, so no sequence sees another.
TEST(Worker, RunsSixtyFourJobsAtOnce) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  std::map<std::uint64_t, engine::Job> jobs;
  for (std::uint64_t id = 0; id < 64; ++id) {
    jobs[id] =
        greedy_job(id, random_prompt(id, 1 + id % 23), static_cast<std::uint32_t>(8 + id % 17));
    worker.send(jobs[id]);
  }
  std::map<std::uint64_t, std::vector<TokenId>> outputs;
  std::size_t ended = 0;
  std::size_t widest = 0;
  while (ended < jobs.size()) {
    const auto event = worker.next();
    ASSERT_TRUE(event && std::holds_alternative<engine::Step>(*event));
    const auto& tokens = std::get<engine::Step>(*event).tokens;
    widest = std::max(widest, tokens.size());
    for (const engine::StepToken& token : tokens) {
      outputs[token.job.value].push_back(token.token);
      ended += token.end == JobEnd::none ? 0 : 1;
    }
  }
  EXPECT_GT(widest, 32);  // They did run together.
  LoneModel lone;
  for (const auto& [id, job] : jobs) {
    EXPECT_EQ(outputs[id].size(), job.tokens_max) << id;
    EXPECT_LT(lone.regret(job.prompt, outputs[id]), kEpsilon) << id;
  }
}

TEST(Worker, RefusesAJobAndGoesOn) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 400), 4));
  const auto refused = worker.next();
  ASSERT_TRUE(refused && std::holds_alternative<engine::JobFailed>(*refused));
  EXPECT_EQ(std::get<engine::JobFailed>(*refused).problem.code, ErrorCode::context_length_exceeded);
  worker.send(greedy_job(2, random_prompt(1, 4), 1));
  const auto step = worker.next();
  ASSERT_TRUE(step && std::holds_alternative<engine::Step>(*step));
  EXPECT_EQ(std::get<engine::Step>(*step).tokens.front().end, JobEnd::length);
}

TEST(Worker, StopsAJobThatIsCancelled) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 4), 200));
  worker.send(engine::Cancel{{1}, {1}});
  worker.send(greedy_job(2, random_prompt(2, 4), 1));
  std::vector<engine::StepToken> tokens;
  while (tokens.empty() || tokens.back().job != engine::JobId{2}) {
    const auto event = worker.next();
    ASSERT_TRUE(event && std::holds_alternative<engine::Step>(*event));
    for (const auto& token : std::get<engine::Step>(*event).tokens) tokens.push_back(token);
  }
  EXPECT_LT(tokens.size(), 200);
  worker.send(greedy_job(3, random_prompt(3, 4), 1));
  const auto event = worker.next();
  ASSERT_TRUE(event && std::holds_alternative<engine::Step>(*event));
  EXPECT_EQ(std::get<engine::Step>(*event).tokens.front().job, engine::JobId{3});
}

TEST(Worker, EndsWhenTheParentClosesTheSocket) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  worker.child().close_socket();
  EXPECT_EQ(worker.child().wait(), 0);
}

TEST(Worker, EndsWhenTheParentClosesTheSocketWhileItWorks) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 4), 250));
  EXPECT_TRUE(worker.next());
  worker.child().close_socket();
  EXPECT_EQ(worker.child().wait(), 0);
}

TEST(Worker, EndsWhenTheParentSpeaksNonsense) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  std::string out;
  MessageWriter{out}.put(std::uint8_t{250});
  worker.child().send(out);
  const auto event = worker.next();
  EXPECT_TRUE(event && std::holds_alternative<engine::Failed>(*event));
  EXPECT_EQ(worker.child().wait(), 1);
}

TEST(Worker, ShowsThatItGoesOnInALongPrompt) {
  WorkerOptions options = options_for(test_model_path());
  options.sequences_max = 1;
  options.batch_tokens_max = 16;
  options.alive_every = {};
  TestWorker worker{options};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 200), 2));
  std::size_t alive = 0;
  auto event = worker.next();
  for (; event && std::holds_alternative<engine::Alive>(*event); event = worker.next()) ++alive;
  EXPECT_GE(alive, 200 / 16);
  ASSERT_TRUE(event && std::holds_alternative<engine::Step>(*event));
}

// What it has before it waits for work.
engine::Memory memory_when_idle(TestWorker& worker) {
  while (true) {
    const auto event = worker.next_of_all();
    if (!event) return {};
    const auto* memory = std::get_if<engine::Memory>(&*event);
    if (memory == nullptr) continue;
    EXPECT_GT(memory->own_bytes, 0U);
    EXPECT_GT(memory->resident_bytes, memory->own_bytes);
    engine::Memory cells = *memory;
    cells.resident_bytes = cells.own_bytes = 0;
    return cells;
  }
}

TEST(Worker, TellsWhatIsInItsMemory) {
  WorkerOptions options = options_for(test_model_path());
  options.sequences_max = 2;
  options.memory_every = std::chrono::hours{1};
  TestWorker worker{options};
  EXPECT_EQ(memory_when_idle(worker), (engine::Memory{.cells_free = 512}));
  worker.send(greedy_job(1, random_prompt(1, 60), 4));
  EXPECT_EQ(memory_when_idle(worker),
            (engine::Memory{.cells_cached = 63, .cells_free = 449, .tokens_asked = 60}));
  worker.send(greedy_job(2, random_prompt(1, 60), 4));
  EXPECT_EQ(memory_when_idle(worker),
            (engine::Memory{
                .cells_cached = 63, .cells_free = 449, .tokens_asked = 60, .tokens_reused = 59}));
  for (std::uint64_t id = 10; id < 15; ++id) worker.send(engine::Cancel{{id}, {1}});
  worker.send(greedy_job(3, random_prompt(1, 60), 4));
  EXPECT_EQ(memory_when_idle(worker).tokens_asked, 60U) << "cancelling nobody changes nothing";
  options.memory_every = {};
  TestWorker talkative{options};
  talkative.ready();
  EXPECT_EQ(memory_when_idle(talkative).cells_active, 0U);
  talkative.send(greedy_job(1, random_prompt(1, 60), 100));
  EXPECT_EQ(memory_when_idle(talkative).cells_active, 60U);  // Also while it works.
}

TEST(Worker, IsSilentBetweenStepsThatFollowEachOtherQuickly) {
  WorkerOptions options = options_for(test_model_path());
  options.sequences_max = 1;
  options.batch_tokens_max = 16;
  options.alive_every = std::chrono::hours{1};
  TestWorker worker{options};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 200), 2));
  const auto event = worker.next();
  EXPECT_TRUE(event && std::holds_alternative<engine::Step>(*event));
}

// So many tokens come before the worker says that it has no memory, and ends with 1.
std::size_t tokens_until_no_memory(const std::string& fault) {
  WorkerOptions options = options_for(test_model_path());
  options.fault = fault;
  TestWorker worker{options};
  worker.ready();
  worker.send(greedy_job(1, random_prompt(1, 4), 100));
  std::size_t tokens = 0;
  auto event = worker.next();
  for (; event && std::holds_alternative<engine::Step>(*event); event = worker.next()) ++tokens;
  EXPECT_TRUE(event && std::holds_alternative<engine::Failed>(*event));
  EXPECT_EQ(std::get<engine::Failed>(*event).cause, EndCause::out_of_memory);
  EXPECT_EQ(worker.child().wait(), 1);
  return tokens;
}

TEST(Worker, FailsWhereItIsToldTo) {
  EXPECT_EQ(tokens_until_no_memory("oom@prefill"), 0U);
  EXPECT_EQ(tokens_until_no_memory("oom@decode"), 1U);
  EXPECT_EQ(tokens_until_no_memory("oom@decode:3"), 3U);
  WorkerOptions options = options_for(test_model_path());
  options.fault = "oom@load";
  EXPECT_THAT(failure(options, EndCause::out_of_memory), HasSubstr("SEEDANCE_FAULT"));
  options.fault = "oom@night";
  EXPECT_THAT(failure(options), HasSubstr("SEEDANCE_FAULT: \"oom@night\" is no fault"));
  options.fault = "abort@load";
  TestWorker worker{options};
  EXPECT_EQ(worker.next(), std::nullopt);
  EXPECT_EQ(worker.child().wait(), -SIGABRT);
}

TEST(Worker, IgnoresTheInterruptOfATerminal) {
  TestWorker worker{options_for(test_model_path())};
  worker.ready();
  worker.child().signal(SIGINT);
  worker.send(greedy_job(1, random_prompt(1, 4), 1));
  EXPECT_TRUE(worker.next());
}

// The test keeps the other end of the socket, so only the signal can end it.
TEST(Worker, DiesWithItsParent) {
  std::array<int, 2> ends{};
  std::array<int, 2> alive{};  // Closed when the worker is gone.
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  ASSERT_EQ(pipe(alive.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    close(ends[0]);
    if (fork() == 0) _exit(run_worker(ends[1], options_for(test_model_path())));
    close(ends[1]);
    close(alive[1]);
    pause();
  }
  close(ends[1]);
  close(alive[1]);
  std::array<char, 1> byte{};
  ASSERT_EQ(recv(ends[0], byte.data(), 1, 0), 1);  // It runs.
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  pollfd gone{.fd = alive[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&gone, 1, 30'000), 1);
  close(alive[0]);
  close(ends[0]);
}

TEST(Worker, RefusesAFileThatIsNotThere) {
  EXPECT_EQ(failure(options_for("/nowhere/model.gguf")),
            "model file '/nowhere/model.gguf': No such file or directory");
  EXPECT_THAT(failure(options_for(testing::TempDir())), HasSubstr("is not a regular file"));
}

TEST(Worker, RefusesAFileThatIsNoModel) {
  const TestFile text{"text.gguf", "This is a text, not a model, and quite long."};
  EXPECT_THAT(failure(options_for(text.path())),
              StartsWith("model file '" + text.path() + "' (44 bytes) is no whole GGUF file"));
  const TestFile empty{"empty.gguf", ""};
  EXPECT_THAT(failure(options_for(empty.path())), HasSubstr("(0 bytes) is no whole GGUF file"));
}

TEST(Worker, RefusesAFileThatIsCutShort) {
  const std::string whole = content_of(test_model_path());
  const TestFile cut{"cut.gguf", whole.substr(0, whole.size() - 1)};
  EXPECT_THAT(failure(options_for(cut.path())),
              testing::AllOf(HasSubstr("cut short or damaged: tensor '"), HasSubstr(" bytes from "),
                             HasSubstr("the file has " + std::to_string(whole.size() - 1))));
}

TEST(Worker, RefusesAVocabularyWithoutAModel) {
  EXPECT_THAT(failure(options_for(SEEDANCE_VOCABULARIES "/ggml-vocab-llama-bpe.gguf")),
              HasSubstr("cannot be loaded: "));
}

TEST(Worker, NamesTheAdapterThatCannotBeUsed) {
  WorkerOptions options = options_for(test_model_path());
  options.adapters = {test_adapter_path(1), "/nowhere/adapter.gguf"};
  EXPECT_EQ(failure(options), "adapter file '/nowhere/adapter.gguf': No such file or directory");
  const std::string whole = content_of(test_adapter_path(1));
  const TestFile cut{"cut.gguf", whole.substr(0, whole.size() - 1)};
  options.adapters = {cut.path()};
  EXPECT_THAT(failure(options), testing::AllOf(HasSubstr(cut.path()), HasSubstr("cut short")));
  std::string other = whole;  // Of a model that has no such tensor.
  for (std::size_t at = 0; (at = other.find("blk.0.attn_q", at)) != std::string::npos;) {
    other[at + 4] = '9';
  }
  const TestFile strange{"strange.gguf", other};
  options.adapters = {strange.path()};
  EXPECT_THAT(failure(options),
              testing::AllOf(HasSubstr(strange.path()), HasSubstr("cannot be loaded: "),
                             HasSubstr("blk.9.attn_q")));
}

// Each may take long, and the worker is not to be taken for stuck.
TEST(Worker, ShowsThatItGoesOnWithEachAdapterThatItTries) {
  const auto signs = [](std::vector<std::string> adapters) {
    WorkerOptions options = options_for(test_model_path());
    options.adapters = std::move(adapters);
    TestWorker worker{options};
    std::size_t count = 0;
    auto event = worker.next();
    for (; event && std::holds_alternative<engine::Loading>(*event); event = worker.next()) ++count;
    EXPECT_TRUE(event && std::holds_alternative<engine::Ready>(*event));
    return count;
  };
  const std::vector<std::string> two{test_adapter_path(1), test_adapter_path(2)};
  EXPECT_EQ(signs(two), signs({}) + two.size() + 1);  // And when they are done.
}

TEST(Worker, LoadsItsAdaptersAndComputesWithThem) {
  WorkerOptions options = options_for(test_model_path());
  options.adapters = {test_adapter_path(1), test_adapter_path(2)};
  TestWorker worker{options};
  EXPECT_EQ(worker.ready().timeline.back().first, "adapters");
  engine::Job job = greedy_job(1, random_prompt(1, 9), 12);
  job.adapter = 2;
  worker.send(job);
  std::vector<TokenId> output;
  while (output.size() < 12) {
    const auto event = worker.next();
    ASSERT_TRUE(event && std::holds_alternative<engine::Step>(*event));
    output.push_back(std::get<engine::Step>(*event).tokens.front().token);
  }
  LoneModel lone{test_model_path(), options.adapters};
  EXPECT_LT(lone.regret(job.prompt, output, 2), kEpsilon);
  EXPECT_GT(lone.regret(job.prompt, output, 1), kEpsilon);
}

TEST(Worker, RefusesMoreThanMemoryHolds) {
  WorkerOptions options = options_for(test_model_path());
  options.context_tokens = 33'000'000;
  options.sequences_max = 64;
  EXPECT_THAT(failure(options, EndCause::out_of_memory),
              testing::AllOf(HasSubstr("64 sequences of 33000000 tokens need "),
                             HasSubstr(" GiB are available")));
  options.context_tokens = 3'000'000'000;
  EXPECT_THAT(failure(options), HasSubstr("more than llama.cpp can keep"));
  options = options_for(test_model_path());
  options.sequences_max = 257;
  EXPECT_THAT(failure(options), HasSubstr("at most 256"));
}

// Without trying, and before anything is loaded.
TEST(Model, RefusesRoomThatThereIsNotAtOnce) {
  LogCapture log;
  WorkerOptions options = options_for(test_model_path());
  options.shared_tokens = 100'000'000;
  float progress = -1;
  const auto model =
      Model::load(options, log, [&](float share) { progress = share; }, std::uint64_t{1} << 30U);
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().detail,
              testing::AllOf(HasSubstr("kv_tokens: room for 100000000 tokens needs "),
                             HasSubstr("1 GiB are available")));
  EXPECT_EQ(progress, -1);
}

TEST(Model, MeasuresMemoryExactlyWhenItMayBeShort) {
  LogCapture log;
  WorkerOptions options = options_for(test_model_path());
  options.sequences_max = 64;
  const auto load = [&](std::uint64_t available) {
    return Model::load(options, log, [](float) {}, available);
  };
  const auto short_of = load(std::uint64_t{4} << 20U);
  ASSERT_FALSE(short_of);
  EXPECT_EQ(short_of.error().code, Errc::overloaded);
  const auto enough = load(std::uint64_t{48} << 20U);
  EXPECT_TRUE(enough) << enough.error().detail;
}

TEST(Model, TakesFewerSequencesWhereMemoryIsShortUnlessTold) {
  LogCapture log;
  const auto load = [&](std::uint32_t sequences) {
    WorkerOptions options = options_for(test_model_path());
    options.context_tokens = 4096;
    options.sequences_max = sequences;
    return Model::load(options, log, [](float) {}, std::uint64_t{48} << 20U);
  };
  EXPECT_FALSE(load(64));
  const auto fewer = load(0);
  ASSERT_TRUE(fewer) << fewer.error().detail;
  EXPECT_GT((*fewer)->sequences_max(), 1);
  EXPECT_LT((*fewer)->sequences_max(), 64);
  EXPECT_EQ((*fewer)->context_tokens(), 4096U);
}

TEST(Model, CountsItsAdaptersInMemory) {
  LogCapture log;
  WorkerOptions options = options_for(test_model_path());
  options.adapters = {test_adapter_path(1)};
  const auto model = Model::load(options, log, [](float) {}, 1000);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Errc::overloaded);
  EXPECT_THAT(model.error().detail, HasSubstr(test_adapter_path(1)));
}

}  // namespace
}  // namespace seedance::llama
