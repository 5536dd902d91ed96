// What an engine's memory is, in words.
#pragma once

#include <span>
#include <string>

#include "engine/job.h"

namespace seedance::apps {

// What each device gives beside what was predicted of it, in MiB; one line without its end.
std::string memory_text(std::span<const engine::DeviceReport> reports);

}  // namespace seedance::apps
