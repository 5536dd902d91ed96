#include "io/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "io/system_error.h"

namespace seedance::io {
namespace {

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<FileLock> FileLock::take(const std::string& path) {
  Fd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!fd.is_open()) return system_failure(path);
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return fail(Errc::invalid, path + ": is locked");
    return system_failure(path);
  }
  // The number is a courtesy: on a full disk it is missing, and the lock holds.
  const std::string number = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd.get(), 0) == 0) {
    (void)!::pwrite(fd.get(), number.data(), number.size(), 0);
  }
  return FileLock{std::move(fd)};
}

FileLock::~FileLock() {
  if (fd_.is_open()) (void)!::ftruncate(fd_.get(), 0);
}

std::optional<pid_t> FileLock::holder(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.is_open()) return std::nullopt;
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(fd.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  std::array<char, 24> text{};
  const ssize_t count = ::pread(fd.get(), text.data(), text.size(), 0);
  pid_t process = 0;
  if (count > 0) std::from_chars(text.data(), text.data() + count, process);
  return process;
}

}  // namespace seedance::io
