// What names a model for good: the SHA-256 of its files.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace seedance::apps {

// The digests that were computed before, in one file of the data directory. An
// entry holds as long as path, size and time of the model stay the same.
class DigestCache {
 public:
  // A missing or damaged file is an empty cache.
  explicit DigestCache(std::string path) : path_(std::move(path)) {}

  // In hexadecimal; empty when it is not known.
  std::string find(const std::vector<std::string>& files) const;

  // Reads the files, parts in their order, which takes seconds for big ones, and
  // remembers. Disconnected when it was told to stop.
  Result<std::string> compute(const std::vector<std::string>& files,
                              const std::stop_token& stop) const;

 private:
  std::string path_;
};

// Tells models apart without reading them whole: the SHA-256, in hexadecimal, of
// their sizes and of the first and last mebibyte of every part.
Result<std::string> fingerprint_of(const std::vector<std::string>& files);

}  // namespace seedance::apps
