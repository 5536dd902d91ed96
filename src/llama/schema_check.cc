#include "llama/schema_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "llama/schema_pattern.h"
#include "llama/schema_value.h"
#include "llama/schema_words.h"

namespace seedance::llama {
namespace {

namespace json = boost::json;

// Reads from the root; the first fault stays, and stops everything.
class Reader {
 public:
  Reader(const json::value& root, std::string name) : root_(root), name_(std::move(name)) {}

  Result<std::string> read() {
    json::object out = node(root_, "#");
    json::object targets;
    for (std::size_t i = 0; i < targets_.size() && !failed(); ++i) {
      const Place place = targets_[i];  // A copy: more of them may come.
      targets[std::to_string(i)] = whole(*place.value, place.at);
    }
    if (failed()) return seedance::fail(Errc::invalid, fault_);
    if (!targets.empty()) out[name_] = std::move(targets);
    return json::serialize(out);
  }

 private:
  bool failed() const { return !fault_.empty(); }
  void fail(const std::string& at, std::string_view keyword, std::string_view what) {
    if (!failed()) fault_ = fmt::format("at {}, \"{}\" {}", at, keyword, what);
  }
  // `keyword` is kept to only without `other`.
  void fail_beside(const std::string& at, std::string_view keyword, std::string_view other,
                   std::string_view advice) {
    fail(at, keyword, fmt::format("cannot be kept to beside \"{}\"; {}", other, advice));
  }

  // The schema there, where it is one at all.
  const json::object* schema_at(const json::value& value, const std::string& at) {
    if (failed()) return nullptr;
    const auto* schema = value.if_object();
    if (schema == nullptr) {
      fault_ = fmt::format("at {}, there is no schema; it must be an object{}", at,
                           value.is_bool() ? ": \"false\" allows no answer at all" : "");
      return nullptr;
    }
    for (const Unsupported& each : kUnsupported) {
      const auto* found = schema->if_contains(each.keyword);
      if (found == nullptr || says_nothing(each.keyword, *found)) continue;
      fail(at, each.keyword, fmt::format("cannot be kept to; {}", each.advice));
    }
    if (at != "#" && schema->contains("$id")) {
      fail(at, "$id", "changes what references mean; leave it out");
    }
    return failed() ? nullptr : schema;
  }

  // No other keyword says anything about an answer; those in `but` are looked at elsewhere.
  void check_alone(const json::object& schema, const std::string& at, std::string_view keyword,
                   std::initializer_list<std::string_view> but, std::string_view advice) {
    const auto check = [&](std::span<const std::string_view> others) {
      for (const std::string_view other : others) {
        if (other == keyword || has(but, other)) continue;
        if (schema.contains(other)) fail_beside(at, keyword, other, advice);
      }
    };
    check(kOfAny);
    check(kOfObjects);
    check(kOfArrays);
    check(kOfStrings);
    check(kOfNumbers);
  }

  json::object node(const json::value& value, const std::string& at) {
    if (value.is_bool() && value.get_bool()) return {};
    const json::object* schema = schema_at(value, at);
    if (schema == nullptr) return {};
    const auto* all = schema->if_contains("allOf");
    // What an "allOf" puts together can hold itself: so it is a target, each of which is read once.
    if (all == nullptr || is_wrapper(*schema, *all)) return whole(value, at);
    return reference_to({&value, at});
  }

  // Whatever it is, and not a reference to it.
  json::object whole(const json::value& value, const std::string& at) {
    if (value.is_bool() && value.get_bool()) return {};
    const json::object* schema = schema_at(value, at);
    if (schema == nullptr) return {};
    if (schema->contains("$ref")) return reference(value, at);
    if (const auto* all = schema->if_contains("allOf")) {
      if (is_wrapper(*schema, *all)) return node(all->get_array().front(), below(at, "allOf", 0));
      return object(value, at);
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
      if (schema->contains(keyword)) return alternatives(*schema, at, keyword);
    }
    for (const std::string_view keyword : {"const", "enum"}) {
      if (schema->contains(keyword)) return values(*schema, at, keyword);
    }
    const auto* type = schema->if_contains("type");
    if (type == nullptr) return untyped(value, at);
    if (const auto* name = type->if_string()) return typed(value, at, *name);
    return one_of_types(value, at, *type);
  }

  json::object untyped(const json::value& value, const std::string& at) {
    const json::object& schema = value.get_object();
    if (has_any(schema, kOfObjects)) return object(value, at);
    if (has_any(schema, kOfArrays)) return array(schema, at);
    if (has_any(schema, kOfStrings)) return string(schema, at);
    for (const std::string_view keyword : kOfNumbers) {
      if (schema.contains(keyword)) fail(at, keyword, "needs \"type\": \"integer\" beside it");
    }
    return {};
  }

  json::object typed(const json::value& value, const std::string& at, std::string_view type) {
    const json::object& schema = value.get_object();
    if (type == "object") return object(value, at);
    if (type == "array") return array(schema, at);
    if (type == "string") return string(schema, at);
    if (type == "integer") return integer(schema, at);
    if (type == "number") {
      for (const std::string_view keyword : kOfNumbers) {
        if (!schema.contains(keyword)) continue;
        fail(at, keyword, fmt::format("is kept to for integers only; {}", kCheckYourself));
      }
    } else if (type != "boolean" && type != "null") {
      fail(at, "type", fmt::format("is unknown: {}", type.substr(0, 40)));
    }
    return {{"type", type}};
  }

  json::object one_of_types(const json::value& value, const std::string& at,
                            const json::value& types) {
    if (!types.is_array() || types.get_array().empty()) {
      fail(at, "type", "must be a name or an array of names");
      return {};
    }
    json::array each;
    for (const json::value& type : types.get_array()) {
      if (!type.is_string()) fail(at, "type", "must be a name or an array of names");
      if (failed()) return {};
      each.push_back(typed(value, at, type.get_string()));
    }
    return {{"anyOf", std::move(each)}};
  }

  json::object alternatives(const json::object& schema, const std::string& at,
                            std::string_view keyword) {
    check_alone(schema, at, keyword, {}, "write it into each of the alternatives");
    const auto* list = schema.at(keyword).if_array();
    if (list == nullptr || list->empty()) fail(at, keyword, "must be an array of schemas");
    if (failed()) return {};
    json::array out;
    for (std::size_t i = 0; i < list->size() && !failed(); ++i) {
      out.push_back(node((*list)[i], below(at, keyword, i)));
    }
    return {{"anyOf", std::move(out)}};
  }

  json::object values(const json::object& schema, const std::string& at, std::string_view keyword) {
    check_alone(schema, at, keyword, {"type"}, "leave it out, with the values that it forbids");
    const json::value& given = schema.at(keyword);
    const json::array list = keyword == "const" ? json::array{given}
                             : given.is_array() ? given.get_array()
                                                : json::array{};
    if (list.empty()) fail(at, keyword, "must be an array of values");
    const auto fits = [&](const json::value& value) {
      const auto* type = schema.if_contains("type");
      if (type == nullptr) return true;
      const json::array types = type->is_array() ? type->get_array() : json::array{*type};
      return std::ranges::any_of(types, [&](const json::value& each) {
        return each.is_string() && is_of(value, std::string_view{each.get_string()});
      });
    };
    if (!std::ranges::all_of(list, fits)) {
      fail(at, keyword, "has a value that \"type\" does not allow; leave it out");
    }
    if (!std::ranges::all_of(list, is_exact)) {
      fail(at, keyword, "has a number too large to be kept as it is; write it as a string");
    }
    return {{"enum", list}};
  }

  // References.

  std::optional<Place> resolve(const std::string& at, std::string_view ref) {
    if (ref != "#" && !ref.starts_with("#/")) {
      fail(at, "$ref", "must be a pointer into the same document, such as #/$defs/name");
    } else if (ref.contains('%')) {
      fail(at, "$ref", "has a %; write the characters of names themselves");
    }
    if (failed()) return std::nullopt;
    auto place = find_place(root_, ref);
    if (!place) fail(at, "$ref", "names nothing in the document");
    return place;
  }

  // Where a chain of references ends.
  std::optional<Place> follow(Place place) {
    for (std::size_t steps = 0; steps <= kSchemaDepthMax; ++steps) {
      if (place.value->is_bool()) return place;
      const json::object* schema = schema_at(*place.value, place.at);
      if (schema == nullptr) return std::nullopt;
      const auto* ref = schema->if_contains("$ref");
      if (ref == nullptr) return place;
      check_alone(*schema, place.at, "$ref", {}, "put both into \"allOf\", or into what it names");
      if (!ref->is_string()) fail(place.at, "$ref", "must be a string");
      if (failed()) return std::nullopt;
      auto next = resolve(place.at, ref->get_string());
      if (!next) return std::nullopt;
      place = *std::move(next);
    }
    fail(place.at, "$ref", "leads to nothing but references, or back to itself");
    return std::nullopt;
  }

  json::object reference(const json::value& value, const std::string& at) {
    auto place = follow({&value, at});
    return place ? reference_to(*std::move(place)) : json::object{};
  }

  json::object reference_to(Place place) {
    const auto [found, added] = numbers_.try_emplace(place.at, targets_.size());
    if (added) targets_.push_back(std::move(place));
    return {{"$ref", fmt::format("#/{}/{}", name_, found->second)}};
  }

  // Objects.

  // The schema itself, and what its "allOf" adds to it.
  void collect(const Place& place, std::size_t depth, std::vector<Place>& parts) {
    if (depth > kSchemaDepthMax || parts.size() >= kSchemaPartsMax) {
      fail(place.at, "allOf", "puts too many schemas together, or one into itself");
    }
    const json::object* schema = schema_at(*place.value, place.at);
    if (schema == nullptr) return;
    parts.push_back(place);
    const auto* all = schema->if_contains("allOf");
    if (all == nullptr) return;
    if (!all->is_array() || all->get_array().empty()) {
      return fail(place.at, "allOf", "must be an array of schemas");
    }
    for (std::size_t i = 0; i < all->get_array().size() && !failed(); ++i) {
      const auto part = follow({&all->get_array()[i], below(place.at, "allOf", i)});
      if (part) collect(*part, depth + 1, parts);
    }
  }

  // What one object can be made of.
  void check_part(const Place& place) {
    const json::object& schema = place.value->get_object();
    check_alone(schema, place.at, "allOf", {"type", "properties", "required"},
                "write what all of them say as one schema");
    const auto* type = schema.if_contains("type");
    if (type != nullptr && *type != "object") {
      fail(place.at, "allOf", "is kept to for objects only; write it as one schema");
    }
  }

  json::object object(const json::value& value, const std::string& at) {
    std::vector<Place> parts;
    collect({&value, at}, 0, parts);
    if (parts.size() > 1)
      std::ranges::for_each(parts, [&](const Place& each) { check_part(each); });
    json::object properties;
    json::array required;
    bool any_named = false;
    for (const Place& part : parts) {
      if (failed()) return {};
      const json::object& schema = part.value->get_object();
      any_named |= schema.contains("properties");
      take_properties(schema, part.at, properties);
      take_required(schema, part.at, required);
    }
    for (const json::value& name : required) {
      if (properties.contains(name.get_string())) continue;
      fail(at, "required",
           fmt::format("names \"{}\", which is not in \"properties\"; add it there",
                       std::string_view{name.get_string()}.substr(0, 100)));
    }
    if (failed()) return {};
    json::object out{{"type", "object"}};
    take_additional(value.get_object(), at, properties, out);
    if (any_named) out["properties"] = std::move(properties);
    if (!required.empty()) out["required"] = std::move(required);
    return out;
  }

  void take_properties(const json::object& schema, const std::string& at, json::object& out) {
    const auto* properties = schema.if_contains("properties");
    if (properties == nullptr) return;
    if (!properties->is_object()) return fail(at, "properties", "must be an object");
    const std::string here = below(at, "properties");
    for (const auto& [name, value] : properties->get_object()) {
      if (failed()) return;
      if (name == "*") fail(at, "properties", "cannot have one with the name \"*\"; rename it");
      if (out.contains(name)) {
        fail(below(here, name), "allOf", "has this property twice; write it once");
      }
      out[name] = node(value, below(here, name));
    }
  }

  void take_required(const json::object& schema, const std::string& at, json::array& out) {
    const auto* names = schema.if_contains("required");
    if (names == nullptr) return;
    if (!names->is_array()) return fail(at, "required", "must be an array of names");
    for (const json::value& name : names->get_array()) {
      if (!name.is_string()) return fail(at, "required", "must be an array of names");
      out.push_back(name);
    }
  }

  void take_additional(const json::object& schema, const std::string& at,
                       const json::object& properties, json::object& out) {
    const auto* additional = schema.if_contains("additionalProperties");
    if (additional == nullptr) return;
    if (additional->is_bool()) {
      out["additionalProperties"] = *additional;
    } else {
      out["additionalProperties"] = node(*additional, below(at, "additionalProperties"));
    }
    if (*additional == false) return;
    for (const auto& [name, value] : properties) {
      const auto special = [](char c) {
        return std::string_view{"\"\\]^"}.contains(c) || static_cast<unsigned char>(c) < ' ';
      };
      if (std::ranges::none_of(std::string_view{name}, special)) continue;
      fail_beside(at, "additionalProperties", "properties",
                  "set it to false, or name no property with a \", \\, ], ^ or control character");
    }
  }

  // The other types.

  std::optional<std::size_t> count(const json::object& schema, const std::string& at,
                                   std::string_view keyword) {
    const auto* value = schema.if_contains(keyword);
    if (value == nullptr) return std::nullopt;
    const bool number = value->is_number() && is_integral(*value);
    const double given = number ? value->to_number<double>() : -1;
    if (given < 0) {
      fail(at, keyword, "must be an integer from 0");
    } else if (given > static_cast<double>(kSchemaCountMax)) {
      fail(at, keyword,
           fmt::format("is {}, but no more than {} can be counted; {}", given, kSchemaCountMax,
                       kCheckYourself));
    }
    return failed() ? std::nullopt : std::optional{static_cast<std::size_t>(given)};
  }

  // Both, when there are such.
  void put_counts(const json::object& schema, const std::string& at, std::string_view least,
                  std::string_view most, json::object& out) {
    const auto min = count(schema, at, least);
    const auto max = count(schema, at, most);
    if (min && max && *min > *max) {
      fail(at, least, fmt::format("is {}, above \"{}\"", *min, most));
    }
    if (min.value_or(0) > 0) out[least] = *min;
    if (max) out[most] = *max;
  }

  json::object array(const json::object& schema, const std::string& at) {
    const auto* items = schema.if_contains("items");
    std::string_view key = "prefixItems";
    const auto* prefix = schema.if_contains(key);
    if (prefix == nullptr && items != nullptr && items->is_array()) {
      key = "items";  // As it was written before draft 2020-12.
      prefix = std::exchange(items, nullptr);
    }
    json::object out{{"type", "array"}};
    put_counts(schema, at, "minItems", "maxItems", out);
    if (prefix == nullptr) {
      if (items != nullptr) out["items"] = node(*items, below(at, "items"));
      return out;
    }
    if (!prefix->is_array()) fail(at, key, "must be an array of schemas");
    if (items != nullptr && *items != false) {
      fail_beside(at, "items", key, "set it to false: there are never more of them");
    }
    if (failed()) return {};
    const json::array& each = prefix->get_array();
    const bool fit = count(schema, at, "minItems").value_or(0) <= each.size() &&
                     count(schema, at, "maxItems").value_or(each.size()) >= each.size();
    if (!fit)
      fail(at, key, "is kept to with all of its items; \"minItems\" or \"maxItems\" differ");
    json::array tuple;
    for (std::size_t i = 0; i < each.size() && !failed(); ++i) {
      tuple.push_back(node(each[i], below(at, key, i)));
    }
    return {{"type", "array"}, {"prefixItems", std::move(tuple)}};
  }

  json::object string(const json::object& schema, const std::string& at) {
    json::object out{{"type", "string"}};
    put_counts(schema, at, "minLength", "maxLength", out);
    const auto* pattern = schema.if_contains("pattern");
    const auto* format = schema.if_contains("format");
    for (const std::string_view keyword : {"pattern", "format"}) {
      if (!schema.contains(keyword) || out.size() == 1) continue;
      fail_beside(at, keyword, out.contains("minLength") ? "minLength" : "maxLength",
                  "leave one of them out, or count in the pattern");
    }
    if (pattern != nullptr && format != nullptr) {
      fail_beside(at, "pattern", "format", "leave one of them out");
    }
    if (format != nullptr) put_format(*format, at, out);
    if (pattern != nullptr) put_pattern(*pattern, at, out);
    return out;
  }

  void put_format(const json::value& format, const std::string& at, json::object& out) {
    constexpr std::array<std::string_view, 4> kFormats{"date", "time", "date-time", "uuid"};
    const auto* name = format.if_string();
    if (name == nullptr) return fail(at, "format", "must be a string");
    if (!has(kFormats, *name)) {
      return fail(at, "format",
                  fmt::format("is kept to as date, time, date-time or uuid only; write a "
                              "\"pattern\", or {}",
                              kCheckYourself));
    }
    out["format"] = format;
  }

  void put_pattern(const json::value& pattern, const std::string& at, json::object& out) {
    if (!pattern.is_string()) return fail(at, "pattern", "must be a string");
    auto plain = json_pattern(pattern.get_string());
    if (!plain) {
      return fail(at, "pattern",
                  fmt::format("{}; it must begin with ^ and end with $, and use only literals, "
                              "sets, groups and repetitions",
                              plain.error().detail));
    }
    out["pattern"] = *plain;
  }

  // One bound alone is kept to badly: so there are always both.
  json::object integer(const json::object& schema, const std::string& at) {
    std::int64_t low = -kSchemaIntegerMax;
    std::int64_t high = kSchemaIntegerMax;
    for (const std::string_view keyword : kOfNumbers) {
      const auto* value = schema.if_contains(keyword);
      if (value == nullptr) continue;
      if (!value->is_number()) return fail(at, keyword, "must be a number"), json::object{};
      if (keyword == "minimum") low = std::max(low, integer_at(*value, Round::up));
      if (keyword == "maximum") high = std::min(high, integer_at(*value, Round::down));
      if (keyword == "exclusiveMinimum") low = std::max(low, integer_at(*value, Round::down) + 1);
      if (keyword == "exclusiveMaximum") high = std::min(high, integer_at(*value, Round::up) - 1);
    }
    if (low > high) {
      fail(at, "type",
           fmt::format("is \"integer\", but none of at most {} digits is within its "
                       "bounds",
                       kSchemaDigitsMax));
    }
    json::object out{{"type", "integer"}};
    if (!has_any(schema, kOfNumbers)) return out;
    out["minimum"] = low;
    out["maximum"] = high;
    return out;
  }

  const json::value& root_;
  const std::string name_;
  std::vector<Place> targets_;                  // Of references, by their numbers.
  std::map<std::string, std::size_t> numbers_;  // By pointer.
  std::string fault_;
};

}  // namespace

Result<std::string> plain_schema(std::string_view schema) {
  json::parse_options options;
  options.max_depth = kSchemaDepthMax;
  boost::system::error_code error;
  const json::value root = json::parse(schema, error, {}, options);
  if (error) return fail(Errc::invalid, "it is no JSON, or too deep");
  return Reader{root, unused_name(schema)}.read();
}

}  // namespace seedance::llama
