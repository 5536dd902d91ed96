// A place for the files of one test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace seedance::io {

// A new empty directory, removed with everything in it.
class TestDirectory {
 public:
  TestDirectory() : path_(testing::TempDir() + "seedance-" + std::string(6, 'X')) {
    SEEDANCE_CHECK(::mkdtemp(path_.data()) != nullptr, "a directory for tests can be made");
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace seedance::io
