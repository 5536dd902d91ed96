// The vocabulary of the scripted engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "text/codec.h"
#include "text/piece_table.h"
#include "text/tokenizer.h"

namespace seedance::scripted {

// Tokens 0 to 255 are the bytes; then come these, then words and parts of
// characters.
inline constexpr TokenId kStart{256};
inline constexpr TokenId kEnd{257};  // The only end token.
inline constexpr TokenId kSystem{258};
inline constexpr TokenId kUser{259};
inline constexpr TokenId kAssistant{260};
inline constexpr TokenId kTool{261};
inline constexpr TokenId kTurnEnd{262};

// The lists of phrases.h.
enum class Phrases : std::uint8_t { openings, actions, places, closings, ornaments };
inline constexpr std::size_t kPhraseLists = 5;

// One of them as tokens, without and with a space before it. No token goes over its ends.
struct Phrase {
  std::vector<TokenId> bare;
  std::vector<TokenId> spaced;
};

// Encodes by the longest piece that fits, so any text is some tokens and comes
// back byte for byte. Pure and, once built, only read (any thread).
class Vocabulary {
 public:
  // `context_tokens` is only reported.
  explicit Vocabulary(std::uint32_t context_tokens);

  const text::PieceTable& pieces() const { return ready_.pieces; }

  // What a vocabulary process says first.
  const text::VocabularyReady& ready() const { return ready_; }

  std::vector<TokenId> encode(std::string_view text) const;

  const std::vector<Phrase>& phrases(Phrases list) const {
    return phrases_[static_cast<std::size_t>(list)];
  }

  // Text and chats begin with kStart; in a chat each message is the marker of
  // its role (developer counts as system), the content and kTurnEnd, and kAssistant
  // comes last. No markers are read from text. Grammars and schemas are refused: the
  // script could not keep to them.
  //
  // A chat that is continued begins with the kTurnEnd of its last answer.
  text::PrepareReply prepare(const text::PrepareRequest& request) const;

 private:
  text::PrepareOutcome prepared(const text::PrepareRequest& request) const;
  void add_word(std::string_view word);
  void add_piece(std::string_view piece);
  void prepare_phrases();

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  text::VocabularyReady ready_;
  // Of pieces longer than a byte; and how long those are at most that begin with a byte.
  std::unordered_map<std::string, TokenId, Hash, std::equal_to<>> tokens_;
  std::array<std::size_t, 256> longest_{};
  std::array<std::vector<Phrase>, kPhraseLists> phrases_;
};

}  // namespace seedance::scripted
