#include "base/result.h"

#include <cstdio>
#include <cstdlib>

namespace seedance {

std::string_view name(Errc code) {
  switch (code) {
    case Errc::invalid:
      return "invalid";
    case Errc::not_found:
      return "not_found";
    case Errc::overloaded:
      return "overloaded";
    case Errc::disconnected:
      return "disconnected";
    case Errc::truncated:
      return "truncated";
    case Errc::corrupt:
      return "corrupt";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* condition, const char* detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, detail);
  std::abort();
}

}  // namespace seedance
