#include "apps/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "io/fd.h"
#include "io/file_system.h"
#include "io/system_error.h"

namespace seedance::apps {
namespace {

Result<void> write_all(const io::Fd& fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io::system_failure(path);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

// link() refuses to replace, rename() does replace; both put the whole file in place.
Result<void> put_in_place(const std::string& temporary, const std::string& path,
                          Overwrite overwrite) {
  const int done = overwrite == Overwrite::yes ? ::rename(temporary.c_str(), path.c_str())
                                               : ::link(temporary.c_str(), path.c_str());
  if (done == 0) return {};
  if (errno != EEXIST) return io::system_failure(path);
  return fail(Errc::invalid, path + ": is there already; --force replaces it");
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const io::Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.is_open()) return io::system_failure(path);
  std::string text;
  std::array<char, 16384> block{};
  for (;;) {
    const ssize_t count = ::read(fd.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io::system_failure(path);
    if (count == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
    if (text.size() > bytes_max) {
      return fail(Errc::overloaded, fmt::format("{}: more than {} bytes", path, bytes_max));
    }
  }
}

Result<void> write_file(const std::string& path, std::string_view text, Overwrite overwrite) {
  std::string temporary = path + "." + std::string(6, 'X');  // As mkostemp wants it.
  // A new file, for its owner only, whose name nobody could foresee.
  const io::Fd fd{::mkostemp(temporary.data(), O_CLOEXEC)};
  if (!fd.is_open()) return io::system_failure(path);
  Result<void> result = write_all(fd, text, path);
  if (result && ::fsync(fd.get()) != 0) result = io::system_failure(path);
  if (result) result = put_in_place(temporary, path, overwrite);
  if (!result || overwrite == Overwrite::no) ::unlink(temporary.c_str());
  if (!result) return result;
  const std::string parent = std::filesystem::path{path}.parent_path().string();
  return io::SystemFiles{}.sync_directory(parent.empty() ? "." : parent);
}

Result<void> make_private_directory(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path{path}.parent_path();
  std::error_code error;
  if (!parent.empty() && !std::filesystem::exists(parent, error)) {
    const auto made = make_private_directory(parent.string());
    if (!made) return made;
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io::system_failure(path);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return io::system_failure(path);
  if (!S_ISDIR(status.st_mode)) return fail(Errc::invalid, path + ": not a directory");
  // A directory with something in it may be anybody's: its mode is not ours to change.
  const bool open_to_others = (status.st_mode & 0077) != 0;
  if (open_to_others &&
      (!std::filesystem::is_empty(path, error) || ::chmod(path.c_str(), 0700) != 0)) {
    return fail(Errc::invalid, path + ": others may enter it; chmod 700 it, or name another one");
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return io::system_failure(path);
  return {};
}

std::string data_directory(const std::string& configured) {
  if (!configured.empty()) return configured;
  const char* xdg = std::getenv("XDG_DATA_HOME");
  if (xdg != nullptr && xdg[0] == '/') return std::string{xdg} + "/seedance";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string{home} + "/.local/share/seedance";
  return "seedance-data";
}

}  // namespace seedance::apps
