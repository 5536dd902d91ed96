// A model file, or an adapter's: any bytes are refused, or every tensor lies inside them. The file
// goes by the names of both parts of a split model, so that one which says that it is split is read
// twice.
#include <ggml.h>
#include <gguf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "base/check.h"
#include "llama/log_capture.h"
#include "llama/model_file.h"

namespace {

using namespace seedance;

// Names of one file in memory; its content changes.
class Parts {
 public:
  Parts() : file_(memfd_create("model", MFD_CLOEXEC)) {
    std::string pattern =
        std::filesystem::temp_directory_path() / ("model_file_fuzz_" + std::string(6, 'X'));
    SEEDANCE_CHECK(file_ >= 0 && mkdtemp(pattern.data()) != nullptr, "memory and a directory");
    directory_ = pattern;
    const std::filesystem::path target = "/proc/self/fd/" + std::to_string(file_);
    std::filesystem::create_symlink(target, first());
    std::filesystem::create_symlink(target, directory_ / "model-00002-of-00002.gguf");
  }
  ~Parts() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    close(file_);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  void fill(const std::uint8_t* bytes, std::size_t size) const {
    SEEDANCE_CHECK(ftruncate(file_, 0) == 0, "memory");
    SEEDANCE_CHECK(pwrite(file_, bytes, size, 0) == static_cast<ssize_t>(size), "memory");
  }

  std::string first() const { return directory_ / "model-00001-of-00002.gguf"; }

 private:
  int file_;
  std::filesystem::path directory_;
};

// With numbers that do not wrap around.
void check_tensors(const std::string& path, std::size_t size) {
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> metadata{
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free};
  SEEDANCE_CHECK(metadata != nullptr, "what was taken can be read");
  for (std::int64_t id = 0; id < gguf_get_n_tensors(metadata.get()); ++id) {
    const ggml_type type = gguf_get_tensor_type(metadata.get(), id);
    const std::int64_t* const dimensions = gguf_get_tensor_ne(metadata.get(), id);
    double end =
        static_cast<double>(ggml_type_size(type)) / static_cast<double>(ggml_blck_size(type));
    for (int i = 0; i < GGML_MAX_DIMS; ++i) end *= static_cast<double>(dimensions[i]);
    end += static_cast<double>(gguf_get_data_offset(metadata.get()));
    end += static_cast<double>(gguf_get_tensor_offset(metadata.get(), id));
    SEEDANCE_CHECK(end <= static_cast<double>(size), "tensors lie inside the file");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Parts kParts;
  static const llama::LogCapture kQuiet;
  kParts.fill(bytes, size);
  const auto model = llama::inspect_model_file(kParts.first());
  const auto adapter = llama::inspect_adapter_file(kParts.first(), kParts.first());
  SEEDANCE_CHECK(adapter || !adapter.error().detail.empty(), "it is said why");
  if (adapter) check_tensors(kParts.first(), size);
  if (!model) {
    SEEDANCE_CHECK(!model.error().detail.empty(), "it is said why");
    return 0;
  }
  SEEDANCE_CHECK(model->paths.size() <= 2, "parts have names");
  SEEDANCE_CHECK(model->bytes == size * model->paths.size(), "the file is all that was read");
  check_tensors(kParts.first(), size);
  return 0;
}
