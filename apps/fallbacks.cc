#include "apps/fallbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "config/settings.h"

namespace seedance::apps {
namespace {

using server::LlamaFallback;

constexpr std::size_t kEntriesMax = 16;
constexpr std::uint32_t kSmallBatch = 256;

// Memory goes to what is kept of each stream's tokens, then to a step, then to the layers.
std::vector<LlamaFallback> automatic(const server::LlamaModel& model) {
  LlamaFallback smaller{.batch_tokens_max = kSmallBatch};
  // Where the worker decides, it takes as many as there is memory for then.
  if (model.sequences_max > 0) smaller.sequences_max = std::max(1U, model.sequences_max / 2);
  if (model.batch_tokens_max > 0) {
    smaller.batch_tokens_max = std::min(kSmallBatch, model.batch_tokens_max);
  }
  std::vector<LlamaFallback> out{smaller};
  const auto add = [&](std::int32_t gpu_layers) {
    out.push_back(smaller);
    out.back().gpu_layers = gpu_layers;
  };
  if (model.gpu_layers > 1) add(model.gpu_layers / 2);
  if (model.gpu_layers != 0) add(0);
  return out;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "key=number". False when it is anything else, or out of the key's range.
bool set(LlamaFallback& out, std::string_view word) {
  const std::size_t equals = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, equals);
  const auto key = std::ranges::find(config::keys(), name, &config::Key::name);
  const auto number = number_in(word.substr(std::min(equals + 1, word.size())));
  if (key == config::keys().end() || !number) return false;
  if (*number < key->least || *number > key->most) return false;
  if (name == "gpu_layers" && !out.gpu_layers) {
    out.gpu_layers = static_cast<std::int32_t>(*number);
  } else if (name == "batch_tokens" && !out.batch_tokens_max) {
    out.batch_tokens_max = static_cast<std::uint32_t>(*number);
  } else if (name == "max_concurrent_streams" && !out.sequences_max && *number > 0) {
    out.sequences_max = static_cast<std::uint32_t>(*number);
  } else {
    return false;
  }
  return true;
}

Result<LlamaFallback> parse(std::string_view entry) {
  LlamaFallback out;
  for (std::string_view rest = entry; !rest.empty();) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, space);
    rest.remove_prefix(std::min(space + 1, rest.size()));
    if (!word.empty() && !set(out, word)) {
      return fail(Errc::invalid,
                  fmt::format("fallbacks: \"{}\" is not possible here; give auto or none alone, or "
                              "gpu_layers, batch_tokens and max_concurrent_streams, each once, "
                              "as in \"gpu_layers=0 batch_tokens=256\"",
                              word.substr(0, 60)));
    }
  }
  return out;
}

}  // namespace

Result<std::vector<LlamaFallback>> parse_fallbacks(const std::vector<std::string>& entries,
                                                   const server::LlamaModel& model) {
  std::vector<LlamaFallback> out;
  if (entries.empty() || entries == std::vector<std::string>{"none"}) return out;
  if (entries == std::vector<std::string>{"auto"}) return automatic(model);
  if (entries.size() > kEntriesMax) {
    return fail(Errc::invalid, fmt::format("fallbacks: {} are more than {}, which is the most",
                                           entries.size(), kEntriesMax));
  }
  for (const std::string& entry : entries) {
    const auto parsed = parse(entry);
    if (!parsed) return std::unexpected(parsed.error());
    out.push_back(*parsed);
  }
  return out;
}

}  // namespace seedance::apps
