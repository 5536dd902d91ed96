// The head of a GGUF file: enough to know whether it can be served.
//
// Format: ggml's docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace seedance::models {

struct GgufHead {
  std::string architecture;
  std::uint64_t tensors = 0;
  std::uint32_t split_index = 0;  // From 0, of split_count files.
  std::uint32_t split_count = 1;

  friend bool operator==(const GgufHead&, const GgufHead&) = default;
};

// `file` is the whole file (mapped). Touches only its head, yet checks that
// every tensor lies within it. Truncated when the file ends too early, invalid
// when it is no GGUF, corrupt when its head contradicts itself. Any bytes are
// safe.
Result<GgufHead> read_gguf_head(Bytes file);

// Where the files of a split model are: "m-00001-of-00003.gguf" and so on.
struct SplitName {
  std::string stem;         // "m"
  std::uint32_t index = 0;  // From 0.
  std::uint32_t count = 0;

  friend bool operator==(const SplitName&, const SplitName&) = default;
};

// Nothing when `path` is not named like a part.
std::optional<SplitName> parse_split_name(std::string_view path);
std::string split_path(const SplitName& name, std::uint32_t index);

// What clients call a model unless told otherwise: the file's name without
// folders, part number and ".gguf".
std::string model_name_of(std::string_view path);

}  // namespace seedance::models
