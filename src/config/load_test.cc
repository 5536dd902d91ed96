#include "config/load.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/id.h"
#include "base/message.h"

namespace seedance::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sources file(std::string text) {
  return {.file = File{"seedance.yaml", std::move(text)}};
}

// The message that load() fails with; empty when it does not.
std::string mistake(const Sources& sources) {
  const auto settings = load(sources);
  if (settings) return "";
  EXPECT_EQ(settings.error().code, Errc::invalid);
  EXPECT_THAT(settings.error().detail, testing::Not(HasSubstr("\n")));
  return settings.error().detail;
}

TEST(Load, GivesDefaultsWhenNothingIsSet) {
  EXPECT_EQ(load({}), Settings{});
  EXPECT_EQ(load(file("")), Settings{});
  EXPECT_EQ(load(file("# only a comment\n")), Settings{});
}

TEST(Load, ReadsEveryKindOfValueFromTheFile) {
  const auto settings =
      load(file("model_path: /models/a b.gguf\n"
                "websocket_port: 9000\n"
                "gpu_layers: -1\n"
                "enable_streaming: false\n"
                "api_keys: [one, two]\n"
                "allowed_hosts:\n  - a.example\n  - b.example\n"
                "allowed_origins: https://c.example\n"));
  ASSERT_TRUE(settings) << settings.error().detail;
  EXPECT_EQ(settings->model_path, "/models/a b.gguf");
  EXPECT_EQ(settings->websocket_port, 9000);
  EXPECT_EQ(settings->gpu_layers, -1);
  EXPECT_FALSE(settings->enable_streaming);
  EXPECT_THAT(settings->api_keys, ElementsAre("one", "two"));
  EXPECT_THAT(settings->allowed_hosts, ElementsAre("a.example", "b.example"));
  EXPECT_THAT(settings->allowed_origins, ElementsAre("https://c.example"));
}

TEST(Load, FlagsWinOverEnvironmentAndThatOverTheFile) {
  Sources sources = file("websocket_port: 1\nthreads: 1\nhost: file\n");
  sources.environment = {{"SEEDANCE_WEBSOCKET_PORT", "2"}, {"SEEDANCE_THREADS", "2"}};
  sources.flags = {{"--port", {"3"}}};
  const auto settings = load(sources);
  ASSERT_TRUE(settings) << settings.error().detail;
  EXPECT_EQ(settings->websocket_port, 3);
  EXPECT_EQ(settings->threads, 2);
  EXPECT_EQ(settings->host, "file");
}

TEST(Load, SplitsListsOfTheEnvironmentAndTakesRepeatedFlags) {
  const auto from_environment = load({.environment = {{"SEEDANCE_API_KEYS", "a, b,c"}}});
  ASSERT_TRUE(from_environment);
  EXPECT_THAT(from_environment->api_keys, ElementsAre("a", "b", "c"));
  const auto from_flags = load({.flags = {{"--api-key", {"a", "b,c"}}}});
  ASSERT_TRUE(from_flags);
  EXPECT_THAT(from_flags->api_keys, ElementsAre("a", "b,c"));
}

TEST(Load, NamesFileLineKeyAndTheNearestKeyOfATypo) {
  EXPECT_EQ(mistake(file("# first\nwebsocket_prot: 8080\n")),
            "seedance.yaml:2: websocket_prot: there is no such key; did you mean websocket_port?");
  EXPECT_THAT(mistake(file("port: 8080\n")), HasSubstr("did you mean websocket_port?"));
  EXPECT_THAT(mistake(file("parallel: 8\n")), HasSubstr("did you mean max_concurrent_streams?"));
  EXPECT_THAT(mistake(file("Model_Path: x\n")), HasSubstr("did you mean model_path?"));
  EXPECT_THAT(mistake(file("colour_of_the_sky: blue\n")), HasSubstr("see `seedance init`"));
}

TEST(Load, NamesTheAllowedRangeOfANumber) {
  EXPECT_EQ(mistake(file("websocket_port: 65536\n")),
            "seedance.yaml:1: websocket_port: \"65536\" is not possible here; give a whole number "
            "from 0 to 65535");
  for (const char* wrong : {"-1", "8080x", "80.5", "0x50", "\"\"", "99999999999999999999"}) {
    EXPECT_THAT(mistake(file("websocket_port: " + std::string{wrong} + "\n")),
                HasSubstr("from 0 to 65535"))
        << wrong;
  }
  EXPECT_THAT(mistake({.environment = {{"SEEDANCE_THREADS", "many"}}}),
              HasSubstr("SEEDANCE_THREADS: \"many\""));
  EXPECT_THAT(mistake({.flags = {{"--parallel", {"257"}}}}), HasSubstr("--parallel: \"257\""));
}

TEST(Load, TakesTheEndsOfEveryRangeAndNothingBeyond) {
  for (const Key& key : keys()) {
    const auto* field = std::get_if<std::int64_t Settings::*>(&key.field);
    if (field == nullptr) continue;
    const std::string flag{key.flag};
    for (const std::int64_t fits : {key.least, key.most}) {
      const auto settings = load({.flags = {{flag, {std::to_string(fits)}}}});
      ASSERT_TRUE(settings) << flag;
      EXPECT_EQ((*settings).*(*field), fits);
    }
    EXPECT_NE(mistake({.flags = {{flag, {std::to_string(key.least - 1)}}}}), "") << flag;
    EXPECT_NE(mistake({.flags = {{flag, {std::to_string(key.most + 1)}}}}), "") << flag;
  }
}

TEST(Load, RefusesValuesOfTheWrongKind) {
  EXPECT_THAT(mistake(file("enable_streaming: maybe\n")), HasSubstr("true or false"));
  EXPECT_THAT(mistake(file("host: [a, b]\n")), HasSubstr("host: this needs a value"));
  EXPECT_THAT(mistake(file("host: {a: b}\n")), HasSubstr("host: this needs a value"));
  EXPECT_THAT(mistake(file("model_path:\n")), HasSubstr("model_path: this needs a value"));
  EXPECT_THAT(mistake(file("api_keys: [[a]]\n")), HasSubstr("a list of texts"));
  EXPECT_THAT(mistake(file("host: \"a\\nb\"\n")), HasSubstr("one line of text"));
}

TEST(Load, NamesTheArgumentThatIsNoValueOfASwitch) {
  EXPECT_EQ(
      mistake({.flags = {{"--insecure", {"model.gguf"}}}}),
      "\"model.gguf\" was not expected behind --insecure, which takes true, false or nothing");
}

TEST(Load, RefusesAKeyThatIsSetTwice) {
  EXPECT_EQ(mistake(file("threads: 1\nhost: a\nthreads: 2\n")),
            "seedance.yaml:3: threads: set in line 1 already");
}

TEST(Load, SaysWhereAFileIsNoYamlOrNoMap) {
  EXPECT_THAT(mistake(file("host: a\n  : [\n")), HasSubstr("seedance.yaml:2: not YAML"));
  EXPECT_THAT(mistake(file("- host\n")), HasSubstr("seedance.yaml:1: expected lines"));
  EXPECT_THAT(mistake(file("just words\n")), HasSubstr("expected lines"));
  EXPECT_THAT(mistake(file("? [a]\n: b\n")), HasSubstr("a key must be a plain word"));
  EXPECT_THAT(mistake(file(std::string(kFileBytesMax + 1, ' '))), HasSubstr("more than"));
  EXPECT_NE(mistake(file(std::string(100'000, '['))), "");
  // What the YAML library quotes may hold a line's end; mistake() wants one line.
  EXPECT_THAT(mistake(file(std::string{"a: &a \x05[\xd9\x02\0\n\"}\n", 15})),
              HasSubstr("not YAML"));
}

TEST(Load, NeverShowsASecret) {
  EXPECT_THAT(mistake(file("api_keys: [hunter2, \"\"]\n")),
              testing::AllOf(HasSubstr("api_keys"), testing::Not(HasSubstr("hunter2"))));
}

TEST(Load, IgnoresForeignVariablesButNotSlips) {
  EXPECT_EQ(load({.environment = {{"SEEDANCE_SERVICE_HOST", "10.0.0.1"},
                                  {"SEEDANCE_PORT", "tcp://10.0.0.1:8080"},
                                  {"PATH", "/bin"}}}),
            Settings{});
  EXPECT_EQ(mistake({.environment = {{"SEEDANCE_MODEL_PAHT", "x"}}}),
            "SEEDANCE_MODEL_PAHT: there is no such setting; did you mean SEEDANCE_MODEL_PATH?");
}

TEST(UnknownVariables, AreNamedWithTheNearestSetting) {
  EXPECT_THAT(unknown_variables({{"SEEDANCE_PORT", "9000"},
                                 {"SEEDANCE_MODEL", "x.gguf"},
                                 {"SEEDANCE_COLOUR_OF_THE_SKY", "blue"},
                                 {"SEEDANCE_", ""}}),
              ElementsAre("SEEDANCE_PORT means nothing: there is no such setting; did you mean "
                          "SEEDANCE_WEBSOCKET_PORT?",
                          "SEEDANCE_MODEL means nothing: there is no such setting; did you mean "
                          "SEEDANCE_MODEL_PATH?",
                          "SEEDANCE_COLOUR_OF_THE_SKY means nothing: there is no such setting; see "
                          "`seedance init` for all of them",
                          HasSubstr("SEEDANCE_ means nothing")));
}

TEST(UnknownVariables, AreNotThoseThatOthersSet) {
  EXPECT_THAT(unknown_variables({{"PATH", "/bin"},
                                 {"SEEDANCE_THREADS", "2"},
                                 {"SEEDANCE_PORT", "tcp://10.0.0.1:8080"},
                                 {"SEEDANCE_PORT_8080_TCP_ADDR", "10.0.0.1"},
                                 {"SEEDANCE_SERVICE_HOST", "10.0.0.1"},
                                 {"SEEDANCE_SERVICE_PORT_HTTP", "8080"},
                                 {"SEEDANCE_CUDA", "1"},
                                 {"SEEDANCE_FAULT", "oom@load"},
                                 {"SEEDANCE_BUILD", "build/dev"}}),
              testing::IsEmpty());
}

TEST(CommentedFile, HoldsEveryKeyAndLoadsBack) {
  Settings settings;
  settings.model_path = "/models/a \"b\" \\ c.gguf";
  settings.enable_streaming = false;
  settings.gpu_layers = -1;
  settings.allowed_hosts = {"a.example", "*"};
  EXPECT_EQ(load(file(commented_file(settings))), settings);
  EXPECT_EQ(load(file(commented_file({}))), Settings{});
  for (const Key& key : keys()) {
    EXPECT_THAT(commented_file({}), HasSubstr(std::string{key.help}));
    EXPECT_EQ(commented_file({}).find(fmt::format("*\n{}:", key.name)) != std::string::npos,
              key.reload);
  }
}

TEST(Keys, HaveDefaultsInRangeAndDistinctNames) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_TRUE(names.insert(key.flag).second) << key.flag;
    EXPECT_TRUE(key.flag.starts_with("--")) << key.flag;
    if (const auto* field = std::get_if<std::int64_t Settings::*>(&key.field)) {
      EXPECT_LE(key.least, Settings{}.*(*field)) << key.name;
      EXPECT_GE(key.most, Settings{}.*(*field)) << key.name;
    }
  }
}

TEST(Keys, TheLargestRequestFitsAMessageBetweenProcesses) {
  const auto key = std::ranges::find(keys(), "max_message_bytes", &Key::name);
  ASSERT_NE(key, keys().end());
  constexpr std::int64_t kBesideTokens = 1 << 20;
  EXPECT_LE(key->most * std::int64_t{sizeof(TokenId)} + kBesideTokens, kMessageBytesMax);
}

}  // namespace
}  // namespace seedance::config
