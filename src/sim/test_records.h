// What tests of the simulated disk share: one story, and the records of its stream.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "core/run_request.h"
#include "sim/ledger.h"
#include "sim/story.h"
#include "sim/world.h"
#include "stream/journal.h"
#include "stream/journal_record.h"

namespace seedance::sim {

inline constexpr StreamId kStream{1, 1};

// A world in which stream kStream answers a story of ten tokens.
struct Journalled {
  explicit Journalled(std::uint64_t seed = 1) : world(seed) { ledger.expect(kStream, story); }

  stream::StateRecord state(std::uint32_t tokens = 0, Epoch epoch = {1}) const {
    const core::RunRequest request{.prompt = told().prompt, .tokens_max = 10};
    return {.header = {.stream = kStream,
                       .epoch = epoch,
                       .gen = {1},
                       .created = {},
                       .tenant = "tenant",
                       .key = {},
                       .model = "m@1",
                       .model_digest = "d",
                       .prompt_tokens = static_cast<std::uint32_t>(told().prompt.size()),
                       .request = core::encode(request)},
            .tokens = tokens_of(0, tokens),
            .ended = {}};
  }
  stream::TokensRecord tokens(std::uint32_t from, std::uint32_t to) const {
    return {.stream = kStream, .gen = {1}, .from = {from}, .tokens = tokens_of(from, to)};
  }
  stream::EndRecord end() const {
    const auto total = static_cast<std::uint32_t>(told().total());
    return {.stream = kStream,
            .gen = {1},
            .ended = {.terminal = {.reason = told().ending, .usage = {.completion_tokens = total}},
                      .at = {}}};
  }
  const Story& told() const { return stories[story]; }

  template <typename... Records>
  static std::string bytes_of(const Records&... records) {
    std::string out;
    (stream::encode(records, out), ...);
    return out;
  }

  World world;
  scripted::Vocabulary vocabulary{100};
  Stories stories{vocabulary, {.context = 100}};
  StoryId story = stories.add({.prompt = "once", .tokens_max = 10}, "tenant");
  Ledger ledger{world, stories};

 private:
  stream::Tokens tokens_of(std::uint32_t from, std::uint32_t to) const {
    stream::Tokens out;
    for (std::uint32_t i = from; i < to; ++i) {
      out.ids.push_back(told().tokens.at(i));
      out.times.emplace_back();
      out.text_bytes.push_back(told().text_ends[i + 1] - told().text_ends[i]);
    }
    out.text = told().text_of(from, to);
    return out;
  }
};

}  // namespace seedance::sim
