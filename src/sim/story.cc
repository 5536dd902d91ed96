#include "sim/story.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "scripted/narrator.h"

namespace seedance::sim {
namespace {

std::uint64_t hash_of(const std::vector<TokenId>& tokens) {
  std::uint64_t hash = tokens.size();
  for (const TokenId token : tokens) {
    hash = counter_random(hash, static_cast<std::uint32_t>(token.value));
  }
  return hash;
}

}  // namespace

StoryId Stories::add(Request request, std::string tenant) {
  const StoryId id{static_cast<std::uint32_t>(stories_.size())};
  Story& story = stories_.emplace_back();
  story.request = std::move(request);
  story.tenant = std::move(tenant);
  tell(story);
  const bool fresh = by_prompt_.emplace(story.request.prompt, id).second;
  SEEDANCE_CHECK(fresh, "every story has a prompt of its own");
  by_tokens_.emplace(hash_of(story.prompt), id);
  return id;
}

std::optional<StoryId> Stories::find(std::string_view prompt) const {
  const auto found = by_prompt_.find(std::string{prompt});
  return found == by_prompt_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<StoryId> Stories::find(const std::vector<TokenId>& prompt) const {
  const auto found = by_tokens_.find(hash_of(prompt));
  return found == by_tokens_.end() ? std::nullopt : std::optional{found->second};
}

// What an engine sees of one story: a plain list, which is cut when it is full.
class Stories::Sight {
 public:
  Sight(const Stories& stories, const Story& story)
      : stories_(stories), story_(story), prompt_(story.prompt.size()), tokens_(story.prompt) {
    tell_on();
  }

  TokenId next() const { return narrator_->next(); }

  bool full() const { return tokens_.size() >= stories_.script_.context; }

  void take(TokenId token) {
    narrator_->take(token);
    tokens_.push_back(token);
  }

  // Gives how many tokens that was.
  std::uint32_t cut() {
    const std::uint32_t count = (stories_.script_.context - kKept) / 2;
    tokens_.erase(tokens_.begin() + kKept, tokens_.begin() + kKept + count);
    prompt_ -= std::min<std::size_t>(prompt_ - kKept, count);
    tell_on();
    return count;
  }

 private:
  static constexpr std::uint32_t kKept = 1;

  void tell_on() {
    const std::span<const TokenId> said = std::span{tokens_}.subspan(prompt_);
    narrator_.emplace(stories_.vocabulary_, stories_.script_, std::span{tokens_}.first(prompt_),
                      story_.request.endless ? scripted::Ending::never : scripted::Ending::natural,
                      story_.tokens.size() - said.size());
    for (const TokenId token : said) narrator_->take(token);
  }

  const Stories& stories_;
  const Story& story_;
  std::size_t prompt_;  // So many of the tokens are of the prompt.
  std::vector<TokenId> tokens_;
  std::optional<scripted::Narrator> narrator_;
};

void Stories::tell(Story& story) const {
  const Request& request = story.request;
  const text::PrepareReply reply =
      vocabulary_.prepare({.ticket = 0, .input = text::PromptInput{request.prompt}});
  story.prompt = std::get<text::PreparedPrompt>(reply.outcome).tokens;
  Sight sight{*this, story};
  // The pieces belong to the vocabulary, which outlives the detokenizer.
  const std::shared_ptr<const text::PieceTable> pieces{&vocabulary_.pieces(), [](const auto*) {}};
  text::Detokenizer detokenizer{pieces, {.boundary = request.boundary, .stop = request.stop}};
  story.text_ends.push_back(0);
  bool ended = false;
  while (!ended) {
    if (request.shifts && sight.full()) story.dropped += sight.cut();
    const TokenId token = sight.next();
    sight.take(token);
    story.tokens.push_back(token);
    const bool stopped = detokenizer.feed(token, story.text) == text::Detokenizer::State::stopped;
    const bool full =
        story.tokens.size() >= request.tokens_max || (sight.full() && !request.shifts);
    ended = stopped || token == scripted::kEnd || full;
    if (ended) {
      const bool by_itself = stopped || token == scripted::kEnd;
      story.ending = by_itself ? stream::FinishReason::stop : stream::FinishReason::length;
      detokenizer.finish(story.text);
    }
    story.text_ends.push_back(static_cast<std::uint32_t>(story.text.size()));
  }
}

}  // namespace seedance::sim
