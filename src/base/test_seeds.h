// Seeds of fuzz targets, of which a test says what they must be.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace seedance {

// A decoder that reads another format than its seeds' refuses them at their first bytes, and the
// fuzzer gets no further. So a seed is what the encoder writes; where it is not, what it should be
// is written down beside.
inline void expect_seed(std::string_view target, std::string_view name, std::string_view bytes) {
  const auto path = std::filesystem::path{SEEDANCE_CORPUS} / target / name;
  std::ifstream file{path, std::ios::binary};
  if (std::string{std::istreambuf_iterator<char>{file}, {}} == bytes) return;
  const std::string right = testing::TempDir() + std::string{target} + "-" + std::string{name};
  std::ofstream{right, std::ios::binary} << bytes;
  ADD_FAILURE() << "the format has changed: cp " << right << " " << path.string();
}

}  // namespace seedance
