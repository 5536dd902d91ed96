#include "engine/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_seeds.h"

namespace seedance::engine {
namespace {

constexpr std::size_t kSizeBytes = 4;

const std::vector<Command>& commands() {
  static const std::vector<Command> kAll{
      Job{.id = {7},
          .gen = {2},
          .prompt = {{1}, {2}, {3}},
          .committed = {{4}},
          .adapter = 3,
          .tokens_max = 100,
          .sampling = {.temperature = 0.5F,
                       .top_k = 40,
                       .top_p = 0.9F,
                       .min_p = 0.05F,
                       .presence_penalty = 0.1F,
                       .frequency_penalty = 0.2F,
                       .repeat_penalty = 1.1F,
                       .repeat_last_n = 32,
                       .seed = UINT64_MAX,
                       .logit_bias = {{TokenId{5}, -100.0F}},
                       .logprobs = true,
                       .top_logprobs = 3,
                       .ignore_eos = true,
                       .grammar = "root ::= [a-z]+"},
          .priority = Priority::batch,
          .keep = 1,
          .dropped = 2},
      Cancel{.id = {8}, .gen = {1}},
  };
  return kAll;
}

const std::vector<Event>& events() {
  static const std::vector<Event> kAll{
      Loading{0.25F},
      Ready{.context_tokens = 2048,
            .sequences_max = 64,
            .vocabulary_size = 512,
            .timeline = {{"load", 1.5}, {"warmup", 0.25}},
            .memory = {{.device = "memory",
                        .predicted = {.weights = 1, .kv = 2, .compute = 3},
                        .taken = {.weights = 4, .kv = 5, .compute = UINT64_MAX}}},
            .warnings = {"gpu_layers: none", ""}},
      Step{.tokens = {StepToken{.job = {1}, .gen = {1}, .token = {9}, .prefill = Duration{123}},
                      StepToken{.job = {2},
                                .gen = {3},
                                .token = {-1},
                                .end = JobEnd::context,
                                .logprobs = {{.chosen = -1, .top = {{TokenId{4}, -0.5F}}}}}},
           .parked = 2,
           .restored = 1,
           .drafted = 7,
           .accepted = 3},
      JobFailed{.job = {3},
                .gen = {1},
                .problem = {.code = ErrorCode::context_length_exceeded,
                            .message = "too long",
                            .numbers = {{"prompt_tokens", 9}}}},
      Failed{"no such file"},
      Failed{"no room", EndCause::out_of_memory},
      Alive{},
      Memory{.cells_active = 1,
             .cells_pinned = 6,
             .cells_cached = 2,
             .cells_free = UINT64_MAX,
             .saved_bytes = std::uint64_t{5} << 32U,
             .tokens_asked = 3,
             .tokens_reused = 4,
             .evictions = 5,
             .resident_bytes = 7,
             .own_bytes = 8},
  };
  return kAll;
}

template <typename T>
std::string body_of(const T& message) {
  std::string out;
  encode(message, out);
  return out.substr(kSizeBytes);
}

TEST(Codec, ReadsBackEveryCommandAndEvent) {
  for (const Command& command : commands()) {
    const auto read = decode_command(as_bytes(body_of(command)));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, command);
  }
  for (const Event& event : events()) {
    const auto read = decode_event(as_bytes(body_of(event)));
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, event);
  }
}

TEST(Codec, SeedsOfItsFuzzerAreOfThisFormat) {
  std::string stream;
  const auto expect = [&stream](std::string_view name, const auto& message) {
    expect_seed("engine_codec_fuzz", name, body_of(message));
    encode(message, stream);
  };
  expect("job", commands().front());
  expect("cancel", commands().back());
  constexpr std::array<std::string_view, 8> kEvents{
      "loading", "ready", "step", "job_failed", "failed", "failed_memory", "alive", "memory"};
  for (std::size_t i = 0; i < kEvents.size(); ++i) expect(kEvents[i], events().at(i));
  expect_seed("engine_codec_fuzz", "stream", stream);
}

TEST(Codec, RefusesEveryCutAndEveryExtraByte) {
  for (const Event& event : events()) {
    const std::string body = body_of(event);
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
      const auto read = decode_event(as_bytes(body.substr(0, cut)));
      ASSERT_FALSE(read) << event.index() << " cut at " << cut;
      EXPECT_EQ(read.error().code, Errc::corrupt);
    }
    EXPECT_FALSE(decode_event(as_bytes(body + "x")));
  }
  for (const Command& command : commands()) {
    const std::string body = body_of(command);
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
      EXPECT_FALSE(decode_command(as_bytes(body.substr(0, cut))));
    }
  }
}

TEST(Codec, RefusesACauseThatThereIsNot) {
  std::string body = body_of(Event{Failed{"x", EndCause::hung}});
  ++body.back();
  EXPECT_FALSE(decode_event(as_bytes(body)));
}

TEST(Codec, RefusesAPriorityThatIsNone) {
  std::string body = body_of(commands().front());
  body.back() = 3;
  EXPECT_FALSE(decode_command(as_bytes(body)));
}

TEST(Codec, CommandsAreNoEvents) {
  for (const Command& command : commands()) EXPECT_FALSE(decode_event(as_bytes(body_of(command))));
  for (const Event& event : events()) EXPECT_FALSE(decode_command(as_bytes(body_of(event))));
}

}  // namespace
}  // namespace seedance::engine
