#include "text/detokenizer.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>

#include "base/random.h"
#include "base/unicode.h"

namespace seedance::text {
namespace {

using State = Detokenizer::State;

std::shared_ptr<const PieceTable> table_of(const std::vector<std::string>& pieces) {
  auto table = std::make_shared<PieceTable>();
  for (const std::string& piece : pieces) table->add(piece, PieceKind::text);
  return table;
}

// Feeds the pieces as tokens. Gives T(1), T(2), ... and the text after finish().
struct Shown {
  std::vector<std::string> visible;
  std::string whole;
  State state;
};

Shown run(const std::vector<std::string>& pieces, TextOptions options) {
  Detokenizer detokenizer{table_of(pieces), std::move(options)};
  Shown result;
  std::string out;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    detokenizer.feed({static_cast<std::int32_t>(i)}, out);
    result.visible.push_back(out);
  }
  detokenizer.finish(out);
  result.whole = out;
  result.state = detokenizer.state();
  return result;
}

std::string whole(const std::vector<std::string>& pieces, TextOptions options) {
  return run(pieces, std::move(options)).whole;
}

// The definition, computed the slow way: what is visible of `bytes`.
struct Oracle {
  const TextOptions& options;

  // Of the stop strings complete first, the longest: where it begins.
  std::size_t stop_begin(std::string_view text) const {
    for (std::size_t end = 0; end <= text.size(); ++end) {
      std::size_t longest = 0;
      for (const std::string& stop : options.stop) {
        if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
      }
      if (longest > 0) return end - longest;
    }
    return std::string_view::npos;
  }

  std::size_t held_for_stop(std::string_view text) const {
    std::size_t held = 0;
    for (const std::string& stop : options.stop) {
      for (std::size_t size = 1; size < stop.size(); ++size) {
        if (text.ends_with(std::string_view{stop}.substr(0, size))) held = std::max(held, size);
      }
    }
    return held;
  }

  static std::size_t last_grapheme_break(std::string_view text, std::size_t limit) {
    std::size_t found = 0;
    utf8proc_int32_t last = -1;
    utf8proc_int32_t state = 0;
    for (std::size_t at = 0; at < text.size() && at <= limit;) {
      utf8proc_int32_t next = 0;
      const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(&text[at]),
                                         static_cast<utf8proc_ssize_t>(text.size() - at), &next);
      if (last >= 0 && utf8proc_grapheme_break_stateful(last, next, &state)) found = at;
      last = next;
      at += static_cast<std::size_t>(size);
    }
    return found;
  }

  std::string visible(std::string_view bytes) const {
    std::string text;
    append_valid_utf8(text, bytes.substr(0, bytes.size() - incomplete_utf8_tail(bytes)));
    if (const auto stop = stop_begin(text); stop != std::string::npos) return text.substr(0, stop);
    std::size_t end = text.size() - held_for_stop(text);
    if (options.boundary == Boundary::grapheme) end = last_grapheme_break(text, end);
    return text.substr(0, end);
  }

  std::string whole(std::string_view bytes) const {
    std::string text;
    append_valid_utf8(text, bytes);
    return text.substr(0, stop_begin(text));
  }
};

void expect_as_defined(const std::vector<std::string>& pieces, const TextOptions& options) {
  const Oracle oracle{options};
  const Shown result = run(pieces, options);
  std::string bytes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    bytes += pieces[i];
    ASSERT_EQ(result.visible[i], oracle.visible(bytes)) << "after token " << i;
  }
  ASSERT_EQ(result.whole, oracle.whole(bytes));
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> kTexts{
      "plain ASCII text, with \r\n line ends\r\n\r\n.",
      "日本語のテキスト、中文也一样。",
      "👩‍👩‍👧‍👦 and 👩🏽‍🚀, 🇫🇮🇩🇪🇯🇵 flags",
      "e\xCC\x81\xCC\xA7 n\xCC\x83 combining",
      "한국어 \xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB jamo",
      "bad \xFF\xFE bytes \xE4\xBD cut \xF0\x9F\x98 mid \xED\xA0\x80 surrogate \xC0\xAF",
      "ends inside \xF0\x9F\x91",
      "नमस्ते क्षत्रिय",
      "aabaaabaabab",
      "",
  };
  return kTexts;
}

const std::vector<TextOptions>& option_sets() {
  static const std::vector<TextOptions> kOptions{
      {},
      {.boundary = Boundary::grapheme},
      {.stop = {"\r\n\r\n", "aab", "aaab", "也", "👧‍👦"}},
      {.boundary = Boundary::grapheme, .stop = {"\r\n\r\n", "ab", "abc", "\xCC\x81", "🇩🇪", "語の"}},
      {.stop = {"\xEF\xBF\xBD m", "👩🏽‍🚀!", "jam!", "d b"}},
  };
  return kOptions;
}

TEST(Detokenizer, GivesTheLongestSafePrefixAtEveryCut) {
  for (const TextOptions& options : option_sets()) {
    for (const std::string& text : texts()) {
      for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= std::min(first + 4, text.size()); ++second) {
          expect_as_defined(
              {text.substr(0, first), text.substr(first, second - first), text.substr(second)},
              options);
          if (HasFatalFailure()) FAIL() << text << " cut at " << first << " and " << second;
        }
      }
    }
  }
}

TEST(Detokenizer, GivesTheLongestSafePrefixForAnyTokens) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Prng prng{seed};
    const std::string text =
        texts()[prng.below(texts().size())] + texts()[prng.below(texts().size())];
    const TextOptions& options = option_sets()[prng.below(option_sets().size())];
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, prng.below(6)));
      at += pieces.back().size();
    }
    expect_as_defined(pieces, options);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Bytes over a tiny alphabet, against stop strings over the same: overlaps abound.
TEST(Detokenizer, FindsOverlappingStopStrings) {
  const std::vector<std::string> alphabet{"a", "b", "ab", "aab", "", "\xC3", "\xA9"};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Prng prng{seed};
    const auto word = [&](std::size_t size) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i) text += "aab"[prng.below(3)];
      return text;
    };
    TextOptions options;
    for (std::uint64_t i = 0; i < 1 + prng.below(3); ++i) {
      options.stop.push_back(word(3 + prng.below(5)));
    }
    std::vector<std::string> pieces;
    for (int i = 0; i < 12; ++i) pieces.push_back(alphabet[prng.below(alphabet.size())]);
    expect_as_defined(pieces, options);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(Detokenizer, ShowsNoPartOfACharacter) {
  const Shown result = run({"\xF0\x9F", "\x98", "\x80!"}, {});
  EXPECT_EQ(result.visible, (std::vector<std::string>{"", "", "😀!"}));
}

TEST(Detokenizer, ReplacesInvalidBytesAtOnceAndTheTailAtTheEnd) {
  const Shown result = run({"a\xFF", "\xE4\xBD", "b", "\xF0\x9F"}, {});
  EXPECT_EQ(result.visible,
            (std::vector<std::string>{"a\uFFFD", "a\uFFFD", "a\uFFFD\uFFFDb", "a\uFFFD\uFFFDb"}));
  EXPECT_EQ(result.whole, "a\uFFFD\uFFFDb\uFFFD");
}

TEST(Detokenizer, HoldsTheLastGraphemeUntilTheNextBegins) {
  const TextOptions options{.boundary = Boundary::grapheme};
  EXPECT_EQ(run({"a", "b"}, options).visible, (std::vector<std::string>{"", "a"}));
  EXPECT_EQ(run({"e", "\xCC\x81", "x"}, options).visible.back(), "e\xCC\x81");
  EXPECT_EQ(run({"\r", "\n", "x"}, options).visible, (std::vector<std::string>{"", "", "\r\n"}));
  EXPECT_EQ(run({"🇫", "🇮", "🇩", "🇪"}, options).visible,
            (std::vector<std::string>{"", "", "🇫🇮", "🇫🇮"}));
  EXPECT_EQ(run({"👩", "\u200D", "🚀", "."}, options).visible,
            (std::vector<std::string>{"", "", "", "👩\u200D🚀"}));
}

TEST(Detokenizer, CutsAnEndlessGraphemeAtTheLimit) {
  const std::vector<std::string> pieces(1000, "\xCC\x81");
  Detokenizer detokenizer{table_of({"\xCC\x81"}), {.boundary = Boundary::grapheme}};
  std::string out;
  for (int i = 0; i < 1000; ++i) {
    detokenizer.feed({0}, out);
    ASSERT_LE(detokenizer.held_bytes(), Detokenizer::kHeldBytesMax);
    ASSERT_TRUE(is_utf8(out));
  }
  EXPECT_GT(out.size(), 2000 - 2 * Detokenizer::kHeldBytesMax);
  detokenizer.finish(out);
  EXPECT_EQ(out.size(), 2000U);
}

TEST(Detokenizer, RemovesTheStopStringAndWhatFollows) {
  const Shown result = run({"one ST", "O", "P two", "three"}, {.stop = {"STOP"}});
  EXPECT_EQ(result.visible, (std::vector<std::string>{"one ", "one ", "one ", "one "}));
  EXPECT_EQ(result.whole, "one ");
  EXPECT_EQ(result.state, State::stopped);
}

TEST(Detokenizer, ReleasesAStopStringThatDoesNotComeTrue) {
  const Shown result = run({"ST", "AY ST"}, {.stop = {"STOP"}});
  EXPECT_EQ(result.visible, (std::vector<std::string>{"", "STAY "}));
  EXPECT_EQ(result.whole, "STAY ST");
  EXPECT_EQ(result.state, State::running);
}

TEST(Detokenizer, StopsAtTheFirstCompleteStopString) {
  EXPECT_EQ(whole({"xabc"}, {.stop = {"xabcd", "abc", "bc"}}), "x");
  EXPECT_EQ(whole({"xabcd"}, {.stop = {"abcd", "bc"}}), "xa");
  EXPECT_EQ(whole({"xabcd"}, {.stop = {"cd", "bcd", "d"}}), "xa");
  EXPECT_EQ(whole({"aa", "ab"}, {.stop = {"aab"}}), "a");
}

TEST(Detokenizer, StopsAtTheVeryStartAndOnTheWholeText) {
  EXPECT_EQ(whole({"STOP it"}, {.stop = {"STOP"}}), "");
  EXPECT_EQ(whole({"ST", "OP"}, {.stop = {"STOP"}}), "");
}

TEST(Detokenizer, StopsInsideAGrapheme) {
  const TextOptions options{.boundary = Boundary::grapheme, .stop = {"\xCC\x81"}};
  const Shown result = run({"ae", "\xCC\x81", "x"}, options);
  EXPECT_EQ(result.visible, (std::vector<std::string>{"a", "ae", "ae"}));
}

TEST(Detokenizer, StopsOnTheReplacedTail) {
  const Shown result = run({"ab", "\xF0\x9F"}, {.stop = {"b\uFFFD"}});
  EXPECT_EQ(result.whole, "a");
  EXPECT_EQ(result.state, State::stopped);
}

TEST(Detokenizer, IgnoresStopStringsThatNoTextContains) {
  EXPECT_EQ(whole({"ab"}, {.stop = {""}}), "ab");
  EXPECT_EQ(whole({"\xC3\xA9"}, {.stop = {"\xA9"}}), "\xC3\xA9");
}

TEST(Detokenizer, ControlTokensAndUnknownIdsAreInvisible) {
  auto pieces = std::make_shared<PieceTable>();
  pieces->add("\xC3", PieceKind::text);
  pieces->add("<|user|>", PieceKind::control);
  pieces->add("\xA9", PieceKind::text);
  pieces->add("</s>", PieceKind::end);
  Detokenizer detokenizer{pieces, {}};
  std::string out;
  for (const int token : {0, 1, -7, 1000, 2, 3}) detokenizer.feed({token}, out);
  EXPECT_EQ(out, "\xC3\xA9");
}

TEST(Detokenizer, FinishIsIdempotentAndCopiesGoTheirOwnWay) {
  Detokenizer one{table_of({"ST", "AY", "OP"}), {.stop = {"STOP"}}};
  std::string first;
  one.feed({0}, first);
  Detokenizer two = one;
  std::string second;
  one.feed({1}, first);
  two.feed({2}, second);
  one.finish(first);
  one.finish(first);
  two.finish(second);
  EXPECT_EQ(first, "STAY");
  EXPECT_EQ(second, "");
}

}  // namespace
}  // namespace seedance::text
