#include "llama/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::llama {
namespace {

TEST(Version, NamesReleaseAndCommit) {
  EXPECT_THAT(llama_cpp_version(), testing::MatchesRegex(R"([0-9.]+(-[a-z]+)? \([0-9a-f]+\))"));
}

}  // namespace
}  // namespace seedance::llama
