// A disk that fails when it is told to.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "io/file_system.h"

namespace seedance::store {

// The real one, of which some calls fail; calls are counted from 0. Syncs take no
// time: what they would have brought to the disk is remembered instead.
class FaultyFiles final : public io::FileSystem {
 public:
  enum class Harm {
    nothing,  // The call did nothing.
    half,     // It did some of its work, or all, and said that it failed.
  };

  // Calls [first, first + count) fail.
  void fail(std::uint64_t first, std::uint64_t count, Harm harm) {
    first_ = first;
    count_ = count;
    harm_ = harm;
  }
  // So do these, until told otherwise.
  void fail_writes(bool on) { fail_writes_ = on; }
  void fail_syncs(bool on) { fail_syncs_ = on; }
  void fail_truncates(bool on) { fail_truncates_ = on; }
  void fail_removes(bool on) { fail_removes_ = on; }
  // After a failed sync what was not on the disk reads as zeros.
  void drop_pages() { drops_pages_ = true; }
  // All files together hold at most so many bytes.
  void hold_at_most(std::uint64_t bytes) { room_ = bytes; }
  // Each write takes at most so many bytes.
  void take_at_most(std::size_t bytes) { bytes_max_ = bytes; }

  std::uint64_t calls() const { return calls_; }
  std::uint64_t syncs() const { return syncs_; }
  std::uint64_t failed_syncs() const { return failed_syncs_; }
  std::uint64_t writes() const { return writes_; }
  const std::vector<std::string>& synced_directories() const { return synced_directories_; }

  // What was not synced reads as zeros, or is cut off; names that were not, are as before.
  enum class Loss { zeros, cut };
  void lose_power(Loss loss) {
    for (const auto& [path, before] : renamed_) {
      if (before) std::ofstream{path} << *before;
      if (!before) ::unlink(path.c_str());
      synced_.erase(path);
    }
    for (const auto& [path, bytes] : synced_) {
      if (loss == Loss::zeros) zero_behind(path, bytes);
      if (loss == Loss::cut) SEEDANCE_CHECK(::truncate(path.c_str(), signed_size(bytes)) == 0, "");
    }
  }

  Result<io::File> create(const std::string& path) override {
    if (fails(false) && harm_ == Harm::nothing) return no_space(path);
    auto file = files_.create(path);
    synced_[path] = 0;
    if (failed_) return no_space(path);
    return file;
  }
  Result<io::File> open(const std::string& path) override {
    if (fails(false)) return no_space(path);
    auto file = files_.open(path);
    if (file) synced_.try_emplace(path, size_of(path));
    return file;
  }
  Result<std::size_t> write(const io::File& file,
                            std::span<const std::string_view> pieces) override {
    ++writes_;
    const bool fails_now = fails(fail_writes_);
    std::string bytes;
    for (const std::string_view piece : pieces) bytes += piece;
    bytes.resize(std::min(bytes.size(), bytes_max_));
    if (fails_now) bytes.resize(harm_ == Harm::half ? bytes.size() / 2 : 0);
    if (!fails_now && room_ != UINT64_MAX) {
      const std::uint64_t used = bytes_used();
      bytes.resize(std::min<std::uint64_t>(bytes.size(), room_ - std::min(room_, used)));
      if (bytes.empty()) return no_space(file.path);
    }
    const std::array<std::string_view, 1> one{bytes};
    auto taken = bytes.empty() ? Result<std::size_t>{0} : files_.write(file, one);
    if (fails_now) return no_space(file.path);
    return taken;
  }
  Result<void> sync(const io::File& file) override {
    ++syncs_;
    if (fails(fail_syncs_)) {
      ++failed_syncs_;
      if (drops_pages_) zero_behind(file.path, synced_[file.path]);
      return no_space(file.path);
    }
    synced_[file.path] = size_of(file.path);
    return {};
  }
  Result<void> truncate(const io::File& file, std::uint64_t bytes) override {
    if (fails(fail_truncates_)) return no_space(file.path);
    return files_.truncate(file, bytes);
  }
  void reserve(const io::File&, std::uint64_t) override {}
  Result<void> rename(const std::string& from, const std::string& to) override {
    if (fails(false) && harm_ == Harm::nothing) return no_space(to);
    const auto before = io::read_file(to);
    auto done = files_.rename(from, to);
    if (done) {
      renamed_.try_emplace(to,
                           before ? std::optional{before->substr(0, synced_[to])} : std::nullopt);
      synced_[to] = synced_[from];
      synced_.erase(from);
    }
    if (failed_) return no_space(to);
    return done;
  }
  Result<void> remove(const std::string& path) override {
    if (fails(fail_removes_) && harm_ == Harm::nothing) return no_space(path);
    auto done = files_.remove(path);
    synced_.erase(path);
    if (failed_) return no_space(path);
    return done;
  }
  Result<void> sync_directory(const std::string& path) override {
    if (fails(fail_syncs_)) return no_space(path);
    renamed_.clear();
    synced_directories_.push_back(path);
    return {};
  }

 private:
  bool fails(bool always) {
    const std::uint64_t call = calls_++;
    failed_ = always || (call >= first_ && call - first_ < count_);
    return failed_;
  }
  static std::unexpected<Error> no_space(const std::string& path) {
    return seedance::fail(Errc::invalid, path + ": No space left on device");
  }
  static std::uint64_t size_of(const std::string& path) {
    struct stat status{};
    SEEDANCE_CHECK(::stat(path.c_str(), &status) == 0, "a file of the test is there");
    return static_cast<std::uint64_t>(status.st_size);
  }
  std::uint64_t bytes_used() const {
    std::uint64_t bytes = 0;
    for (const auto& [path, synced] : synced_) bytes += size_of(path);
    return bytes;
  }
  static off_t signed_size(std::uint64_t bytes) { return static_cast<off_t>(bytes); }
  static void zero_behind(const std::string& path, std::uint64_t bytes) {
    const io::Fd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    const std::uint64_t size = size_of(path);
    if (size <= bytes) return;
    const std::string zeros(size - bytes, '\0');
    SEEDANCE_CHECK(::pwrite(fd.get(), zeros.data(), zeros.size(), signed_size(bytes)) ==
                       static_cast<ssize_t>(zeros.size()),
                   "a file of the test can be written");
  }

  io::SystemFiles files_;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  Harm harm_ = Harm::nothing;
  bool fail_writes_ = false;
  bool fail_syncs_ = false;
  bool fail_truncates_ = false;
  bool fail_removes_ = false;
  bool drops_pages_ = false;
  std::size_t bytes_max_ = SIZE_MAX;
  std::uint64_t room_ = UINT64_MAX;
  bool failed_ = false;  // The present call does.
  std::uint64_t calls_ = 0;
  std::uint64_t syncs_ = 0;
  std::uint64_t failed_syncs_ = 0;
  std::uint64_t writes_ = 0;
  std::vector<std::string> synced_directories_;
  std::map<std::string, std::uint64_t> synced_;  // Bytes on the disk, by path.
  // Since the last sync of the directory: what had the name before.
  std::map<std::string, std::optional<std::string>> renamed_;
};

}  // namespace seedance::store
