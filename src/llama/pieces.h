// The pieces of a vocabulary of llama.cpp.
#pragma once

#include "text/piece_table.h"

struct llama_vocab;

namespace seedance::llama {

text::PieceTable read_pieces(const llama_vocab* vocabulary);

}  // namespace seedance::llama
