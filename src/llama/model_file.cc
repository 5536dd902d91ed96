#include "llama/model_file.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>
#include <llama.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

namespace seedance::llama {
namespace {

using Gguf = std::unique_ptr<gguf_context, decltype(&gguf_free)>;

struct Part {
  Gguf metadata;
  std::uint64_t bytes;
};

Result<std::uint64_t> file_size(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    const Errc code = errno == ENOENT ? Errc::not_found : Errc::invalid;
    return fail(code, fmt::format("model file '{}': {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::invalid, fmt::format("model file '{}' is not a regular file", path));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

// Nothing when 64 bits do not hold it: ggml's own size wraps around then, to 0 even.
std::optional<std::uint64_t> tensor_bytes(const gguf_context& metadata, std::int64_t id) {
  const ggml_type type = gguf_get_tensor_type(&metadata, id);
  const std::int64_t* const dimensions = gguf_get_tensor_ne(&metadata, id);
  // A row is whole blocks, or ggml refuses the file.
  const std::array<std::int64_t, GGML_MAX_DIMS> blocks{dimensions[0] / ggml_blck_size(type),
                                                       dimensions[1], dimensions[2], dimensions[3]};
  std::uint64_t bytes = ggml_type_size(type);
  for (const std::int64_t count : blocks) {
    if (__builtin_mul_overflow(bytes, count, &bytes)) return std::nullopt;
  }
  return bytes;
}

Result<void> check_extents(const std::string& path, const gguf_context& metadata,
                           std::uint64_t bytes) {
  const std::uint64_t begin = gguf_get_data_offset(&metadata);
  for (std::int64_t id = 0; id < gguf_get_n_tensors(&metadata); ++id) {
    const std::uint64_t offset = gguf_get_tensor_offset(&metadata, id);
    const char* const name = gguf_get_tensor_name(&metadata, id);
    const auto size = tensor_bytes(metadata, id);
    if (!size) {
      return fail(Errc::corrupt, fmt::format("model file '{}' is damaged: tensor '{}' claims more "
                                             "than 2^64 bytes, the file has {}",
                                             path, name, bytes));
    }
    const bool inside =
        begin <= bytes && offset <= bytes - begin && *size <= bytes - begin - offset;
    if (inside) continue;
    return fail(Errc::truncated,
                fmt::format("model file '{}' is cut short or damaged: tensor '{}' needs {} bytes "
                            "from byte {} on, the file has {}",
                            path, name, *size, begin + offset, bytes));
  }
  return {};
}

Result<Part> inspect_part(const std::string& path) {
  const auto bytes = file_size(path);
  if (!bytes) return std::unexpected(bytes.error());
  Gguf metadata{gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free};
  if (!metadata) {
    return fail(Errc::corrupt,
                fmt::format("model file '{}' ({} bytes) is no whole GGUF file", path, *bytes));
  }
  if (const auto checked = check_extents(path, *metadata, *bytes); !checked) {
    return std::unexpected(checked.error());
  }
  return Part{std::move(metadata), *bytes};
}

// split.count of a model in several files, else 1.
int split_count(const gguf_context& metadata) {
  const auto key = gguf_find_key(&metadata, "split.count");
  if (key < 0 || gguf_get_kv_type(&metadata, key) != GGUF_TYPE_UINT16) return 1;
  return std::max<int>(1, gguf_get_val_u16(&metadata, key));
}

}  // namespace

Result<ModelFile> inspect_model_file(const std::string& path) {
  const auto first = inspect_part(path);
  if (!first) return std::unexpected(first.error());
  ModelFile file{.paths = {path}, .bytes = first->bytes};
  const int count = split_count(*first->metadata);
  if (count == 1) return file;

  std::array<char, 4096> text{};
  if (llama_split_prefix(text.data(), text.size(), path.c_str(), 0, count) <= 0) {
    return fail(Errc::invalid, fmt::format("model file '{}' is not named as the first of {} parts "
                                           "(...-00001-of-{:05}.gguf)",
                                           path, count, count));
  }
  const std::string prefix = text.data();
  for (int part = 1; part < count; ++part) {
    llama_split_path(text.data(), text.size(), prefix.c_str(), part, count);
    const auto next = inspect_part(text.data());
    if (!next) return std::unexpected(next.error());
    file.paths.emplace_back(text.data());
    file.bytes += next->bytes;
  }
  return file;
}

}  // namespace seedance::llama
