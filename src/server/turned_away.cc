#include "server/turned_away.h"

#include <string>
#include <utility>

namespace seedance::server {

Problem turned_away(auth::Refusal why) {
  using auth::Refusal;
  const auto denied = [](std::string message) {
    return Problem{.code = ErrorCode::permission_denied, .message = std::move(message)};
  };
  const auto unknown = [](std::string message) {
    return Problem{.code = ErrorCode::unauthenticated, .message = std::move(message)};
  };
  switch (why) {
    case Refusal::host:
      return denied("this server does not answer to that Host; add it to allowed_hosts");
    case Refusal::origin:
      return denied("pages of that Origin may not use this server; add it to allowed_origins");
    case Refusal::role:
      return denied("this is for admins: it needs a key or token whose role is admin");
    case Refusal::no_credential:
      return unknown(
          "this server needs an API key, and none was given: send it as Authorization: Bearer KEY");
    case Refusal::wrong_key:
      return unknown("this API key is not known here: send another");
    case Refusal::wrong_ticket:
      return unknown(
          "this ticket was used, is too old or was never issued; POST /v1/tickets gives "
          "another");
    case Refusal::revoked:
      return unknown("you may not come in any more with what you came in with: get another");
    case Refusal::token_expired:
      return unknown("the token has expired; get a new one");
    case Refusal::token_audience:
      return unknown("the token is for another audience than this server; get one for it");
    default:
      return unknown("the token is not valid here; get another");
  }
}

std::string_view close_reason(auth::Refusal why) {
  return why == auth::Refusal::revoked ? "you may not come in any more with what you came in with"
                                       : "your token has expired: connect with a new one";
}

}  // namespace seedance::server
