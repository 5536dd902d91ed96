// Any pieces, cut anyhow, under any options give the text of the whole, always
// valid UTF-8, with bounded state.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/unicode.h"
#include "text/detokenizer.h"

namespace {

using namespace seedance;
using namespace seedance::text;

// The input: a byte of options, a byte for the stop strings' size, then stop
// strings (cut at zero bytes), then the text; its bytes also choose the cuts.
struct Input {
  TextOptions options;
  std::string_view text;
};

Input parse(std::string_view bytes) {
  if (bytes.size() < 2) return {};
  Input input;
  input.options.boundary = (bytes[0] & 1) != 0 ? Boundary::grapheme : Boundary::utf8;
  const std::size_t size = std::min<std::size_t>(bytes.size() - 2, bytes[1] & 31);
  std::string_view stops = bytes.substr(2, size);
  while (!stops.empty()) {
    const std::size_t end = std::min(stops.find('\0'), stops.size());
    input.options.stop.emplace_back(stops.substr(0, end));
    stops.remove_prefix(std::min(end + 1, stops.size()));
  }
  input.text = bytes.substr(2 + size);
  return input;
}

std::shared_ptr<const PieceTable> cut(std::string_view text, std::size_t salt) {
  auto pieces = std::make_shared<PieceTable>();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t choice = (static_cast<unsigned char>(text[at]) + salt) % 7;
    if (choice == 0) pieces->add("", PieceKind::text);
    const std::size_t size = salt == 0 ? text.size() : 1 + choice;
    pieces->add(text.substr(at, size), PieceKind::text);
    at += size;
  }
  return pieces;
}

std::string detokenize(const Input& input, std::size_t salt) {
  const auto pieces = cut(input.text, salt);
  Detokenizer detokenizer{pieces, input.options};
  std::size_t held_max = 3 + Detokenizer::kHeldBytesMax;
  for (const std::string& stop : input.options.stop) held_max += stop.size();
  std::string out;
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    detokenizer.feed({static_cast<std::int32_t>(i)}, out);
    SEEDANCE_CHECK(is_utf8(out), "visible text is whole");
    SEEDANCE_CHECK(detokenizer.held_bytes() <= held_max, "what is held is bounded");
  }
  detokenizer.finish(out);
  SEEDANCE_CHECK(is_utf8(out), "visible text is whole");
  SEEDANCE_CHECK(detokenizer.held_bytes() == 0, "nothing is held after the end");
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Input input = parse({reinterpret_cast<const char*>(bytes), size});
  const std::string whole = detokenize(input, 0);
  for (std::size_t salt = 1; salt < 4; ++salt) {
    SEEDANCE_CHECK(detokenize(input, salt) == whole, "the text does not depend on the cuts");
  }
  return 0;
}
