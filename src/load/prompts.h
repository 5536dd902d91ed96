// What is asked: prompts of a file, or made-up ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "load/api.h"

namespace seedance::loadgen {

// Both ends are part of it.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  friend bool operator==(Range, Range) = default;
};

// "32" or "32:512", from 1 to `max`. Invalid for everything else.
Result<Range> parse_range(std::string_view text, std::uint32_t max);

// Prompts that no two requests share, drawn from a seed.
struct SyntheticPrompts {
  Range tokens{32, 32};
  std::uint32_t shared = 0;  // Before these: so many that are the same in all.
  // Token ids to draw from, for prompts of exactly so many tokens. Without any, a
  // prompt is so many short English words: about one token each.
  Range ids{};
  std::uint64_t seed = 1;
};

// The input of each request, by its number, as members of its JSON object:
// `"prompt":...` or `"messages":...`. Knows no file.
class Prompts {
 public:
  // Invalid where token ids are wanted of the chat API, which takes text only.
  static Result<Prompts> make(const SyntheticPrompts& synthetic, Api api);

  // The text of a file. Each line that is not empty is a prompt: a JSON object with
  // `prompt` (a string, or an array of token ids) or `messages`, whose other members
  // do not count, or plain text. Taken in their order, again and again. Invalid, with
  // the line, where one cannot be asked over this API.
  static Result<Prompts> read(std::string_view text, Api api);

  std::string members(std::uint64_t number) const;

 private:
  using Lines = std::vector<std::string>;

  Prompts(std::variant<SyntheticPrompts, Lines> source, Api api)
      : source_(std::move(source)), api_(api) {}

  std::variant<SyntheticPrompts, Lines> source_;
  Api api_;
};

}  // namespace seedance::loadgen
