#include "scripted/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace seedance::scripted {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Script, EmptyTextIsTheDocumentedDefault) {
  EXPECT_EQ(parse_script(""), Script{});
  EXPECT_EQ(parse_script("mode=prose,rate=50,jitter=0,prefill=100us,step=0ms,length=200,"
                         "context=8192,sequences=64,seed=0"),
            Script{});
}

TEST(Script, ReadsEveryKey) {
  const Script expected{.mode = Mode::echo,
                        .rate = 12.5,
                        .jitter = 0.2,
                        .prefill = 1500us,
                        .step = 20ms,
                        .length = 3,
                        .context = 64,
                        .sequences = 2,
                        .seed = 18446744073709551615U,
                        .die_at_step = 100,
                        .fail_at_token = 0,
                        .stall = Stall{.token = 5, .time = 300ms}};
  EXPECT_EQ(
      parse_script("mode=echo,rate=12.5,jitter=0.2,prefill=1.5ms,step=20ms,length=3,context=64,"
                   "sequences=2,seed=18446744073709551615,fault=die@100,fault=fail@0,"
                   "fault=stall@5:0.3s"),
      expected);
  EXPECT_EQ(parse_script("rate=0")->rate, 0);
}

TEST(Script, RefusesWhatItDoesNotKnowAndNamesIt) {
  const auto why = [](std::string_view text) {
    const auto script = parse_script(text);
    return script ? std::string{"accepted"} : script.error().detail;
  };
  EXPECT_THAT(why("rat=5"), HasSubstr("unknown key 'rat'"));
  EXPECT_THAT(why("rate"), HasSubstr("'rate' is not key=value"));
  EXPECT_THAT(why("rate="), HasSubstr("'rate=' is not key=value"));
  EXPECT_THAT(why("rate=5,,seed=1"), HasSubstr("'' is not key=value"));
  EXPECT_THAT(why("rate=5,"), HasSubstr("a comma at the end"));
  EXPECT_THAT(why("seed=1,seed=1"), HasSubstr("seed is given twice"));
  EXPECT_THAT(why("fault=die@1,fault=die@2"), HasSubstr("fault=die@2: given twice"));
  EXPECT_THAT(why("mode=song"), HasSubstr("mode=song"));
  for (const char* text :
       {"rate=-1", "rate=nan", "rate=5x", "rate=1e-9", "rate=2e6", "rate=inf", "jitter=1.1",
        "length=0", "length=4294967296", "length=1.5", "context=1", "sequences=0", "seed=-1",
        "prefill=5", "prefill=ms", "prefill=2s", "prefill=1.2.3ms", "prefill=-1ms"}) {
    EXPECT_THAT(why(text), HasSubstr(text));
  }
  for (const char* text :
       {"fault=die", "fault=die@0", "fault=die@x", "fault=die@5:1s", "fault=fail@", "fault=fail@1:",
        "fault=stall@5", "fault=stall@5:", "fault=stall@5:9", "fault=stall@5:2000h", "fault=x@1"}) {
    EXPECT_THAT(why(text), HasSubstr(text));
  }
}

TEST(Script, AStoryIsTheSameHoweverItIsTold) {
  const std::string story = story_of(Script{});
  for (const auto* same :
       {"rate=7,jitter=0.5", "context=99,sequences=3", "fault=die@9", "step=5ms"}) {
    EXPECT_EQ(story_of(*parse_script(same)), story) << same;
  }
  for (const auto* other : {"seed=1", "length=7", "mode=echo"}) {
    EXPECT_NE(story_of(*parse_script(other)), story) << other;
  }
}

}  // namespace
}  // namespace seedance::scripted
