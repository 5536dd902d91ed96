// seedance-card MODEL TEXTS: the figures of a model's card, as one JSON object.
//
// TEXTS has a JSON object in each line, whose `text` holds the control tokens as they are
// written. Each text is computed by itself, up to the model's context; perplexity is e to the
// mean of -ln p over all tokens but the first of each text.
#include <fmt/core.h>
#include <llama.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "llama/log_capture.h"
#include "llama/model_file.h"
#include "llama/vocabulary.h"

namespace {

namespace json = boost::json;
using seedance::TokenId;

constexpr std::uint32_t kContextTokensMax = 2048;

using Weights = std::unique_ptr<llama_model, decltype(&llama_model_free)>;
using Context = std::unique_ptr<llama_context, decltype(&llama_free)>;

struct Sum {
  std::uint64_t texts = 0;
  std::uint64_t tokens = 0;  // That were predicted.
  double surprise = 0;       // Of all of them, in nats.
};

int complain(const std::string& line) {
  fmt::print(stderr, "seedance-card: {}\n", line);
  return 1;
}

// -ln p(token) in the distribution of these logits.
double surprise(std::span<const float> logits, TokenId token) {
  const float best = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += static_cast<double>(std::exp(logit - best));
  return std::log(sum) + static_cast<double>(best) -
         static_cast<double>(logits[static_cast<std::size_t>(token.value)]);
}

// Room for the logits of every token of a text, which the worker has no use for.
Context make_context(llama_model* weights) {
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx =
      std::min(kContextTokensMax, static_cast<std::uint32_t>(llama_model_n_ctx_train(weights)));
  parameters.n_batch = parameters.n_ctx;
  // Barriers between threads crawl on a machine that is busy otherwise.
  parameters.n_threads = parameters.n_threads_batch = 1;
  return {llama_init_from_model(weights, parameters), llama_free};
}

// Adds what each token but the first costs; false when the model cannot go on.
bool add_text(llama_context* context, std::span<const TokenId> tokens, Sum& sum) {
  llama_batch batch = llama_batch_init(static_cast<std::int32_t>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<std::int32_t>(tokens.size());
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    batch.token[at] = tokens[at].value;
    batch.pos[at] = static_cast<llama_pos>(at);
    batch.n_seq_id[at] = 1;
    batch.seq_id[at][0] = 0;
    batch.logits[at] = 1;
  }
  llama_memory_clear(llama_get_memory(context), true);
  const bool computed = llama_decode(context, batch) == 0;
  llama_batch_free(batch);
  if (!computed) return false;
  const llama_vocab* vocabulary = llama_model_get_vocab(llama_get_model(context));
  const auto size = static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary));
  ++sum.texts;
  for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
    const float* logits = llama_get_logits_ith(context, static_cast<std::int32_t>(at));
    sum.surprise += surprise({logits, size}, tokens[at + 1]);
    ++sum.tokens;
  }
  return true;
}

std::optional<std::string> text_of(const std::string& line) {
  boost::system::error_code error;
  const json::value value = json::parse(line, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* text = object == nullptr ? nullptr : object->if_contains("text");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return std::string{text->get_string()};
}

int run(const std::string& model_path, const std::string& texts_path) {
  using seedance::llama::Vocabulary;
  seedance::llama::LogCapture log;
  const auto file = seedance::llama::inspect_model_file(model_path);
  if (!file) return complain(file.error().detail);
  const auto vocabulary = Vocabulary::load(model_path, log);
  if (!vocabulary) return complain(vocabulary.error().detail);
  const Weights weights{
      llama_model_load_from_file(model_path.c_str(), llama_model_default_params()),
      llama_model_free};
  if (!weights) return complain(log.take());
  const Context context = make_context(weights.get());
  if (!context) return complain(log.take());

  std::ifstream lines{texts_path};
  if (!lines) return complain(texts_path + ": cannot be read");
  Sum sum;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto text = text_of(line);
    if (!text) return complain(fmt::format("{}:{}: no object with a text", texts_path, number));
    auto tokens =
        (*vocabulary)->encode(*text, Vocabulary::Markers::parsed, Vocabulary::Special::none);
    tokens.resize(std::min<std::size_t>(tokens.size(), llama_n_ctx(context.get())));
    if (tokens.size() < 2) return complain(fmt::format("{}:{}: too short", texts_path, number));
    if (!add_text(context.get(), tokens, sum)) return complain(log.take());
  }
  if (sum.tokens == 0) return complain(texts_path + ": no texts");
  fmt::print(
      "{{\"texts\":{},\"tokens\":{},\"perplexity\":{:.6f},\"bytes\":{},\"parameters\":{}}}\n",
      sum.texts, sum.tokens, std::exp(sum.surprise / static_cast<double>(sum.tokens)), file->bytes,
      llama_model_n_params(weights.get()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: seedance-card MODEL.gguf TEXTS.jsonl\n");
    return 2;
  }
  return run(argv[1], argv[2]);
}
