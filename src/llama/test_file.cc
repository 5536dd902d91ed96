#include "llama/test_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace seedance::llama {

TestFile::TestFile(std::string_view name)
    : path_(fmt::format("{}{}-{}", testing::TempDir(), getpid(), name)) {}

TestFile::TestFile(std::string_view name, std::string_view content) : TestFile(name) {
  std::ofstream{path_, std::ios::binary} << content;
}

TestFile::~TestFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

std::string content_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace seedance::llama
