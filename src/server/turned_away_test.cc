#include "server/turned_away.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::server {
namespace {

using auth::Refusal;
using testing::HasSubstr;

TEST(TurnedAway, IsDeniedWhereNoOtherKeyWouldHelp) {
  for (std::size_t i = 0; i < auth::kRefusalCount; ++i) {
    const auto why = static_cast<Refusal>(i);
    const bool denied = why == Refusal::host || why == Refusal::origin || why == Refusal::role;
    EXPECT_EQ(turned_away(why).code,
              denied ? ErrorCode::permission_denied : ErrorCode::unauthenticated)
        << auth::name(why);
  }
}

TEST(TurnedAway, TellsNoKeyFromAKeyThatIsNotKnown) {
  EXPECT_THAT(turned_away(Refusal::no_credential).message, HasSubstr("none was given"));
  EXPECT_THAT(turned_away(Refusal::wrong_key).message, HasSubstr("not known"));
}

TEST(TurnedAway, HelpsNobodyToForgeAToken) {
  EXPECT_THAT(turned_away(Refusal::token_expired).message, HasSubstr("expired"));
  EXPECT_THAT(turned_away(Refusal::token_audience).message, HasSubstr("audience"));
  const std::string other = turned_away(Refusal::token_malformed).message;
  for (const Refusal why : {Refusal::token_too_long, Refusal::token_algorithm,
                            Refusal::token_signature, Refusal::token_no_expiry,
                            Refusal::token_not_yet, Refusal::token_issuer, Refusal::token_tenant}) {
    EXPECT_EQ(turned_away(why).message, other) << auth::name(why);
  }
}

}  // namespace
}  // namespace seedance::server
