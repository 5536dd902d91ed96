#include "io/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>

#include "io/system_error.h"

namespace seedance::io {
namespace {

constexpr std::size_t kPiecesMax = IOV_MAX;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Again for as long as signals interrupt it.
template <typename Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

Result<File> open_file(const std::string& path, int flags) {
  File file{.fd = Fd{::open(path.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)},
            .path = path};
  if (!file.fd.is_open()) return system_failure(path);
  return file;
}

}  // namespace

Result<File> SystemFiles::create(const std::string& path) {
  return open_file(path, O_CREAT | O_TRUNC);
}

Result<File> SystemFiles::open(const std::string& path) {
  return open_file(path, 0);
}

Result<std::size_t> SystemFiles::write(const File& file, std::span<const std::string_view> pieces) {
  std::array<iovec, kPiecesMax> vectors;
  const std::size_t count = std::min(pieces.size(), kPiecesMax);
  for (std::size_t i = 0; i < count; ++i) {
    vectors[i] = {.iov_base = const_cast<char*>(pieces[i].data()), .iov_len = pieces[i].size()};
  }
  const ssize_t written = uninterrupted(
      [&] { return ::writev(file.fd.get(), vectors.data(), static_cast<int>(count)); });
  if (written < 0) return system_failure(file.path);
  return static_cast<std::size_t>(written);
}

Result<void> SystemFiles::sync(const File& file) {
  // Never again after a failure: the second call would succeed and mean nothing.
  if (::fdatasync(file.fd.get()) != 0) return system_failure(file.path);
  return {};
}

Result<void> SystemFiles::truncate(const File& file, std::uint64_t bytes) {
  if (uninterrupted([&] { return ::ftruncate(file.fd.get(), static_cast<off_t>(bytes)); }) != 0) {
    return system_failure(file.path);
  }
  return {};
}

void SystemFiles::reserve(const File& file, std::uint64_t bytes) {
  (void)::fallocate(file.fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes));
}

Result<void> SystemFiles::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return system_failure(to);
  return {};
}

Result<void> SystemFiles::remove(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_failure(path);
  return {};
}

Result<void> SystemFiles::sync_directory(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!fd.is_open() || ::fsync(fd.get()) != 0) return system_failure(path);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.is_open()) return system_failure(path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return system_failure(path);
  std::string text;
  text.reserve(static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) + 1);
  for (;;) {
    const std::size_t begin = text.size();
    const std::size_t room = std::max(text.capacity() - begin, kReadBytes);
    text.resize(begin + room);
    const ssize_t count =
        uninterrupted([&] { return ::read(fd.get(), text.data() + begin, room); });
    if (count < 0) return system_failure(path);
    text.resize(begin + static_cast<std::size_t>(count));
    if (count == 0) return text;
  }
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entry{path, error};
  for (; !error && entry != std::filesystem::directory_iterator{}; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    errno = error.value();
    return system_failure(path);
  }
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::string>> make_directory(const std::string& path) {
  std::string parent = std::filesystem::path{path}.parent_path().string();
  if (parent.empty()) parent = ".";
  if (::mkdir(path.c_str(), 0700) == 0) return std::vector{parent};
  if (errno == EEXIST) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return system_failure(path);
    if (!S_ISDIR(status.st_mode)) return fail(Errc::invalid, path + ": not a directory");
    return std::vector<std::string>{};
  }
  if (errno != ENOENT || parent == "." || parent == path) return system_failure(path);
  auto above = make_directory(parent);
  if (!above) return above;
  if (::mkdir(path.c_str(), 0700) == 0) {
    above->push_back(parent);
  } else if (errno != EEXIST) {
    return system_failure(path);
  }
  return above;
}

}  // namespace seedance::io
