#include "auth/origins.h"

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
