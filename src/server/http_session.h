// HTTP/1.1 on a connection: one request after the other.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/chat.h"
#include "api/completions.h"
#include "api/delivery.h"
#include "api/native_sse.h"
#include "api/openai.h"
#include "api/streams.h"
#include "base/id.h"
#include "server/context.h"
#include "server/route.h"
#include "server/session.h"
#include "wire/http.h"

namespace seedance::server {

// Parses, checks who asks, routes and answers. A request whose answer is not
// complete holds up those behind it, which stay unread in the kernel. A streamed
// answer is a cursor on its log, as everywhere. A client that ends its side gets the
// answers that need no stream; for one that does, that is a cancel.
class HttpSession final : public Session {
 public:
  // The context outlives the session.
  HttpSession(EdgeContext& context, ConnectionId connection, TimePoint now,
              std::string address = {});

  void on_input(std::span<std::byte> bytes, TimePoint now) override;
  bool wants_input() const override;
  bool rests() const override;
  void on_certificate(const io::PeerCertificate& peer) override { certificate_ = peer.common_name; }
  void on_end(TimePoint now) override;
  void on_reply(std::uint64_t request, ReplyBody& body, TimePoint now) override;
  void on_time(TimePoint now) override;
  TimePoint deadline() const override;
  void on_blocked(TimePoint) override { blocked_ = true; }
  void on_unblocked(TimePoint) override { blocked_ = false; }
  void on_drain(TimePoint now) override;
  bool on_access(TimePoint now) override;
  void on_farewell(Farewell why, TimePoint now) override;
  void render(Rendering& out, std::size_t bytes_max, TimePoint now) override;
  void take_back(const Rendering::Frame&) override {}
  void on_sent(TimePoint now) override;
  Ending ending() const override;
  void on_gone() override;
  Upgrade take_upgrade() override;

 private:
  enum class State : std::uint8_t {
    reading,     // The next request, or waiting for one.
    asked,       // The core decides about the stream, or answers about streams.
    collecting,  // The answer is sent when the stream ends.
    streaming,   // The answer is sent as the stream grows.
    refused,     // What still comes is of no interest; the answer must not be lost by a reset.
    finished,
    dropped,
  };

  // The stream that answers the request, once it is accepted.
  struct Answer {
    std::shared_ptr<const stream::TokenLog> log;  // Shared with the core, which writes it.
    api::AnswerHead head;
    stream::Cursor cursor = {};
    api::DeliveryCheck check{};
    std::variant<std::monostate, api::ChatSseView, api::CompletionSseView, api::NativeSseView>
        view = {};
  };
  // Of a request that may become a stream, or of a stream that was there.
  using Options = std::variant<api::ChatOptions, api::CompletionOptions, api::StreamQuery>;

  // Reading.
  bool may_parse() const;
  void consume(Bytes bytes, TimePoint now);
  std::size_t parse(Bytes bytes, TimePoint now);
  void on_head(const wire::HttpRequest& head, TimePoint now);
  void on_request(const wire::HttpRequest& request, TimePoint now);
  void complete(TimePoint now);

  // Deciding. admit() answers whoever it does not admit.
  void begin_answer(const wire::HttpRequest& request);
  bool admit(const wire::HttpRequest& request, TimePoint now);
  bool admit_page(const wire::HttpRequest& request);
  bool admit_caller(const wire::HttpRequest& request, TimePoint now);
  std::string_view shown_ticket(const wire::HttpRequest& request) const;
  std::expected<auth::Principal, auth::Refusal> identify(const wire::HttpRequest& request,
                                                         TimePoint now);
  void preflight(const wire::HttpRequest& request);
  void serve(const wire::HttpRequest& request, TimePoint now);
  void serve_models();
  void serve_model();
  void serve_metrics();
  void issue_ticket(TimePoint now);
  void generate(const wire::HttpRequest& request);
  void serve_streams();
  void serve_stream(const wire::HttpRequest& request);
  void ask(core::Message message);
  void note_asked(std::string_view code = {});
  void upgrade(const wire::HttpRequest& request, TimePoint now);

  // A stream as answer.
  bool waits() const;
  bool wants_stream() const;
  void on_accepted(const core::Accepted& accepted, TimePoint now);
  void on_resumed(const core::Resumed& resumed, TimePoint now);
  void begin_reading(const core::Accepted& accepted, Offset from);
  void end_reading();
  api::BodyFraming begin_events(TimePoint now);
  void show(const api::ChatOptions& options, api::BodyFraming framing);
  void show(const api::CompletionOptions& options, api::BodyFraming framing);
  void render_stream(std::string& out, std::size_t bytes_max, TimePoint now);
  core::ReplyTo reply_to() const;
  api::BodyFraming framing() const {
    return http_1_0_ ? api::BodyFraming::until_close : api::BodyFraming::chunked;
  }

  struct Content {
    std::string_view type;
    std::string_view body;
    std::vector<wire::HttpField> fields = {};
  };
  void respond(int status, Content content);
  void respond_json(const api::HttpAnswer& answer, std::vector<wire::HttpField> fields = {});
  // `code` is for the audit log, where it says more than that of the problem.
  void refuse(const Problem& problem, std::vector<wire::HttpField> fields = {},
              std::string_view code = {});
  void refuse_caller(auth::Refusal why);
  void refuse_with(int status, std::string message, std::vector<wire::HttpField> fields = {});
  void refuse_and_close(int status, std::string message, TimePoint now);
  void append_head(int status, std::vector<wire::HttpField>& fields);

  EdgeContext& context_;
  const ConnectionId connection_;
  State state_ = State::reading;
  wire::HttpParser parser_;
  std::string input_;   // Came behind the request that is being answered.
  std::string output_;  // Of answers, not given to the socket yet.
  Upgrade upgrade_;
  TimePoint deadline_;        // Of the state, if it has one.
  TimePoint silent_since_{};  // Of a streamed answer.
  TimePoint render_at_{};     // Of a streamed answer that is merged: not before.
  bool head_seen_ = false;    // Of the request that is being read.
  bool served_ = false;       // One request at least.
  bool draining_ = false;
  bool blocked_ = false;

  // Of the request that is being answered.
  Routed routed_;
  Caller caller_;                  // The address is the connection's.
  std::string certificate_;        // Common name of the client's; empty without one.
  std::optional<StreamId> asked_;  // The stream that it is about.
  // What the core is to do with it: written down when it has, for it may refuse.
  std::optional<observe::AuditEvent> asking_;
  bool keep_alive_ = true;
  bool head_only_ = false;  // HEAD: no body.
  bool http_1_0_ = false;
  std::string cors_origin_;  // Whose pages may read the answer; empty for none.
  std::uint64_t request_ = 0;
  bool reader_ = false;  // The core counts it among those who read a stream.
  Options options_;
  std::optional<Answer> answer_;
};

}  // namespace seedance::server
