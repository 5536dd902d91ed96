#include "api/answer_format.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <string>
#include <utility>

namespace seedance::api {
namespace {

namespace json = boost::json;

using Kind = text::AnswerFormat::Kind;

constexpr std::string_view kAnyObject = R"({"type":"object"})";

constexpr std::array kTypeFields{FieldRule{.name = "type"}};
constexpr std::array kSchemaTypeFields{FieldRule{.name = "type"}, FieldRule{.name = "json_schema"}};
constexpr std::array kSchemaFields{
    FieldRule{.name = "name"},
    FieldRule{.name = "description", .use = FieldUse::ignored, .reason = "a note for the model"},
    FieldRule{.name = "schema"},
    FieldRule{.name = "strict"},
};

void read_grammar(Fields& fields, core::GenerateRequest& request) {
  const auto grammar = fields.text("grammar", std::string::npos);
  if (!grammar) return;
  if (grammar->empty()) return fields.refuse("grammar", "must not be empty");
  request.format = {.kind = Kind::grammar, .text = std::string{*grammar}, .param = "grammar"};
}

// OpenAI's names are letters, digits, _ and -, at most 64.
bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

// A schema is always kept to: `strict` changes nothing.
std::optional<Problem> read_named_schema(const json::object& object, std::string& schema) {
  Fields fields{object, "response_format.json_schema."};
  fields.check(kSchemaFields);
  if (!is_name(fields.text("name", std::string::npos).value_or(""))) {
    fields.refuse("name", "must be 1 to 64 letters, digits, \"_\" or \"-\"");
  }
  fields.flag("strict");
  const json::value* value = fields.find("schema");
  if (value == nullptr || !value->is_object()) {
    fields.refuse("schema", "must be an object");
  } else {
    schema = json::serialize(*value);
  }
  return fields.problem();
}

std::optional<Problem> read_format_object(const json::object& object, text::AnswerFormat& format) {
  Fields fields{object, "response_format."};
  const std::string_view type = fields.text("type", kModelBytesMax).value_or("");
  if (type == "text") {
    fields.check(kTypeFields);
  } else if (type == "json_object") {
    fields.check(kTypeFields);
    format = {
        .kind = Kind::json_schema, .text = std::string{kAnyObject}, .param = "response_format"};
  } else if (type == "json_schema") {
    fields.check(kSchemaTypeFields);
    format = {.kind = Kind::json_schema, .param = "response_format.json_schema.schema"};
    const json::value* schema = fields.find("json_schema");
    if (schema == nullptr || !schema->is_object()) {
      fields.refuse("json_schema", "must be an object");
    } else if (auto problem = read_named_schema(schema->get_object(), format.text)) {
      fields.refuse(*std::move(problem));
    }
  } else {
    fields.refuse("type", "must be \"text\", \"json_object\" or \"json_schema\"");
  }
  return fields.problem();
}

// What is drawn until an end must be able to end.
void check_end(Fields& fields, const core::GenerateRequest& request) {
  if (request.format.kind == Kind::any || !request.sampling.ignore_eos) return;
  fields.refuse("ignore_eos", "cannot be had with a grammar or schema, which says where it ends");
}

}  // namespace

void read_format(Fields& fields, core::GenerateRequest& request) {
  read_grammar(fields, request);
  if (const json::value* schema = fields.find("json_schema")) {
    if (request.format.kind != Kind::any) {
      return fields.refuse("json_schema", "or \"grammar\" may be given, and not both");
    }
    if (!schema->is_object()) return fields.refuse("json_schema", "must be an object");
    request.format = {
        .kind = Kind::json_schema, .text = json::serialize(*schema), .param = "json_schema"};
  }
  check_end(fields, request);
}

void read_response_format(Fields& fields, core::GenerateRequest& request) {
  if (const json::value* value = fields.find("response_format")) {
    const auto* object = value->if_object();
    if (object == nullptr) return fields.refuse("response_format", "must be an object");
    if (auto problem = read_format_object(*object, request.format)) {
      return fields.refuse(*std::move(problem));
    }
  }
  if (request.format.kind != Kind::any && fields.find("grammar") != nullptr) {
    return fields.refuse("grammar", "or \"response_format\" may be given, and not both");
  }
  read_grammar(fields, request);
  check_end(fields, request);
}

}  // namespace seedance::api
