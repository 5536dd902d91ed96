#include "store/journal_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string_view>

#include "stream/journal_record.h"

namespace seedance::store {
namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kEnded = "ended";

bool is_leftover(std::string_view name) {
  if (!name.ends_with(kTemporary)) return false;
  name.remove_suffix(kTemporary.size());
  return stream::parse_segment_name(name).has_value();
}

Result<void> read_segments(const std::string& directory, stream::JournalReader& reader,
                           JournalContents& contents) {
  const auto numbers = list_segments(directory);
  if (!numbers) return std::unexpected(numbers.error());
  for (const std::uint32_t number : *numbers) {
    const std::string path = segment_path(directory, number);
    const auto bytes = io::read_file(path);
    if (!bytes) return std::unexpected(bytes.error());
    const auto kept = reader.on_segment(number, as_bytes(*bytes));
    if (!kept) return fail(kept.error().code, fmt::format("{}: {}", path, kept.error().detail));
    contents.segments.push_back({number, bytes->size(), *kept});
  }
  return {};
}

}  // namespace

std::string lock_path(const std::string& directory) {
  return directory + "/lock";
}

std::string segment_path(const std::string& directory, std::uint32_t segment) {
  return directory + "/" + stream::segment_name(segment);
}

std::string temporary_path(const std::string& path) {
  return path + std::string{kTemporary};
}

std::string ended_path(const std::string& directory) {
  return directory + "/" + std::string{kEnded};
}

Result<void> mark_ended(io::FileSystem& files, const std::string& directory) {
  const auto file = files.create(ended_path(directory));
  if (!file) return std::unexpected(file.error());
  return files.sync_directory(directory);
}

Result<void> unmark_ended(io::FileSystem& files, const std::string& directory) {
  if (auto removed = files.remove(ended_path(directory)); !removed) return removed;
  return files.sync_directory(directory);
}

Result<std::vector<std::uint32_t>> list_segments(const std::string& directory) {
  const auto names = io::list_directory(directory);
  if (!names) return std::unexpected(names.error());
  std::vector<std::uint32_t> numbers;
  for (const std::string& name : *names) {
    if (const auto number = stream::parse_segment_name(name)) numbers.push_back(*number);
  }
  return numbers;
}

Result<JournalContents> read_journal(const std::string& directory, const stream::BootId& boot) {
  JournalContents contents;
  const auto names = io::list_directory(directory);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (is_leftover(name)) contents.leftovers.push_back(fmt::format("{}/{}", directory, name));
  }
  contents.ended = std::ranges::binary_search(*names, kEnded);

  stream::JournalReader reader{{.boot = boot}};
  if (auto read = read_segments(directory, reader, contents); !read) {
    return std::unexpected(read.error());
  }
  contents.recovery = reader.finish();
  // The machine may have gone down since, but took nothing with it.
  if (contents.ended && contents.recovery.bytes_cut == 0) contents.recovery.lost_tail = false;
  return contents;
}

Result<void> cut(io::FileSystem& files, const std::string& directory,
                 const JournalContents& contents) {
  bool removed = false;
  for (const std::string& path : contents.leftovers) {
    if (auto gone = files.remove(path); !gone) return gone;
    removed = true;
  }
  for (const SegmentFile& segment : std::views::reverse(contents.segments)) {
    if (segment.bytes_kept == segment.bytes) continue;
    const std::string path = segment_path(directory, segment.number);
    if (segment.bytes_kept == 0) {
      if (auto gone = files.remove(path); !gone) return gone;
      removed = true;
      continue;
    }
    if (removed) {
      if (auto synced = files.sync_directory(directory); !synced) return synced;
      removed = false;
    }
    const auto file = files.open(path);
    if (!file) return std::unexpected(file.error());
    if (auto done = files.truncate(*file, segment.bytes_kept); !done) return done;
    if (auto synced = files.sync(*file); !synced) return synced;
  }
  return removed ? files.sync_directory(directory) : Result<void>{};
}

}  // namespace seedance::store
