// What sessions write into the audit log of streams that they are asked for by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <sstream>

#include "io/file_system.h"
#include "io/test_directory.h"
#include "server/test_session.h"

namespace seedance::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const core::Refused kNotFound{{.code = ErrorCode::stream_not_found, .message = "no"}};

// Whatever session it is, it ends before the log is read.
template <typename Base>
class AuditOf : public Base {
 protected:
  AuditOf() : audit_(std::move(*AuditLog::open(path_))) { this->context_.audit = audit_.get(); }

  // "event code" of each record.
  std::vector<std::string> written() {
    this->context_.audit = nullptr;
    audit_.reset();
    std::istringstream text{io::read_file(path_).value()};
    std::vector<std::string> out;
    for (std::string line; std::getline(text, line);) {
      const auto record = boost::json::parse(line).as_object();
      const auto* const code = record.if_contains("code");
      EXPECT_EQ(std::string_view{record.at("stream").as_string()}, to_text(kOther));
      out.push_back(fmt::format("{} {}", std::string_view{record.at("event").as_string()},
                                code == nullptr ? "-" : std::string_view{code->as_string()}));
    }
    return out;
  }

 private:
  const io::TestDirectory directory_;
  const std::string path_ = directory_.path() + "/audit";
  std::unique_ptr<AuditLog> audit_;
};

class HttpAudit : public AuditOf<HttpSessionTest> {
 protected:
  core::ReplyTo ask_for_cancel() {
    request("DELETE", "/v1/streams/" + to_text(kOther));
    return told_only<core::CancelStream>().reply_to;
  }
  core::ReplyTo ask_for_stream() {
    get_stream();
    return told_only<core::Attach>().reply_to;
  }
};

TEST_F(HttpAudit, WhatIsRefusedWasNotDone) {
  reply(session_, ask_for_cancel(), kNotFound);
  reply(session_, ask_for_stream(), kNotFound);
  EXPECT_THAT(written(), ElementsAre("refuse stream_not_found", "refuse stream_not_found"));
}

TEST_F(HttpAudit, WhatIsDoneIsWrittenDown) {
  reply(session_, ask_for_cancel(), core::CancelDone{kOther});
  reply(session_, ask_for_stream(), resumed(kOther, {}));
  session_.on_gone();
  EXPECT_THAT(written(), ElementsAre("cancel -", "resume -"));
}

// Else nobody would know who cancelled it.
TEST_F(HttpAudit, WhatIsDoneBehindHisBackIsWrittenDownToo) {
  (void)ask_for_cancel();
  session_.on_gone();
  session_.on_gone();
  EXPECT_THAT(written(), ElementsAre("cancel unanswered"));
}

class WsAudit : public AuditOf<WsSessionTest> {
 protected:
  core::ReplyTo ask_for_cancel() {
    send(fmt::format(R"({{"type":"CANCEL","stream":"{}"}})", to_text(kOther)));
    return told_only<core::CancelStream>().reply_to;
  }
  core::ReplyTo ask_for_stream() {
    resume();
    return told_only<core::Attach>().reply_to;
  }
};

TEST_F(WsAudit, WhatIsRefusedWasNotDone) {
  reply(session_, ask_for_cancel(), kNotFound);
  reply(session_, ask_for_stream(), kNotFound);
  EXPECT_THAT(written(), ElementsAre("refuse stream_not_found", "refuse stream_not_found"));
}

TEST_F(WsAudit, WhatIsDoneIsWrittenDown) {
  const core::ReplyTo cancel = ask_for_cancel();
  EXPECT_THAT(messages(), IsEmpty());
  reply(session_, cancel, core::CancelDone{kOther});
  reply(session_, ask_for_stream(), resumed(kOther, {}));
  session_.on_gone();
  EXPECT_THAT(written(), ElementsAre("cancel -", "resume -"));
}

TEST_F(WsAudit, WhatIsDoneBehindHisBackIsWrittenDownToo) {
  (void)ask_for_cancel();
  (void)ask_for_stream();
  session_.on_gone();
  session_.on_gone();
  EXPECT_THAT(written(), ElementsAre("resume unanswered", "cancel unanswered"));
}

TEST_F(WsAudit, ExtrasThatTheLogLacksAreARefusal) {
  resume(R"(,"with":["logprobs"])");
  reply(session_, told_only<core::Attach>().reply_to, resumed(kOther, {}));
  EXPECT_THAT(written(), ElementsAre("refuse invalid_request"));
}

}  // namespace
}  // namespace seedance::server
