// Files that are written at their end, and the directory that they stand in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/fd.h"

namespace seedance::io {

// Open for appending. Errors about it name the path.
struct File {
  Fd fd;
  std::string path;
};

// What changes files. An interface, so that a test can make any one call fail.
// Every call may block for as long as the disk takes.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // New, or emptied; for its owner only.
  virtual Result<File> create(const std::string& path) = 0;
  // One that is there.
  virtual Result<File> open(const std::string& path) = 0;

  // One attempt. Gives how many bytes were taken, from the first piece on; fewer
  // than there are when the disk is nearly full, or there are very many pieces.
  virtual Result<std::size_t> write(const File& file, std::span<const std::string_view> pieces) = 0;

  // Until the bytes and the size are on the disk. After a failure nobody knows
  // which of the bytes written since the last success are.
  virtual Result<void> sync(const File& file) = 0;

  // Also gives back what was reserved behind the end.
  virtual Result<void> truncate(const File& file, std::uint64_t bytes) = 0;

  // Reserves blocks up to so many bytes, where the file system can and has them.
  // The size stays.
  virtual void reserve(const File& file, std::uint64_t bytes) = 0;

  // Replaces `to`.
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;

  // Nothing to do when it is not there.
  virtual Result<void> remove(const std::string& path) = 0;

  // Until the names in it are on the disk.
  virtual Result<void> sync_directory(const std::string& path) = 0;
};

class SystemFiles final : public FileSystem {
 public:
  Result<File> create(const std::string& path) override;
  Result<File> open(const std::string& path) override;
  Result<std::size_t> write(const File& file, std::span<const std::string_view> pieces) override;
  Result<void> sync(const File& file) override;
  Result<void> truncate(const File& file, std::uint64_t bytes) override;
  void reserve(const File& file, std::uint64_t bytes) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_directory(const std::string& path) override;
};

// The whole of it. A file that grows meanwhile is read to some end that it had.
Result<std::string> read_file(const std::string& path);

// The names in it, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// And those above it, where they are missing: for their owner only. Gives the directories
// in which it made one: what is below survives a power loss when these are synced, the
// first one first.
Result<std::vector<std::string>> make_directory(const std::string& path);

}  // namespace seedance::io
