// From what a person set to what the server is told.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"
#include "server/config.h"

namespace seedance::apps {

// Checks what takes more than a range: that there is such an engine, and that its
// script can be read. The message of an error names the key. Llama needs a model_path.
Result<server::ServerConfig> server_config(const config::Settings& settings);

// Whether only this machine reaches a server at this URL, whose host is an address.
bool is_loopback_url(std::string_view url);

// What clients call a model unless told otherwise: its file's name without
// folders, part number ("-00001-of-00003") and ".gguf".
std::string model_name_of(std::string_view path);

}  // namespace seedance::apps
