// What the core asks of a vocabulary: templates, encoding and grammars.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/error_code.h"
#include "base/id.h"
#include "base/result.h"

namespace seedance::text {

struct ChatMessage {
  std::string role;  // system, developer, user, assistant or tool.
  std::string content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

// What to turn into prompt tokens.
using PromptInput = std::variant<std::string,           // Plain text.
                                 std::vector<TokenId>,  // Tokens, checked against the vocabulary.
                                 std::vector<ChatMessage>>;  // Messages, through the chat template.

// What becomes of a prompt that its context has no room for, and of an answer that fills it.
enum class Overflow : std::uint8_t {
  error,            // The prompt is refused, the answer ends.
  truncate_middle,  // The middle of the prompt is left out, the answer ends.
  shift,            // The oldest part is left out, of the prompt and of what the answer sees.
};

// What texts the answer may be, as the client says it.
struct AnswerFormat {
  enum class Kind : std::uint8_t { any, grammar, json_schema };
  Kind kind = Kind::any;
  std::string text = {};   // GBNF, or the schema as JSON.
  std::string param = {};  // The field of the request that it is from.

  friend bool operator==(const AnswerFormat&, const AnswerFormat&) = default;
};

struct PrepareRequest {
  std::uint64_t ticket = 0;  // Comes back in the answer.
  PromptInput input;
  Overflow overflow = Overflow::error;
  std::uint32_t tokens_max = 0;  // Of messages whose middle may be left out.
  // The input is what is said next to a conversation whose tokens the core has: only the tokens
  // behind its last answer are wanted.
  bool continues = false;
  AnswerFormat format = {};

  friend bool operator==(const PrepareRequest&, const PrepareRequest&) = default;
};

// What was left out of a prompt.
struct Dropped {
  std::uint32_t messages = 0;
  std::uint32_t tokens = 0;

  friend bool operator==(const Dropped&, const Dropped&) = default;
};

struct PreparedPrompt {
  std::vector<TokenId> tokens;
  std::vector<std::string> stop = {};  // Stop strings that the template asks for.
  Dropped dropped = {};
  std::uint32_t keep = 0;    // Overflow::shift: so many of the first tokens say what the model is.
  std::string grammar = {};  // Of the answer, in GBNF, checked; empty = any.

  friend bool operator==(const PreparedPrompt&, const PreparedPrompt&) = default;
};

using PrepareOutcome = std::variant<PreparedPrompt, Problem>;

struct PrepareReply {
  std::uint64_t ticket = 0;
  PrepareOutcome outcome;

  friend bool operator==(const PrepareReply&, const PrepareReply&) = default;
};

// Facts about a vocabulary that its process reports once.
struct VocabularyInfo {
  std::string model_name;  // general.name of the file; may be empty.
  std::string kind;        // bpe, spm, wpm, ugm, rwkv, ...
  bool has_chat_template = false;
  bool lossless = false;  // Detokenising gives the encoded text back: offsets make sense.
  std::uint32_t context_train = 0;

  friend bool operator==(const VocabularyInfo&, const VocabularyInfo&) = default;
};

}  // namespace seedance::text
