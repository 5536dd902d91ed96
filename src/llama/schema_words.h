// The keywords of JSON Schema. Private to plain_schema().
#pragma once

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <span>
#include <string_view>

namespace seedance::llama {

// What is understood, by the type that it says something about.
inline constexpr std::array<std::string_view, 3> kOfObjects{"properties", "required",
                                                            "additionalProperties"};
inline constexpr std::array<std::string_view, 4> kOfArrays{"items", "prefixItems", "minItems",
                                                           "maxItems"};
inline constexpr std::array<std::string_view, 4> kOfStrings{"minLength", "maxLength", "pattern",
                                                            "format"};
inline constexpr std::array<std::string_view, 4> kOfNumbers{"minimum", "maximum",
                                                            "exclusiveMinimum", "exclusiveMaximum"};
inline constexpr std::array<std::string_view, 7> kOfAny{"type",  "enum",  "const", "anyOf",
                                                        "oneOf", "allOf", "$ref"};

inline constexpr std::string_view kCheckYourself = "leave it out, and check the answer for it";

struct Unsupported {
  std::string_view keyword;
  std::string_view advice = kCheckYourself;
};
inline constexpr std::string_view kNameThem = "name the properties in \"properties\"";
inline constexpr std::string_view kAsAnyOf = "write the cases out as \"anyOf\"";
inline constexpr std::array kUnsupported{
    Unsupported{"not", "say what the answer is instead"},
    Unsupported{"if", kAsAnyOf},
    Unsupported{"dependentRequired", kAsAnyOf},
    Unsupported{"dependentSchemas", kAsAnyOf},
    Unsupported{"dependencies", kAsAnyOf},
    Unsupported{"patternProperties", kNameThem},
    Unsupported{"propertyNames", kNameThem},
    Unsupported{"minProperties", "name properties in \"required\""},
    Unsupported{"maxProperties", kNameThem},
    Unsupported{"unevaluatedProperties", "use \"additionalProperties\""},
    Unsupported{"unevaluatedItems", "use \"items\" or \"prefixItems\""},
    Unsupported{"uniqueItems"},
    Unsupported{"multipleOf"},
    Unsupported{"contains"},
    Unsupported{"$dynamicRef", "use \"$ref\""},
    Unsupported{"$recursiveRef", "use \"$ref\""},
};

inline bool is_zero(const boost::json::value& value) {
  return value.is_number() && value.to_number<double>() == 0;
}

inline bool says_nothing(std::string_view keyword, const boost::json::value& value) {
  if (keyword == "uniqueItems") return value.is_bool() && !value.get_bool();
  return keyword == "minProperties" && is_zero(value);
}

inline bool has(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != std::ranges::end(names);
}

inline bool has_any(const boost::json::object& schema, std::span<const std::string_view> keywords) {
  return std::ranges::any_of(keywords, [&](auto each) { return schema.contains(each); });
}

// An "allOf" around one schema and nothing else.
inline bool is_wrapper(const boost::json::object& schema, const boost::json::value& all) {
  if (!all.is_array() || all.get_array().size() != 1) return false;
  const auto others = [&](auto& keywords) {
    return std::ranges::count_if(keywords, [&](auto each) { return schema.contains(each); });
  };
  return others(kOfAny) == 1 &&
         others(kOfObjects) + others(kOfArrays) + others(kOfStrings) + others(kOfNumbers) == 0;
}

}  // namespace seedance::llama
