#include "server/context.h"

#include <utility>

#include "io/clock.h"

namespace seedance::server {

std::int64_t Board::streams_active() const {
  return stats->streams_preparing.value() + stats->streams_queued.value() +
         stats->streams_running.value();
}

std::optional<Problem> EdgeContext::submit(StreamId stream, const core::ReplyTo& reply_to,
                                           core::GenerateRequest request) {
  const bool posted = core.try_post(core::Submit{.reply_to = reply_to,
                                                 .principal = {},
                                                 .stream = stream,
                                                 .entropy = entropy.number(),
                                                 .wall = io::wall_now(),
                                                 .request = std::move(request)});
  if (posted) return std::nullopt;
  return Problem{.code = ErrorCode::overloaded,
                 .message = "too many requests at once; try again in a moment",
                 .retry_after_ms = 1000};
}

void EdgeContext::give_up(StreamId stream) {
  readers.erase(stream);
  core.post(core::ReaderGone{stream});
}

}  // namespace seedance::server
