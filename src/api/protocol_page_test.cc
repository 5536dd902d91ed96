// docs/formats/protocol.md names all that the parsers know.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "api/chat.h"
#include "api/completions.h"
#include "api/native.h"

namespace seedance::api {
namespace {

using testing::HasSubstr;

// A part of the page, from one heading to another.
std::string part(std::string_view from, std::string_view to) {
  std::ifstream file{SEEDANCE_PROTOCOL_PAGE, std::ios::binary};
  const std::string page{std::istreambuf_iterator<char>{file}, {}};
  const std::size_t begin = page.find(from);
  const std::size_t end = page.find(to, begin);
  EXPECT_NE(begin, std::string::npos) << from;
  return begin == std::string::npos ? "" : page.substr(begin, end - begin);
}

TEST(ProtocolPage, NamesEveryField) {
  const std::string native = part("### `INFER_REQ`", "### `CANCEL`");
  for (const FieldRule& rule : infer_fields()) {
    EXPECT_THAT(native, HasSubstr(fmt::format("`{}`", rule.name)));
  }
  const std::string both = part("### Fields of both", "### Fields of chat");
  const std::string chat = both + part("### Fields of chat", "### Fields of completions");
  for (const FieldRule& rule : chat_fields()) {
    EXPECT_THAT(chat, HasSubstr(fmt::format("`{}`", rule.name)));
  }
  const std::string completions = both + part("### Fields of completions", "\n## ");
  for (const FieldRule& rule : completion_fields()) {
    EXPECT_THAT(completions, HasSubstr(fmt::format("`{}`", rule.name)));
  }
}

TEST(ProtocolPage, HasTheTableOfErrors) {
  const std::string errors = part("## 5. Errors", "## 6.");
  for (std::size_t i = 0; i < kErrorCodeCount; ++i) {
    const ErrorTraits& code = traits(static_cast<ErrorCode>(i));
    const std::string close = code.close_code == 0 ? " " : fmt::format(" {} ", code.close_code);
    EXPECT_THAT(errors, HasSubstr(fmt::format("| `{}` | {} |{}| {} |", code.name, code.http_status,
                                              close, code.retryable ? "yes" : "no")));
  }
}

}  // namespace
}  // namespace seedance::api
