#include "llama/model_file.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>
#include <llama.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace seedance::llama {
namespace {

constexpr std::string_view kModel = "model";

using Gguf = std::unique_ptr<gguf_context, decltype(&gguf_free)>;

struct Part {
  Gguf metadata;
  std::uint64_t bytes;
};

Result<std::uint64_t> file_size(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    const Errc code = errno == ENOENT ? Errc::not_found : Errc::invalid;
    return fail(code, fmt::format("file '{}': {}", path, std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(Errc::invalid, fmt::format("file '{}' is not a regular file", path));
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
      return fail(Errc::corrupt, fmt::format("file '{}' is damaged: tensor '{}' claims more "
                                             "than 2^64 bytes, the file has {}",
                                             path, name, bytes));
    }
    const bool inside =
        begin <= bytes && offset <= bytes - begin && *size <= bytes - begin - offset;
    if (inside) continue;
    return fail(Errc::truncated,
                fmt::format("file '{}' is cut short or damaged: tensor '{}' needs {} bytes "
                            "from byte {} on, the file has {}",
                            path, name, *size, begin + offset, bytes));
  }
  return {};
}

Result<Part> read_part(const std::string& path) {
  const auto bytes = file_size(path);
  if (!bytes) return std::unexpected(bytes.error());
  Gguf metadata{gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free};
  if (!metadata) {
    return fail(Errc::corrupt,
                fmt::format("file '{}' ({} bytes) is no whole GGUF file", path, *bytes));
  }
  if (const auto checked = check_extents(path, *metadata, *bytes); !checked) {
    return std::unexpected(checked.error());
  }
  return Part{std::move(metadata), *bytes};
}

// `kind` is what the message calls the file.
Result<Part> inspect_part(const std::string& path, std::string_view kind) {
  auto part = read_part(path);
  if (!part) return fail(part.error().code, fmt::format("{} {}", kind, part.error().detail));
  return part;
}

// Empty where there is no such text.
std::string text_of(const gguf_context& metadata, const char* name) {
  const auto key = gguf_find_key(&metadata, name);
  if (key < 0 || gguf_get_kv_type(&metadata, key) != GGUF_TYPE_STRING) return "";
  return gguf_get_val_str(&metadata, key);
}

bool is_float(const gguf_context& metadata, const char* name) {
  const auto key = gguf_find_key(&metadata, name);
  return key >= 0 && gguf_get_kv_type(&metadata, key) == GGUF_TYPE_FLOAT32;
}

// What llama.cpp trusts in an adapter, and would stop at: why it is not so.
std::optional<std::string> why_no_adapter(const gguf_context& metadata,
                                          const std::string& architecture) {
  const std::string type = text_of(metadata, "general.type");
  if (type != "adapter") return fmt::format("holds no adapter (general.type is '{}')", type);
  const std::string kind = text_of(metadata, "adapter.type");
  if (kind != "lora") return fmt::format("is no LoRA adapter (adapter.type is '{}')", kind);
  const std::string own = text_of(metadata, "general.architecture");
  if (own != architecture) {
    return fmt::format("is for the architecture '{}', the model's is '{}'", own, architecture);
  }
  if (!is_float(metadata, "adapter.lora.alpha")) return "does not give adapter.lora.alpha";
  if (gguf_find_key(&metadata, "adapter.alora.invocation_tokens") >= 0) {
    return "is only to be used behind certain tokens (aLoRA), which this server cannot do";
  }
  if (gguf_get_n_tensors(&metadata) == 0) return "changes no tensor";
  constexpr std::array kTypes{GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0};
  for (std::int64_t id = 0; id < gguf_get_n_tensors(&metadata); ++id) {
    const std::string_view name = gguf_get_tensor_name(&metadata, id);
    const ggml_type of = gguf_get_tensor_type(&metadata, id);
    if (std::ranges::find(kTypes, of) == kTypes.end()) {
      return fmt::format("has a tensor '{}' of type {}, which is none of f32, f16, bf16 and q8_0",
                         name, ggml_type_name(of));
    }
    const std::span dimensions{gguf_get_tensor_ne(&metadata, id), GGML_MAX_DIMS};
    const bool layers = name.contains("_exps.");
    if (std::ranges::any_of(dimensions, [](std::int64_t size) { return size < 1; }) ||
        (dimensions[2] > 1 && !layers) || dimensions[3] > 1) {
      return fmt::format("has a tensor '{}' of {}x{}x{}x{} numbers", name, dimensions[0],
                         dimensions[1], dimensions[2], dimensions[3]);
    }
  }
  return std::nullopt;
}

// split.count of a model in several files, else 1.
int split_count(const gguf_context& metadata) {
  const auto key = gguf_find_key(&metadata, "split.count");
  if (key < 0 || gguf_get_kv_type(&metadata, key) != GGUF_TYPE_UINT16) return 1;
  return std::max<int>(1, gguf_get_val_u16(&metadata, key));
}

}  // namespace

Result<ModelFile> inspect_model_file(const std::string& path) {
  const auto first = inspect_part(path, kModel);
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
    const auto next = inspect_part(text.data(), kModel);
    if (!next) return std::unexpected(next.error());
    file.paths.emplace_back(text.data());
    file.bytes += next->bytes;
  }
  return file;
}

Result<std::uint64_t> inspect_adapter_file(const std::string& path, const std::string& model_path) {
  const auto model = inspect_part(model_path, kModel);
  if (!model) return std::unexpected(model.error());
  const auto adapter = inspect_part(path, "adapter");
  if (!adapter) return std::unexpected(adapter.error());
  const auto reason =
      why_no_adapter(*adapter->metadata, text_of(*model->metadata, "general.architecture"));
  if (reason) return fail(Errc::invalid, fmt::format("adapter file '{}' {}", path, *reason));
  return adapter->bytes;
}

}  // namespace seedance::llama
