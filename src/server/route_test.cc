#include "server/route.h"

#include <gtest/gtest.h>

namespace seedance::server {
namespace {

TEST(Route, KnowsItsPathsExactly) {
  EXPECT_EQ(route_of("/v1/chat/completions").route, Route::chat);
  EXPECT_EQ(route_of("/ws/inference").route, Route::websocket);
  EXPECT_EQ(route_of("/v2/infer").route, Route::websocket);
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
  for (const auto* path :
       {"/metrics", "/v1/models", "/v1/chat/completions", "/ws/inference", "/nothing"}) {
    EXPECT_FALSE(route_of(path).open()) << path;
  }
}

}  // namespace
}  // namespace seedance::server
