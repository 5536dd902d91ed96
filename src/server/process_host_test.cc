#include "server/process_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/codec.h"
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
    write("program", "#!/bin/sh\ncd " + path_.string() +
                         "\nn=$(cat deaths-$1 2>/dev/null || cat deaths)\n"
                         "[ $n = 0 ] || { echo $((n - 1)) > deaths-$1; kill -KILL $$; }\n"
                         "echo $$ > " +
                         (path_ / "pid-").string() + "$1\ncat " + path_.string() +
                         "/$1 >&3\nexec cat <&3 > /dev/null\n");
    chmod(program().c_str(), 0700);
  }
  FakeProgram(const FakeProgram&) = delete;
  FakeProgram& operator=(const FakeProgram&) = delete;

  std::string program() const { return path_ / "program"; }
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
           .kv_tokens = 7,
           .kv_type = "q8_0"};
  EXPECT_THAT(worker_argv("p", model),
              ElementsAre("p", "worker", "--fd", "3", "--model", "m.gguf", "--ctx-size", "1",
                          "--parallel", "2", "--threads", "3", "--gpu-layers", "-1",
                          "--batch-tokens", "5", "--step-target-ms", "6", "--speculate-tokens", "8",
                          "--kv-tokens", "7", "--kv-type", "q8_0"));
  EXPECT_THAT(vocabulary_argv("p", model),
              ElementsAre("p", "vocabulary", "--fd", "3", "--model", "m.gguf"));
}

TEST(ProcessHost, ReportsWhatTheWorkerSays) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  const TestServer server{config_for(fake)};
  EXPECT_EQ(server.report().models.at(0).context_tokens, 128U);
  EXPECT_EQ(server.report().models.at(0).timeline, ready().timeline);
}

TEST(ProcessHost, KilledProcessesAreReplaced) {
  const FakeProgram fake{ready(), text::VocabularyReady{}};
  const TestServer server{config_for(fake)};
  for (const auto* command : {"worker", "vocabulary"}) {
    const pid_t before = fake.pid(command);
    kill(before, SIGKILL);
    while (fake.pid(command) == before || fake.pid(command) == 0) std::this_thread::yield();
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
