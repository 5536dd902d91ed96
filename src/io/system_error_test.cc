#include "io/system_error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace seedance::io {
namespace {

Error failure(int number) {
  errno = number;
  return system_failure("the call").error();
}

TEST(SystemFailure, SaysWhatAndWhy) {
  EXPECT_EQ(failure(EADDRINUSE).detail, "the call: Address already in use");
}

TEST(SystemFailure, NamesWhatTheCallerCanDo) {
  EXPECT_EQ(failure(EMFILE).code, Errc::overloaded);
  EXPECT_EQ(failure(ENOENT).code, Errc::not_found);
  EXPECT_EQ(failure(EADDRINUSE).code, Errc::invalid);
}

}  // namespace
}  // namespace seedance::io
