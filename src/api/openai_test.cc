#include "api/openai.h"

#include <gtest/gtest.h>

#include <chrono>

namespace seedance::api {
namespace {

TEST(ErrorAnswer, HasTheShapeOfOpenAi) {
  const HttpAnswer answer = error_answer(
      {.code = ErrorCode::invalid_request, .message = "\"n\" must be 1.", .param = "n"});
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, R"({"error":{"message":"\"n\" must be 1.","type":"invalid_request_error",)"
                         R"("param":"n","code":"invalid_request"}})");
  EXPECT_EQ(error_answer({.code = ErrorCode::overloaded, .message = "Full."}).body,
            R"({"error":{"message":"Full.","type":"server_error","param":null,)"
            R"("code":"overloaded"}})");
}

TEST(ModelsAnswer, ListsModels) {
  const WallTime created{std::chrono::milliseconds{1'700'000'000'999}};
  EXPECT_EQ(models_answer({}), (HttpAnswer{200, R"({"object":"list","data":[]})"}));
  const std::vector<ModelEntry> models{{"a", created}, {"b@2", created}};
  EXPECT_EQ(models_answer(models).body,
            R"({"object":"list","data":[)"
            R"({"id":"a","object":"model","created":1700000000,"owned_by":"seedance"},)"
            R"({"id":"b@2","object":"model","created":1700000000,"owned_by":"seedance"}]})");
  EXPECT_EQ(model_answer(models[0]).body,
            R"({"id":"a","object":"model","created":1700000000,"owned_by":"seedance"})");
}

TEST(FinishReason, IsNoneForFailures) {
  EXPECT_EQ(finish_reason(stream::FinishReason::stop), "stop");
  EXPECT_EQ(finish_reason(stream::FinishReason::length), "length");
  EXPECT_EQ(finish_reason(stream::FinishReason::tool_calls), "tool_calls");
  EXPECT_EQ(finish_reason(stream::FinishReason::content_filter), "content_filter");
  EXPECT_EQ(finish_reason(stream::FinishReason::cancelled), std::nullopt);
  EXPECT_EQ(finish_reason(stream::FinishReason::error), std::nullopt);
}

TEST(Keepalive, IsACommentThatClientsIgnore) {
  std::string out;
  append_keepalive(out, BodyFraming::until_close);
  EXPECT_EQ(out, ": keepalive\n\n");
  out.clear();
  append_keepalive(out, BodyFraming::chunked);
  EXPECT_EQ(out, "d\r\n: keepalive\n\n\r\n");
}

}  // namespace
}  // namespace seedance::api
