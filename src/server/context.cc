#include "server/context.h"

#include <algorithm>
#include <utility>

#include "api/digest.h"
#include "io/clock.h"

namespace seedance::server {

Access access_of(const ServerConfig& config) {
  return {.gate = config.gate,
          .hosts = auth::HostRules{config.host, config.allowed_hosts},
          .origins = auth::OriginRules{config.allowed_origins}};
}

TimePoint Caller::valid_until(TimePoint now) const {
  if (principal.until == WallTime::max()) return kNever;
  return now + std::max(principal.until - io::wall_now(), WallTime::duration::zero());
}

std::int64_t Board::streams_active() const {
  return stats->streams_preparing.value() + stats->streams_queued.value() +
         stats->streams_running.value();
}

std::optional<Problem> EdgeContext::submit(const Caller& caller, StreamId stream,
                                           const core::ReplyTo& reply_to,
                                           core::GenerateRequest request, Duration waited) {
  const stream::Sha256 body = request.key.empty() ? stream::Sha256{} : api::digest_of(request);
  return ask(core::Submit{.reply_to = reply_to,
                          .principal = caller.owner(),
                          .stream = stream,
                          .entropy = entropy.number(),
                          .wall = io::wall_now(),
                          .waited = waited,
                          .body = body,
                          .request = std::move(request)});
}

std::optional<Problem> EdgeContext::ask(core::Message message) {
  if (core.try_post(std::move(message))) return std::nullopt;
  return Problem{.code = ErrorCode::overloaded,
                 .message = "too many requests at once; try again in a moment",
                 .retry_after_ms = 1000};
}

wire::DeflateOptions EdgeContext::deflate_options(const wire::WsDeflate& agreed) const {
  wire::DeflateOptions out{.window_bits = agreed.server_window_bits};
  if (config.deflate_level) out.level = *config.deflate_level;  // Else it was on until a reload.
  return out;
}

void EdgeContext::note(const Caller& caller, observe::AuditEvent event, Route route,
                       std::optional<StreamId> stream, int status, std::string_view code) const {
  if (audit == nullptr) return;
  const auth::Principal& who = caller.principal;
  audit->add({.time = io::wall_now(),
              .event = event,
              .tenant = who.tenant,
              .role = who.tenant.empty() ? std::string_view{} : auth::name(who.role),
              .key = who.key,
              .address = caller.address,
              .route = name(route),
              .stream = stream ? to_text(*stream) : std::string{},
              .status = status,
              .code = code});
}

void EdgeContext::give_up(const core::ReplyTo& reader) {
  core.post(core::ReaderGone{reader});
}

void EdgeContext::check(api::DeliveryCheck& check, const api::Rendered& rendered, Offset total) {
  if (!check.on_rendered(rendered)) counters.seq_gaps.add();
  if (rendered.done && !check.complete(total)) counters.frame_losses.add();
}

}  // namespace seedance::server
