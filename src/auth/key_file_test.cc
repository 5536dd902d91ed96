#include "auth/key_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace seedance::auth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

KeyEntry entry(std::string name, std::string_view secret = "s") {
  return {.name = std::move(name),
          .tenant = "acme",
          .role = Role::user,
          .hash = hash_of(secret),
          .created = "2025-06-30T12:00:00Z"};
}

std::string mistake(std::string_view text) {
  const auto parsed = parse_key_file(text, "keys");
  EXPECT_FALSE(parsed) << text;
  return parsed ? "" : parsed.error().detail;
}

TEST(KeyFile, IsReadAsItIsWritten) {
  KeyEntry admin = entry("ops", "other");
  admin.role = Role::admin;
  const std::string text = with_key(with_key("", entry("acme-1")), admin);
  const auto parsed = parse_key_file(text, "keys");
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_THAT(*parsed, ElementsAre(entry("acme-1"), admin));
}

TEST(KeyFile, MayHoldCommentsEmptyLinesAndNoLastLineEnd) {
  const std::string text = "# all of acme\n\n   \n \t# more\r\n\t" + to_line(entry("a")) + "\r\n" +
                           to_line(entry("b", "t"));
  const auto parsed = parse_key_file(text, "keys");
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_THAT(*parsed, ElementsAre(entry("a"), entry("b", "t")));
  EXPECT_TRUE(parse_key_file("", "keys")->empty());
}

TEST(KeyFile, NamesTheLineThatIsWrongAndNeverTheHash) {
  const std::string hash = to_hex(hash_of("s"));
  const auto line = [&](std::string_view name, std::string_view tenant, std::string_view role,
                        std::string_view key, std::string_view time) {
    return fmt::format("# head\n{} {} {} {} {}\n", name, tenant, role, key, time);
  };
  const std::string good = "sha256:" + hash;
  constexpr std::string_view kTime = "2025-06-30T12:00:00Z";
  const std::pair<std::string, std::string> wrong[] = {
      {"# head\na acme user\n", "five"},
      {line("a", "acme", "user", good, "2025-06-30T12:00:00Z more"), "five"},
      {line("caf\xC3\xA9", "acme", "user", good, kTime), "name"},
      {line("a", std::string(129, 'x'), "user", good, kTime), "tenant"},
      {line("a", "acme", "root", good, kTime), "role"},
      {line("a", "acme", "user", hash, kTime), "sha256:"},
      {line("a", "acme", "user", good + "0", kTime), "64 digits"},
      {line("a", "acme", "user", good, "yesterday"), "2025-06-30T12:00:00Z"},
      {line("a", "acme", "user", good, "2025-06-30T12:00:00+1"), "2025-06-30T12:00:00Z"},
  };
  for (const auto& [text, reason] : wrong) {
    EXPECT_THAT(mistake(text),
                AllOf(StartsWith("keys:2: "), HasSubstr(reason), Not(HasSubstr(hash))));
  }
}

TEST(KeyFile, HoldsNoNameAndNoKeyTwice) {
  const std::string first = to_line(entry("a")) + "\n";
  EXPECT_THAT(mistake(first + to_line(entry("a", "other"))), HasSubstr("keys:2: "));
  EXPECT_THAT(mistake(first + to_line(entry("b"))), HasSubstr("keys:2: "));
}

TEST(KeyFile, LosesOneLineAndNothingElse) {
  const std::string a = to_line(entry("a")) + "\n";
  const std::string b = "  " + to_line(entry("b", "t"));
  EXPECT_EQ(without_key("# a b\n" + a + "\n" + b, "a"), "# a b\n\n" + b);
  EXPECT_EQ(without_key("# a b\n" + a + "\n" + b, "b"), "# a b\n" + a + "\n");
  EXPECT_EQ(without_key(a, "acme"), a);
  EXPECT_EQ(without_key("", "a"), "");
}

TEST(KeyFile, GetsALineEndBeforeAnotherKey) {
  const std::string a = to_line(entry("a"));
  EXPECT_EQ(with_key(a, entry("b", "t")), a + "\n" + to_line(entry("b", "t")) + "\n");
}

TEST(FreeName, IsTheFirstNumberThatNobodyHas) {
  EXPECT_EQ(free_name({}, "acme"), "acme-1");
  EXPECT_EQ(free_name({entry("acme-1"), entry("acme-3")}, "acme"), "acme-2");
  EXPECT_TRUE(is_name(free_name({}, std::string(kNameBytesMax, 'a'))));
}

// Its line would be a comment, and its key would open nothing.
TEST(FreeName, NeverBeginsWithAHash) {
  EXPECT_EQ(free_name({}, "#acme"), "acme-1");
  EXPECT_EQ(free_name({entry("key-1")}, "##"), "key-2");
  EXPECT_EQ(free_name({}, std::string(kNameBytesMax, '#')), "key-1");
  EXPECT_TRUE(is_key_name("a#"));
  EXPECT_FALSE(is_key_name("#a"));
}

}  // namespace
}  // namespace seedance::auth
