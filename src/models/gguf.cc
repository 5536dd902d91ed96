#include "models/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <vector>

namespace seedance::models {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint32_t kDimensionsMax = 4;
constexpr std::uint32_t kNestingMax = 4;  // Of arrays of arrays.
constexpr std::string_view kSuffix = ".gguf";

enum ValueType : std::uint32_t { kU16 = 2, kU32 = 4, kString = 8, kArray = 9 };

// Bytes of the values of fixed size, by their type; 0 = not of fixed size.
constexpr std::array<std::uint8_t, 13> kValueBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// How ggml stores tensors: values of a block, and its bytes. Types that are not
// here are checked by their offset alone.
struct Block {
  std::uint32_t type;
  std::uint64_t values;
  std::uint64_t bytes;
};
constexpr std::array kBlocks{
    Block{0, 1, 4},      Block{1, 1, 2},      Block{2, 32, 18},    Block{3, 32, 20},
    Block{6, 32, 22},    Block{7, 32, 24},    Block{8, 32, 34},    Block{10, 256, 84},
    Block{11, 256, 110}, Block{12, 256, 144}, Block{13, 256, 176}, Block{14, 256, 210},
    Block{30, 1, 2},
};

// Reads forward; after the end every read gives zero and ok() is false.
class Cursor {
 public:
  explicit Cursor(Bytes file) : file_(file) {}

  template <std::integral T>
  T get() {
    const Bytes bytes = take(sizeof(T));
    return bytes.empty() ? T{} : load<T>(bytes.data(), std::endian::little);
  }
  std::string_view get_text() { return as_text(take(get<std::uint64_t>())); }
  // Empty when there are fewer.
  Bytes take(std::uint64_t count) {
    if (count > file_.size() - at_) {
      ok_ = false;
      at_ = file_.size();
      return {};
    }
    const Bytes bytes = file_.subspan(at_, count);
    at_ += count;
    return bytes;
  }
  bool ok() const { return ok_; }
  std::uint64_t at() const { return at_; }

 private:
  Bytes file_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

// Nothing when `a * b` does not fit.
std::optional<std::uint64_t> times(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

// False when there is no such type; running out of bytes is the cursor's to tell.
bool skip_value(Cursor& in, std::uint32_t type, std::uint32_t nesting) {
  if (type == kString) return in.get_text(), true;
  if (type != kArray) {
    if (type >= kValueBytes.size()) return false;
    in.take(kValueBytes.at(type));
    return true;
  }
  const auto item = in.get<std::uint32_t>();
  const auto count = in.get<std::uint64_t>();
  if (nesting == 0 || item >= kValueBytes.size()) return false;
  if (item != kString && item != kArray) {
    in.take(times(count, kValueBytes.at(item)).value_or(std::numeric_limits<std::uint64_t>::max()));
    return true;
  }
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    if (!skip_value(in, item, nesting - 1)) return false;
  }
  return true;
}

struct Head {
  GgufHead gguf;
  std::uint64_t alignment = kDefaultAlignment;
};

// One key and its value.
bool read_entry(Cursor& in, Head& head) {
  const std::string_view key = in.get_text();
  const auto type = in.get<std::uint32_t>();
  if (key == "general.architecture" && type == kString) {
    head.gguf.architecture = in.get_text();
  } else if (key == "general.alignment" && type == kU32) {
    head.alignment = in.get<std::uint32_t>();
  } else if (key == "split.no" && type == kU16) {
    head.gguf.split_index = in.get<std::uint16_t>();
  } else if (key == "split.count" && type == kU16) {
    head.gguf.split_count = std::max<std::uint32_t>(1, in.get<std::uint16_t>());
  } else {
    return skip_value(in, type, kNestingMax);
  }
  return true;
}

// The bytes of a tensor, at least; nothing when its shape is impossible.
std::optional<std::uint64_t> tensor_bytes(Cursor& in) {
  const auto dimensions = in.get<std::uint32_t>();
  if (dimensions > kDimensionsMax) return std::nullopt;
  std::optional<std::uint64_t> values = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto size = in.get<std::uint64_t>();
    if (values) values = times(*values, size);
  }
  const auto type = in.get<std::uint32_t>();
  if (!values) return std::nullopt;
  const auto* block = std::ranges::find(kBlocks, type, &Block::type);
  if (block == kBlocks.end()) return 0;
  return times(*values / block->values, block->bytes);
}

std::unexpected<Error> cut_short(Bytes file) {
  return fail(Errc::truncated, fmt::format("it is cut short, after {} bytes", file.size()));
}

// Where the tensors end, counted from the place where they begin.
Result<std::uint64_t> read_tensors(Cursor& in, const Head& head) {
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < head.gguf.tensors && in.ok(); ++i) {
    const std::string_view name = in.get_text();
    const auto bytes = tensor_bytes(in);
    const auto offset = in.get<std::uint64_t>();
    if (!in.ok()) break;
    if (!bytes || *bytes > std::numeric_limits<std::uint64_t>::max() - offset) {
      return fail(Errc::corrupt, fmt::format("tensor {} of {} ({}) has an impossible shape", i + 1,
                                             head.gguf.tensors, name.substr(0, 64)));
    }
    end = std::max(end, offset + *bytes);
  }
  return end;
}

}  // namespace

Result<GgufHead> read_gguf_head(Bytes file) {
  Cursor in{file};
  const std::string_view magic = as_text(file.first(std::min(file.size(), kMagic.size())));
  if (magic != kMagic.substr(0, magic.size()) || file.empty()) {
    return fail(Errc::invalid, "it is not a GGUF file");
  }
  in.take(kMagic.size());
  const auto version = in.get<std::uint32_t>();
  if (in.ok() && version != 2 && version != 3) {
    return fail(Errc::invalid,
                fmt::format("GGUF version {} is not supported, 2 and 3 are", version));
  }
  Head head;
  head.gguf.tensors = in.get<std::uint64_t>();
  const auto entries = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < entries && in.ok(); ++i) {
    if (!read_entry(in, head) && in.ok()) {
      return fail(Errc::corrupt, fmt::format("metadata entry {} is damaged", i + 1));
    }
  }
  if (!in.ok()) return cut_short(file);
  if (head.alignment == 0) return fail(Errc::corrupt, "its alignment is 0");
  const auto tensors_end = read_tensors(in, head);
  if (!tensors_end) return std::unexpected(tensors_end.error());
  if (!in.ok()) return cut_short(file);
  const std::uint64_t padding = (head.alignment - in.at() % head.alignment) % head.alignment;
  if (*tensors_end > 0 &&
      (padding > file.size() - in.at() || *tensors_end > file.size() - in.at() - padding)) {
    return cut_short(file);
  }
  return head.gguf;
}

std::optional<SplitName> parse_split_name(std::string_view path) {
  // "-00001-of-00003.gguf"
  constexpr std::size_t kTail = 20;
  if (path.size() <= kTail || !path.ends_with(kSuffix)) return std::nullopt;
  const std::string_view tail = path.substr(path.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-") return std::nullopt;
  const auto number = [](std::string_view digits) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size() ? value : 0;
  };
  const std::uint32_t index = number(tail.substr(1, 5));
  const std::uint32_t count = number(tail.substr(10, 5));
  if (index == 0 || index > count) return std::nullopt;
  return SplitName{std::string{path.substr(0, path.size() - kTail)}, index - 1, count};
}

std::string split_path(const SplitName& name, std::uint32_t index) {
  return fmt::format("{}-{:05}-of-{:05}{}", name.stem, index + 1, name.count, kSuffix);
}

std::string model_name_of(std::string_view path) {
  std::string name{path};
  if (auto split = parse_split_name(path)) name = std::move(split->stem);
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name.substr(name.rfind('/') + 1);
}

}  // namespace seedance::models
