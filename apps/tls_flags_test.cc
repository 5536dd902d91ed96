#include "apps/tls_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace seedance::apps {
namespace {

io::TlsClientOptions parsed(const std::string& line) {
  CLI::App app;
  io::TlsClientOptions options;
  add_tls_flags(app, options);
  app.parse(line);
  return options;
}

TEST(TlsFlags, SayWhomToTrust) {
  EXPECT_EQ(parsed(""), io::TlsClientOptions{});
  EXPECT_EQ(parsed("--no-verify"), io::TlsClientOptions{.verify = false});
  EXPECT_EQ(parsed("--ca-file a --cert b --key c"),
            (io::TlsClientOptions{.ca_file = "a", .certificate_file = "b", .key_file = "c"}));
}

TEST(TlsFlags, AreRefusedWhereThereIsNoTls) {
  const Url plain{.host = "host", .port = "1", .path = "/"};
  const Url tls{.host = "host", .port = "1", .path = "/", .tls = true};
  EXPECT_TRUE(check_tls_flags(plain, {}));
  for (const char* flag : {"--ca-file a", "--cert a", "--key a", "--no-verify"}) {
    EXPECT_TRUE(check_tls_flags(tls, parsed(flag)));
    const auto checked = check_tls_flags(plain, parsed(flag));
    ASSERT_FALSE(checked) << flag;
    EXPECT_THAT(std::string{flag}, testing::StartsWith(checked.error().detail.substr(
                                       0, checked.error().detail.find(':'))));
  }
}

}  // namespace
}  // namespace seedance::apps
