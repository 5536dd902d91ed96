// The static page at "/".
#pragma once

#include <string_view>

namespace seedance::server {

// web/index.html, as it was when this was built.
std::string_view page();

}  // namespace seedance::server
