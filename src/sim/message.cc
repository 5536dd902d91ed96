#include "sim/message.h"

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/bytes.h"
#include "wire/fm.h"

namespace seedance::sim {
namespace {

namespace json = boost::json;

std::string_view text(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* found = value == nullptr ? nullptr : value->if_string();
  return found == nullptr ? std::string_view{} : std::string_view{found->data(), found->size()};
}

std::uint64_t number(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64()) return 0;
  return static_cast<std::uint64_t>(value->get_int64());
}

const json::object* inner(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

void read(const json::object& object, ServerMessage& out) {
  out.type = text(object, "type");
  out.id = text(object, "id");
  out.stream = parse_stream_id(text(object, "stream"));
  out.epoch = {static_cast<std::uint32_t>(number(object, "epoch"))};
  out.channel = static_cast<std::uint32_t>(number(object, "channel"));
  const json::value* attached = object.if_contains("attached");
  out.attached = attached != nullptr && attached->is_bool() && attached->get_bool();
  out.seq = number(object, "seq");
  out.n = number(object, "n");
  out.text = text(object, "text");
  out.from = number(object, "from");
  out.head = number(object, "head");
  out.state = text(object, "state");
  out.finish_reason = text(object, "finish_reason");
  out.sha256 = text(object, "sha256");
  if (const json::value* tokens = object.if_contains("tokens"); tokens && tokens->is_array()) {
    for (const json::value& token : tokens->get_array()) {
      out.tokens.push_back({static_cast<std::int32_t>(token.to_number<std::int64_t>())});
    }
  }
  if (const auto* usage = inner(object, "usage")) {
    out.completion_tokens = number(*usage, "completion_tokens");
  }
  const json::object* error = out.type == "ERROR" ? &object : inner(object, "error");
  if (error == nullptr) return;
  out.code = text(*error, "code");
  out.message = text(*error, "message");
  out.retry_after_ms = number(*error, "retry_after_ms");
  if (const auto* numbers = inner(*error, "numbers")) out.numbers_epoch = number(*numbers, "epoch");
}

}  // namespace

Result<ServerMessage> parse_server_message(std::string_view bytes) {
  std::array<unsigned char, 4096> room;  // Enough for nearly all of them.
  json::monotonic_resource memory{room.data(), room.size()};
  boost::system::error_code failed;
  const json::value value = json::parse(bytes, failed, &memory);
  if (failed || !value.is_object()) return fail(Errc::corrupt, "a message that is no JSON object");
  ServerMessage out;
  read(value.get_object(), out);
  return out;
}

Result<std::optional<ServerMessage>> parse_server_frame(std::string_view bytes) {
  auto frame = wire::decode_fm(as_bytes(bytes));
  if (!frame) return std::unexpected(frame.error());
  if (frame->marks.final) return std::nullopt;
  ServerMessage out;
  out.type = "INFER_CHUNK";
  out.channel = frame->channel;
  out.seq = frame->seq;
  out.n = frame->tokens;
  out.text = std::move(frame->text);
  out.tokens = std::move(frame->ids);
  return out;
}

}  // namespace seedance::sim
