// Certificates and a TLS client for tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "io/fd.h"
#include "io/test_directory.h"

namespace seedance::io {

// Signs certificates that it writes to files of its own.
class TestAuthority {
 public:
  struct Files {
    std::string certificate;
    std::string key;
  };

  explicit TestAuthority(const std::string& name = "Test authority")
      : key_(EVP_EC_gen("P-256")), certificate_(make(name, key_.get(), nullptr, 0)) {
    write(certificate_file(), [&](FILE* file) { PEM_write_X509(file, certificate_.get()); });
  }

  std::string certificate_file() const { return directory_.path() + "/authority.pem"; }

  // Good for so many days, from now.
  Files issue(const std::string& common_name, int days = 1) const {
    const Key key{EVP_EC_gen("P-256")};
    const Certificate certificate = make(common_name, key.get(), certificate_.get(), days);
    const std::string base = directory_.path() + "/" + common_name;
    write(base + ".pem", [&](FILE* file) { PEM_write_X509(file, certificate.get()); });
    write(base + ".key", [&](FILE* file) {
      PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
    return {base + ".pem", base + ".key"};
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  Certificate make(const std::string& name, EVP_PKEY* key, X509* issuer, int days) const {
    Certificate out{X509_new()};
    X509_set_version(out.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(out.get()), -3600);
    X509_gmtime_adj(X509_getm_notAfter(out.get()), issuer == nullptr ? 86400 : 86400L * days);
    X509_set_pubkey(out.get(), key);
    X509_NAME* subject = X509_get_subject_name(out.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(out.get(), issuer == nullptr ? subject : X509_get_subject_name(issuer));
    if (issuer == nullptr) add(out.get(), NID_basic_constraints, "critical,CA:TRUE");
    if (issuer != nullptr) add(out.get(), NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    SEEDANCE_CHECK(X509_sign(out.get(), key_.get(), EVP_sha256()) > 0, "it can be signed");
    return out;
  }

  static void add(X509* certificate, int nid, const char* value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  template <typename Write>
  static void write(const std::string& path, Write contents) {
    FILE* file = std::fopen(path.c_str(), "w");
    SEEDANCE_CHECK(file != nullptr, "a file for tests can be made");
    contents(file);
    std::fclose(file);
  }

  TestDirectory directory_;
  mutable long serial_ = 0;
  Key key_;
  Certificate certificate_;
};

// The client's side on a socket that blocks, which its owner keeps open.
class TestTls {
 public:
  struct Options {
    const TestAuthority* trusts = nullptr;
    const TestAuthority::Files* shows = nullptr;
    std::string_view alpn;  // One name; empty = none.
    int version_max = TLS1_3_VERSION;
    SSL_SESSION* session = nullptr;  // To be taken up again.
  };

  TestTls(const Fd& socket, const Options& options) : context_(SSL_CTX_new(TLS_client_method())) {
    (void)std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that are closed.
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_load_verify_file(context_.get(), options.trusts->certificate_file().c_str());
    SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
    if (options.version_max < TLS1_2_VERSION) {  // Whatever the system's rules are.
      SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
      SSL_CTX_set_cipher_list(context_.get(), "ALL:@SECLEVEL=0");
    }
    if (options.shows != nullptr) {
      SSL_CTX_use_certificate_file(context_.get(), options.shows->certificate.c_str(),
                                   SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(context_.get(), options.shows->key.c_str(), SSL_FILETYPE_PEM);
    }
    ssl_.reset(SSL_new(context_.get()));
    if (!options.alpn.empty()) {
      std::string list(1, static_cast<char>(options.alpn.size()));
      list += options.alpn;
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(list.data()),
                          static_cast<unsigned>(list.size()));
    }
    if (options.session != nullptr) SSL_set_session(ssl_.get(), options.session);
    SSL_set_fd(ssl_.get(), socket.get());
  }

  // Whether the handshake was successful, as far as a client can tell.
  bool connect() {
    const bool done = SSL_connect(ssl_.get()) == 1;
    error_ = done ? 0 : ERR_peek_error();
    return done;
  }

  // Why connect() failed, as OpenSSL has it.
  unsigned long error() const { return error_; }

  bool send(std::string_view bytes) {
    std::size_t sent = 0;
    return SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) == 1;
  }

  // Some bytes; none at the end, or when something is wrong.
  std::string read() {
    std::string out(16384, '\0');
    std::size_t got = 0;
    if (SSL_read_ex(ssl_.get(), out.data(), out.size(), &got) != 1) got = 0;
    out.resize(got);
    return out;
  }

  // From here on, what it sends is kept here.
  void hold() { SSL_set0_wbio(ssl_.get(), BIO_new(BIO_s_mem())); }
  std::string_view held() {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }

  // A record that brings no data (RFC 8446 section 4.6.3).
  bool update_keys(int answer = SSL_KEY_UPDATE_NOT_REQUESTED) {
    return SSL_key_update(ssl_.get(), answer) == 1 && SSL_do_handshake(ssl_.get()) == 1;
  }

  bool was_told_the_end() const {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }
  SSL* get() { return ssl_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
  unsigned long error_ = 0;
};

}  // namespace seedance::io
