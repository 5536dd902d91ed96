// From what a person set to what the server is told.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "config/settings.h"
#include "server/config.h"

namespace seedance::apps {

// Checks what takes more than a range: that there is such an engine, and that its
// script can be read. The message of an error names the key. Llama needs a model_path.
Result<server::ServerConfig> server_config(const config::Settings& settings);

// What a reload took over of what the settings only name: that a file changed is in none
// of them. "keys: 2 in all; read again: server.pem, server.key"; empty = there is nothing.
std::string read_again(const config::Settings& settings, std::size_t keys);

// Whether only this machine reaches a server at this URL, whose host is an address.
bool is_loopback_url(std::string_view url);

}  // namespace seedance::apps
