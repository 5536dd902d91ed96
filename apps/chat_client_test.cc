#include "apps/chat_client.h"

#include <gtest/gtest.h>

namespace seedance::apps {
namespace {

TEST(Url, FillsInWhatIsLeftOut) {
  EXPECT_EQ(parse_url("ws://127.0.0.1:9000/x/y"), (Url{"127.0.0.1", "9000", "/x/y"}));
  EXPECT_EQ(parse_url("ws://host"), (Url{"host", "8080", "/ws/inference"}));
  EXPECT_EQ(parse_url("http://host:80/"), (Url{"host", "80", "/ws/inference"}));
  EXPECT_EQ(parse_url("host:81"), (Url{"host", "81", "/ws/inference"}));
  EXPECT_EQ(parse_url("ws://[::1]:82"), (Url{"::1", "82", "/ws/inference"}));
  EXPECT_EQ(parse_url("ws://[::1]"), (Url{"::1", "8080", "/ws/inference"}));
  EXPECT_EQ(parse_url("wss://host"), (Url{"host", "443", "/ws/inference", true}));
  EXPECT_EQ(parse_url("https://[::1]:82/x"), (Url{"::1", "82", "/x", true}));
  EXPECT_EQ(parse_url("http://host", "/v1"), (Url{"host", "8080", "/v1"}));
}

TEST(Url, RefusesEverythingElse) {
  for (const char* wrong : {"", "ws://", "wss://", "ftp://host", "host:", "host:port",
                            "host:123456", "ws://[::1", "a b", "u@host"}) {
    const auto url = parse_url(wrong);
    ASSERT_FALSE(url) << wrong;
    EXPECT_EQ(url.error().code, Errc::invalid) << wrong;
  }
}

}  // namespace
}  // namespace seedance::apps
