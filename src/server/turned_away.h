// What somebody is told who does not come in.
#pragma once

#include <string_view>

#include "auth/refusal.h"
#include "base/error_code.h"

namespace seedance::server {

// Says what he can mend himself. What exactly is wrong with a token is for the operator:
// the audit log and a metric tell.
Problem turned_away(auth::Refusal why);

// The same for somebody who is inside, as the reason of a Close.
std::string_view close_reason(auth::Refusal why);

}  // namespace seedance::server
