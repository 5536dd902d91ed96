// Where tokens lie in the text that they encode.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "text/piece_table.h"

namespace seedance::text {

// The byte of `text` at which each token begins; a token ends where the next
// begins, the last at the end. Control tokens take no bytes. The one space that
// SentencePiece vocabularies put in front is allowed: its token begins at 0.
//
// Invalid when the tokens' visible bytes are not `text`: the vocabulary is not
// lossless (or normalised this text), so there are no offsets.
Result<std::vector<std::size_t>> token_offsets(std::span<const TokenId> tokens,
                                               const PieceTable& pieces, std::string_view text);

}  // namespace seedance::text
