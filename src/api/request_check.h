// What fuzz targets check of every request that a parser lets through.
#pragma once

#include <boost/json/parse.hpp>
#include <cmath>
#include <string_view>

#include "api/request.h"
#include "base/check.h"

namespace seedance::api {

inline void check_between(float number, float low, float high) {
  SEEDANCE_CHECK(number >= low && number <= high, "a number is in its range");
}

inline void check_request(const core::GenerateRequest& request) {
  const engine::Sampling& sampling = request.sampling;
  check_between(sampling.temperature, 0, 2);
  check_between(sampling.top_p, std::nextafter(0.0F, 1.0F), 1);
  check_between(sampling.min_p, 0, 1);
  check_between(sampling.presence_penalty, -2, 2);
  check_between(sampling.frequency_penalty, -2, 2);
  check_between(sampling.repeat_penalty, std::nextafter(0.0F, 1.0F), 2);
  SEEDANCE_CHECK(sampling.top_k >= 0, "top_k counts");
  SEEDANCE_CHECK(sampling.top_logprobs <= engine::kTopLogprobsMax, "top_logprobs is bounded");
  SEEDANCE_CHECK(sampling.logit_bias.size() <= kLogitBiasMax, "logit_bias is bounded");
  for (const auto& [token, bias] : sampling.logit_bias) {
    SEEDANCE_CHECK(token.value >= 0, "a token is no negative number");
    check_between(bias, -100, 100);
  }
  SEEDANCE_CHECK(request.max_tokens.value_or(1) > 0, "max_tokens is positive");
  SEEDANCE_CHECK(request.text.stop.size() <= kStopStringsMax, "stop is bounded");
  for (const auto& stop : request.text.stop) SEEDANCE_CHECK(!stop.empty(), "a stop string is some");
}

inline void check_problem(const Problem& problem) {
  SEEDANCE_CHECK(!problem.message.empty(), "a refusal says why");
  SEEDANCE_CHECK(problem.message.size() < 1024, "a refusal is short");
}

inline void check_json(std::string_view text) {
  boost::json::error_code error;
  boost::json::parse(text, error);
  SEEDANCE_CHECK(!error, "what is sent is JSON");
}

}  // namespace seedance::api
