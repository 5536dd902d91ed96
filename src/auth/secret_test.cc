#include "auth/secret.h"

#include <gtest/gtest.h>

namespace seedance::auth {
namespace {

std::string encoded(std::string_view text) {
  return to_base64url({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

TEST(SecretHash, IsSha256) {
  EXPECT_EQ(to_hex(hash_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(same(hash_of("abc"), hash_of("abc")));
  EXPECT_FALSE(same(hash_of("abc"), hash_of("abd")));
}

TEST(SecretHash, IsReadAsItIsWritten) {
  const SecretHash hash = hash_of("x");
  EXPECT_EQ(parse_hex(to_hex(hash)), hash);
  EXPECT_EQ(parse_hex(std::string(64, 'g')), std::nullopt);
  EXPECT_EQ(parse_hex(std::string(64, 'A')), std::nullopt);
  EXPECT_EQ(parse_hex(std::string(62, 'a')), std::nullopt);
  EXPECT_EQ(parse_hex(std::string(66, 'a')), std::nullopt);
  EXPECT_EQ(parse_hex(""), std::nullopt);
}

TEST(MakeSecret, NeverGivesTheSameTwice) {
  const std::string one = make_secret(kKeyPrefix);
  EXPECT_EQ(one.size(), kKeyPrefix.size() + 43);
  EXPECT_TRUE(one.starts_with("sk-sd-"));
  EXPECT_TRUE(parse_base64url(one.substr(kKeyPrefix.size())));
  EXPECT_NE(one, make_secret(kKeyPrefix));
}

TEST(Base64Url, IsThatOfTheRfc) {
  const std::pair<std::string, std::string> examples[] = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},           {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"\xFB\xFF\xFE", "-__-"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(encoded(bytes), text);
    EXPECT_EQ(parse_base64url(text), bytes);
  }
}

TEST(Base64Url, RefusesWhatNoEncoderWrites) {
  for (const auto* text : {"Zg==", "Z", "Zm9vY", "Zh", "Zm9", "Z g", "Zm+v", "Zm/v", "Zm9v\n"}) {
    EXPECT_EQ(parse_base64url(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace seedance::auth
