#include "server/process_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "engine/codec.h"
#include "io/clock.h"
#include "io/test_directory.h"
#include "server/test_client.h"
#include "text/codec.h"

namespace seedance::server {
namespace {

using testing::ElementsAre;

// A program that stands for both processes: dies a number of times, then says a fixed
// message, writes down its id, and only waits for its socket to close.
class FakeProgram {
 public:
  FakeProgram(const engine::Event& worker, const text::VocabularyEvent& vocabulary,
              int deaths = 0) {
    std::string bytes;
    engine::encode(worker, bytes);
    write("worker", bytes);
    bytes.clear();
    text::encode(vocabulary, bytes);
    write("vocabulary", bytes);
    write("deaths", std::to_string(deaths));
    write("program", "#!/bin/sh\ncd " + path_.string() + "\necho \"$@\" >> calls-$1" +
                         "\nn=$(cat deaths-$1 2>/dev/null || cat deaths)\n"
                         "[ $n = 0 ] || { echo $((n - 1)) > deaths-$1; kill -KILL $$; }\n"
                         "echo $$ > " +
                         (path_ / "pid-").string() + "$1\ncat " + path_.string() +
                         "/$1 >&3\nexec cat <&3 > /dev/null\n");
    chmod(program().c_str(), 0700);
  }
  FakeProgram(const FakeProgram&) = delete;
  FakeProgram& operator=(const FakeProgram&) = delete;

  // From its next start on.
  void say(const engine::Event& worker) const {
    std::string bytes;
    engine::encode(worker, bytes);
    write("new", bytes);
    std::filesystem::rename(path_ / "new", path_ / "worker");
  }

  std::string program() const { return path_ / "program"; }
  // How it was called, behind the path of the model.
  std::vector<std::string> calls(const char* command) const {
    std::vector<std::string> out;
    std::ifstream file{path_ / (std::string{"calls-"} + command)};
    for (std::string line; std::getline(file, line);) {
      out.push_back(line.substr(line.find("model.gguf")));
    }
    return out;
  }
  pid_t pid(const char* command) const {
    pid_t pid = 0;
    std::ifstream{path_ / (std::string{"pid-"} + command)} >> pid;
    return pid;
  }

 private:
  void write(const char* name, const std::string& bytes) const {
    std::ofstream{path_ / name, std::ios::binary} << bytes;
  }

  const io::TestDirectory directory_;
  const std::filesystem::path path_ = directory_.path();
};

// Looks until it is so, and not for ever.
template <typename Condition>
bool comes_true(const Condition& condition) {
  const TimePoint end = io::now() + std::chrono::minutes{1};
  while (!condition()) {
    if (io::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

engine::Ready ready() {
  return {
      .context_tokens = 128, .sequences_max = 4, .vocabulary_size = 1, .timeline = {{"load", 1.5}}};
}

ServerConfig config_for(const FakeProgram& fake) {
  ServerConfig config = scripted_config("");
  config.models[0].engine = LlamaModel{.path = "model.gguf"};
  config.program = fake.program();
  return config;
}

Result<void> run(const ServerConfig& config) {
  auto server = Server::open(config);
  if (!server) return std::unexpected(server.error());
  return (*server)->run([](const ReadyReport&) { ADD_FAILURE() << "it is not ready"; });
}

TEST(ProcessHost, CallsItsProgramAsTheConfigSays) {
  LlamaModel model{.path = "m.gguf"};
  EXPECT_THAT(worker_argv("p", model),
              ElementsAre("p", "worker", "--fd", "3", "--model", "m.gguf"));
  model = {.path = "m.gguf",
           .context_tokens = 1,
           .sequences_max = 2,
           .threads = 3,
           .gpu_layers = -1,
           .batch_tokens_max = 5,
           .step_target_ms = 6,
           .draft_tokens_max = 8,
           .draft_ngrams = false,
           .draft_model = "d.gguf",
           .step_max_ms = 60,
           .prefill_pause_ms = 0,
           .kv_tokens = 7,
           .kv_type = "q8_0",
           .park_memory_mb = 9,
           .reuse_min = 0,
           .grammar_bytes_max = 9,
           .schema_ms = 11,
           .adapters = {{.name = "a", .path = "a.gguf"}, {.name = "b", .path = "b.gguf"}}};
  EXPECT_THAT(
      worker_argv("p", model),
      ElementsAre("p", "worker", "--fd", "3", "--model", "m.gguf", "--ctx-size", "1", "--parallel",
                  "2", "--threads", "3", "--gpu-layers", "-1", "--batch-tokens", "5",
                  "--step-target-ms", "6", "--speculate-tokens", "8", "--draft-model", "d.gguf",
                  "--no-ngrams", "--step-max-ms", "60", "--prefill-pause-ms", "0", "--kv-tokens",
                  "7", "--grammar-memory", "9", "--kv-type", "q8_0", "--park-memory", "9",
                  "--prefix-reuse-min", "0", "--adapter", "a.gguf", "--adapter", "b.gguf"));
  EXPECT_THAT(vocabulary_argv("p", model), ElementsAre("p", "vocabulary", "--fd", "3", "--model",
                                                       "m.gguf", "--schema-ms", "11"));
}

TEST(ProcessHost, ReportsWhatTheWorkerSays) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  const TestServer server{config_for(fake)};
  EXPECT_EQ(server.report().models.at(0).context_tokens, 128U);
  EXPECT_EQ(server.report().models.at(0).timeline, ready().timeline);
}

TEST(ProcessHost, TellsOnceWhatAWorkerWarnsOf) {
  engine::Ready warning = ready();
  warning.warnings = {"gpu_layers: 9 cannot be"};
  const FakeProgram fake{warning, text::VocabularyReady{}};
  TestServer server{config_for(fake)};
  kill(fake.pid("worker"), SIGKILL);
  server.wait_for_metric("seedance_engine_restarts_total", 1);
  server.wait_for_metric("seedance_ready", 1);
  server.server().stop();
  server.server().stop();
  EXPECT_TRUE(server.join());
  EXPECT_EQ(std::ranges::count(server.notices(), "model tale: warning: gpu_layers: 9 cannot be"),
            1);
}

TEST(ProcessHost, ListsAModelWithItsAdapters) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  std::get<LlamaModel>(config.models[0].engine).adapters = {{.name = "law", .path = "law.gguf"}};
  const TestServer server{std::move(config)};
  TestClient client{server.port()};
  const auto all = client.get("/v1/models").json().at("data");
  EXPECT_EQ(all.at(0).at("id"), "tale@1");
  EXPECT_EQ(all.at(1).at("id"), "tale@1+law");
  EXPECT_EQ(all.as_array().size(), 2U);
  for (const auto* id : {"tale+law", "tale@1+law", "tale%401%2Blaw"}) {
    EXPECT_EQ(client.get(std::string{"/v1/models/"} + id).json().at("id"), "tale@1+law") << id;
  }
  EXPECT_EQ(client.get("/v1/models/tale+tax").status, 404);
}

TEST(ProcessHost, KilledProcessesAreReplaced) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  const TestServer server{config_for(fake)};
  for (const auto* command : {"worker", "vocabulary"}) {
    const pid_t before = fake.pid(command);
    kill(before, SIGKILL);
    ASSERT_TRUE(comes_true([&] {
      const pid_t now = fake.pid(command);
      return now != before && now != 0;
    })) << command;
  }
  server.wait_for_metric("seedance_engine_restarts_total", 1);
  server.wait_for_metric("seedance_ready", 1);
}

TEST(ProcessHost, AFailureAtTheFirstStartEndsTheRunWithItsReason) {
  const FakeProgram bad_worker{engine::Failed{"the file is no GGUF"}, text::VocabularyReady{}};
  auto outcome = run(config_for(bad_worker));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().detail, "the file is no GGUF");
  const FakeProgram bad_vocabulary{ready(), text::VocabularyFailed{"there is no tokenizer"}};
  outcome = run(config_for(bad_vocabulary));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().detail, "there is no tokenizer");
}

TEST(ProcessHost, AProcessThatDiesWhileItStartsIsStartedAgain) {
  const FakeProgram fake{ready(), text::VocabularyReady{}, 2};
  const TestServer server{config_for(fake)};
  EXPECT_EQ(server.report().models.at(0).context_tokens, 128U);
}

TEST(ProcessHost, AProcessThatAlwaysDiesWhileItStartsEndsTheRun) {
  const FakeProgram fake{ready(), text::VocabularyReady{}, 3};
  const auto outcome = run(config_for(fake));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().detail, testing::HasSubstr("killed by signal 9"));
}

LlamaModel& llama_of(ServerConfig& config) {
  return std::get<LlamaModel>(config.models[0].engine);
}

TEST(ProcessHost, AWorkerThatSaysNothingWhileItLoadsIsStuck) {
  const FakeProgram fake{engine::Loading{0.5F}, text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  llama_of(config).load_timeout = std::chrono::milliseconds{100};
  const auto outcome = run(config);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().detail,
            "the worker said nothing for 0.1 s while it loaded, and was killed (load_timeout_ms)");
  EXPECT_EQ(fake.calls("worker").size(), Host::kStartDeathsMax);
}

TEST(ProcessHost, AVocabularyThatSaysNothingToAPromptIsReplaced) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  llama_of(config).prepare_timeout = std::chrono::milliseconds{100};
  const TestServer server{config};
  const pid_t before = fake.pid("vocabulary");
  const auto answer = TestClient{server.port()}.post("/v1/completions", R"({"prompt":"x"})");
  EXPECT_EQ(answer.error_code(), "engine_failed");
  ASSERT_TRUE(comes_true([&] { return fake.pid("vocabulary") != before; }));
  server.wait_for_metric("seedance_ready", 1);
}

TEST(ProcessHost, FallsBackUntilTheChainIsSpent) {
  const FakeProgram fake{engine::Failed{"no room", engine::EndCause::out_of_memory},
                         text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  llama_of(config) = {.path = "model.gguf",
                      .sequences_max = 8,
                      .gpu_layers = 9,
                      .fallbacks = {{.gpu_layers = 4}, {.gpu_layers = 0, .sequences_max = 2}}};
  const auto outcome = run(config);
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().detail, testing::StartsWith("no room (out of memory: "));
  EXPECT_THAT(fake.calls("worker"),
              ElementsAre("model.gguf --parallel 8 --gpu-layers 9",
                          "model.gguf --parallel 8 --gpu-layers 4", "model.gguf --parallel 2"));
}

// Streams were let in that fit no less.
TEST(ProcessHost, AContextThatTheFirstWorkerChoseStays) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  llama_of(config).fallbacks = {{.sequences_max = 2}};
  const TestServer server{config};
  engine::Ready smaller = ready();
  smaller.context_tokens = 64;
  fake.say(smaller);
  kill(fake.pid("worker"), SIGKILL);
  server.wait_for_metric("seedance_engine_restarts_total", 1);
  fake.say(engine::Failed{"no room", engine::EndCause::out_of_memory});
  kill(fake.pid("worker"), SIGKILL);
  ASSERT_TRUE(comes_true([&] { return fake.calls("worker").size() >= 4; }));
  auto calls = fake.calls("worker");
  calls.resize(4);
  EXPECT_THAT(calls,
              ElementsAre("model.gguf", "model.gguf --ctx-size 128", "model.gguf --ctx-size 128",
                          "model.gguf --ctx-size 128 --parallel 2"));
}

TEST(ProcessHost, BeginsWithItsOwnSettingsAgainWhereTheChainIsSpent) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  ServerConfig config = config_for(fake);
  llama_of(config) = {.path = "model.gguf",
                      .context_tokens = 128,
                      .sequences_max = 8,
                      .fallbacks = {{.sequences_max = 2}}};
  const TestServer server{config};
  fake.say(engine::Failed{"no room", engine::EndCause::out_of_memory});
  kill(fake.pid("worker"), SIGKILL);
  ASSERT_TRUE(comes_true([&] { return fake.calls("worker").size() >= 6; }));
  fake.say(ready());
  server.wait_for_metric("seedance_ready", 1);
  auto calls = fake.calls("worker");
  calls.resize(6);
  const std::string own = "model.gguf --ctx-size 128 --parallel 8";
  const std::string fallback = "model.gguf --ctx-size 128 --parallel 2";
  EXPECT_THAT(calls, ElementsAre(own, own, fallback, own, fallback, own));
}

TEST(ProcessHost, AStartEndsWhereTheChainIsSpent) {
  const FakeProgram fake{ready(), text::VocabularyReady{}, 100};
  ServerConfig config = config_for(fake);
  llama_of(config).fallbacks = {{.batch_tokens_max = 64}};
  EXPECT_FALSE(run(config));
  EXPECT_EQ(fake.calls("worker").size(), 4U);  // Two that are killed are no accident.
}

TEST(ProcessHost, ServesWithTheFallbackThatHolds) {
  const FakeProgram fake{ready(), text::VocabularyReady{}, 2};  // Two deaths are no accident.
  ServerConfig config = config_for(fake);
  llama_of(config).fallbacks = {{.batch_tokens_max = 64}, {.batch_tokens_max = 32}};
  TestServer server{config};
  EXPECT_THAT(fake.calls("worker"),
              ElementsAre("model.gguf", "model.gguf", "model.gguf --batch-tokens 64"));
  EXPECT_EQ(server.metric("seedance_engine_fallback"), 1);
  EXPECT_EQ(server.metric("seedance_engine_ends_total{cause=\"killed\"}"), 2);
  server.server().stop();
  server.server().stop();
  EXPECT_TRUE(server.join());
  EXPECT_THAT(server.notices(),
              testing::Contains(testing::HasSubstr(
                  "fallback 1 of 2, until the server is started again: batch_tokens=64")));
}

TEST(ProcessHost, TellsWhatAWorkerDiedOfAndWhatToDo) {
  using engine::EndCause;
  EXPECT_EQ(end_of_worker({EndCause::other, "exited with code 1"}, {}),
            "the worker exited with code 1");
  EXPECT_EQ(end_of_worker({EndCause::other, ""}, engine::Failed{"no GGUF", EndCause::refused}),
            "no GGUF");
  EXPECT_THAT(end_of_worker({EndCause::killed, "was killed by signal 9 (Killed)"}, {}),
              testing::HasSubstr("(Killed), by hand or by the kernel for want of memory"));
  EXPECT_THAT(end_of_worker({EndCause::aborted, "was killed by signal 6 (Aborted)"}, {}),
              testing::HasSubstr("(Aborted), by llama.cpp or a backend"));
}

TEST(ProcessHost, NoProcessIsLeftBehind) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  {
    const TestServer server{config_for(fake)};
    EXPECT_EQ(kill(fake.pid("worker"), 0), 0);
  }
  EXPECT_NE(kill(fake.pid("worker"), 0), 0);
  EXPECT_NE(kill(fake.pid("vocabulary"), 0), 0);
}

}  // namespace
}  // namespace seedance::server
