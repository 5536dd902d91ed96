// What the requests of all APIs have in common: limits, field tables, sampling.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/json_object.h"
#include "base/error_code.h"
#include "core/messages.h"

namespace seedance::api {

inline constexpr std::size_t kModelBytesMax = 256;
inline constexpr std::size_t kStopStringsMax = 16;
inline constexpr std::size_t kStopBytesMax = 256;
inline constexpr std::size_t kLogitBiasMax = 1024;
inline constexpr std::int64_t kDeadlineMsMax = 24LL * 60 * 60 * 1000;
inline constexpr std::int64_t kTokensMax = std::numeric_limits<std::int32_t>::max();

// What becomes of one field of a request. Null is everywhere the same as absent.
enum class FieldUse : std::uint8_t {
  read,     // It does what its API says.
  ignored,  // Any value is taken: it changes nothing in the answer.
  fixed,    // Only `values` are taken: they ask for what happens anyway.
};

struct FieldRule {
  std::string_view name;
  FieldUse use = FieldUse::read;
  std::string_view values = {};  // Fixed: a JSON array, maybe empty.
  std::string_view reason = {};  // Why it is ignored, or refused with other values.
};

// Bounds of a number; both ends belong to it, unless `above` (then not the lower).
struct NumberRange {
  double low = 0;
  double high = 0;
  bool above = false;
};

// Reads one JSON object field by field. A field that is absent, null or wrong
// gives nothing; the first wrong one is kept as problem(). Borrows the object.
class Fields {
 public:
  // `path` stands before every name in a problem, for example "messages[0].".
  explicit Fields(const boost::json::object& object, std::string path = {});

  // Of a whole request: a key that it has more than once is its first problem.
  explicit Fields(const JsonObject& request);

  // Refuses what the table does not list and what it fixes to another value.
  void check(std::span<const FieldRule> rules);

  std::optional<std::string_view> text(std::string_view name, std::size_t bytes_max);
  std::optional<bool> flag(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high);
  std::optional<float> number(std::string_view name, NumberRange range);

  // Null when absent or null.
  const boost::json::value* find(std::string_view name) const;

  // `what` continues the sentence that begins with the field's name.
  void refuse(std::string_view name, std::string_view what);
  void refuse(Problem problem);

  bool ok() const { return !problem_; }
  const std::optional<Problem>& problem() const { return problem_; }

 private:
  const boost::json::object* object_;
  std::string path_;
  std::optional<Problem> problem_;
};

// Readers of fields that several APIs share. They report into `fields`.
void read_sampling(Fields& fields, engine::Sampling& sampling);  // All but logprobs and seed.
void read_seed(Fields& fields, core::GenerateRequest& request);
void read_text_options(Fields& fields, text::TextOptions& options);  // stop, boundary.
void read_logit_bias(Fields& fields, engine::Sampling& sampling);
void read_model(Fields& fields, core::GenerateRequest& request);
void read_urgency(Fields& fields, core::GenerateRequest& request);  // priority, deadline_ms.
void read_overflow(Fields& fields, core::GenerateRequest& request);
void read_parent(Fields& fields, core::GenerateRequest& request);

// OpenAI's `stream` and `stream_options`.
struct StreamOptions {
  bool stream = false;
  bool include_usage = false;
};
StreamOptions read_stream_options(Fields& fields);

// A string or an array of token ids.
std::optional<text::PromptInput> read_prompt(Fields& fields, const boost::json::value& value);

// OpenAI's `messages`: content is a string or an array of text parts, which are
// joined by line ends.
std::optional<std::vector<text::ChatMessage>> read_messages(Fields& fields,
                                                            const boost::json::value& value);

}  // namespace seedance::api
