// What both sides of TLS do with certificates.
#pragma once

#include <openssl/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace seedance::io {

// A file, and the setting that names it.
struct NamedFile {
  std::string_view setting;
  const std::string& path;
};

// Why OpenSSL took no certificate from the file, after it was asked without success. Names
// setting and file, and says whether the file or what is in it is at fault.
Error certificate_error(const NamedFile& file);

// PEM: the certificate with those that lead to a root, and its key, which must have no
// passphrase: nobody is there to type it. Errors name setting and file, like the above.
Result<void> load_identity(SSL_CTX* context, const NamedFile& certificate, const NamedFile& key);

// RFC 4514: "CN=phone,O=Example".
std::string text_of(const X509_NAME* name);

// Empty when there is none, or more than one: nobody could say which of them is meant.
std::string common_name_of(const X509_NAME* name);

}  // namespace seedance::io
