#include "api/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <chrono>
#include <cmath>

namespace seedance::api {
namespace {

namespace json = boost::json;

constexpr std::size_t kQuotedNameMax = 64;

constexpr NumberRange kTemperature{.low = 0, .high = 2};
constexpr NumberRange kTopP{.low = 0, .high = 1, .above = true};
constexpr NumberRange kMinP{.low = 0, .high = 1};
constexpr NumberRange kPenalty{.low = -2, .high = 2};
constexpr NumberRange kRepeatPenalty{.low = 0, .high = 2, .above = true};
constexpr NumberRange kBias{.low = -100, .high = 100};

// A number that is not finite gives NaN.
std::optional<double> as_number(const json::value& value) {
  if (const auto* number = value.if_int64()) return static_cast<double>(*number);
  if (const auto* number = value.if_uint64()) return static_cast<double>(*number);
  if (const auto* number = value.if_double()) return *number;
  return std::nullopt;
}

// 1e0 and 1.0 are 1. Beyond 2^53 a double is no longer the number that was written.
std::optional<std::int64_t> as_integer(const json::value& value) {
  constexpr double kExact = 1LL << 53;
  if (const auto* number = value.if_int64()) return *number;
  const auto* number = value.if_double();
  if (number == nullptr || std::trunc(*number) != *number || std::abs(*number) > kExact) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

bool contains(NumberRange range, double number) {
  if (!std::isfinite(number)) return false;
  const bool high_enough = range.above ? number > range.low : number >= range.low;
  return high_enough && number <= range.high;
}

std::string describe(NumberRange range) {
  return fmt::format("a number {} {} {} {}", range.above ? "above" : "from", range.low,
                     range.above ? "and at most" : "to", range.high);
}

// Ids of tokens are checked against the vocabulary later, where it is.
std::optional<TokenId> as_token(const json::value& value) {
  const auto number = as_integer(value);
  if (!number || *number < 0 || *number > kTokensMax) return std::nullopt;
  return TokenId{static_cast<std::int32_t>(*number)};
}

std::optional<TokenId> parse_token(std::string_view digits) {
  TokenId token;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), token.value);
  if (error != std::errc{} || end != digits.data() + digits.size() || token.value < 0) {
    return std::nullopt;
  }
  return token;
}

std::string_view as_view(const json::string& text) {
  return {text.data(), text.size()};
}

constexpr std::array kMessageFields{
    FieldRule{.name = "role"},
    FieldRule{.name = "content"},
    FieldRule{.name = "annotations", .use = FieldUse::ignored},
    FieldRule{.name = "refusal", .use = FieldUse::fixed, .reason = "is not supported"},
    FieldRule{.name = "name", .use = FieldUse::fixed, .reason = "is not supported"},
    FieldRule{.name = "audio", .use = FieldUse::fixed, .reason = "is not supported"},
    FieldRule{.name = "tool_calls",
              .use = FieldUse::fixed,
              .values = "[[]]",
              .reason = "is not supported"},
    FieldRule{.name = "tool_call_id", .use = FieldUse::fixed, .reason = "is not supported"},
    FieldRule{.name = "function_call", .use = FieldUse::fixed, .reason = "is not supported"},
};

constexpr std::array kPartFields{FieldRule{.name = "type"}, FieldRule{.name = "text"}};

constexpr std::array kStreamFields{
    FieldRule{.name = "include_usage"},
    FieldRule{.name = "include_obfuscation", .use = FieldUse::ignored, .reason = "padding"},
};

constexpr std::array<std::string_view, 4> kRoles{"system", "developer", "user", "assistant"};

// Appends the text of one part of a message's content.
std::optional<Problem> read_part(const json::value& part, const std::string& path,
                                 std::string& text) {
  const auto* object = part.if_object();
  if (object == nullptr) {
    return Problem{
        .code = ErrorCode::invalid_request,
        .message = fmt::format("\"{}\" must be an object with \"type\" and \"text\".", path),
        .param = path};
  }
  Fields fields{*object, path + "."};
  const auto type = fields.text("type", kModelBytesMax);
  if (!type || *type != "text")
    fields.refuse("type", "must be \"text\": no other parts are supported");
  fields.check(kPartFields);
  const auto piece = fields.text("text", std::string::npos);
  if (!piece) {
    fields.refuse("text", "must be a string");
    return fields.problem();
  }
  if (!text.empty()) text += '\n';
  text += *piece;
  return fields.problem();
}

void read_content(Fields& fields, const std::string& path, std::string& content) {
  const json::value* value = fields.find("content");
  if (value != nullptr && value->is_string()) {
    content = as_view(value->get_string());
    return;
  }
  if (value == nullptr || !value->is_array() || value->get_array().empty()) {
    return fields.refuse("content", "must be a string or a non-empty array of text parts");
  }
  for (std::size_t i = 0; const json::value& part : value->get_array()) {
    auto problem = read_part(part, fmt::format("{}content[{}]", path, i++), content);
    if (problem) return fields.refuse(std::move(*problem));
  }
}

std::optional<Problem> read_message(const json::object& object, const std::string& path,
                                    text::ChatMessage& message) {
  Fields fields{object, path};
  fields.check(kMessageFields);
  const auto role = fields.text("role", kModelBytesMax);
  if (!role || std::ranges::find(kRoles, *role) == kRoles.end()) {
    fields.refuse("role",
                  "must be system, developer, user or assistant: no other roles are supported");
    return fields.problem();
  }
  message.role = *role;
  read_content(fields, path, message.content);
  return fields.problem();
}

}  // namespace

Fields::Fields(const json::object& object, std::string path)
    : object_(&object), path_(std::move(path)) {}

Fields::Fields(const JsonObject& request) : Fields(request.object) {
  if (request.repeated) refuse(*request.repeated, "is given more than once");
}

void Fields::check(std::span<const FieldRule> rules) {
  for (const auto& [key, value] : *object_) {
    const std::string_view name{key.data(), key.size()};
    const auto rule = std::ranges::find(rules, name, &FieldRule::name);
    if (rule == rules.end()) return refuse(name, "is unknown");
    if (rule->use != FieldUse::fixed || value.is_null()) continue;
    const json::value allowed =
        json::parse(rule->values.empty() ? std::string_view{"[]"} : rule->values);
    if (std::ranges::find(allowed.get_array(), value) == allowed.get_array().end()) {
      return refuse(name, rule->reason);
    }
  }
}

const json::value* Fields::find(std::string_view name) const {
  const json::value* value = object_->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::optional<std::string_view> Fields::text(std::string_view name, std::size_t bytes_max) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto* text = value->if_string();
  if (text == nullptr) return refuse(name, "must be a string"), std::nullopt;
  if (text->size() > bytes_max) {
    refuse(name, fmt::format("must have at most {} bytes, not {}", bytes_max, text->size()));
    return std::nullopt;
  }
  return as_view(*text);
}

std::optional<bool> Fields::flag(std::string_view name) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const bool* flag = value->if_bool();
  if (flag == nullptr) return refuse(name, "must be true or false"), std::nullopt;
  return *flag;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t low,
                                            std::int64_t high) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_integer(*value);
  if (number && *number >= low && *number <= high) return number;
  const auto given = as_number(*value);
  refuse(name, fmt::format("must be an integer from {} to {}{}", low, high,
                           given ? fmt::format(", not {}", *given) : ""));
  return std::nullopt;
}

std::optional<float> Fields::number(std::string_view name, NumberRange range) {
  const json::value* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_number(*value);
  // The bound holds for the float too: a tiny double may round to an open end.
  if (number && contains(range, *number) && contains(range, static_cast<float>(*number))) {
    return static_cast<float>(*number);
  }
  refuse(name, fmt::format("must be {}{}", describe(range),
                           number ? fmt::format(", not {}", *number) : ""));
  return std::nullopt;
}

void Fields::refuse(std::string_view name, std::string_view what) {
  std::string param = path_;
  param += name.substr(0, kQuotedNameMax);
  std::string message = fmt::format("\"{}\" {}.", param, what);
  refuse(Problem{.code = ErrorCode::invalid_request,
                 .message = std::move(message),
                 .param = std::move(param)});
}

void Fields::refuse(Problem problem) {
  if (!problem_) problem_ = std::move(problem);
}

void read_sampling(Fields& fields, engine::Sampling& sampling) {
  const auto read = [&fields](std::string_view name, NumberRange range, float& number) {
    number = fields.number(name, range).value_or(number);
  };
  read("temperature", kTemperature, sampling.temperature);
  read("top_p", kTopP, sampling.top_p);
  read("min_p", kMinP, sampling.min_p);
  read("presence_penalty", kPenalty, sampling.presence_penalty);
  read("frequency_penalty", kPenalty, sampling.frequency_penalty);
  read("repeat_penalty", kRepeatPenalty, sampling.repeat_penalty);
  sampling.top_k = static_cast<std::int32_t>(fields.integer("top_k", 0, kTokensMax).value_or(0));
  sampling.ignore_eos = fields.flag("ignore_eos").value_or(false);
  read_logit_bias(fields, sampling);
}

void read_logit_bias(Fields& fields, engine::Sampling& sampling) {
  const json::value* value = fields.find("logit_bias");
  if (value == nullptr) return;
  const auto* object = value->if_object();
  if (object == nullptr) return fields.refuse("logit_bias", "must be an object");
  if (object->size() > kLogitBiasMax) {
    return fields.refuse("logit_bias", fmt::format("must have at most {} tokens, not {}",
                                                   kLogitBiasMax, object->size()));
  }
  for (const auto& [key, bias] : *object) {
    const auto token = parse_token({key.data(), key.size()});
    const auto number = as_number(bias);
    if (!token || !number || !contains(kBias, *number)) {
      return fields.refuse("logit_bias",
                           fmt::format("must give each token id {}", describe(kBias)));
    }
    sampling.logit_bias.emplace_back(*token, static_cast<float>(*number));
  }
}

void read_seed(Fields& fields, core::GenerateRequest& request) {
  const json::value* value = fields.find("seed");
  if (value == nullptr) return;
  request.seeded = true;
  if (const auto number = as_integer(*value)) {
    request.sampling.seed = static_cast<std::uint64_t>(*number);
  } else if (const auto* large = value->if_uint64()) {
    request.sampling.seed = *large;
  } else {
    fields.refuse("seed", "must be an integer of at most 64 bits");
  }
}

void read_text_options(Fields& fields, text::TextOptions& options) {
  if (const auto boundary = fields.text("boundary", kModelBytesMax)) {
    if (*boundary != "utf8" && *boundary != "grapheme") {
      return fields.refuse("boundary", "must be \"utf8\" or \"grapheme\"");
    }
    options.boundary = *boundary == "utf8" ? text::Boundary::utf8 : text::Boundary::grapheme;
  }
  const json::value* value = fields.find("stop");
  if (value == nullptr) return;
  const std::string rule =
      fmt::format("must be a string or up to {} strings, each of 1 to {} bytes", kStopStringsMax,
                  kStopBytesMax);
  const auto add = [&options](const json::value& stop) {
    const auto* text = stop.if_string();
    if (text == nullptr || text->empty() || text->size() > kStopBytesMax) return false;
    options.stop.emplace_back(as_view(*text));
    return true;
  };
  const auto* list = value->if_array();
  const bool whole = list == nullptr
                         ? add(*value)
                         : list->size() <= kStopStringsMax && std::ranges::all_of(*list, add);
  if (!whole) fields.refuse("stop", rule);
}

void read_model(Fields& fields, core::GenerateRequest& request) {
  request.model = fields.text("model", kModelBytesMax).value_or("");
}

void read_urgency(Fields& fields, core::GenerateRequest& request) {
  if (const auto ms = fields.integer("deadline_ms", 1, kDeadlineMsMax)) {
    request.deadline = std::chrono::milliseconds{*ms};
  }
  const auto text = fields.text("priority", kModelBytesMax);
  if (!text) return;
  const auto priority = parse_priority(*text);
  if (!priority) {
    return fields.refuse("priority", "must be \"realtime\", \"interactive\" or \"batch\"");
  }
  request.priority = *priority;
}

void read_overflow(Fields& fields, core::GenerateRequest& request) {
  const auto text = fields.text("overflow", kModelBytesMax);
  if (!text || *text == "error") return;
  if (*text == "truncate_middle") {
    request.overflow = text::Overflow::truncate_middle;
  } else if (*text == "shift") {
    request.overflow = text::Overflow::shift;
  } else {
    fields.refuse("overflow", R"(must be "error", "truncate_middle" or "shift")");
  }
}

void read_parent(Fields& fields, core::GenerateRequest& request) {
  const auto text = fields.text("parent", kModelBytesMax);
  if (!text) return;
  request.parent = parse_stream_id(*text);
  if (!request.parent) {
    fields.refuse("parent", "must be the id of a stream: st_ and 26 characters");
  }
}

StreamOptions read_stream_options(Fields& fields) {
  StreamOptions options{.stream = fields.flag("stream").value_or(false)};
  const json::value* value = fields.find("stream_options");
  if (value == nullptr) return options;
  const auto* object = value->if_object();
  if (object == nullptr) return fields.refuse("stream_options", "must be an object"), options;
  if (!options.stream) return fields.refuse("stream_options", "needs \"stream\": true"), options;
  Fields inner{*object, "stream_options."};
  inner.check(kStreamFields);
  options.include_usage = inner.flag("include_usage").value_or(false);
  if (!inner.ok()) fields.refuse(*inner.problem());
  return options;
}

std::optional<text::PromptInput> read_prompt(Fields& fields, const json::value& value) {
  if (const auto* text = value.if_string()) return std::string{as_view(*text)};
  std::vector<TokenId> tokens;
  if (const auto* list = value.if_array()) {
    tokens.reserve(list->size());
    for (const json::value& item : *list) {
      const auto token = as_token(item);
      if (!token) break;
      tokens.push_back(*token);
    }
    if (!tokens.empty() && tokens.size() == list->size()) return tokens;
  }
  fields.refuse("prompt", "must be a string or a non-empty array of token ids");
  return std::nullopt;
}

std::optional<std::vector<text::ChatMessage>> read_messages(Fields& fields,
                                                            const json::value& value) {
  const auto* list = value.if_array();
  if (list == nullptr || list->empty()) {
    fields.refuse("messages", "must be a non-empty array of messages");
    return std::nullopt;
  }
  std::vector<text::ChatMessage> messages(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string name = fmt::format("messages[{}]", i);
    const auto* object = (*list)[i].if_object();
    if (object == nullptr) return fields.refuse(name, "must be an object"), std::nullopt;
    auto problem = read_message(*object, name + ".", messages[i]);
    if (problem) return fields.refuse(std::move(*problem)), std::nullopt;
  }
  return messages;
}

}  // namespace seedance::api
