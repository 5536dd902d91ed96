#include "io/tls_certificates.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

#include "io/file_system.h"

namespace seedance::io {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

int no_passphrase(char*, int, int, void*) {
  return 0;
}

// What OpenSSL found wrong first: what follows only says who called whom.
std::string openssl_reason() {
  const unsigned long error = ERR_peek_error();
  const char* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason != nullptr ? reason : fmt::format("error {:x}", error);
}

Error file_error(const NamedFile& file, std::string_view what) {
  return {Errc::invalid, fmt::format("{}: {}: {}", file.setting, file.path, what)};
}

Error read_error(const NamedFile& file, const Error& error) {
  return {error.code, fmt::format("{}: {}", file.setting, error.detail)};
}

std::string why_no_key(std::string_view text) {
  const std::string reason = openssl_reason();
  if (!text.contains("PRIVATE KEY-----")) {
    return "it holds no private key in PEM form (BEGIN PRIVATE KEY)";
  }
  if (text.contains("ENCRYPTED")) {
    return "its private key has a passphrase, which nobody is there to type; take it off with "
           "openssl pkey";
  }
  return "its private key cannot be used: " + reason;
}

Result<void> load_key(SSL_CTX* context, const NamedFile& certificate, const NamedFile& file) {
  const auto text = read_file(file.path);
  if (!text) return std::unexpected(read_error(file, text.error()));
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio{
      BIO_new_mem_buf(text->data(), static_cast<int>(text->size())), &BIO_free};
  const Key key{PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr),
                &EVP_PKEY_free};
  if (!key) return std::unexpected(file_error(file, why_no_key(*text)));
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return std::unexpected(
        file_error(file, fmt::format("its private key is not that of the certificate in {} ({})",
                                     certificate.path, certificate.setting)));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) == 1) return {};
  return std::unexpected(file_error(file, why_no_key(*text)));
}

}  // namespace

Error certificate_error(const NamedFile& file) {
  const std::string reason = openssl_reason();
  const auto text = read_file(file.path);
  if (!text) return read_error(file, text.error());
  if (!text->contains("CERTIFICATE-----")) {
    return file_error(file, "it holds no certificate in PEM form (BEGIN CERTIFICATE)");
  }
  return file_error(file, "its certificate cannot be used: " + reason);
}

Result<void> load_identity(SSL_CTX* context, const NamedFile& certificate, const NamedFile& key) {
  ERR_clear_error();
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.path.c_str()) != 1) {
    return std::unexpected(certificate_error(certificate));
  }
  return load_key(context, certificate, key);
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
