#include "api/digest.h"

#include <openssl/sha.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <string_view>

#include "base/bytes.h"

namespace seedance::api {
namespace {

// Names the encoding: another one has another name, so that digests of the two
// never meet.
constexpr std::string_view kEncoding = "seedance.request.1";

// Every value has a fixed size or says its length in front, so that no two
// requests are the same bytes.
class Encoder {
 public:
  template <std::integral T>
  void put(T value) {
    append(bytes_, value, std::endian::big);
  }
  // -0 means the same as 0.
  void put(float number) { put(std::bit_cast<std::uint32_t>(number == 0 ? 0.0F : number)); }
  void put(bool flag) { put(static_cast<std::uint8_t>(flag)); }
  void put(std::string_view text) {
    put(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void put(TokenId token) { put(token.value); }

  stream::Sha256 hash() const {
    stream::Sha256 digest;
    SHA256(reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size(), digest.data());
    return digest;
  }

 private:
  std::string bytes_;
};

void put_input(Encoder& out, const text::PromptInput& input) {
  out.put(static_cast<std::uint8_t>(input.index()));
  if (const auto* prompt = std::get_if<std::string>(&input)) {
    out.put(std::string_view{*prompt});
  } else if (const auto* tokens = std::get_if<std::vector<TokenId>>(&input)) {
    out.put(std::uint64_t{tokens->size()});
    for (const TokenId token : *tokens) out.put(token);
  } else {
    const auto& messages = std::get<std::vector<text::ChatMessage>>(input);
    out.put(std::uint64_t{messages.size()});
    for (const text::ChatMessage& message : messages) {
      out.put(std::string_view{message.role});
      out.put(std::string_view{message.content});
    }
  }
}

void put_sampling(Encoder& out, const engine::Sampling& sampling, bool seeded) {
  out.put(sampling.temperature);
  out.put(sampling.top_k);
  out.put(sampling.top_p);
  out.put(sampling.min_p);
  out.put(sampling.presence_penalty);
  out.put(sampling.frequency_penalty);
  out.put(sampling.repeat_penalty);
  out.put(sampling.repeat_last_n);
  out.put(seeded);
  out.put(seeded ? sampling.seed : std::uint64_t{0});
  auto biases = sampling.logit_bias;
  std::ranges::sort(biases);
  out.put(std::uint64_t{biases.size()});
  for (const auto& [token, bias] : biases) {
    out.put(token);
    out.put(bias);
  }
  out.put(sampling.logprobs);
  out.put(sampling.top_logprobs);
  out.put(sampling.ignore_eos);
}

}  // namespace

stream::Sha256 digest_of(const core::GenerateRequest& request) {
  Encoder out;
  out.put(kEncoding);
  out.put(std::string_view{request.model});
  put_input(out, request.input);
  put_sampling(out, request.sampling, request.seeded);
  out.put(request.max_tokens.has_value());
  out.put(request.max_tokens.value_or(0));
  out.put(static_cast<std::uint8_t>(request.text.boundary));
  out.put(std::uint64_t{request.text.stop.size()});
  for (const std::string& stop : request.text.stop) out.put(std::string_view{stop});
  if (request.overflow != text::Overflow::error) {
    out.put(std::string_view{"overflow"});
    out.put(static_cast<std::uint8_t>(request.overflow));
  }
  if (request.parent) {
    out.put(std::string_view{"parent"});
    out.put(request.parent->high);
    out.put(request.parent->low);
  }
  if (request.format.kind != text::AnswerFormat::Kind::any) {
    out.put(static_cast<std::uint8_t>(request.format.kind));
    out.put(std::string_view{request.format.text});
  }
  return out.hash();
}

}  // namespace seedance::api
