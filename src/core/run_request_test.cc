#include "core/run_request.h"

#include <gtest/gtest.h>

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

TEST(RunRequest, AnyCutIsCorrupt) {
  const std::string whole = encode(full());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_run_request(as_bytes(whole.substr(0, size)))) << size;
  }
  EXPECT_FALSE(decode_run_request(as_bytes(whole + "x")));
}

}  // namespace
}  // namespace seedance::core
