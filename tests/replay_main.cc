// Runs a fuzz target over a directory: each file and each prefix of it. So the
// corpus is a plain test where libFuzzer is not used.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

// Of the bytes alone, so that the sanitizers see a read behind them.
void run(const std::string& input, std::size_t size) {
  const std::vector<std::uint8_t> bytes(input.begin(),
                                        input.begin() + static_cast<std::ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator{arguments[i]}) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    const std::string input = read(file);
    // All prefixes of what is short, a thousand of what is long.
    const std::size_t stride = std::max<std::size_t>(1, input.size() / 1000);
    for (std::size_t size = 0; size < input.size(); size += stride) run(input, size);
    run(input, input.size());
  }
  if (files.empty()) std::fprintf(stderr, "no inputs\n");
  return files.empty() ? 1 : 0;
}
