#include "config/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::config {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> texts(const Settings& before, const Settings& after) {
  std::vector<std::string> out;
  for (const Change& change : difference(before, after)) out.push_back(to_text(change));
  return out;
}

TEST(Difference, NamesEveryKindOfValueThatChanged) {
  Settings after;
  after.model_path = "other.gguf";
  after.enable_streaming = false;
  after.max_connections = 5;
  after.allowed_hosts = {"a.example", "b.example"};
  EXPECT_THAT(texts({}, after),
              ElementsAre("model_path: \"\" -> \"other.gguf\"",
                          "allowed_hosts: [] -> [\"a.example\", \"b.example\"]",
                          "enable_streaming: true -> false", "max_connections: 65536 -> 5"));
  EXPECT_THAT(texts(after, after), ElementsAre());
}

TEST(Difference, CountsSecretsAndShowsNone) {
  Settings one;
  one.api_keys = {"hunter2"};
  EXPECT_THAT(texts({}, one), ElementsAre("api_keys: 0 secrets -> 1 secret"));
  Settings other;
  other.api_keys = {"sesame"};
  EXPECT_THAT(texts(one, other), ElementsAre("api_keys: 1 secret -> 1 secret"));
}

TEST(Reloaded, TakesOverWhatNeedsNoRestart) {
  Settings wanted;
  wanted.api_keys = {"sesame"};
  wanted.allowed_hosts = {"a.example"};
  wanted.drain_timeout_ms = 1;
  wanted.model_path = "other.gguf";
  wanted.websocket_port = 1;
  wanted.max_concurrent_streams = 1;
  Settings expected;
  expected.api_keys = wanted.api_keys;
  expected.allowed_hosts = wanted.allowed_hosts;
  expected.drain_timeout_ms = wanted.drain_timeout_ms;
  EXPECT_EQ(reloaded({}, wanted), expected);
  for (const Change& change : difference(reloaded({}, wanted), wanted)) {
    EXPECT_FALSE(change.key->reload) << change.key->name;
  }
}

}  // namespace
}  // namespace seedance::config
