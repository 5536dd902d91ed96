// Files as the subcommands need them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::apps {

enum class Overwrite : std::uint8_t { no, yes };

// Errors name the path. Not_found when there is no such file; overloaded when it
// has more than `bytes_max`.
Result<std::string> read_file(const std::string& path, std::size_t bytes_max);

// Whole or not at all, readable by its owner only. Invalid when the file is
// there and may not be overwritten.
Result<void> write_file(const std::string& path, std::string_view text, Overwrite overwrite);

// Makes the directory, and those above it, where they are missing: for their
// owner only (0700). Invalid when others may enter it and it is not empty.
Result<void> make_private_directory(const std::string& path);

// `configured`, or where the system wants a user's files when that is empty.
std::string data_directory(const std::string& configured);

}  // namespace seedance::apps
