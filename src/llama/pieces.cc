#include "llama/pieces.h"

#include <llama.h>

#include <algorithm>
#include <string>

namespace seedance::llama {
namespace {

std::string piece_of(const llama_vocab* vocabulary, llama_token token) {
  std::string piece(64, '\0');
  const auto render = [&] {
    return llama_token_to_piece(vocabulary, token, piece.data(),
                                static_cast<std::int32_t>(piece.size()), 0, true);
  };
  int size = render();
  if (size < 0) {
    piece.resize(static_cast<std::size_t>(-size));
    size = render();
  }
  piece.resize(static_cast<std::size_t>(std::max(size, 0)));
  return piece;
}

text::PieceKind kind_of(const llama_vocab* vocabulary, llama_token token) {
  if (llama_vocab_is_eog(vocabulary, token)) return text::PieceKind::end;
  constexpr int kHidden = LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN;
  const bool hidden = (llama_vocab_get_attr(vocabulary, token) & kHidden) != 0;
  return hidden ? text::PieceKind::control : text::PieceKind::text;
}

}  // namespace

text::PieceTable read_pieces(const llama_vocab* vocabulary) {
  text::PieceTable table;
  for (llama_token token = 0; token < llama_vocab_n_tokens(vocabulary); ++token) {
    table.add(piece_of(vocabulary, token), kind_of(vocabulary, token));
  }
  return table;
}

}  // namespace seedance::llama
