// The vocabulary child: templates, encoding and grammars, away from everybody else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error_code.h"
#include "base/id.h"
#include "base/result.h"
#include "llama/answer_grammar.h"
#include "text/codec.h"
#include "text/tokenizer.h"

struct llama_model;
struct llama_vocab;
struct common_chat_templates;

namespace seedance::llama {

class LogCapture;

inline constexpr std::size_t kPromptBytesMax = 16U << 20;   // Of text, messages together.
inline constexpr std::size_t kPromptTokensMax = 4U << 20;   // Of a prompt given as tokens.
inline constexpr std::size_t kChatMessagesMax = 16U << 10;  // Of one chat.

// The vocabulary and the chat template of a model file. Belongs to one thread.
class Vocabulary {
 public:
  // Reads only the metadata, never the tensors, of a file (the first, when
  // split). The error says what is wrong in one sentence. `limits` are those of answers' schemas.
  static Result<std::unique_ptr<Vocabulary>> load(const std::string& path, LogCapture& log,
                                                  const SchemaLimits& limits = {});
  ~Vocabulary();
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  text::VocabularyReady describe() const;

  // Markers: what in the text looks like a control token becomes that token.
  enum class Markers : std::uint8_t { plain, parsed };
  // Added: the tokens that the model wants at the beginning or end of a prompt.
  enum class Special : std::uint8_t { none, added };

  std::vector<TokenId> encode(std::string_view text, Markers markers, Special special) const;

  // Prompt tokens, or why there are none.
  //
  // Plain text never becomes control tokens. Messages go through the model's
  // Jinja template, and the result becomes tokens with its markers parsed, as in
  // llama-server: so, as there, a message that spells a marker out is not told
  // from one that the template wrote. A second token of the beginning is not
  // added. A model without a template continues the contents of the messages,
  // joined by line ends: it was not trained on roles.
  std::variant<text::PreparedPrompt, Problem> prepare(const text::PromptInput& input) const;

  // The same as a request wants it: with turns left out of its messages so that they fit, or only
  // the tokens that continue a conversation; and with the grammar of its answer.
  std::variant<text::PreparedPrompt, Problem> prepare(const text::PrepareRequest& request) const;

 private:
  Vocabulary() = default;

  using Outcome = std::variant<text::PreparedPrompt, Problem>;
  Outcome prepared(const std::string& text) const;
  Outcome prepared(const std::vector<TokenId>& tokens) const;
  Outcome prepared(const std::vector<text::ChatMessage>& messages) const;

  std::optional<Problem> why_not(const std::vector<text::ChatMessage>& messages) const;

  // Whether a template is asked for the beginning of the next answer.
  enum class Answer : std::uint8_t { none, begun };
  struct Rendered {
    std::string text;
    std::vector<std::string> stop = {};
  };
  Rendered render(const std::vector<text::ChatMessage>& messages, Answer answer) const;
  std::vector<TokenId> encode_chat(std::string_view rendered) const;

  // prompt_requests.cc.
  Outcome continued(const std::string& text) const;
  Outcome continued(const std::vector<text::ChatMessage>& messages) const;
  std::uint32_t kept_of(const std::vector<text::ChatMessage>& messages,
                        const std::vector<TokenId>& tokens) const;
  Outcome fitted(const text::PrepareRequest& request) const;
  bool lossless(const text::PieceTable& pieces) const;

  SchemaLimits schema_limits_;
  llama_model* model_ = nullptr;
  const llama_vocab* vocabulary_ = nullptr;
  common_chat_templates* templates_ = nullptr;  // Null when the model has none that works.
  std::string template_error_;                  // Why the model's own does not work.
};

// The whole life of a vocabulary process; returns its exit code.
//
// `fd` is a connected blocking stream socket to the parent, of which this takes
// possession. It carries messages (text/codec.h): VocabularyReady first, then a
// PrepareReply for each PrepareRequest, in order; or one VocabularyFailed and
// exit code 2, when `model_path` gives no vocabulary.
//
// Ends as run_worker() does: 0 when the parent closes the socket, 1 when it
// sends what is no request; SIGINT is ignored.
int run_vocabulary(int fd, const std::string& model_path, const SchemaLimits& limits = {});

}  // namespace seedance::llama
