#include "core/run_request.h"

#include <utility>
#include <variant>

#include "base/message.h"
#include "engine/codec.h"

namespace seedance::core {
namespace {

constexpr std::size_t kSizeBytes = sizeof(std::uint32_t);

Error broken() {
  return {Errc::corrupt, "the request of a stream cannot be read"};
}

}  // namespace

bool operator==(const RunRequest& a, const RunRequest& b) {
  return a.prompt == b.prompt && a.tokens_max == b.tokens_max && a.sampling == b.sampling &&
         a.text.boundary == b.text.boundary && a.text.stop == b.text.stop && a.detach == b.detach &&
         a.surface == b.surface && a.include_usage == b.include_usage && a.priority == b.priority &&
         a.window == b.window && a.dropped == b.dropped;
}

// A job as engines are sent it, then the rest, each as a message (base/message.h).
std::string encode(const RunRequest& request) {
  std::string out;
  engine::encode(engine::Job{.id = {},
                             .gen = {},
                             .prompt = request.prompt,
                             .tokens_max = request.tokens_max,
                             .sampling = request.sampling,
                             .priority = request.priority},
                 out);
  MessageWriter rest{out};
  rest.put(static_cast<std::uint8_t>(request.text.boundary));
  rest.put(static_cast<std::uint32_t>(request.text.stop.size()));
  for (const std::string& stop : request.text.stop) rest.put(std::string_view{stop});
  rest.put(static_cast<std::uint8_t>(request.detach));
  rest.put(static_cast<std::uint8_t>(request.surface));
  rest.put(static_cast<std::uint8_t>(request.include_usage));
  rest.put(request.window.context);
  rest.put(request.window.keep);
  rest.put(request.dropped.messages);
  rest.put(request.dropped.tokens);
  rest.close();
  return out;
}

Result<RunRequest> decode_run_request(Bytes bytes) {
  MessageReader messages;
  messages.feed(bytes);
  const auto first = messages.next();
  if (!first || !*first) return std::unexpected(broken());
  auto command = engine::decode_command(**first);
  if (!command) return std::unexpected(command.error());
  auto* job = std::get_if<engine::Job>(&*command);
  const std::size_t job_bytes = kSizeBytes + (*first)->size();
  const auto second = messages.next();
  if (job == nullptr || !second || !*second) return std::unexpected(broken());
  const bool of_none = job->id == engine::JobId{} && job->gen == Generation{} &&
                       job->committed.empty() && job->keep == 0 && job->dropped == 0;
  if (!of_none) return std::unexpected(broken());
  if (job_bytes + kSizeBytes + (*second)->size() != bytes.size()) return std::unexpected(broken());

  FieldReader in{**second};
  RunRequest request{.prompt = std::move(job->prompt),
                     .tokens_max = job->tokens_max,
                     .sampling = std::move(job->sampling),
                     .text = {},
                     .priority = job->priority,
                     .window = {},
                     .dropped = {}};
  const auto boundary = in.get<std::uint8_t>();
  request.text.stop.resize(in.get_count(kSizeBytes));
  for (std::string& stop : request.text.stop) stop = in.get_text();
  const auto detach = in.get<std::uint8_t>();
  const auto surface = in.get<std::uint8_t>();
  request.include_usage = in.get_flag();
  request.window.context = in.get<std::uint32_t>();
  request.window.keep = in.get<std::uint32_t>();
  request.dropped.messages = in.get<std::uint32_t>();
  request.dropped.tokens = in.get<std::uint32_t>();
  const bool known = boundary <= static_cast<std::uint8_t>(text::Boundary::grapheme) &&
                     detach <= static_cast<std::uint8_t>(Detach::cancel) &&
                     surface <= static_cast<std::uint8_t>(Surface::completions);
  if (!in.at_end() || !known) return std::unexpected(broken());
  request.text.boundary = static_cast<text::Boundary>(boundary);
  request.detach = static_cast<Detach>(detach);
  request.surface = static_cast<Surface>(surface);
  return request;
}

}  // namespace seedance::core
