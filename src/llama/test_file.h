// Files that a test makes, and that go with it.
#pragma once

#include <string>
#include <string_view>

namespace seedance::llama {

class TestFile {
 public:
  // A path of its own that ends with `name`; nothing is there yet.
  explicit TestFile(std::string_view name);
  TestFile(std::string_view name, std::string_view content);
  ~TestFile();
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string content_of(const std::string& path);

}  // namespace seedance::llama
