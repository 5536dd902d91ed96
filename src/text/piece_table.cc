#include "text/piece_table.h"

#include <limits>

#include "base/check.h"
#include "base/unicode.h"

namespace seedance::text {
namespace {

constexpr std::endian kOrder = std::endian::little;
constexpr std::size_t kHeadBytes = sizeof(std::uint8_t) + sizeof(std::uint32_t);
constexpr auto kLastKind = static_cast<std::uint8_t>(PieceKind::end);

}  // namespace

void PieceTable::add(std::string_view piece, PieceKind kind) {
  bytes_ += piece;
  SEEDANCE_CHECK(bytes_.size() <= std::numeric_limits<std::uint32_t>::max(),
                 "a vocabulary is far smaller than 4 GiB");
  entries_.push_back(
      {.end = static_cast<std::uint32_t>(bytes_.size()), .kind = kind, .whole = is_utf8(piece)});
}

bool PieceTable::contains(TokenId token) const {
  return token.value >= 0 && static_cast<std::size_t>(token.value) < size();
}

PieceTable::Piece PieceTable::piece(TokenId token) const {
  if (!contains(token)) return {};
  const auto at = static_cast<std::size_t>(token.value);
  const Entry& entry = entries_[at];
  const std::uint32_t begin = at == 0 ? 0 : entries_[at - 1].end;
  return {.bytes = {bytes_.data() + begin, entry.end - begin},
          .kind = entry.kind,
          .whole = entry.whole};
}

std::string_view PieceTable::visible(TokenId token) const {
  const Piece one = piece(token);
  return one.kind == PieceKind::text ? one.bytes : std::string_view{};
}

std::string PieceTable::encode() const {
  std::string out;
  out.reserve(sizeof(std::uint32_t) + size() * kHeadBytes + bytes_.size());
  append(out, static_cast<std::uint32_t>(size()), kOrder);
  for (std::size_t at = 0; at < size(); ++at) {
    const Piece one = piece({static_cast<std::int32_t>(at)});
    append(out, static_cast<std::uint8_t>(one.kind), kOrder);
    append(out, static_cast<std::uint32_t>(one.bytes.size()), kOrder);
    out += one.bytes;
  }
  return out;
}

Result<PieceTable> PieceTable::decode(Bytes bytes) {
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::corrupt, "piece table: too large");
  }
  if (bytes.size() < sizeof(std::uint32_t)) return fail(Errc::corrupt, "piece table: no count");
  const auto count = load<std::uint32_t>(bytes.data(), kOrder);
  Bytes rest = bytes.subspan(sizeof(std::uint32_t));
  if (rest.size() / kHeadBytes < count) return fail(Errc::corrupt, "piece table: pieces missing");

  PieceTable table;
  table.entries_.reserve(count);
  table.bytes_.reserve(rest.size() - count * kHeadBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (rest.size() < kHeadBytes) return fail(Errc::corrupt, "piece table: pieces missing");
    const auto kind = load<std::uint8_t>(rest.data(), kOrder);
    const auto piece_size = load<std::uint32_t>(rest.data() + 1, kOrder);
    rest = rest.subspan(kHeadBytes);
    if (kind > kLastKind) return fail(Errc::corrupt, "piece table: unknown kind");
    if (rest.size() < piece_size) return fail(Errc::corrupt, "piece table: a piece is cut");
    table.add(as_text(rest.first(piece_size)), static_cast<PieceKind>(kind));
    rest = rest.subspan(piece_size);
  }
  if (!rest.empty()) return fail(Errc::corrupt, "piece table: bytes after the last piece");
  return table;
}

}  // namespace seedance::text
