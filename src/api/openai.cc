#include "api/openai.h"

#include <chrono>

namespace seedance::api {
namespace {

void append_model(wire::JsonWriter& json, const ModelEntry& model) {
  json.begin_object()
      .field("id", model.id)
      .field("object", "model")
      .field("created", to_seconds(model.created))
      .field("owned_by", "seedance")
      .end_object();
}

}  // namespace

HttpAnswer error_answer(const Problem& problem) {
  HttpAnswer answer{.status = traits(problem.code).http_status, .body = {}};
  append_error_object(answer.body, problem);
  return answer;
}

HttpAnswer models_answer(std::span<const ModelEntry> models) {
  HttpAnswer answer;
  wire::JsonWriter json{answer.body};
  json.begin_object().field("object", "list").key("data").begin_array();
  for (const ModelEntry& model : models) append_model(json, model);
  json.end_array().end_object();
  return answer;
}

HttpAnswer model_answer(const ModelEntry& model) {
  HttpAnswer answer;
  wire::JsonWriter json{answer.body};
  append_model(json, model);
  return answer;
}

std::int64_t to_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

AnswerHead::AnswerHead(const core::Accepted& accepted)
    : stream(accepted.stream),
      epoch(accepted.epoch),
      model(accepted.model),
      created(accepted.created),
      prompt_tokens(accepted.prompt_tokens),
      pieces(accepted.pieces) {}

std::optional<std::string_view> finish_reason(stream::FinishReason reason) {
  switch (reason) {
    case stream::FinishReason::cancelled:
    case stream::FinishReason::error:
      return std::nullopt;
    default:
      return name(reason);
  }
}

Problem failure(const stream::Terminal& terminal) {
  if (terminal.problem) return *terminal.problem;
  return {.code = ErrorCode::cancelled, .message = "The generation was cancelled."};
}

void append_error_object(std::string& out, const Problem& problem) {
  wire::JsonWriter json{out};
  json.begin_object().key("error").begin_object();
  json.field("message", problem.message).field("type", traits(problem.code).openai_type);
  json.key("param");
  if (problem.param.empty()) {
    json.null();
  } else {
    json.value(problem.param);
  }
  json.field("code", name(problem.code)).end_object().end_object();
}

void append_head(wire::JsonWriter& json, const AnswerHead& head, std::string_view id_prefix,
                 std::string_view object) {
  std::string id{id_prefix};
  id += to_text(head.stream);
  json.field("id", id)
      .field("object", object)
      .field("created", to_seconds(head.created))
      .field("model", head.model);
}

}  // namespace seedance::api
