#include "base/spelling.h"

#include <gtest/gtest.h>

#include <string>

namespace seedance {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("port", "port"), 0U);
  EXPECT_EQ(edit_distance("port", ""), 4U);
  EXPECT_EQ(edit_distance("prt", "port"), 1U);
  EXPECT_EQ(edit_distance("porrt", "port"), 1U);
  EXPECT_EQ(edit_distance("prot", "port"), 2U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

std::string_view meant_by(std::string_view wrong) {
  Nearest nearest{wrong};
  nearest.offer("host");
  nearest.offer("websocket_port");
  nearest.offer("websocket_port", "port");
  nearest.offer("max_connections");
  return nearest.name();
}

TEST(Nearest, IsTheNameThatFewSlipsLeadTo) {
  EXPECT_EQ(meant_by("prot"), "websocket_port");
  EXPECT_EQ(meant_by("hosts"), "host");
  EXPECT_EQ(meant_by("max_conections"), "max_connections");
  EXPECT_EQ(meant_by("connections_max"), "");
  EXPECT_EQ(meant_by("theme"), "");
  EXPECT_EQ(meant_by(std::string(65, 'x')), "");
}

}  // namespace
}  // namespace seedance
