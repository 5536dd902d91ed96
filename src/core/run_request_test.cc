#include "core/run_request.h"

#include <gtest/gtest.h>

#include "base/test_seeds.h"
#include "engine/codec.h"

namespace seedance::core {
namespace {

RunRequest full() {
  return {.prompt = {{1}, {2}, {300}},
          .tokens_max = 77,
          .sampling = {.temperature = 0.5F,
                       .seed = 9,
                       .logit_bias = {{{4}, 1.5F}},
                       .grammar = "root ::= ."},
          .text = {.boundary = text::Boundary::grapheme, .stop = {"a", "\n\n"}},
          .detach = Detach::keep,
          .surface = Surface::completions,
          .include_usage = true,
          .priority = Priority::batch,
          .window = {.context = 4096, .keep = 17},
          .dropped = {.messages = 4, .tokens = 99}};
}

TEST(RunRequest, ComesBackAsItWas) {
  const auto decoded = decode_run_request(as_bytes(encode(full())));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, full());
}

TEST(RunRequest, SeedsOfItsFuzzerAreOfThisFormat) {
  expect_seed("run_request_fuzz", "full", encode(full()));
  expect_seed("run_request_fuzz", "plain", encode(RunRequest{.prompt = {{1}}, .tokens_max = 16}));
}

// What is of one server's life only.
TEST(RunRequest, HoldsNoNumberOfAnAdapterAndNoScope) {
  std::string bytes;
  engine::encode(engine::Job{.id = {}, .gen = {}, .prompt = {{1}}}, bytes);
  const std::string rest = encode(RunRequest{.prompt = {{1}}}).substr(bytes.size());
  EXPECT_TRUE(decode_run_request(as_bytes(bytes + rest)));
  for (const auto& job : {engine::Job{.id = {}, .gen = {}, .prompt = {{1}}, .adapter = 1},
                          engine::Job{.id = {}, .gen = {}, .prompt = {{1}}, .scope = 1}}) {
    bytes.clear();
    engine::encode(job, bytes);
    EXPECT_FALSE(decode_run_request(as_bytes(bytes + rest)));
  }
}

TEST(RunRequest, AnyCutIsCorrupt) {
  const std::string whole = encode(full());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_run_request(as_bytes(whole.substr(0, size)))) << size;
  }
  EXPECT_FALSE(decode_run_request(as_bytes(whole + "x")));
}

}  // namespace
}  // namespace seedance::core
