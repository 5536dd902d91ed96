// Which llama.cpp this is.
#pragma once

#include <string>

namespace seedance::llama {

// Its version and commit: "0.5.0 (de3ff81)".
std::string llama_cpp_version();

}  // namespace seedance::llama
