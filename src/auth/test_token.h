// Tokens as somebody signs them, for tests.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "auth/secret.h"

namespace seedance::auth {

inline constexpr std::string_view kTestSecret = "a secret that is long enough for HS256";

inline std::string encoded(std::string_view text) {
  return to_base64url({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

inline const unsigned char* raw_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

inline std::string unsigned_token(std::string_view header, std::string_view claims) {
  return encoded(header) + "." + encoded(claims);
}

// Signed by HMAC with SHA-256, whatever the header says.
inline std::string hmac_token(std::string_view secret, std::string_view header,
                              std::string_view claims) {
  const std::string text = unsigned_token(header, claims);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int bytes = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), raw_bytes(text), text.size(),
       mac.data(), &bytes);
  return text + "." + to_base64url({mac.data(), bytes});
}

inline std::string hs256_token(std::string_view claims, std::string_view secret = kTestSecret) {
  return hmac_token(secret, R"({"alg":"HS256","typ":"JWT"})", claims);
}

// A pair of keys that is made of `seed`: the same for the same one.
class TestSigner {
 public:
  explicit TestSigner(char seed = 's') {
    const std::string bytes(32, seed);
    key_.reset(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw_bytes(bytes), bytes.size()));
    if (!key_) throw std::logic_error("no Ed25519 key");
  }

  // The public one, as openssl writes it.
  std::string pem() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio{BIO_new(BIO_s_mem()), &BIO_free};
    PEM_write_bio_PUBKEY(bio.get(), key_.get());
    char* text = nullptr;
    const long bytes = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(bytes)};
  }

  std::string token(std::string_view claims,
                    std::string_view header = R"({"alg":"EdDSA","typ":"JWT"})") const {
    const std::string text = unsigned_token(header, claims);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free};
    std::array<std::uint8_t, 64> signature{};
    std::size_t bytes = signature.size();
    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
    EVP_DigestSign(context.get(), signature.data(), &bytes, raw_bytes(text), text.size());
    return text + "." + to_base64url(signature);
  }

 private:
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_{nullptr, &EVP_PKEY_free};
};

}  // namespace seedance::auth
