#include "base/error_code.h"

#include <array>

namespace seedance {
namespace {

constexpr std::string_view kBadRequest = "invalid_request_error";
constexpr std::string_view kServerError = "server_error";
constexpr std::string_view kLimit = "rate_limit_error";

// In the order of the enum.
constexpr std::array<ErrorTraits, kErrorCodeCount> kTraits{{
    {"invalid_request", 400, kBadRequest, 0, false},
    {"unauthenticated", 401, "authentication_error", 1008, false},
    {"permission_denied", 403, "permission_error", 1008, false},
    {"model_not_found", 404, kBadRequest, 0, false},
    {"model_loading", 503, kServerError, 0, true},
    {"context_length_exceeded", 400, kBadRequest, 0, false},
    {"rate_limited", 429, kLimit, 0, true},
    {"overloaded", 503, kServerError, 1013, true},
    {"deadline_exceeded", 504, kServerError, 0, true},
    {"stream_not_found", 404, kBadRequest, 0, false},
    {"stream_expired", 410, kBadRequest, 0, false},
    {"cursor_ahead", 409, kBadRequest, 0, false},
    {"epoch_mismatch", 409, kBadRequest, 0, false},
    {"idempotency_mismatch", 409, kBadRequest, 0, false},
    {"stream_limit", 429, kLimit, 0, true},
    {"connection_limit", 503, kServerError, 1013, true},
    {"payload_too_large", 413, kBadRequest, 1009, false},
    {"protocol_error", 400, kBadRequest, 1002, false},
    {"engine_failed", 500, kServerError, 0, true},
    {"cancelled", 499, kBadRequest, 0, false},
    {"internal", 500, kServerError, 1011, true},
}};

}  // namespace

const ErrorTraits& traits(ErrorCode code) {
  return kTraits.at(static_cast<std::size_t>(code));
}

}  // namespace seedance
