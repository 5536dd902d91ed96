#include "text/offsets.h"

#include <algorithm>
#include <string>

namespace seedance::text {

Result<std::vector<std::size_t>> token_offsets(std::span<const TokenId> tokens,
                                               const PieceTable& pieces, std::string_view text) {
  std::string joined;
  std::vector<std::size_t> offsets;
  offsets.reserve(tokens.size());
  for (const TokenId token : tokens) {
    offsets.push_back(joined.size());
    joined += pieces.visible(token);
  }
  if (joined == text) return offsets;
  if (!joined.starts_with(' ') || std::string_view{joined}.substr(1) != text) {
    return fail(Errc::invalid, "the tokens' pieces are not the text");
  }
  for (std::size_t& offset : offsets) offset = std::max<std::size_t>(offset, 1) - 1;
  return offsets;
}

}  // namespace seedance::text
