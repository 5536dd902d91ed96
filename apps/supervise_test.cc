#include "apps/supervise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "io/test_directory.h"

namespace seedance::apps {
namespace {

using ::testing::ElementsAre;

class ProgramPathTest : public testing::Test {
 protected:
  ProgramPathTest() { std::filesystem::create_symlink(running_, link_); }
  ~ProgramPathTest() override { setenv("PATH", path_.c_str(), 1); }

  const std::string running_ = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string path_ = getenv("PATH");
  const io::TestDirectory made_;
  const std::string link_ = made_.path() + "/seedance";
};

TEST_F(ProgramPathTest, KeepsALinkThatLaterMayLeadElsewhere) {
  EXPECT_EQ(program_path(link_), link_);
  EXPECT_EQ(program_path(running_), running_);
}

TEST_F(ProgramPathTest, IsAbsolute) {
  const std::string relative = std::filesystem::relative(link_);
  EXPECT_EQ(program_path(relative), (std::filesystem::current_path() / relative).string());
}

TEST_F(ProgramPathTest, IsFoundAsTheShellFindsIt) {
  setenv("PATH", ("/nowhere:" + made_.path() + ":" + path_).c_str(), 1);
  EXPECT_EQ(program_path("seedance"), link_);
}

TEST_F(ProgramPathTest, IsTheRunningOneWhereTheNameMeansAnother) {
  setenv("PATH", "/nowhere", 1);
  for (const char* other : {"/bin/sh", "sh", "seedance", "/no/such/program", ""}) {
    EXPECT_EQ(program_path(other), running_) << other;
  }
}

TEST_F(ProgramPathTest, ServerArgumentsNameTheSupervisorFirst) {
  EXPECT_THAT(
      server_arguments({link_, "serve", "--port", "1"}, 7, 80),
      ElementsAre(link_, "serve", "--supervised", "7", "--supervised-port", "80", "--port", "1"));
  EXPECT_THAT(server_arguments({link_, "serve"}, 4, 0),
              ElementsAre(link_, "serve", "--supervised", "4", "--supervised-port", "0"));
}

TEST(OwnArguments, AreThoseOfMain) {
  EXPECT_EQ(own_arguments(), testing::internal::GetArgvs());
}

}  // namespace
}  // namespace seedance::apps
