#include "load/native_connection.h"

#include <fmt/format.h>

#include <boost/json/monotonic_resource.hpp>
#include <charconv>
#include <utility>

#include "base/random.h"
#include "load/fields.h"
#include "wire/fm.h"
#include "wire/ws_handshake.h"

namespace seedance::loadgen {
namespace {

namespace json = boost::json;

constexpr std::size_t kParseBytes = 4 << 10;  // Most messages need no more memory.
constexpr wire::WsLimits kLimits{.message_bytes_max = 64 << 20};

// The masks of control frames and ours come from different keys.
constexpr std::uint64_t kOurMasks = 0x9E3779B97F4A7C15;

std::string_view protocol_of(const NativeTarget& target) {
  return target.binary ? "seedance.v2+binary" : "seedance.v2+json";
}

std::optional<std::uint64_t> request_of(const json::object& message) {
  const std::string_view id = text_in(message, "id");
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error != std::errc{} || end != id.data() + id.size()) return std::nullopt;
  return number;
}

}  // namespace

NativeConnection::NativeConnection(const NativeTarget& target, const Secrets& secrets)
    : target_(target), key_(wire::make_key(secrets.key)), mask_seed_(secrets.masks) {
  const std::string bearer = "Bearer " + target.api_key;
  const std::array authorization{wire::HttpField{"Authorization", bearer}};
  const bool has_key = !target.api_key.empty();
  wire::append_upgrade_request(
      output_, {.host = target.host,
                .target = target.path,
                .key = key_,
                .protocol = protocol_of(target),
                .headers = has_key ? std::initializer_list<wire::HttpField>{authorization[0]}
                                   : std::initializer_list<wire::HttpField>{}});
}

void NativeConnection::send(std::string_view message) {
  const auto random =
      static_cast<std::uint32_t>(counter_random(mask_seed_ ^ kOurMasks, masks_used_++));
  wire::append_masked_frame(open() ? output_ : early_, wire::Opcode::text, wire::Fin::yes, message,
                            std::bit_cast<wire::MaskKey>(random));
}

void NativeConnection::ask(std::uint64_t request, std::string_view members) {
  send(fmt::format(R"({{"type":"INFER_REQ","id":"{}",{}}})", request, members));
}

bool NativeConnection::cancel(std::uint64_t request) {
  if (!usable()) return false;
  send(fmt::format(R"({{"type":"CANCEL","id":"{}"}})", request));
  return true;
}

void NativeConnection::on_input(std::span<std::byte> bytes, TimePoint now,
                                std::vector<Event>& events) {
  if (lost_) return;
  if (!ws_) return on_handshake(bytes, now, events);
  ws_->on_input(bytes, now);
  read(events);
}

void NativeConnection::on_handshake(std::span<std::byte> bytes, TimePoint now,
                                    std::vector<Event>& events) {
  handshake_ += as_text(bytes);
  const auto upgrade =
      wire::check_upgrade_response(as_bytes(handshake_), key_, protocol_of(target_));
  if (!upgrade && upgrade.error().code == Errc::truncated) return;
  if (!upgrade) return lose(kHandshakeFailed, upgrade.error().detail, events);
  ws_.emplace(kLimits, wire::WsRole::client, now, mask_seed_);
  output_ += std::exchange(early_, {});
  std::string rest = std::exchange(handshake_, {}).substr(upgrade->head_bytes);
  ws_->on_input(std::as_writable_bytes(std::span{rest}), now);
  read(events);
}

void NativeConnection::on_end(std::vector<Event>& events) {
  if (lost_) return;
  if (!ws_) return lose(kHandshakeFailed, "the server closed the connection", events);
  ws_->on_eof();
  read(events);
}

void NativeConnection::on_time(TimePoint now, std::vector<Event>& events) {
  if (lost_ || !ws_ || now < ws_->deadline()) return;
  ws_->on_time(now);
  read(events);
}

void NativeConnection::read(std::vector<Event>& events) {
  while (!lost_) {
    const auto event = ws_->next();
    if (!event) break;
    if (const auto* closed = std::get_if<wire::WsClosed>(&*event)) {
      const bool gone = closed->code == static_cast<std::uint16_t>(wire::CloseCode::abnormal);
      lose(gone ? std::string{kConnectionLost} : fmt::format("closed_{}", closed->code),
           closed->reason, events);
    } else if (const auto& message = std::get<wire::WsMessage>(*event);
               message.kind == wire::WsMessage::Kind::binary) {
      on_binary(message.payload, events);
    } else {
      on_text(message.text(), events);
    }
  }
  // Frames are sent whole and in their order, so control frames may wait behind ours.
  const std::string_view control = ws_->output();
  output_ += control;
  if (!control.empty()) ws_->output_sent(control.size());
}

void NativeConnection::on_text(std::string_view text, std::vector<Event>& events) {
  std::array<unsigned char, kParseBytes> memory;
  json::monotonic_resource resource{memory.data(), memory.size()};
  const json::value value = parse_json(text, &resource);
  const json::object* const message = object_in(value);
  if (message == nullptr) return lose(kMalformed, "a message is no JSON object", events);
  const std::string_view type = text_in(*message, "type");
  going_away_ = going_away_ || type == "GOAWAY";
  const auto request = request_of(*message);
  if (!request) return;
  if (type == "INFER_CHUNK") {
    const auto count = static_cast<std::uint32_t>(count_in(*message, "n").value_or(0));
    events.emplace_back(Tokens{*request, count, !text_in(*message, "text").empty()});
  } else if (type == "ACCEPTED") {
    const auto channel = count_in(*message, "channel");
    if (target_.binary && channel) channels_[static_cast<std::uint32_t>(*channel)] = *request;
  } else if (type == "INFER_DONE") {
    on_done(*request, *message, events);
  } else if (type == "ERROR") {
    events.emplace_back(
        Failed{*request, code_in(*message, "error"), one_line(text_in(*message, "message"))});
  }
}

void NativeConnection::on_done(std::uint64_t request, const json::object& message,
                               std::vector<Event>& events) {
  if (target_.binary)
    std::erase_if(channels_, [&](auto& entry) { return entry.second == request; });
  const json::object* const error = object_in(message, "error");
  const std::string_view reason = text_in(message, "finish_reason");
  if (error != nullptr || reason == "cancelled" || reason.empty()) {
    const std::string_view otherwise = reason.empty() ? kMalformed : reason;
    events.emplace_back(
        Failed{request, error != nullptr ? code_in(*error, otherwise) : std::string{otherwise},
               one_line(error != nullptr ? text_in(*error, "message") : reason)});
    return;
  }
  Done done{.request = request, .answer = {.tokens = count_in(message, "seq")}};
  if (const json::object* const usage = object_in(message, "usage")) {
    done.answer.prompt_tokens = count_in(*usage, "prompt_tokens").value_or(0);
  }
  if (const json::object* const timing = object_in(message, "timing")) {
    done.answer.queue = ms_in(*timing, "queue_ms");
    done.answer.prefill = ms_in(*timing, "prefill_ms");
  }
  events.emplace_back(done);
}

void NativeConnection::on_binary(Bytes bytes, std::vector<Event>& events) {
  const auto frame = wire::decode_fm(bytes);
  if (!frame) return lose(kMalformed, "a binary frame is none of the protocol", events);
  const auto request = channels_.find(frame->channel);
  if (request == channels_.end() || frame->tokens == 0) return;
  events.emplace_back(Tokens{request->second, frame->tokens, !frame->text.empty()});
}

void NativeConnection::lose(std::string_view code, std::string_view message,
                            std::vector<Event>& events) {
  if (std::exchange(lost_, true)) return;
  events.emplace_back(Lost{std::string{code}, one_line(message)});
}

}  // namespace seedance::loadgen
