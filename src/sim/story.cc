#include "sim/story.h"

#include <memory>
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

void Stories::tell(Story& story) const {
  const Request& request = story.request;
  const text::PrepareReply reply =
      vocabulary_.prepare({.ticket = 0, .input = text::PromptInput{request.prompt}});
  story.prompt = std::get<text::PreparedPrompt>(reply.outcome).tokens;
  scripted::Narrator narrator{
      vocabulary_, script_, story.prompt,
      request.endless ? scripted::Ending::never : scripted::Ending::natural};
  // The pieces belong to the vocabulary, which outlives the detokenizer.
  const std::shared_ptr<const text::PieceTable> pieces{&vocabulary_.pieces(), [](const auto*) {}};
  text::Detokenizer detokenizer{pieces, {.boundary = request.boundary, .stop = request.stop}};
  story.text_ends.push_back(0);
  bool ended = false;
  while (!ended) {
    const TokenId token = narrator.next();
    narrator.take(token);
    story.tokens.push_back(token);
    const bool stopped = detokenizer.feed(token, story.text) == text::Detokenizer::State::stopped;
    const bool full = story.tokens.size() >= request.tokens_max ||
                      story.prompt.size() + story.tokens.size() >= script_.context;
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
