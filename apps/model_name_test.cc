#include "apps/model_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::apps {
namespace {

TEST(ModelName, IsTheFileNameWithoutItsEndings) {
  EXPECT_EQ(model_name_of("/models/tiny.gguf"), "tiny");
  EXPECT_EQ(model_name_of("tiny"), "tiny");
  EXPECT_EQ(model_name_of("a.b/big-00001-of-00003.gguf"), "big");
  EXPECT_EQ(model_name_of("-00001-of-00003.gguf"), "-00001-of-00003");
}

TEST(ModelName, OfEveryFileCanBeAskedFor) {
  EXPECT_EQ(model_name_of("/models/base+law@2.gguf"), "base-law-2");
  EXPECT_EQ(model_name_of("a\nb\xFF.gguf"), "a-b\xEF\xBF\xBD");
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "\xC3\xBC";
  for (const std::string& path : {"x" + umlauts, umlauts, std::string(300, 'x')}) {
    const std::string name = model_name_of(path);
    EXPECT_TRUE(check_model_name(name)) << name;
    EXPECT_GE(name.size(), kModelNameBytesMax - 1);
  }
}

TEST(ModelName, IsRefusedWhereNobodyCouldAskForIt) {
  for (const char* name : {"", "tiny", "org/model 7B", "\xC3\xBC"}) {
    EXPECT_TRUE(check_model_name(name)) << name;
  }
  EXPECT_TRUE(check_model_name(std::string(kModelNameBytesMax, 'x')));
  for (const auto& name : {std::string{"a@2"}, std::string{"+"}, std::string{"a\nb"},
                           std::string{"\xFF"}, std::string(kModelNameBytesMax + 1, 'x')}) {
    const auto refused = check_model_name(name);
    ASSERT_FALSE(refused) << name;
    EXPECT_THAT(refused.error().detail, testing::HasSubstr("at most 128 bytes"));
  }
}

}  // namespace
}  // namespace seedance::apps
