// What each token of a vocabulary looks like as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/id.h"
#include "base/result.h"

namespace seedance::text {

enum class PieceKind : std::uint8_t {
  text,     // Its bytes are shown.
  control,  // A marker of the model or its template: never shown.
  end,      // A control token that ends a generation.
};

// The pieces of one vocabulary, by token id. A value: built once by the process
// that holds the vocabulary, sent to the core, then only read (any thread).
//
// A piece is bytes, not characters: one character may be spread over several
// tokens, and one token may hold the tail of one and the head of another.
class PieceTable {
 public:
  struct Piece {
    std::string_view bytes;  // Valid as long as the table.
    PieceKind kind = PieceKind::control;
    bool whole = true;  // No character is cut, and nothing is no UTF-8.
  };

  // Ids are given in order, from 0.
  void add(std::string_view piece, PieceKind kind);

  std::size_t size() const { return entries_.size(); }
  bool contains(TokenId token) const;

  // An empty control piece for ids outside the table.
  Piece piece(TokenId token) const;
  PieceKind kind(TokenId token) const { return piece(token).kind; }

  // The bytes of any piece, control pieces too: for logprobs.
  std::string_view raw(TokenId token) const { return piece(token).bytes; }

  // Empty for control and end pieces.
  std::string_view visible(TokenId token) const;

  // One byte string and back: u32 count, then for each piece u8 kind, u32 size,
  // bytes; little-endian.
  std::string encode() const;
  static Result<PieceTable> decode(Bytes bytes);

  friend bool operator==(const PieceTable&, const PieceTable&) = default;

 private:
  // A piece's bytes lie behind those of the one before it.
  struct Entry {
    std::uint32_t end = 0;
    PieceKind kind = PieceKind::control;
    bool whole = true;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  std::string bytes_;
  std::vector<Entry> entries_;
};

}  // namespace seedance::text
