// regret MODEL [ADAPTER]: for each line "prompt tokens;output tokens" of standard input,
// how far below the best logit the worst chosen token is, computed alone.
#include <fmt/core.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "llama/test_model.h"

namespace {

std::vector<seedance::TokenId> tokens_of(const std::string& text) {
  std::vector<seedance::TokenId> tokens;
  std::istringstream in{text};
  for (std::int32_t token = 0; in >> token;) tokens.push_back({token});
  return tokens;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    fmt::print(stderr, "usage: regret MODEL [ADAPTER] < pairs\n");
    return 2;
  }
  const std::vector<std::string> adapters{argv + 2, argv + argc};
  seedance::llama::LoneModel model{argv[1], adapters};
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t middle = line.find(';');
    if (middle == std::string::npos) return 2;
    fmt::print("{}\n",
               model.regret(tokens_of(line.substr(0, middle)), tokens_of(line.substr(middle + 1)),
                            static_cast<std::uint32_t>(adapters.size())));
  }
  return 0;
}
