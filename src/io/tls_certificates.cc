#include "io/tls_certificates.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <memory>

namespace seedance::io {
namespace {

int no_passphrase(char*, int, int, void*) {
  return 0;
}

}  // namespace

Error tls_file_error(std::string_view setting, const std::string& file) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_peek_last_error(), text.data(), text.size());
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return {Errc::invalid,
          fmt::format("{}: {}: {}", setting, file, reason != nullptr ? reason : text.data())};
}

Result<void> load_identity(SSL_CTX* context, const NamedFile& certificate, const NamedFile& key) {
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.path.c_str()) != 1) {
    return std::unexpected(tls_file_error(certificate.setting, certificate.path));
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.path.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    return std::unexpected(tls_file_error(key.setting, key.path));
  }
  return {};
}

std::string text_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> out{BIO_new(BIO_s_mem()), &BIO_free};
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string common_name_of(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0) return {};
  unsigned char* utf8 = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  if (size < 0) return {};
  std::string out{reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size)};
  OPENSSL_free(utf8);
  return out;
}

}  // namespace seedance::io
