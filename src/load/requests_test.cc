#include "load/requests.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

namespace seedance::loadgen {
namespace {

std::string first(const RequestOptions& options) {
  auto prompts = Prompts::read("hi", options.api);
  const auto requests = Requests::make(options, *std::move(prompts));
  return requests ? requests->members(0) : requests.error().detail;
}

TEST(Requests, SayWhatTheirApiNeeds) {
  EXPECT_EQ(first({.api = Api::native, .max_tokens = 0}), R"("prompt":"hi","detach":"cancel")");
  EXPECT_EQ(first({.api = Api::binary, .model = "m", .max_tokens = 5}),
            R"("prompt":"hi","model":"m","max_tokens":5,"detach":"cancel")");
  EXPECT_EQ(
      first({.api = Api::completions, .max_tokens = 5}),
      R"("prompt":"hi","max_tokens":5,"stream":true,"stream_options":{"include_usage":true})");
}

TEST(Requests, TakeMoreAndOther) {
  EXPECT_EQ(first({.api = Api::native,
                   .max_tokens = 5,
                   .extra = R"({"temperature":0,"max_tokens":9,"detach":"keep"})"}),
            R"("prompt":"hi","max_tokens":9,"detach":"keep","temperature":0)");
}

TEST(Requests, RefuseWhatIsNotTheirs) {
  EXPECT_EQ(first({.extra = "[1]"}), "it is no JSON object");
  EXPECT_EQ(first({.extra = "\"a\":1"}), "it is no JSON object");
  EXPECT_EQ(first({.extra = R"({"stream":false})"}), "it may not say 'stream'");
  EXPECT_EQ(first({.extra = R"({"prompt":"x"})"}), "it may not say 'prompt'");
}

}  // namespace
}  // namespace seedance::loadgen
