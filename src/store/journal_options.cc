#include "store/journal_options.h"

#include <array>
#include <charconv>

#include "io/file_system.h"

namespace seedance::store {
namespace {

constexpr std::array<std::string_view, 3> kNames{"none", "interval", "always"};
constexpr const char* kBootIdPath = "/proc/sys/kernel/random/boot_id";

}  // namespace

std::string_view name(Sync sync) {
  return kNames.at(static_cast<std::size_t>(sync));
}

std::optional<Sync> parse_sync(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Sync>(i);
  }
  return std::nullopt;
}

std::uint32_t batch_bytes_extra(Sync sync) {
  if (sync == Sync::none) return 0;
  std::string mark;
  stream::encode(stream::SyncRecord{}, mark);
  return static_cast<std::uint32_t>(mark.size());
}

Result<stream::BootId> read_boot_id() {
  const auto text = io::read_file(kBootIdPath);
  if (!text) return std::unexpected(text.error());
  const auto boot = parse_boot_id(std::string_view{*text}.substr(0, text->find('\n')));
  if (!boot) return fail(Errc::invalid, std::string{kBootIdPath} + ": not a boot id");
  return *boot;
}

std::optional<stream::BootId> parse_boot_id(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '-') digits += c;
  }
  stream::BootId boot{};
  if (text.size() != 36 || digits.size() != 2 * boot.size()) return std::nullopt;
  for (std::size_t i = 0; i < boot.size(); ++i) {
    const char* begin = digits.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, boot[i], 16);
    if (error != std::errc{} || end != begin + 2) return std::nullopt;
  }
  return boot;
}

}  // namespace seedance::store
