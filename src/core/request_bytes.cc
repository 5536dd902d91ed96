#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/messages.h"

namespace seedance::core {

std::uint64_t input_bytes_of(const GenerateRequest& request) {
  const text::PromptInput& input = request.input;
  std::uint64_t bytes = request.format.text.size();
  if (const auto* text = std::get_if<std::string>(&input)) return bytes + text->size();
  if (const auto* tokens = std::get_if<std::vector<TokenId>>(&input)) {
    return bytes + tokens->size() * sizeof(TokenId);
  }
  for (const auto& message : std::get<std::vector<text::ChatMessage>>(input)) {
    bytes += sizeof(message) + message.role.size() + message.content.size();
  }
  return bytes;
}

std::uint64_t bytes_of(const GenerateRequest& request) {
  std::uint64_t bytes =
      sizeof(request) + input_bytes_of(request) + request.model.size() + request.key.size() +
      request.sampling.logit_bias.size() * sizeof(*request.sampling.logit_bias.data());
  for (const std::string& stop : request.text.stop) bytes += sizeof(std::string) + stop.size();
  return bytes;
}

}  // namespace seedance::core
