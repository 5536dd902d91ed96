#include "apps/model_digest.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sstream>

#include "apps/files.h"
#include "io/fd.h"
#include "io/system_error.h"

namespace seedance::apps {
namespace {

constexpr std::size_t kCacheBytesMax = std::size_t{1} << 20;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kHexDigits = 64;

using Hash = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

// " size time path" of every part: what follows the digest in a line of the
// cache. Empty when a part is gone.
std::string identity(const std::vector<std::string>& files) {
  std::string out;
  for (const std::string& file : files) {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) return "";
    out += fmt::format(" {} {}.{:09} {}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec, file);
  }
  return out;
}

Result<void> add_file(EVP_MD_CTX* hash, const std::string& path, const std::stop_token& stop) {
  const io::Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd.is_open()) return io::system_failure(path);
  std::vector<char> block(kBlockBytes);
  for (;;) {
    if (stop.stop_requested()) return fail(Errc::disconnected, "stopped");
    const ssize_t count = ::read(fd.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io::system_failure(path);
    if (count == 0) return {};
    EVP_DigestUpdate(hash, block.data(), static_cast<std::size_t>(count));
  }
}

Hash begin_hash() {
  Hash hash{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
  return hash;
}

std::string end_hash(const Hash& hash) {
  std::array<unsigned char, 32> bytes{};
  EVP_DigestFinal_ex(hash.get(), bytes.data(), nullptr);
  std::string digest;
  for (const unsigned char byte : bytes) digest += fmt::format("{:02x}", byte);
  return digest;
}

Result<void> add_ends(EVP_MD_CTX* hash, const std::string& path) {
  const io::Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status{};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return io::system_failure(path);
  const std::string size = fmt::format("{} ", status.st_size);
  EVP_DigestUpdate(hash, size.data(), size.size());
  std::vector<char> block(kBlockBytes);
  const off_t last = std::max<off_t>(0, status.st_size - static_cast<off_t>(kBlockBytes));
  for (const off_t from : {off_t{0}, last}) {
    const ssize_t count = ::pread(fd.get(), block.data(), block.size(), from);
    if (count < 0) return io::system_failure(path);
    EVP_DigestUpdate(hash, block.data(), static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

Result<std::string> fingerprint_of(const std::vector<std::string>& files) {
  const Hash hash = begin_hash();
  for (const std::string& file : files) {
    if (auto added = add_ends(hash.get(), file); !added) return std::unexpected(added.error());
  }
  return end_hash(hash);
}

std::string DigestCache::find(const std::vector<std::string>& files) const {
  const std::string wanted = identity(files);
  const auto text = read_file(path_, kCacheBytesMax);
  if (!text || wanted.empty()) return "";
  std::istringstream lines{*text};
  for (std::string line; std::getline(lines, line);) {
    if (line.size() > kHexDigits && std::string_view{line}.substr(kHexDigits) == wanted) {
      return line.substr(0, kHexDigits);
    }
  }
  return "";
}

Result<std::string> DigestCache::compute(const std::vector<std::string>& files,
                                         const std::stop_token& stop) const {
  const std::string before = identity(files);
  const Hash hash = begin_hash();
  for (const std::string& file : files) {
    const auto added = add_file(hash.get(), file, stop);
    if (!added) return std::unexpected(added.error());
  }
  std::string digest = end_hash(hash);
  if (before.empty() || identity(files) != before) {
    return fail(Errc::corrupt, "the model changed while it was read");
  }
  // Other models keep their entries; when there are too many, all begin anew.
  const auto known = read_file(path_, kCacheBytesMax / 2);
  const auto written =
      write_file(path_, known.value_or("") + digest + before + "\n", Overwrite::yes);
  if (!written) return std::unexpected(written.error());
  return digest;
}

}  // namespace seedance::apps
