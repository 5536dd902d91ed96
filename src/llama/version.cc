#include "llama/version.h"

#include <build-info.h>
#include <fmt/core.h>
#include <llama.h>

namespace seedance::llama {

std::string llama_cpp_version() {
  return fmt::format("{} ({})", llama_version(), llama_commit());
}

}  // namespace seedance::llama
