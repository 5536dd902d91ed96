#include "server/route.h"

#include <gtest/gtest.h>

#include <set>

namespace seedance::server {
namespace {

TEST(Route, KnowsItsPathsExactly) {
  EXPECT_EQ(route_of("/v1/chat/completions").route, Route::chat);
  EXPECT_EQ(route_of("/ws/inference").route, Route::websocket);
  EXPECT_EQ(route_of("/v2/infer").route, Route::websocket);
  EXPECT_EQ(route_of("/debug/echo").route, Route::debug_echo);
  EXPECT_EQ(route_of("/").route, Route::page);
  for (const auto* path : {"", "/x", "/v1/chat/completions/", "/V1/models", "*", "//"}) {
    EXPECT_EQ(route_of(path).route, Route::unknown) << path;
  }
}

TEST(Route, TakesTheNameOfAModelFromThePath) {
  EXPECT_EQ(route_of("/v1/models").route, Route::models);
  EXPECT_EQ(route_of("/v1/models/").route, Route::unknown);
  const Routed routed = route_of("/v1/models/org/name");
  EXPECT_EQ(routed.route, Route::model);
  EXPECT_EQ(routed.argument, "org/name");
}

TEST(Route, TakesTheIdOfAStreamFromThePath) {
  EXPECT_EQ(route_of("/v1/streams").route, Route::streams);
  EXPECT_FALSE(route_of("/v1/streams").takes("DELETE"));
  EXPECT_EQ(route_of("/v1/streams/").route, Route::unknown);
  const Routed routed = route_of("/v1/streams/st_1");
  EXPECT_EQ(routed.route, Route::stream);
  EXPECT_EQ(routed.argument, "st_1");
  for (const auto* method : {"GET", "HEAD", "DELETE", "OPTIONS"}) {
    EXPECT_TRUE(routed.takes(method)) << method;
  }
  EXPECT_FALSE(routed.takes("POST"));
}

TEST(Route, HasANameEach) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kRouteCount; ++i) names.insert(name(static_cast<Route>(i)));
  EXPECT_EQ(names.size(), kRouteCount);
  EXPECT_EQ(name(Route::websocket), "websocket");
}

TEST(Route, TakesWholeMethodsOfTheRightCase) {
  const Routed models = route_of("/v1/models");
  EXPECT_TRUE(models.takes("GET"));
  EXPECT_TRUE(models.takes("HEAD"));
  EXPECT_FALSE(models.takes("POST"));
  EXPECT_FALSE(models.takes("get"));
  EXPECT_FALSE(models.takes("GE"));
  EXPECT_FALSE(models.takes(""));
  EXPECT_FALSE(route_of("/nothing").takes("GET"));
}

TEST(Route, OnlyProbesAndThePageAreOpen) {
  for (const auto* path : {"/", "/healthz", "/readyz", "/health/plugins/ws-inference"}) {
    EXPECT_TRUE(route_of(path).open()) << path;
  }
  for (const auto* path : {"/metrics", "/v1/models", "/v1/chat/completions", "/v1/streams",
                           "/v1/streams/st_1", "/ws/inference", "/nothing"}) {
    EXPECT_FALSE(route_of(path).open()) << path;
  }
}

}  // namespace
}  // namespace seedance::server
