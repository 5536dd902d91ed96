#include "load/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/random.h"
#include "base/unicode.h"
#include "wire/json.h"

namespace seedance::loadgen {
namespace {

namespace json = boost::json;

// Each is one token in the vocabularies that we know.
constexpr auto kWords = std::to_array<std::string_view>(
    {"the",   "of",   "and",   "a",     "to",    "in",   "is",   "you",   "that",   "it",
     "he",    "was",  "for",   "on",    "are",   "as",   "with", "his",   "they",   "I",
     "at",    "be",   "this",  "have",  "from",  "or",   "one",  "had",   "by",     "word",
     "but",   "not",  "what",  "all",   "were",  "we",   "when", "your",  "can",    "said",
     "there", "use",  "an",    "each",  "which", "she",  "do",   "how",   "their",  "if",
     "will",  "up",   "other", "about", "out",   "many", "then", "them",  "these",  "so",
     "some",  "her",  "would", "make",  "like",  "him",  "into", "time",  "has",    "look",
     "two",   "more", "write", "go",    "see",   "no",   "way",  "could", "people", "my"});

std::string with_text(std::string_view text, Api api) {
  std::string out = api == Api::chat ? R"("messages":[{"role":"user","content":)" : R"("prompt":)";
  wire::append_json_string(out, text);
  if (api == Api::chat) out += "}]";
  return out;
}

std::uint32_t draw(Prng& random, Range range) {
  const std::uint64_t count = std::uint64_t{range.last} - range.first + 1;
  return static_cast<std::uint32_t>(range.first + random.below(count));
}

std::string synthetic_members(const SyntheticPrompts& prompts, Api api, std::uint64_t number) {
  Prng shared{counter_random(~prompts.seed, 0)};
  Prng own{counter_random(prompts.seed, number)};
  const std::uint32_t count = prompts.shared + draw(own, prompts.tokens);
  const auto random = [&](std::uint32_t at) -> Prng& { return at < prompts.shared ? shared : own; };
  if (prompts.ids != Range{}) {
    std::string out = R"("prompt":[)";
    for (std::uint32_t i = 0; i < count; ++i) {
      fmt::format_to(std::back_inserter(out), "{}{}", i > 0 ? "," : "",
                     draw(random(i), prompts.ids));
    }
    return out + "]";
  }
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += kWords[random(i).below(kWords.size())];
  }
  return with_text(text, api);
}

bool is_token_ids(const json::value& value) {
  return value.is_array() && !value.get_array().empty() &&
         std::ranges::all_of(value.get_array(),
                             [](const json::value& id) { return id.is_int64(); });
}

// Nothing where the line cannot be asked over the API.
std::optional<std::string> line_members(std::string_view line, Api api) {
  if (!is_utf8(line)) return std::nullopt;
  if (!line.starts_with('{')) return with_text(line, api);
  boost::system::error_code error;
  const json::value value = json::parse(line, error);
  if (error) return std::nullopt;
  const json::value* const prompt = value.get_object().if_contains("prompt");
  const json::value* const messages = value.get_object().if_contains("messages");
  if ((prompt != nullptr) == (messages != nullptr)) return std::nullopt;
  if (messages != nullptr) {
    if (!messages->is_array() || api == Api::completions) return std::nullopt;
    return R"("messages":)" + json::serialize(*messages);
  }
  if (prompt->is_string()) return with_text(std::string_view{prompt->get_string()}, api);
  if (!is_token_ids(*prompt) || api == Api::chat) return std::nullopt;
  return R"("prompt":)" + json::serialize(*prompt);
}

}  // namespace

Result<Range> parse_range(std::string_view text, std::uint32_t max) {
  const std::size_t colon = text.find(':');
  const std::string_view first = text.substr(0, colon);
  const std::string_view last = colon == std::string_view::npos ? first : text.substr(colon + 1);
  Range range;
  const auto read = [](std::string_view digits, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (!read(first, range.first) || !read(last, range.last) || range.first < 1 ||
      range.last < range.first || range.last > max) {
    return fail(Errc::invalid,
                fmt::format("'{}': expected N or FIRST:LAST, from 1 to {}", text, max));
  }
  return range;
}

Result<Prompts> Prompts::make(const SyntheticPrompts& synthetic, Api api) {
  if (api == Api::chat && synthetic.ids != Range{}) {
    return fail(Errc::invalid, "the chat API takes no token ids");
  }
  return Prompts{synthetic, api};
}

Result<Prompts> Prompts::read(std::string_view text, Api api) {
  Lines lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    auto members = line_members(line, api);
    if (!members) {
      return fail(Errc::invalid,
                  fmt::format("line {} is no prompt for --api {}: expected plain text{}{}", number,
                              name(api), R"(, {"prompt":...})",
                              api == Api::completions ? "" : R"( or {"messages":[...]})"));
    }
    lines.push_back(*std::move(members));
  }
  if (lines.empty()) return fail(Errc::invalid, "there is no prompt in it");
  return Prompts{std::move(lines), api};
}

std::string Prompts::members(std::uint64_t number) const {
  if (const auto* lines = std::get_if<Lines>(&source_)) return (*lines)[number % lines->size()];
  return synthetic_members(std::get<SyntheticPrompts>(source_), api_, number);
}

}  // namespace seedance::loadgen
