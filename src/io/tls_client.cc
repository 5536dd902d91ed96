#include "io/tls_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <string_view>

#include "base/check.h"
#include "io/tls_certificates.h"

namespace seedance::io {
namespace {

constexpr std::array<unsigned char, 9> kAlpn{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

void free_note(void*, void* note, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::string*>(note);
}

// Of a connection: what was wrong with the server's certificate, which OpenSSL forgets.
int note_index() {
  static const int kIndex = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, free_note);
  return kIndex;
}

// "localhost, 127.0.0.1"
std::string names_of(X509* certificate) {
  std::string out;
  const auto add = [&](std::string_view name) {
    out += (out.empty() ? "" : ", ") + std::string{name};
  };
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    int type = 0;
    const auto* const value =
        static_cast<ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names, i), &type));
    const unsigned char* const bytes =
        type == GEN_DNS || type == GEN_IPADD ? ASN1_STRING_get0_data(value) : nullptr;
    if (type == GEN_DNS) {
      add({reinterpret_cast<const char*>(bytes),
           static_cast<std::size_t>(ASN1_STRING_length(value))});
    } else if (type == GEN_IPADD) {
      std::array<char, INET6_ADDRSTRLEN> text{};
      const int family = ASN1_STRING_length(value) == 4 ? AF_INET : AF_INET6;
      if (inet_ntop(family, bytes, text.data(), text.size()) != nullptr) add(text.data());
    }
  }
  GENERAL_NAMES_free(names);
  return out.empty() ? text_of(X509_get_subject_name(certificate)) : out;
}

// The name or address that the certificate must have.
std::string host_of(SSL* ssl) {
  if (const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)) return name;
  char* const address = X509_VERIFY_PARAM_get1_ip_asc(SSL_get0_param(ssl));
  std::string out = address != nullptr ? address : "";
  OPENSSL_free(address);
  return out;
}

std::string sentence(SSL* ssl, X509* certificate, int error) {
  const char* const why = X509_verify_cert_error_string(error);
  if (certificate == nullptr) return fmt::format("its certificate is not trusted: {}", why);
  if (error == X509_V_ERR_HOSTNAME_MISMATCH || error == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    return fmt::format("its certificate is for {}, not for {}", names_of(certificate),
                       host_of(ssl));
  }
  return fmt::format("the certificate of {}, signed by {}, is not trusted: {}",
                     text_of(X509_get_subject_name(certificate)),
                     text_of(X509_get_issuer_name(certificate)), why);
}

// Keeps what was found wrong first, and leaves the decision to OpenSSL.
int on_verified(int good, X509_STORE_CTX* chain) {
  auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (good == 1 || SSL_get_ex_data(ssl, note_index()) != nullptr) return good;
  auto* const note = new std::string(
      sentence(ssl, X509_STORE_CTX_get_current_cert(chain), X509_STORE_CTX_get_error(chain)));
  if (SSL_set_ex_data(ssl, note_index(), note) != 1) {
    free_note(nullptr, note, nullptr, 0, 0, nullptr);
  }
  return good;
}

Result<void> load_trust(SSL_CTX* context, const TlsClientOptions& options) {
  if (!options.verify) return {};
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, on_verified);
  if (options.ca_file.empty()) {
    // Where the system has none, nothing is trusted, and the connection says so.
    (void)SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  if (SSL_CTX_load_verify_file(context, options.ca_file.c_str()) == 1) return {};
  return std::unexpected(certificate_error({"--ca-file", options.ca_file}));
}

}  // namespace

void TlsClient::Free::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

void TlsClient::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

Result<TlsClient> TlsClient::open(const TlsClientOptions& options) {
  ERR_clear_error();
  if (options.certificate_file.empty() != options.key_file.empty()) {
    return fail(Errc::invalid, "--cert and --key need each other");
  }
  TlsClient out{SSL_CTX_new(TLS_client_method())};
  SSL_CTX* const context = out.context_.get();
  SEEDANCE_CHECK(context != nullptr, "there is memory for TLS");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_protos(context, kAlpn.data(), kAlpn.size());
  if (auto loaded = load_trust(context, options); !loaded) return std::unexpected(loaded.error());
  if (options.certificate_file.empty()) return out;
  const auto loaded =
      load_identity(context, {"--cert", options.certificate_file}, {"--key", options.key_file});
  if (!loaded) return std::unexpected(loaded.error());
  return out;
}

std::unique_ptr<SSL, TlsClient::Free> TlsClient::connection_to(const std::string& host) const {
  std::unique_ptr<SSL, Free> ssl{SSL_new(context_.get())};
  SEEDANCE_CHECK(ssl != nullptr, "there is memory for a connection");
  // An address is no name that a server could be asked for (RFC 6066 section 3).
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) != 1) {
    ERR_clear_error();
    SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl.get(), host.c_str());
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  SSL_set_connect_state(ssl.get());
  return ssl;
}

std::string tls_problem(const SSL* ssl, unsigned long error, bool heard) {
  if (const void* const note = SSL_get_ex_data(ssl, note_index())) {
    return *static_cast<const std::string*>(note);
  }
  if (error == 0) {
    if (SSL_is_init_finished(ssl) == 0) return "it closed the connection during the TLS handshake";
    // In TLS 1.3 a client learns last, and not surely, that its certificate is refused.
    if (!heard) return "it ended the connection at once; it may want another certificate";
    return {};
  }
  const int reason = ERR_GET_REASON(error);
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
    return "it does not speak TLS on that port; plain HTTP is http:// or ws://";
  }
  const char* const text = ERR_reason_error_string(error);
  const std::string said = text != nullptr ? text : fmt::format("error {:x}", error);
  // Alerts of the peer count from here.
  if (reason > SSL_AD_REASON_OFFSET) return fmt::format("it refused the TLS connection: {}", said);
  return fmt::format("TLS failed: {}", said);
}

}  // namespace seedance::io
