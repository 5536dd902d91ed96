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

std::string meant(const std::string& line) {
  CLI::App app;
  app.require_subcommand(1);
  CLI::App* const serve = app.add_subcommand("serve");
  app.add_subcommand("worker")->group("");
  int port = 0;
  serve->add_option("--port", port);
  serve->add_option("--inner", port)->group("");
  CLI::App* const keys = app.add_subcommand("keys");
  keys->require_subcommand(1);
  keys->add_subcommand("revoke");
  try {
    app.parse(line);
  } catch (const CLI::ParseError&) {
    return misspelled(app);
  }
  return "parsed";
}

TEST(Misspelled, NamesWhatWasMeant) {
  EXPECT_EQ(meant("serve --port 1"), "parsed");
  EXPECT_EQ(meant("serve --prot 9000"), "there is no --prot; did you mean --port?");
  EXPECT_EQ(meant("serve --prot=9000"), "there is no --prot; did you mean --port?");
  EXPECT_EQ(meant("serve -prot 9000"), "there is no -prot; did you mean --port?");
  EXPECT_EQ(meant("sevre"), "there is no command sevre; did you mean serve?");
  EXPECT_EQ(meant("keys revok"), "there is no command revok; did you mean revoke?");
}

TEST(Misspelled, NamesNothingWhereNothingIsNear) {
  EXPECT_EQ(meant("serve model.gguf"), "");
  EXPECT_EQ(meant("serve --"), "parsed");
  EXPECT_EQ(meant("serve --temperature 1"), "");
  EXPECT_EQ(meant("serve --iner 1"), "");  // Nor where it is not for everybody.
  EXPECT_EQ(meant("workre"), "there is no command workre");
}

}  // namespace
}  // namespace seedance::apps
