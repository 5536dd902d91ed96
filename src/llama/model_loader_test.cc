#include "llama/model_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llama/test_file.h"
#include "llama/test_model.h"

namespace seedance::llama {
namespace {

using testing::HasSubstr;

TEST(ModelLoader, TellsHowFarItIs) {
  LogCapture log;
  float told = -1;
  const auto model =
      load_model({.model_path = test_model_path()}, log, Load::whole, [&](float share) {
        EXPECT_GE(share, told);
        told = share;
      });
  ASSERT_TRUE(model) << model.error().detail;
  EXPECT_EQ(told, 1);
}

TEST(ModelLoader, SaysWhatIsWrong) {
  const TestFile junk{"junk.gguf", "no model at all"};
  for (const Load load : {Load::whole, Load::layout}) {
    LogCapture log;
    const auto model = load_model({.model_path = junk.path()}, log, load, [](float) {});
    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().detail, HasSubstr(junk.path()));
  }
}

}  // namespace
}  // namespace seedance::llama
