#include "wire/ws_extension.h"

#include <gtest/gtest.h>

#include <vector>

namespace seedance::wire {
namespace {

// Our answer to these headers: "" for none.
std::string answer(const std::vector<std::string>& headers) {
  HttpRequest request;
  for (const std::string& value : headers) {
    request.headers.push_back({"sec-websocket-extensions", value});
  }
  const auto agreed = choose_deflate(request);
  if (!agreed) return std::to_string(agreed.error().status);
  return *agreed ? deflate_answer(**agreed) : "";
}

std::string answer(const std::string& header) {
  return answer(std::vector{header});
}

const std::string kAlone =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

TEST(ChooseDeflate, AlwaysKeepsNothingBetweenMessages) {
  EXPECT_EQ(answer(std::vector<std::string>{}), "");
  EXPECT_EQ(answer("permessage-deflate"), kAlone);
  EXPECT_EQ(answer("permessage-deflate; server_no_context_takeover"), kAlone);
  EXPECT_EQ(answer("permessage-deflate; client_no_context_takeover"), kAlone);
  // What browsers say.
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits"), kAlone);
}

TEST(ChooseDeflate, NegotiatesWindowBits) {
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=10"),
            kAlone + "; server_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate; client_max_window_bits=10"),
            kAlone + "; client_max_window_bits=10");
  EXPECT_EQ(answer("permessage-deflate ;server_max_window_bits = \"8\";client_max_window_bits=15"),
            kAlone + "; server_max_window_bits=8; client_max_window_bits=15");
  EXPECT_EQ(answer("permessage-deflate; server_max_window_bits=\"1\\5\""),
            kAlone + "; server_max_window_bits=15");
}

// C5.
TEST(ChooseDeflate, DeclinesOffersThatItCannotTake) {
  for (const char* parameters :
       {"server_max_window_bits", "server_max_window_bits=7", "server_max_window_bits=16",
        "server_max_window_bits=08", "server_max_window_bits=10x", "server_max_window_bits=-9",
        "server_max_window_bits=99999999999999999999", "client_max_window_bits=7",
        "client_max_window_bits=16", "client_max_window_bits=0", "server_no_context_takeover=1",
        "client_no_context_takeover=true", "unknown", "unknown=1",
        "server_no_context_takeover; server_no_context_takeover",
        "client_no_context_takeover; client_no_context_takeover",
        "server_max_window_bits=9; server_max_window_bits=9",
        "client_max_window_bits; client_max_window_bits=9", "Server_No_Context_Takeover"}) {
    EXPECT_EQ(answer(std::string{"permessage-deflate; "} + parameters), "") << parameters;
    EXPECT_EQ(answer(std::string{"permessage-deflate; "} + parameters +
                     ", permessage-deflate; client_max_window_bits=9"),
              kAlone + "; client_max_window_bits=9")
        << parameters;
  }
}

TEST(ChooseDeflate, TakesTheFirstOfferThatIsGood) {
  EXPECT_EQ(answer("x-webkit-deflate-frame, permessage-deflate; server_max_window_bits=12, "
                   "permessage-deflate"),
            kAlone + "; server_max_window_bits=12");
  EXPECT_EQ(answer(std::vector<std::string>{"foo; a=\"b\"; c", "permessage-deflate"}), kAlone);
  EXPECT_EQ(answer("permessage-bzip2, deflate-frame"), "");
}

TEST(ChooseDeflate, RefusesAListThatIsNone) {
  for (const char* list :
       {"", ",", " , ,", "permessage-deflate,;", ";permessage-deflate", "permessage-deflate;",
        "permessage-deflate; =9", "permessage-deflate; a=", "permessage-deflate; a=\"",
        "permessage-deflate; a=\"9", "permessage-deflate; a=\"\"", "permessage-deflate; a=\"9 9\"",
        "permessage-deflate; a=\"9\\", "permessage-deflate a", "permessage-deflate; a b", "a, \xFF",
        "a;;b", "a=1"}) {
    EXPECT_EQ(answer(list), "400") << list;
  }
}

TEST(ChooseDeflate, IgnoresEmptyElements) {
  for (const char* list : {"permessage-deflate,", ",permessage-deflate",
                           " , a,\t, permessage-deflate", ", ,permessage-deflate , ,"}) {
    EXPECT_EQ(answer(list), kAlone) << list;
  }
}

TEST(ChooseDeflate, ReadsALongListInOnePass) {
  std::string list;
  for (int i = 0; i < 100'000; ++i) list += "permessage-deflate; a=\"b\",";
  EXPECT_EQ(answer(list + "permessage-deflate"), kAlone);
}

}  // namespace
}  // namespace seedance::wire
