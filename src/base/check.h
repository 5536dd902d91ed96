// SEEDANCE_CHECK: for bugs, never for input. On in every build.
#pragma once

namespace seedance {

// Prints where, what and the detail to standard error, then aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* detail);

}  // namespace seedance

// Aborts with the text of the condition, and a sentence about it, when false.
#define SEEDANCE_CHECK(condition, detail) \
  (static_cast<bool>(condition)           \
       ? void(0)                          \
       : ::seedance::check_failed(__FILE__, __LINE__, #condition, detail))
