#include "llama/failure.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace seedance::llama {
namespace {

using engine::EndCause;

// As llama.cpp and its backends write them.
TEST(Failure, KnowsTheWordsForNoMemory) {
  EXPECT_EQ(code_of("unable to allocate CUDA0 buffer"), Errc::overloaded);
  EXPECT_EQ(code_of("failed to allocate buffer for kv cache"), Errc::overloaded);
  EXPECT_EQ(code_of("allocating 80.00 MiB on device 0: cudaMalloc failed: out of memory"),
            Errc::overloaded);
  EXPECT_EQ(code_of("unknown model architecture: 'x'"), Errc::invalid);
  EXPECT_EQ(code_of(""), Errc::invalid);
}

TEST(Failure, GivesReasonsWhereThereAreAny) {
  EXPECT_EQ(because("no magic; no version"), ": no magic; no version");
  EXPECT_EQ(because(""), "");
}

TEST(Failure, TellsMemoryFromABrokenFileAndABrokenBackend) {
  EXPECT_EQ(cause_of_refusal({Errc::overloaded, "x"}), EndCause::out_of_memory);
  EXPECT_EQ(cause_of_refusal({Errc::not_found, "x"}), EndCause::refused);
  EXPECT_EQ(cause_of_refusal({Errc::invalid, "x"}), EndCause::refused);
  EXPECT_EQ(cause_of_break({Errc::overloaded, "x"}), EndCause::out_of_memory);
  EXPECT_EQ(cause_of_break({Errc::invalid, "llama_decode gave -3"}), EndCause::aborted);
  EXPECT_EQ(cause_of_break({Errc::corrupt, "x"}), EndCause::other);
  EXPECT_EQ(cause_of(std::bad_alloc{}), EndCause::out_of_memory);
  EXPECT_EQ(cause_of(std::runtime_error{"unable to allocate CPU buffer"}), EndCause::out_of_memory);
  EXPECT_EQ(cause_of(std::runtime_error{"vk::DeviceLost"}), EndCause::aborted);
}

}  // namespace
}  // namespace seedance::llama
