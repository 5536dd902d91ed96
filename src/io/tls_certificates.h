// What both sides of TLS do with certificates.
#pragma once

#include <openssl/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::io {

// What OpenSSL said last, as an error (invalid) that names a setting and its file.
Error tls_file_error(std::string_view setting, const std::string& file);

// A file, and the setting that names it.
struct NamedFile {
  std::string_view setting;
  const std::string& path;
};

// PEM: the certificate with those that lead to a root, and its key, which must have no
// passphrase: nobody is there to type it. Errors (invalid) name setting and file.
Result<void> load_identity(SSL_CTX* context, const NamedFile& certificate, const NamedFile& key);

// RFC 4514: "CN=phone,O=Example".
std::string text_of(const X509_NAME* name);

// Empty when there is none, or more than one: nobody could say which of them is meant.
std::string common_name_of(const X509_NAME* name);

}  // namespace seedance::io
