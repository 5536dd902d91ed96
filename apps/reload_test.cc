#include "apps/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace seedance::apps {
namespace {

using ::testing::ElementsAre;

class ReloadTest : public testing::Test {
 protected:
  // Does one reload and gives what was said.
  std::vector<std::string> reload(Result<config::Settings> loaded,
                                  Result<std::string> outcome = std::string{}) {
    std::vector<std::string> said;
    {
      Reload reload{running_,
                    {.load = [&] { return loaded; },
                     .check = [&](const config::Settings&) { return sound_; },
                     .apply =
                         [&](const config::Settings& settings) {
                           if (outcome) applied_.push_back(settings);
                           return outcome;
                         },
                     .say = [&](const std::string& line) { said.push_back(line); },
                     .failed = [&] { ++failed_; }}};
      reload.begin();
    }
    return said;
  }

  config::Settings running_;
  Result<void> sound_;
  std::vector<config::Settings> applied_;
  int failed_ = 0;
};

TEST_F(ReloadTest, TakesOverAndSaysWhatNeedsNoRestart) {
  config::Settings wanted;
  wanted.api_keys = {"sesame"};
  wanted.max_connections = 7;
  EXPECT_THAT(reload(wanted), ElementsAre("reload: api_keys: 0 secrets -> 1 secret",
                                          "reload: max_connections: 65536 -> 7"));
  EXPECT_THAT(applied_, ElementsAre(wanted));
}

TEST_F(ReloadTest, NamesWhatNeedsARestartAndTakesOverTheRest) {
  config::Settings wanted;
  wanted.host = "0.0.0.0";
  wanted.max_connections = 7;
  EXPECT_THAT(reload(wanted),
              ElementsAre("reload: max_connections: 65536 -> 7",
                          "reload: needs a restart: host: \"127.0.0.1\" -> \"0.0.0.0\""));
  config::Settings applied;
  applied.max_connections = 7;
  EXPECT_THAT(applied_, ElementsAre(applied));
}

TEST_F(ReloadTest, ChangesNothingWhereSomethingIsWrong) {
  EXPECT_THAT(reload(fail(Errc::invalid, "seedance.yaml:1: not YAML")),
              ElementsAre("reload: nothing changed: seedance.yaml:1: not YAML"));
  EXPECT_THAT(applied_, ElementsAre());
  config::Settings wanted;
  wanted.max_connections = 7;
  EXPECT_THAT(reload(wanted, fail(Errc::invalid, "no")),
              ElementsAre("reload: nothing changed: no"));
  sound_ = fail(Errc::invalid, "journal: \"nowhere\" is unknown");
  EXPECT_THAT(reload(wanted),
              ElementsAre("reload: nothing changed: journal: \"nowhere\" is unknown"));
  EXPECT_THAT(applied_, ElementsAre());
  EXPECT_EQ(failed_, 3);
}

TEST_F(ReloadTest, SaysWhatElseIsNew) {
  EXPECT_THAT(reload(config::Settings{}, "keys: 2 in all"), ElementsAre("reload: keys: 2 in all"));
}

TEST_F(ReloadTest, SaysSoWhereNothingIsNew) {
  EXPECT_THAT(reload(config::Settings{}), ElementsAre("reload: nothing changed"));
  EXPECT_EQ(failed_, 0);
}

TEST_F(ReloadTest, ComparesWithWhatTheLastReloadLeft) {
  config::Settings first;
  first.max_connections = 7;
  config::Settings second;
  second.max_connections = 8;
  std::vector<config::Settings> wanted{second, first};
  std::vector<std::string> said;
  {
    Reload reload{{},
                  {.load =
                       [&] {
                         const config::Settings next = wanted.back();
                         wanted.pop_back();
                         return next;
                       },
                   .check = [](const config::Settings&) -> Result<void> { return {}; },
                   .apply = [](const config::Settings&) { return Result<std::string>{""}; },
                   .say = [&](const std::string& line) { said.push_back(line); }}};
    reload.begin();
    reload.begin();
  }
  EXPECT_THAT(
      said, ElementsAre("reload: max_connections: 65536 -> 7", "reload: max_connections: 7 -> 8"));
}

}  // namespace
}  // namespace seedance::apps
