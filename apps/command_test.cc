#include "apps/command.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace seedance::apps {
namespace {

std::string repeated(const std::string& line) {
  CLI::App app;
  let_options_repeat(app);
  CLI::App* const verb = app.add_subcommand("verb");
  int number = 0;
  bool flag = false;
  std::vector<std::string> list;
  std::vector<std::string> maybe;
  verb->add_option("--number", number);
  verb->add_flag("--flag", flag);
  verb->add_option("--list", list)->allow_extra_args(false);
  verb->add_option("--maybe", maybe)->expected(0, 1)->allow_extra_args(false);
  app.parse(line);
  return repeated_option(app);
}

TEST(RepeatedOption, IsNamedWhereItTakesOneValue) {
  EXPECT_EQ(repeated("verb --number 1 --maybe --list a"), "");
  EXPECT_EQ(repeated("verb --list a --list b --flag --flag"), "");
  EXPECT_EQ(repeated("verb --number 1 --number 2"),
            "--number was given twice, and takes one value");
  EXPECT_EQ(repeated("verb --number wrong --number=2 --number 2"),
            "--number was given 3 times, and takes one value");
  EXPECT_EQ(repeated("verb --maybe --maybe true"), "--maybe was given twice, and takes one value");
}

}  // namespace
}  // namespace seedance::apps
