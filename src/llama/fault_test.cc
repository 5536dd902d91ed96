#include "llama/fault.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

namespace seedance::llama {
namespace {

using Kind = FaultPlan::Kind;
using Place = FaultPlan::Place;

TEST(Fault, IsWrittenInOneLine) {
  EXPECT_EQ(parse_fault("").value(), FaultPlan{});
  EXPECT_EQ(parse_fault("oom@load").value(), (FaultPlan{.kind = Kind::oom, .place = Place::load}));
  EXPECT_EQ(parse_fault("abort@prefill").value(),
            (FaultPlan{.kind = Kind::abort, .place = Place::prefill}));
  EXPECT_EQ(parse_fault("hang@decode:40").value(),
            (FaultPlan{.kind = Kind::hang, .place = Place::decode, .nth = 40}));
  EXPECT_EQ(
      parse_fault("oom@decode:2,times=3:/tmp/a,b:c").value(),
      (FaultPlan{
          .kind = Kind::oom, .place = Place::decode, .nth = 2, .times = 3, .file = "/tmp/a,b:c"}));
}

TEST(Fault, RefusesWhatItDoesNotUnderstand) {
  constexpr auto kWrong = std::to_array<std::string_view>(
      {"oom", "oom@", "@load", "oom@load:", "oom@load:0", "oom@load:-1", "oom@load:1x", "Oom@load",
       "oom@nowhere", "leak@load", "oom@load,", "oom@load,once", "oom@load,times=2",
       "oom@load,times=2:", "oom@load,times=0:f", "oom@load,times=x:f", "oom@load ", " "});
  for (const std::string_view text : kWrong) {
    const auto plan = parse_fault(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().code, Errc::invalid);
    EXPECT_TRUE(plan.error().detail.contains(text)) << plan.error().detail;
  }
}

TEST(Fault, StrikesOnceAtItsPlace) {
  Fault fault{{.kind = Kind::oom, .place = Place::decode, .nth = 2}};
  EXPECT_FALSE(fault.strikes(Place::prefill));
  EXPECT_FALSE(fault.strikes(Place::decode));
  EXPECT_FALSE(fault.strikes(Place::load));
  EXPECT_TRUE(fault.strikes(Place::decode));
  EXPECT_FALSE(fault.strikes(Place::decode));
  EXPECT_FALSE(Fault{}.strikes(Place::load));
}

TEST(Fault, StrikesSoManyWorkersOnly) {
  const std::string file = testing::TempDir() + "faults_" + std::to_string(getpid());
  const FaultPlan plan{.kind = Kind::oom, .place = Place::load, .times = 2, .file = file};
  EXPECT_TRUE(Fault{plan}.strikes(Place::load));
  EXPECT_TRUE(Fault{plan}.strikes(Place::load));
  EXPECT_FALSE(Fault{plan}.strikes(Place::load));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace seedance::llama
