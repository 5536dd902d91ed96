#include "apps/key_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "apps/files.h"
#include "base/rfc3339.h"
#include "io/fd.h"
#include "io/system_error.h"
#include "wire/json.h"

namespace seedance::apps {
namespace {

constexpr std::size_t kShownDigits = 8;  // Of a hash: enough to tell keys apart.

// Held until it is closed. Waits for another that has it.
Result<io::Fd> lock(const std::string& path) {
  const std::string name = path + ".lock";
  io::Fd fd{::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (!fd.is_open()) return io::system_failure(name);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  while (::fcntl(fd.get(), F_OFD_SETLKW, &whole) != 0) {
    if (errno != EINTR) return io::system_failure(name);
  }
  return fd;
}

struct Contents {
  std::string text;
  std::vector<auth::KeyEntry> keys;
};

Result<Contents> read(const std::string& path) {
  auto text = read_file(path, auth::kKeyFileBytesMax);
  if (!text) return std::unexpected(text.error());
  auto keys = auth::parse_key_file(*text, path);
  if (!keys) return std::unexpected(keys.error());
  return Contents{*std::move(text), *std::move(keys)};
}

// In the place of the old file and its owner's, or of the directory's: root makes keys
// for a server that runs as somebody else.
Result<void> replace(const std::string& path, std::string_view text) {
  if (text.size() > auth::kKeyFileBytesMax) {
    return fail(Errc::overloaded,
                fmt::format("{}: more than {} bytes", path, auth::kKeyFileBytesMax));
  }
  struct stat owned{};
  const std::string parent = std::filesystem::path{path}.parent_path().string();
  const bool is_known = ::stat(path.c_str(), &owned) == 0 ||
                        ::stat(parent.empty() ? "." : parent.c_str(), &owned) == 0;
  auto written = write_file(path, text, Overwrite::yes);
  if (written && is_known && owned.st_uid != ::geteuid()) {
    (void)!::chown(path.c_str(), owned.st_uid, owned.st_gid);  // Only root can.
  }
  return written;
}

bool holds(const std::vector<auth::KeyEntry>& keys, std::string_view name) {
  return std::ranges::find(keys, name, &auth::KeyEntry::name) != keys.end();
}

std::string shown(const auth::SecretHash& hash) {
  return "sha256:" + auth::to_hex(hash).substr(0, kShownDigits);
}

}  // namespace

Result<AddedKey> add_key(const std::string& path, const NewKey& key, WallTime now) {
  if (!auth::is_name(key.tenant)) {
    return fail(Errc::invalid, "the tenant must be 1 to 128 characters of visible ASCII");
  }
  const auto locked = lock(path);
  if (!locked) return std::unexpected(locked.error());
  auto contents = read(path);
  if (!contents && contents.error().code == Errc::not_found) contents = Contents{};
  if (!contents) return std::unexpected(contents.error());
  AddedKey added{.name = key.name.empty() ? auth::free_name(contents->keys, key.tenant) : key.name,
                 .secret = auth::make_secret(auth::kKeyPrefix)};
  if (!auth::is_key_name(added.name)) {
    return fail(Errc::invalid,
                "the name must be 1 to 128 characters of visible ASCII, and not "
                "begin with #");
  }
  if (holds(contents->keys, added.name)) {
    return fail(Errc::invalid, fmt::format("{}: there is a key {} already", path, added.name));
  }
  const std::string text = auth::with_key(contents->text, {.name = added.name,
                                                           .tenant = key.tenant,
                                                           .role = key.role,
                                                           .hash = auth::hash_of(added.secret),
                                                           .created = to_rfc3339(now)});
  const auto written = replace(path, text);
  if (!written) return std::unexpected(written.error());
  return added;
}

Result<void> revoke_key(const std::string& path, std::string_view name) {
  // A file that is not there gets no lock beside it.
  if (const auto there = read(path); !there) return std::unexpected(there.error());
  const auto locked = lock(path);
  if (!locked) return std::unexpected(locked.error());
  const auto contents = read(path);
  if (!contents) return std::unexpected(contents.error());
  if (!holds(contents->keys, name)) {
    return fail(Errc::not_found, fmt::format("{}: there is no key {}", path, name));
  }
  return replace(path, auth::without_key(contents->text, name));
}

std::string list_text(const std::vector<auth::KeyEntry>& keys) {
  if (keys.empty()) return "no keys\n";
  std::size_t name_width = 4;
  std::size_t tenant_width = 6;
  for (const auth::KeyEntry& key : keys) {
    name_width = std::max(name_width, key.name.size());
    tenant_width = std::max(tenant_width, key.tenant.size());
  }
  std::string out;
  const auto row = [&](std::string_view name, std::string_view tenant, std::string_view role,
                       std::string_view created, std::string_view hash) {
    fmt::format_to(std::back_inserter(out), "{:{}}  {:{}}  {:5}  {:20}  {}\n", name, name_width,
                   tenant, tenant_width, role, created, hash);
  };
  row("NAME", "TENANT", "ROLE", "CREATED", "HASH");
  for (const auth::KeyEntry& key : keys) {
    row(key.name, key.tenant, name(key.role), key.created, shown(key.hash) + "...");
  }
  return out;
}

std::string list_json(const std::vector<auth::KeyEntry>& keys) {
  std::string out;
  wire::JsonWriter json{out};
  json.begin_object().key("keys").begin_array();
  for (const auth::KeyEntry& key : keys) {
    json.begin_object().field("name", key.name).field("tenant", key.tenant);
    json.field("role", name(key.role)).field("created", key.created);
    json.field("hash_begins", shown(key.hash)).end_object();
  }
  json.end_array().end_object();
  return out + "\n";
}

Result<std::vector<auth::KeyEntry>> read_keys(const std::string& path) {
  auto contents = read(path);
  if (!contents) return std::unexpected(contents.error());
  return std::move(contents->keys);
}

bool is_open_to_others(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & 0077) != 0;
}

}  // namespace seedance::apps
