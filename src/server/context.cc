#include "server/context.h"

#include <algorithm>
#include <utility>

#include "api/digest.h"
#include "io/clock.h"

namespace seedance::server {

Access access_of(const ServerConfig& config) {
  return {.keys = auth::KeyRing{config.api_keys},
          .hosts = auth::HostRules{config.host, config.allowed_hosts},
          .origins = auth::OriginRules{config.allowed_origins}};
}

std::int64_t Board::streams_active() const {
  return stats->streams_preparing.value() + stats->streams_queued.value() +
         stats->streams_running.value();
}

std::optional<Problem> EdgeContext::submit(StreamId stream, const core::ReplyTo& reply_to,
                                           core::GenerateRequest request) {
  const stream::Sha256 body = request.key.empty() ? stream::Sha256{} : api::digest_of(request);
  return ask(core::Submit{.reply_to = reply_to,
                          .principal = {},
                          .stream = stream,
                          .entropy = entropy.number(),
                          .wall = io::wall_now(),
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

void EdgeContext::begin_reading(StreamId stream, ConnectionId connection) {
  readers.emplace(stream, connection);
}

void EdgeContext::end_reading(StreamId stream, ConnectionId connection) {
  const auto [begin, end] = readers.equal_range(stream);
  const auto one =
      std::find(begin, end, std::pair<const StreamId, ConnectionId>{stream, connection});
  if (one != end) readers.erase(one);
}

void EdgeContext::give_up(const core::ReplyTo& reader) {
  core.post(core::ReaderGone{reader});
}

void EdgeContext::check(api::DeliveryCheck& check, const api::Rendered& rendered, Offset total) {
  if (!check.on_rendered(rendered)) counters.seq_gaps.add();
  if (rendered.done && !check.complete(total)) counters.frame_losses.add();
}

}  // namespace seedance::server
