#include "api/native.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <chrono>
#include <utility>

#include "api/answer_format.h"

namespace seedance::api {
namespace {

namespace json = boost::json;

constexpr std::string_view kLater = "is not supported yet";

constexpr std::array kInferFields{
    FieldRule{.name = "type"},
    FieldRule{.name = "id"},
    FieldRule{.name = "model"},
    FieldRule{.name = "prompt"},
    FieldRule{.name = "messages"},
    FieldRule{.name = "max_tokens"},
    FieldRule{.name = "temperature"},
    FieldRule{.name = "top_p"},
    FieldRule{.name = "top_k"},
    FieldRule{.name = "min_p"},
    FieldRule{.name = "seed"},
    FieldRule{.name = "stop"},
    FieldRule{.name = "presence_penalty"},
    FieldRule{.name = "frequency_penalty"},
    FieldRule{.name = "repeat_penalty"},
    FieldRule{.name = "logit_bias"},
    FieldRule{.name = "logprobs"},
    FieldRule{.name = "top_logprobs"},
    FieldRule{.name = "ignore_eos"},
    FieldRule{.name = "deadline_ms"},
    FieldRule{.name = "priority"},
    FieldRule{.name = "boundary"},
    FieldRule{.name = "merge_ms"},
    FieldRule{.name = "merge_bytes"},
    FieldRule{.name = "detach"},
    FieldRule{.name = "with"},
    FieldRule{.name = "key"},
    FieldRule{.name = "overflow"},
    FieldRule{.name = "parent"},
    FieldRule{.name = "grammar", .use = FieldUse::fixed, .reason = kLater},
    FieldRule{.name = "json_schema", .use = FieldUse::fixed, .reason = kLater},
    FieldRule{.name = "grammar"},
    FieldRule{.name = "json_schema"},
    FieldRule{.name = "session", .use = FieldUse::fixed, .reason = kLater},
    FieldRule{.name = "input", .use = FieldUse::fixed, .reason = kLater},
};

constexpr std::array kResumeFields{
    FieldRule{.name = "type"},     FieldRule{.name = "id"},          FieldRule{.name = "stream"},
    FieldRule{.name = "seq"},      FieldRule{.name = "epoch"},       FieldRule{.name = "with"},
    FieldRule{.name = "merge_ms"}, FieldRule{.name = "merge_bytes"},
};
constexpr std::array kAckFields{FieldRule{.name = "type"}, FieldRule{.name = "id"},
                                FieldRule{.name = "stream"}, FieldRule{.name = "seq"}};
constexpr std::array kCancelFields{FieldRule{.name = "type"}, FieldRule{.name = "id"},
                                   FieldRule{.name = "stream"}};
constexpr std::array kPingFields{FieldRule{.name = "type"}, FieldRule{.name = "ts"}};

std::optional<Duration> read_ms(Fields& fields, std::string_view name, std::int64_t low,
                                std::int64_t high) {
  const auto ms = fields.integer(name, low, high);
  if (!ms) return std::nullopt;
  return std::chrono::milliseconds{*ms};
}

void read_merge(Fields& fields, NativeOptions& options) {
  options.merge = read_ms(fields, "merge_ms", 0, kMergeMsMax);
  const auto bytes = fields.integer("merge_bytes", 1, kMergeBytesMax);
  if (!bytes) return;
  if (options.merge.value_or(Duration::zero()) == Duration::zero()) {
    return fields.refuse("merge_bytes", "needs a \"merge_ms\" above 0");
  }
  options.merge_bytes = static_cast<std::uint32_t>(*bytes);
}

void read_with(Fields& fields, Subprotocol subprotocol, ChunkExtras& with) {
  const json::value* value = fields.find("with");
  if (value == nullptr) return;
  const auto add = [&with](const json::value& item) {
    const auto* name = item.if_string();
    if (name == nullptr) return false;
    if (*name == "tokens") return with.tokens = true;
    if (*name == "logprobs") return with.logprobs = true;
    if (*name == "time") return with.time = true;
    return false;
  };
  const auto* list = value->if_array();
  if (list == nullptr || !std::ranges::all_of(*list, add)) {
    return fields.refuse("with", "must be an array of \"tokens\", \"logprobs\" and \"time\"");
  }
  if (with.time && subprotocol == Subprotocol::binary) {
    fields.refuse("with", "cannot have \"time\" in the binary subprotocol");
  }
}

void read_logprobs(Fields& fields, Subprotocol subprotocol, InferRequest& infer) {
  engine::Sampling& sampling = infer.request.sampling;
  sampling.logprobs = fields.flag("logprobs").value_or(false) || infer.options.with.logprobs;
  infer.options.with.logprobs = sampling.logprobs;
  const auto top = fields.integer("top_logprobs", 0, engine::kTopLogprobsMax).value_or(0);
  if (top == 0) return;
  if (!sampling.logprobs) return fields.refuse("top_logprobs", "needs \"logprobs\": true");
  if (subprotocol == Subprotocol::binary) {
    return fields.refuse("top_logprobs", "must be 0 in the binary subprotocol");
  }
  sampling.top_logprobs = static_cast<std::uint32_t>(top);
}

void read_input(Fields& fields, text::PromptInput& input) {
  const json::value* prompt = fields.find("prompt");
  const json::value* messages = fields.find("messages");
  if ((prompt == nullptr) == (messages == nullptr)) {
    return fields.refuse("prompt", "or \"messages\" must be given, and not both");
  }
  if (prompt != nullptr) {
    if (auto read = read_prompt(fields, *prompt)) input = std::move(*read);
  } else if (auto read = read_messages(fields, *messages)) {
    input = std::move(*read);
  }
}

void read_detach(Fields& fields, core::Detach& detach) {
  const auto text = fields.text("detach", kModelBytesMax);
  if (!text) return;
  if (*text != "keep" && *text != "cancel") {
    return fields.refuse("detach", "must be \"keep\" or \"cancel\"");
  }
  detach = *text == "keep" ? core::Detach::keep : core::Detach::cancel;
}

void read_key(Fields& fields, std::string& key) {
  const auto text = fields.text("key", kKeyBytesMax);
  if (!text) return;
  if (text->empty()) return fields.refuse("key", "must not be empty");
  key = *text;
}

InferRequest read_infer(Fields& fields, std::string_view id, Subprotocol subprotocol) {
  InferRequest infer{.id = std::string{id}, .request = {}, .options = {}};
  core::GenerateRequest& request = infer.request;
  fields.check(kInferFields);
  if (id.empty()) fields.refuse("id", "must be given");
  read_model(fields, request);
  read_input(fields, request.input);
  read_sampling(fields, request.sampling);
  read_seed(fields, request);
  read_text_options(fields, request.text);
  read_with(fields, subprotocol, infer.options.with);
  read_logprobs(fields, subprotocol, infer);
  read_detach(fields, request.detach);
  read_key(fields, request.key);
  read_urgency(fields, request);
  read_overflow(fields, request);
  read_parent(fields, request);
  read_format(fields, request);
  read_merge(fields, infer.options);
  if (const auto max = fields.integer("max_tokens", 1, kTokensMax)) {
    request.max_tokens = static_cast<std::uint32_t>(*max);
  }
  return infer;
}

std::optional<StreamId> read_stream(Fields& fields) {
  const auto text = fields.text("stream", kModelBytesMax);
  if (!text) return std::nullopt;
  const auto stream = parse_stream_id(*text);
  if (!stream) fields.refuse("stream", "must be the id of a stream: st_ and 26 characters");
  return stream;
}

// A position, or a count of tokens.
std::optional<Offset> read_seq(Fields& fields) {
  const auto seq = fields.integer("seq", 0, kTokensMax);
  if (!seq) return std::nullopt;
  return Offset{static_cast<std::uint64_t>(*seq)};
}

ResumeRequest read_resume(Fields& fields, std::string_view id, Subprotocol subprotocol) {
  fields.check(kResumeFields);
  ResumeRequest resume{.id = std::string{id}, .stream = {}, .from = {}};
  if (id.empty()) fields.refuse("id", "must be given");
  if (const auto stream = read_stream(fields)) {
    resume.stream = *stream;
  } else {
    fields.refuse("stream", "must be given");
  }
  resume.from = read_seq(fields).value_or(Offset{});
  if (const auto epoch = fields.integer("epoch", 0, std::numeric_limits<std::uint32_t>::max())) {
    resume.epoch = Epoch{static_cast<std::uint32_t>(*epoch)};
  } else if (resume.from > Offset{0}) {
    fields.refuse("epoch", "must be given when \"seq\" is not 0");
  }
  read_with(fields, subprotocol, resume.options.with);
  read_merge(fields, resume.options);
  return resume;
}

AckRequest read_ack(Fields& fields, std::string_view id) {
  fields.check(kAckFields);
  AckRequest ack{.id = std::string{id}, .stream = read_stream(fields), .total = {}};
  if (id.empty() == !ack.stream) {
    fields.refuse("id", "or \"stream\" must be given, and not both");
  }
  if (const auto total = read_seq(fields)) {
    ack.total = *total;
  } else {
    fields.refuse("seq", "must be given");
  }
  return ack;
}

CancelRequest read_cancel(Fields& fields, std::string_view id) {
  fields.check(kCancelFields);
  CancelRequest cancel{.id = std::string{id}, .stream = read_stream(fields)};
  if (id.empty() == !cancel.stream) {
    fields.refuse("id", "or \"stream\" must be given, and not both");
  }
  return cancel;
}

Ping read_ping(Fields& fields) {
  fields.check(kPingFields);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return {.ts = fields.integer("ts", -kMax, kMax)};
}

// The client's name for a stream; empty when there is none that can be used.
std::string_view client_id(const json::object& object) {
  const json::value* value = object.if_contains("id");
  const json::string* id = value == nullptr ? nullptr : value->if_string();
  if (id == nullptr || id->size() > kClientIdBytesMax) return {};
  return {id->data(), id->size()};
}

}  // namespace

std::span<const FieldRule> infer_fields() {
  return kInferFields;
}

ClientMessage parse_client_message(std::string_view text, Subprotocol subprotocol) {
  const auto object = parse_object(text);
  if (!object) {
    Problem problem = object.error();
    problem.code = ErrorCode::protocol_error;
    return NativeRefusal{.id = {}, .problem = std::move(problem)};
  }
  Fields fields{*object};
  const std::string_view id = client_id(object->object);
  const std::string_view type = fields.text("type", kModelBytesMax).value_or("");
  if (id.empty() && fields.find("id") != nullptr) {
    fields.refuse("id", fmt::format("must be a string of 1 to {} bytes", kClientIdBytesMax));
  }
  ClientMessage message;
  if (type == "INFER_REQ") {
    message = read_infer(fields, id, subprotocol);
  } else if (type == "RESUME") {
    message = read_resume(fields, id, subprotocol);
  } else if (type == "ACK") {
    message = read_ack(fields, id);
  } else if (type == "CANCEL") {
    message = read_cancel(fields, id);
  } else if (type == "PING") {
    message = read_ping(fields);
  } else if (type == "INPUT") {
    fields.refuse({.code = ErrorCode::invalid_request,
                   .message = "INPUT messages are not supported yet.",
                   .param = "type"});
  } else {
    fields.refuse({.code = ErrorCode::protocol_error,
                   .message = "\"type\" must be INFER_REQ, RESUME, ACK, CANCEL or PING.",
                   .param = "type"});
  }
  if (fields.ok()) return message;
  return NativeRefusal{.id = std::string{id}, .problem = *fields.problem()};
}

}  // namespace seedance::api
