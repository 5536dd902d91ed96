// The part of HttpSession that decides what a request gets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/native.h"
#include "api/streams.h"
#include "auth/keys.h"
#include "io/clock.h"
#include "server/echo_session.h"
#include "server/http_session.h"
#include "server/page.h"
#include "server/turned_away.h"
#include "server/ws_session.h"
#include "wire/ws_handshake.h"

namespace seedance::server {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr std::string_view kMetrics = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kHtml = "text/html; charset=utf-8";
constexpr Duration kLinger = std::chrono::seconds{2};
constexpr std::uint32_t kRetryAfterMs = 1000;

// The client's name for what it asks for: nothing when it is none.
std::optional<std::string> idempotency_key(std::string_view value) {
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (value.empty() || value.size() > api::kKeyBytesMax) return std::nullopt;
  if (!std::ranges::all_of(value, is_printable)) return std::nullopt;
  return std::string{value};
}

std::string_view query_of(const wire::HttpRequest& request) {
  const std::string_view target = request.target;
  return target.substr(std::min(request.path().size() + 1, target.size()));
}

bool is_websocket(Route route) {
  return route == Route::websocket || route == Route::debug_echo;
}

std::string retry_after_seconds(std::uint32_t milliseconds) {
  return std::to_string((milliseconds + 999) / 1000);
}

Problem too_many_tickets(auth::TicketBook::Full full, const auth::TicketLimits& limits) {
  const auto all = static_cast<std::int64_t>(limits.tickets_max);
  if (full == auth::TicketBook::Full::book) {
    return {.code = ErrorCode::overloaded,
            .message = fmt::format("{} tickets wait for being used, as many as may; try again in a "
                                   "moment",
                                   all),
            .numbers = {{"tickets_max", all}},
            .retry_after_ms = kRetryAfterMs};
  }
  const auto share = static_cast<std::int64_t>(auth::tickets_per_tenant(limits));
  return {.code = ErrorCode::rate_limited,
          .message = fmt::format("{} tickets of your tenant wait for being used, as many as may; "
                                 "use them, or try again in a moment",
                                 share),
          .numbers = {{"tickets_max", all}, {"tenant_tickets_max", share}},
          .retry_after_ms = kRetryAfterMs};
}

}  // namespace

// Whose answer it is, and what every answer to it needs.
void HttpSession::begin_answer(const wire::HttpRequest& request) {
  routed_ = route_of(request.path());
  if (routed_.route == Route::debug_echo && !context_.config.debug_echo) routed_ = {};
  asked_.reset();
  asking_.reset();
  keep_alive_ = request.keep_alive && !draining_;
  head_only_ = request.method == "HEAD";
  http_1_0_ = request.http_1_0;
  const std::string_view origin = request.header("Origin").value_or("");
  cors_origin_ = !origin.empty() && context_.access.origins.lists(origin) ? origin : "";
}

bool HttpSession::admit(const wire::HttpRequest& request, TimePoint now) {
  caller_.principal = {.tenant = ""};
  if (!routed_.open() && !admit_page(request)) return false;
  if (request.method == "OPTIONS" && routed_.takes("OPTIONS")) {
    preflight(request);
    return false;
  }
  if (!routed_.open() && !admit_caller(request, now)) return false;
  if (routed_.route == Route::unknown) {
    refuse_with(404, "there is nothing at this path");
    return false;
  }
  if (!routed_.takes(request.method)) {
    refuse_with(405, "this path does not take that method", {{"Allow", routed_.allow}});
    return false;
  }
  return true;
}

// Keeps out pages of other sites, also where the server is only on loopback.
bool HttpSession::admit_page(const wire::HttpRequest& request) {
  const std::string_view host = request.header("Host").value_or("");
  if (!context_.access.hosts.admits(host)) {
    refuse_caller(auth::Refusal::host);
    return false;
  }
  const auto origin = request.header("Origin");
  const auto transport = context_.tls ? auth::Transport::tls : auth::Transport::clear;
  if (!origin || context_.access.origins.admits(*origin, host, transport)) return true;
  refuse_caller(auth::Refusal::origin);
  return false;
}

bool HttpSession::admit_caller(const wire::HttpRequest& request, TimePoint now) {
  auto principal = identify(request, now);
  if (!principal) {
    refuse_caller(principal.error());
    return false;
  }
  caller_.principal = *std::move(principal);
  if (!routed_.for_admins() || caller_.principal.role == auth::Role::admin) return true;
  refuse_caller(auth::Refusal::role);
  return false;
}

std::expected<auth::Principal, auth::Refusal> HttpSession::identify(
    const wire::HttpRequest& request, TimePoint now) {
  const auth::Gate& gate = *context_.access.gate;
  if (const std::string_view ticket = shown_ticket(request); !ticket.empty()) {
    // It is taken when the WebSocket opens: a request that opens none does not use it up.
    auto principal = context_.tickets ? context_.tickets->find(ticket, now) : std::nullopt;
    if (!principal || !gate.still_admits(*principal, io::wall_now())) {
      return std::unexpected(auth::Refusal::wrong_ticket);
    }
    return *std::move(principal);
  }
  std::string_view key = auth::bearer_token(request.header("Authorization").value_or(""));
  if (gate.closed() && key.empty() && is_websocket(routed_.route)) {
    key = auth::subprotocol_secret(request.header("Sec-WebSocket-Protocol").value_or(""),
                                   auth::kKeySubprotocol);
  }
  if (key.empty() && !certificate_.empty()) {
    if (auto principal = gate.admit_certificate(certificate_)) return *std::move(principal);
  }
  return gate.admit(key, io::wall_now());
}

// What the caller is known by, when it is a ticket; empty when it is not.
std::string_view HttpSession::shown_ticket(const wire::HttpRequest& request) const {
  if (!context_.access.gate->closed() || !is_websocket(routed_.route)) return {};
  if (!auth::bearer_token(request.header("Authorization").value_or("")).empty()) return {};
  const std::string_view offered = request.header("Sec-WebSocket-Protocol").value_or("");
  const std::string_view ticket = auth::subprotocol_secret(offered, auth::kTicketSubprotocol);
  return ticket.empty() ? auth::query_ticket(query_of(request)) : ticket;
}

void HttpSession::refuse_caller(auth::Refusal why) {
  context_.counters.count_refusal(why);
  const Problem problem = turned_away(why);
  std::vector<wire::HttpField> fields;
  if (problem.code == ErrorCode::unauthenticated) fields = {{"WWW-Authenticate", "Bearer"}};
  refuse(problem, std::move(fields), name(why));
}

void HttpSession::preflight(const wire::HttpRequest& request) {
  std::vector<wire::HttpField> fields{{"Allow", routed_.allow}};
  if (!cors_origin_.empty()) {
    const auto wanted = request.header("Access-Control-Request-Headers");
    fields.push_back({"Access-Control-Allow-Methods", routed_.allow});
    fields.push_back(
        {"Access-Control-Allow-Headers",
         wanted.value_or("authorization, content-type, idempotency-key, last-event-id")});
    fields.push_back({"Access-Control-Max-Age", "600"});
  }
  append_head(204, fields);
}

void HttpSession::serve(const wire::HttpRequest& request, TimePoint now) {
  switch (routed_.route) {
    case Route::page:
      return respond(200, {kHtml, page(), {{"Cache-Control", "no-cache"}}});
    case Route::healthz:
      return respond(200, {kText, "ok\n"});
    case Route::readyz: {
      const bool ready = context_.board.ready && !draining_;
      return respond(ready ? 200 : 503, {kText, ready ? "ready\n" : "not ready\n"});
    }
    case Route::plugin_health: {
      const bool ready = context_.board.ready && !draining_;
      std::string body;
      wire::JsonWriter{body}
          .begin_object()
          .field("status", ready ? "ready" : "not_ready")
          .field("streams_active", context_.board.streams_active())
          .end_object();
      return respond_json({.status = ready ? 200 : 503, .body = std::move(body)});
    }
    case Route::metrics:
      return serve_metrics();
    case Route::models:
      return serve_models();
    case Route::model:
      return serve_model();
    case Route::chat:
    case Route::completions:
      return generate(request);
    case Route::tickets:
      return issue_ticket(now);
    case Route::streams:
      return serve_streams();
    case Route::stream:
      return serve_stream(request);
    case Route::websocket:
    case Route::debug_echo:
      return upgrade(request, now);
    case Route::unknown:
      break;
  }
  refuse_with(404, "there is nothing at this path");
}

void HttpSession::serve_models() {
  std::vector<api::ModelEntry> entries;
  entries.reserve(context_.board.models.size());
  for (const ModelNames& model : context_.board.models) {
    entries.push_back({.id = model.full_name, .created = context_.board.started});
  }
  respond_json(api::models_answer(entries));
}

void HttpSession::serve_model() {
  const std::string name = api::percent_decoded(routed_.argument).value_or("");
  const auto found = std::ranges::find_if(context_.board.models, [&](const ModelNames& model) {
    return name == model.name || name == model.full_name;
  });
  if (found == context_.board.models.end()) {
    return refuse({.code = ErrorCode::model_not_found, .message = "there is no such model here"});
  }
  respond_json(api::model_answer({.id = found->full_name, .created = context_.board.started}));
}

void HttpSession::serve_metrics() {
  std::string body;
  observe::append_gauge(body, "seedance_ready", "Whether every model answers.",
                        context_.board.ready ? 1 : 0);
  core::append_text(body, *context_.board.stats);
  append_text(body, context_.counters);
  observe::append_gauge(body, "seedance_client_addresses",
                        "Addresses, of IPv6 their /64, that have connections.",
                        static_cast<double>(context_.door.addresses.size()));
  if (context_.board.journal != nullptr) append_text(body, *context_.board.journal);
  if (context_.tickets != nullptr) {
    observe::append_gauge(body, "seedance_tickets_waiting", "Tickets that nobody used yet.",
                          static_cast<double>(context_.tickets->size()));
  }
  if (context_.audit != nullptr) append_text(body, context_.audit->metrics());
  respond(200, {kMetrics, body});
}

// For a page that opens a WebSocket and can set no header there: what it gets here
// by its key or token, it shows there instead, once.
void HttpSession::issue_ticket(TimePoint now) {
  using Full = auth::TicketBook::Full;
  const auto issued = context_.tickets ? context_.tickets->issue(caller_.principal, now)
                                       : std::variant<std::string, Full>{Full::book};
  if (const auto* full = std::get_if<Full>(&issued)) {
    context_.counters.tickets_refused.add();
    return refuse(too_many_tickets(*full, context_.config.tickets));
  }
  const auto& ticket = std::get<std::string>(issued);
  const auto ttl = std::chrono::duration_cast<std::chrono::seconds>(context_.config.tickets.ttl);
  std::string body;
  wire::JsonWriter{body}
      .begin_object()
      .field("ticket", ticket)
      .field("expires_in", ttl.count())
      .end_object();
  context_.note(caller_, observe::AuditEvent::ticket, routed_.route);
  respond_json({.status = 200, .body = std::move(body)}, {{"Cache-Control", "no-store"}});
}

void HttpSession::generate(const wire::HttpRequest& request) {
  core::GenerateRequest generation;
  const auto read = [&](auto parsed) -> std::optional<Problem> {
    if (!parsed) return std::move(parsed.error());
    generation = std::move(parsed->request);
    options_ = parsed->options;
    return std::nullopt;
  };
  auto problem = routed_.route == Route::chat ? read(api::parse_chat(request.body))
                                              : read(api::parse_completion(request.body));
  if (const auto key = request.header("Idempotency-Key"); key && !problem) {
    if (auto name = idempotency_key(*key)) {
      generation.key = *std::move(name);
    } else {
      problem = {.code = ErrorCode::invalid_request,
                 .message = fmt::format("\"Idempotency-Key\" must be 1 to {} characters of "
                                        "printable ASCII.",
                                        api::kKeyBytesMax),
                 .param = "Idempotency-Key"};
    }
  }
  if (!problem) {
    ++request_;
    const StreamId stream = context_.entropy.stream_id(io::wall_now());
    asked_ = stream;
    problem = context_.submit(caller_, stream, reply_to(), std::move(generation));
  }
  if (problem) return refuse(*problem);
  context_.note(caller_, observe::AuditEvent::request, routed_.route, asked_);
  state_ = State::asked;
  reader_ = true;
}

void HttpSession::serve_streams() {
  ++request_;
  ask(core::ListStreams{.reply_to = reply_to(), .principal = caller_.owner()});
}

void HttpSession::serve_stream(const wire::HttpRequest& request) {
  const auto stream = parse_stream_id(api::percent_decoded(routed_.argument).value_or(""));
  if (!stream) {
    return refuse({.code = ErrorCode::stream_not_found,
                   .message = "there is no such stream: ids are st_ and 26 characters"});
  }
  asked_ = stream;
  ++request_;
  if (request.method == "DELETE") {
    ask(core::CancelStream{
        .reply_to = reply_to(), .principal = caller_.owner(), .stream = *stream});
    if (state_ == State::asked) asking_ = observe::AuditEvent::cancel;
    return;
  }
  const auto query = api::parse_stream_query(*stream, query_of(request),
                                             request.header("Last-Event-ID").value_or(""));
  if (!query) return refuse(query.error());
  ask(core::Attach{.reply_to = reply_to(),
                   .principal = caller_.owner(),
                   .stream = *stream,
                   .from = query->from,
                   .epoch = query->epoch});
  options_ = *query;
  reader_ = state_ == State::asked;
  if (reader_) asking_ = observe::AuditEvent::resume;
}

// What on_reply() answers.
void HttpSession::ask(core::Message message) {
  if (const auto problem = context_.ask(std::move(message))) return refuse(*problem);
  state_ = State::asked;
}

bool HttpSession::wants_stream() const {
  const auto* chat = std::get_if<api::ChatOptions>(&options_);
  return chat != nullptr ? chat->stream : std::get<api::CompletionOptions>(options_).stream;
}

void HttpSession::upgrade(const wire::HttpRequest& request, TimePoint now) {
  if (draining_) {
    return refuse({.code = ErrorCode::overloaded, .message = "the server is shutting down"});
  }
  if (!wire::wants_websocket(request)) {
    return refuse_with(426, "this path is a WebSocket", {{"Upgrade", "websocket"}});
  }
  const bool is_echo = routed_.route == Route::debug_echo;
  constexpr std::array kSupported{api::kJsonSubprotocol, api::kBinarySubprotocol};
  const auto agreed = wire::check_upgrade(
      request, std::span{kSupported}.first(is_echo ? 0 : kSupported.size()),
      context_.config.deflate_level ? wire::Compression::on : wire::Compression::off);
  if (!agreed) {
    std::vector<wire::HttpField> fields;
    if (agreed.error().status == 426) {
      fields = {{"Upgrade", "websocket"}, {"Sec-WebSocket-Version", "13"}};
    }
    return refuse_with(agreed.error().status, std::string{agreed.error().detail}, fields);
  }
  const std::uint32_t most = context_.config.limits.connections_per_tenant_max;
  auto place = context_.door.tenants.take(caller_.principal.tenant, most);
  if (!place) {
    context_.counters.count_limit(Limit::tenant);
    return refuse({.code = ErrorCode::connection_limit,
                   .message = fmt::format("this tenant has all {} WebSockets that one may have "
                                          "here; close one, or try again in a moment",
                                          most),
                   .numbers = {{"connections_max", most}},
                   .retry_after_ms = kRetryAfterMs});
  }
  if (const std::string_view ticket = shown_ticket(request);
      !ticket.empty() && !context_.tickets->take(ticket, now)) {
    return refuse_caller(auth::Refusal::wrong_ticket);
  }
  upgrade_.place = *std::move(place);
  wire::append_upgrade_response(upgrade_.response, *agreed);
  if (is_echo) {
    upgrade_.session = std::make_unique<EchoSession>(context_, agreed->deflate, now, caller_);
  } else {
    const auto subprotocol = agreed->protocol == api::kBinarySubprotocol ? api::Subprotocol::binary
                                                                         : api::Subprotocol::json;
    upgrade_.session = std::make_unique<WsSession>(context_, connection_, subprotocol, now,
                                                   agreed->deflate, caller_);
  }
  context_.counters.count_request(routed_.route, 101);
  context_.note(caller_, observe::AuditEvent::connect, routed_.route);
  state_ = State::finished;
}

void HttpSession::append_head(int status, std::vector<wire::HttpField>& fields) {
  if (!keep_alive_) {
    fields.push_back({"Connection", "close"});
  } else if (http_1_0_) {
    fields.push_back({"Connection", "keep-alive"});
  }
  if (!cors_origin_.empty()) {
    fields.push_back({"Access-Control-Allow-Origin", cors_origin_});
    fields.push_back({"Access-Control-Expose-Headers", "Retry-After, Seedance-Stream"});
    fields.push_back({"Vary", "Origin"});
  }
  const std::string stream = answer_ ? to_text(answer_->head.stream) : "";
  if (answer_) fields.push_back({"Seedance-Stream", stream});
  wire::append_response_head(output_, status, fields);
  context_.counters.count_request(routed_.route, status);
}

void HttpSession::respond(int status, Content content) {
  const std::string length = std::to_string(content.body.size());
  content.fields.push_back({"Content-Type", content.type});
  content.fields.push_back({"Content-Length", length});
  append_head(status, content.fields);
  if (!head_only_) output_ += content.body;
}

void HttpSession::respond_json(const api::HttpAnswer& answer, std::vector<wire::HttpField> fields) {
  respond(answer.status, {kJson, answer.body, std::move(fields)});
}

void HttpSession::refuse(const Problem& problem, std::vector<wire::HttpField> fields,
                         std::string_view code) {
  context_.note(caller_, observe::AuditEvent::refuse, routed_.route, asked_,
                traits(problem.code).http_status, code.empty() ? name(problem.code) : code);
  const std::string seconds = retry_after_seconds(problem.retry_after_ms);
  if (problem.retry_after_ms > 0) fields.push_back({"Retry-After", seconds});
  respond_json(api::error_answer(problem), std::move(fields));
}

// For a status that no error code has.
void HttpSession::refuse_with(int status, std::string message,
                              std::vector<wire::HttpField> fields) {
  const ErrorCode code = status == 413 ? ErrorCode::payload_too_large : ErrorCode::invalid_request;
  context_.note(caller_, observe::AuditEvent::refuse, routed_.route, asked_, status, name(code));
  auto answer = api::error_answer({.code = code, .message = std::move(message)});
  answer.status = status;
  respond_json(answer, std::move(fields));
}

void HttpSession::refuse_and_close(int status, std::string message, TimePoint now) {
  if (!head_seen_) {  // Nothing is known of the request.
    begin_answer({});
    caller_.principal = {.tenant = ""};
  }
  keep_alive_ = false;
  if (status == 408) context_.counters.count_limit(Limit::arrival);
  if (status == 414) context_.counters.count_limit(Limit::target);
  if (status == 431) context_.counters.count_limit(Limit::headers);
  refuse_with(status, std::move(message));
  state_ = State::refused;
  deadline_ = now + kLinger;
}

}  // namespace seedance::server
