#include "apps/resume_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <utility>

namespace seedance::apps {
namespace {

namespace json = boost::json;

std::string_view text_of(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view{value->get_string()} : "";
}

std::int64_t number_of(const json::object& message, std::string_view key) {
  const json::value* value = message.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

std::string problem_of(const json::object& error) {
  return fmt::format("{}: {}", text_of(error, "code"), text_of(error, "message"));
}

}  // namespace

ResumeState::ResumeState(json::object request, Limits limits)
    : request_(std::move(request)), limits_(limits) {}

std::string ResumeState::opening() {
  ++openings_;
  if (stream_.empty()) return json::serialize(request_);
  return json::serialize(json::object{{"type", "RESUME"},
                                      {"id", request_.at("id")},
                                      {"stream", stream_},
                                      {"seq", next_},
                                      {"epoch", epoch_}});
}

std::string ResumeState::cancellation() const {
  return json::serialize(json::object{{"type", "CANCEL"}, {"id", request_.at("id")}});
}

ResumeState::News ResumeState::on_message(const json::object& message) {
  const std::string_view type = text_of(message, "type");
  if (text_of(message, "id") != std::string_view{request_.at("id").as_string()}) return {};
  if (type == "ACCEPTED") {
    stream_ = text_of(message, "stream");
    epoch_ = number_of(message, "epoch");
    on_sign();
  } else if (type == "RESUMED") {
    on_sign();
  } else if (type == "INFER_CHUNK") {
    return on_chunk(message);
  } else if (type == "INFER_DONE") {
    if (number_of(message, "seq") != next_) {
      return End{.problem = fmt::format("the answer ends at token {}, but {} came",
                                        number_of(message, "seq"), next_)};
    }
    End end{.finish_reason = std::string{text_of(message, "finish_reason")}, .problem = {}};
    const json::value* error = message.if_contains("error");
    if (error != nullptr && error->is_object()) end.problem = problem_of(error->get_object());
    return end;
  } else if (type == "ERROR") {
    return on_refusal(message);
  }
  return {};
}

ResumeState::News ResumeState::on_chunk(const json::object& message) {
  on_sign();
  const std::int64_t from = number_of(message, "seq");
  const std::int64_t count = number_of(message, "n");
  if (from != next_) {
    return End{.problem = fmt::format("the server sent token {} instead of {}", from, next_)};
  }
  next_ += count;
  return Tokens{count, std::string{text_of(message, "text")}};
}

// The first time, whoever asks decides whether to ask again.
ResumeState::News ResumeState::on_refusal(const json::object& message) const {
  const json::value* retryable = message.if_contains("retryable");
  const bool later = retryable != nullptr && retryable->is_bool() && retryable->get_bool();
  if (later && openings_ > 1) return Later{problem_of(message)};
  const std::string_view code = text_of(message, "code");
  if (stream_.empty()) {
    return End{.finish_reason = code == "cancelled" ? "cancelled" : "",
               .problem = code == "cancelled" ? "" : problem_of(message),
               .mistaken = code == "invalid_request" || code == "model_not_found"};
  }
  return End{.problem = fmt::format("the answer cannot go on: {}", problem_of(message))};
}

void ResumeState::on_sign() {
  losses_ = 0;
  lost_at_.reset();
}

std::optional<Duration> ResumeState::on_lost(TimePoint now) {
  if (!lost_at_) lost_at_ = now;
  if (now - *lost_at_ >= limits_.patience) return std::nullopt;
  Duration pause = limits_.first_pause;
  for (std::uint32_t i = 0; i < losses_ && pause < limits_.longest_pause; ++i) pause *= 2;
  ++losses_;
  return std::min(pause, limits_.longest_pause);
}

}  // namespace seedance::apps
