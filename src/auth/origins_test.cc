#include "auth/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace seedance::auth {
namespace {

using Names = std::vector<std::string>;

TEST(HostRules, OnLoopbackAdmitOnlyLoopback) {
  const HostRules rules{"127.0.0.1", {}};
  for (const auto* host : {"localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "127.0.0.1:1",
                           "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(rules.admits(host)) << host;
  }
  for (const auto* host :
       {"evil.example", "localhost.evil.example", "192.168.0.7", "10.0.0.1:8080", "[fe80::1]", "",
        ":8080", "[::1", "[::1]x", "localhost:80x", "evil.example:80@localhost"}) {
    EXPECT_FALSE(rules.admits(host)) << host;
  }
}

TEST(HostRules, AdmitTheBoundHostAndWhatIsAllowed) {
  const HostRules rules{"box.lan", Names{"api.example", "2001:db8::1", "[2001:db8::2]"}};
  EXPECT_TRUE(rules.admits("box.lan:8080"));
  EXPECT_TRUE(rules.admits("API.example"));
  EXPECT_TRUE(rules.admits("[2001:db8::1]:80"));
  EXPECT_TRUE(rules.admits("[2001:db8::2]"));
  EXPECT_FALSE(rules.admits("other.lan"));
}

TEST(HostRules, BeyondLoopbackAdmitAnyAddressButNoName) {
  const HostRules rules{"0.0.0.0", {}};
  EXPECT_TRUE(rules.admits("192.168.0.7:8080"));
  EXPECT_TRUE(rules.admits("[fe80::1]:8080"));
  EXPECT_FALSE(rules.admits("evil.example:8080"));
  EXPECT_FALSE(rules.admits("1.2.3.4.evil.example"));
  EXPECT_FALSE(HostRules("::1", {}).admits("192.168.0.7"));
}

TEST(HostRules, AStarAdmitsAnyName) {
  const HostRules rules{"127.0.0.1", Names{"*"}};
  EXPECT_TRUE(rules.admits("evil.example"));
  EXPECT_FALSE(rules.admits(""));
}

TEST(HostRules, TakeAShortNameForNoAddress) {
  EXPECT_TRUE(HostRules("127.0.0.1", Names{"cafe:80"}).admits("cafe:8080"));
}

TEST(AllowedHost, IsANameOrAnAddress) {
  for (const auto* host :
       {"*", "api.example", "API.example", "api.example.", "api.example:8080", "my_box", "cafe:80",
        "xn--bcher-kva.example", "192.168.0.7", "[2001:db8::1]", "[::1]:80"}) {
    EXPECT_TRUE(check_allowed_host(host)) << host;
    EXPECT_TRUE(HostRules("127.0.0.1", Names{host}).admits(host)) << host;
  }
  EXPECT_TRUE(check_allowed_host("2001:db8::1")) << "though in a header it has brackets";
  for (const auto* host :
       {"https://api.example", "api.example/", "api.example/v1", "*.example", "", ".", ":80",
        "a.example,b.example", "a b", "b\xC3\xBC.example", "user@api.example", "[::1"}) {
    EXPECT_FALSE(check_allowed_host(host)) << host;
  }
  EXPECT_EQ(check_allowed_host("https://api.example").error().detail,
            "\"https://api.example\" is no host; give a name or an address alone, like "
            "api.example, or * for any");
}

TEST(AllowedOrigin, IsWhatABrowserWrites) {
  for (const auto* origin :
       {"*", "null", "https://app.example", "HTTPS://App.example", "http://localhost:3000",
        "http://[::1]:8080", "https://app.example:80", "https://10.0.0.1", "file://",
        "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb", "capacitor://localhost"}) {
    EXPECT_TRUE(check_allowed_origin(origin)) << origin;
    EXPECT_TRUE(OriginRules(Names{origin}).lists(origin)) << origin;
  }
  using testing::HasSubstr;
  const auto why = [](std::string_view origin) {
    const auto checked = check_allowed_origin(origin);
    return checked ? "" : checked.error().detail;
  };
  EXPECT_EQ(why("app.example"),
            "\"app.example\" has no scheme, so it is no page's; give scheme, host and port alone, "
            "like https://app.example or http://localhost:3000, or * for any");
  for (const auto* origin : {"", "localhost:3000", "//app.example", "://app.example",
                             "https:app.example", "ht tp://app.example"}) {
    EXPECT_THAT(why(origin), HasSubstr("has no scheme")) << origin;
  }
  for (const auto* origin : {"https://app.example/", "https://App.example/chat",
                             "https://app.example?x", "https://app.example#x", "file:///"}) {
    EXPECT_THAT(why(origin), HasSubstr("goes on behind its host")) << origin;
  }
  for (const auto* origin :
       {"https://", "https://*.example", "https://:443", "https://user@app.example",
        "https://a.example,https:b", "https://b\xC3\xBC.example", "http://a:80x"}) {
    EXPECT_THAT(why(origin), HasSubstr("has no host")) << origin;
  }
  for (const auto* origin : {"https://app.example:443", "http://app.example:80"}) {
    EXPECT_THAT(why(origin), HasSubstr("has a port that browsers leave out")) << origin;
  }
}

TEST(OriginRules, AdmitTheSameHostOnly) {
  const OriginRules rules{{}};
  EXPECT_TRUE(rules.admits("http://localhost:8080", "localhost:8080", Transport::clear));
  EXPECT_TRUE(rules.admits("https://Box.lan", "box.lan", Transport::clear));
  EXPECT_FALSE(rules.admits("http://localhost:3000", "localhost:8080", Transport::clear));
  EXPECT_FALSE(rules.admits("http://evil.example", "localhost:8080", Transport::clear));
  EXPECT_FALSE(
      rules.admits("http://localhost:8080.evil.example", "localhost:8080", Transport::clear));
  EXPECT_FALSE(rules.admits("null", "localhost:8080", Transport::clear));
  EXPECT_FALSE(rules.admits("http://", "", Transport::clear));
  EXPECT_FALSE(rules.lists("http://localhost:8080"));
}

TEST(OriginRules, AdmitNoPageInTheClearOverTls) {
  const OriginRules rules{Names{"http://old.example"}};
  EXPECT_FALSE(rules.admits("http://box.lan", "box.lan", Transport::tls));
  EXPECT_TRUE(rules.admits("https://box.lan", "box.lan", Transport::tls));
  EXPECT_TRUE(rules.admits("http://old.example", "box.lan", Transport::tls)) << "it is listed";
}

TEST(OriginRules, AdmitExactlyWhatIsListed) {
  const OriginRules rules{Names{"https://app.example"}};
  EXPECT_TRUE(rules.admits("https://app.example", "localhost", Transport::clear));
  EXPECT_TRUE(rules.lists("https://APP.example"));
  EXPECT_FALSE(rules.lists("http://app.example"));
  EXPECT_FALSE(rules.lists("https://app.example:444"));
  EXPECT_FALSE(rules.lists("https://app.example.evil"));
  EXPECT_TRUE(OriginRules(Names{"*"}).lists("http://anything"));
}

}  // namespace
}  // namespace seedance::auth
