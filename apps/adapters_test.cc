#include "apps/adapters.h"

#include <gmock/gmock.h>

namespace seedance::apps {
namespace {

using testing::HasSubstr;

std::string mistake(const std::vector<std::string>& texts) {
  const auto adapters = parse_adapters(texts);
  EXPECT_FALSE(adapters);
  return adapters ? "" : adapters.error().detail;
}

TEST(Adapters, AreNamesAndFiles) {
  const auto adapters = parse_adapters({"law=/a/law=1.gguf", "T.a_l-e2=tale.gguf"});
  ASSERT_TRUE(adapters) << adapters.error().detail;
  ASSERT_EQ(adapters->size(), 2U);
  EXPECT_EQ(adapters->at(0).name, "law");
  EXPECT_EQ(adapters->at(0).path, "/a/law=1.gguf");
  EXPECT_EQ(adapters->at(1).name, "T.a_l-e2");
  EXPECT_TRUE(parse_adapters({})->empty());
}

TEST(Adapters, HaveNamesThatAModelsCanBeToldFrom) {
  for (const std::string text :
       {"law", "law=", "=law.gguf", "a+b=c", "a@1=c", "a b=c", "\xc3\xa4=c"}) {
    EXPECT_THAT(mistake({text}), HasSubstr("is no NAME=FILE")) << text;
  }
  const std::string longest(kAdapterNameBytesMax, 'a');
  EXPECT_TRUE(parse_adapters({longest + "=c"}));
  EXPECT_THAT(mistake({longest + "a=c"}), HasSubstr("1 to 64 letters"));
}

TEST(Adapters, AreNotTooManyAndNotTwice) {
  EXPECT_THAT(mistake({"a=b", "c=d", "a=e"}), HasSubstr("\"a\" is there twice"));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kAdaptersMax; ++i) texts.push_back("a" + std::to_string(i) + "=b");
  EXPECT_TRUE(parse_adapters(texts));
  texts.emplace_back("b=b");
  EXPECT_THAT(mistake(texts), HasSubstr("33 are more than 32"));
}

}  // namespace
}  // namespace seedance::apps
