// What a request must be answered with: known before it is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/priority.h"
#include "scripted/script.h"
#include "scripted/vocabulary.h"
#include "stream/record.h"
#include "text/detokenizer.h"

namespace seedance::sim {

// A story, by number from 0.
struct StoryId {
  std::uint32_t value = 0;

  friend constexpr auto operator<=>(StoryId, StoryId) = default;
};

// What a client asks for.
struct Request {
  std::string prompt;
  std::uint32_t tokens_max = 0;
  std::vector<std::string> stop = {};
  text::Boundary boundary = text::Boundary::utf8;
  bool endless = false;  // ignore_eos
  bool logprobs = false;
  bool cancels = false;                      // Of its detach: nobody reads it, so it ends.
  bool orphan = false;                       // Asked by an API whose clients cannot come back.
  std::uint32_t deadline_ms = 0;             // 0 = none.
  std::optional<std::uint32_t> poison = {};  // The engine dies instead of saying this token.
  std::string key = {};                      // Idempotency key.
  Priority priority = Priority::interactive;
  bool shifts = false;  // Goes on when its context is full.
};

// A request and its whole answer, as a lone engine that nothing happens to gives it.
struct Story {
  Request request;
  std::string tenant;
  std::vector<TokenId> prompt;
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> text_ends;  // Behind 0, 1, ... tokens.
  std::string text;
  stream::FinishReason ending = stream::FinishReason::stop;
  std::uint32_t dropped = 0;  // Tokens that were out of its sight at the end.
  bool cancel_asked = false;  // A client of its tenant has asked to cancel it.

  std::size_t total() const { return tokens.size(); }
  std::string_view text_of(std::size_t from, std::size_t to) const {
    return std::string_view{text}.substr(text_ends[from], text_ends[to] - text_ends[from]);
  }
};

// All stories of a run. The vocabulary outlives it.
class Stories {
 public:
  Stories(const scripted::Vocabulary& vocabulary, scripted::Script script)
      : vocabulary_(vocabulary), script_(script) {}

  // Prompts must differ.
  StoryId add(Request request, std::string tenant);

  Story& operator[](StoryId id) { return stories_[id.value]; }
  const Story& operator[](StoryId id) const { return stories_[id.value]; }
  std::optional<StoryId> find(std::string_view prompt) const;
  std::optional<StoryId> find(const std::vector<TokenId>& prompt) const;
  std::size_t size() const { return stories_.size(); }

  const scripted::Script& script() const { return script_; }
  const scripted::Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  class Sight;
  void tell(Story& story) const;

  const scripted::Vocabulary& vocabulary_;
  scripted::Script script_;
  std::vector<Story> stories_;
  std::unordered_map<std::string, StoryId> by_prompt_;
  std::unordered_map<std::uint64_t, StoryId> by_tokens_;  // By a hash of the prompt's tokens.
};

}  // namespace seedance::sim
