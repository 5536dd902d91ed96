#include "scripted/narrator.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/random.h"

namespace seedance::scripted {
namespace {

constexpr std::uint64_t kParagraphSentences = 4;
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;

// One of SplitMix64's steps (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014): quick, as there is one for each token.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// What an echo says: the last message of the user, or the prompt when it is no
// chat, without control tokens. Never empty.
std::vector<TokenId> echo(const Vocabulary& vocabulary, std::span<const TokenId> prompt) {
  const auto user = std::find(prompt.rbegin(), prompt.rend(), kUser);
  if (user != prompt.rend()) {
    const auto begin = user.base();  // After the marker.
    prompt = {begin, std::find(begin, prompt.end(), kTurnEnd)};
  }
  std::vector<TokenId> tokens;
  std::ranges::copy_if(prompt, std::back_inserter(tokens), [&](TokenId token) {
    return vocabulary.pieces().kind(token) == text::PieceKind::text;
  });
  if (tokens.empty()) tokens = vocabulary.encode(".");
  return tokens;
}

}  // namespace

Narrator::Narrator(const Vocabulary& vocabulary, const Script& script,
                   std::span<const TokenId> prompt, Ending ending, std::uint64_t forgotten)
    : vocabulary_(&vocabulary), mode_(script.mode), hash_(script.seed), said_(forgotten) {
  for (const TokenId token : prompt) absorb(token);
  if (mode_ == Mode::echo) {
    planned_ = echo(vocabulary, prompt);
  } else {
    plan_sentence();
  }
  end_at_ = mode_ == Mode::echo ? planned_.size() : script.length - 1;
  if (ending == Ending::never) end_at_ = std::numeric_limits<std::uint64_t>::max();
}

void Narrator::take(TokenId token) {
  absorb(token);
  ++said_;
  if (++at_ < planned_.size()) return;
  at_ = 0;
  ++sentences_;
  if (mode_ == Mode::prose) plan_sentence();
}

void Narrator::absorb(TokenId token) {
  hash_ = mixed(hash_ + kStep + static_cast<std::uint32_t>(token.value));
}

// The next sentence, with what separates it from the one before.
void Narrator::plan_sentence() {
  planned_.clear();
  std::uint64_t draws = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(counter_random(hash_, draws++) % bound);
  };
  const auto say = [&](std::vector<TokenId> Phrase::* form, Phrases list) {
    const std::vector<Phrase>& phrases = vocabulary_->phrases(list);
    const std::vector<TokenId>& tokens = phrases[below(phrases.size())].*form;
    planned_.insert(planned_.end(), tokens.begin(), tokens.end());
  };
  const bool new_paragraph = sentences_ % kParagraphSentences == 0;
  if (new_paragraph && sentences_ > 0) planned_.assign(2, TokenId{'\n'});
  say(new_paragraph ? &Phrase::bare : &Phrase::spaced, Phrases::openings);
  say(&Phrase::spaced, Phrases::actions);
  if (below(4) > 0) say(&Phrase::spaced, Phrases::places);
  say(&Phrase::bare, Phrases::closings);
  if (below(6) == 0) say(&Phrase::spaced, Phrases::ornaments);
}

}  // namespace seedance::scripted
