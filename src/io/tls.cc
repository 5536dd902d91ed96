#include "io/tls.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/bytes.h"
#include "base/check.h"
#include "io/tls_certificates.h"

namespace seedance::io {
namespace {

using Flow = Moved::Flow;

constexpr std::size_t kRecordBytes = 16384;  // RFC 8446 section 5.1.
// What a peer that reads nothing can make us answer (KeyUpdate) is no more than this.
constexpr std::size_t kBacklogBytesMax = std::size_t{256} << 10;
constexpr std::size_t kRecordExtra = 256 + 5;  // RFC 8446 section 5.2, with its head.
// Records in a row that bring nothing (KeyUpdate): each costs us more than its sender.
constexpr int kIdleRecordsMax = 32;
constexpr std::size_t kTicketKeyBytes = 80;
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";  // Of TLS 1.2.
constexpr std::array<unsigned char, 9> kAlpn{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr std::array<unsigned char, 8> kSessionContext{'s', 'e', 'e', 'd', 'a', 'n', 'c', 'e'};

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                unsigned in_size, void*) {
  unsigned char* chosen = nullptr;
  const int result =
      SSL_select_next_proto(&chosen, out_size, kAlpn.data(), kAlpn.size(), in, in_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void set_rules(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE);
  SSL_CTX_set_cipher_list(context, kCiphers);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context, kSessionContext.data(), kSessionContext.size());
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_alpn_select_cb(context, choose_alpn, nullptr);
}

Result<void> load_client_ca(SSL_CTX* context, const TlsOptions& options) {
  if (options.client_ca_file.empty()) return {};
  ERR_clear_error();
  const char* file = options.client_ca_file.c_str();
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(file);
  if (names == nullptr || SSL_CTX_load_verify_file(context, file) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return std::unexpected(certificate_error({"tls_client_ca", options.client_ca_file}));
  }
  SSL_CTX_set_client_CA_list(context, names);
  const int required = options.client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nullptr);
  return {};
}

WallTime expiry_of(const X509* certificate) {
  std::tm when{};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &when);
  return WallTime{std::chrono::seconds{timegm(&when)}};
}

// Resumed, nobody looks at the client's certificate again: so it must still be valid.
SSL_TICKET_RETURN on_ticket(SSL*, SSL_SESSION* session, const unsigned char*, std::size_t,
                            SSL_TICKET_STATUS status, void* clock) {
  if (status == SSL_TICKET_EMPTY || status == SSL_TICKET_NO_DECRYPT) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  const WallTime now = reinterpret_cast<WallTime (*)()>(clock)();
  const X509* const certificate = SSL_SESSION_get0_peer(session);
  if (certificate != nullptr && now > expiry_of(certificate)) return SSL_TICKET_RETURN_IGNORE_RENEW;
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

// The certificates of who signs those of clients.
std::set<std::string> authorities_of(SSL_CTX* context) {
  std::set<std::string> out;
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_STORE_lock(store);
  const STACK_OF(X509_OBJECT)* const objects = X509_STORE_get0_objects(store);
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    const X509* const one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, i));
    if (one == nullptr) continue;
    unsigned char* bytes = nullptr;
    const int size = i2d_X509(one, &bytes);
    if (size > 0) out.emplace(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
    OPENSSL_free(bytes);
  }
  X509_STORE_unlock(store);
  return out;
}

// A session that one of them let in, the other would let in too.
bool admit_the_same(SSL_CTX* a, SSL_CTX* b) {
  return SSL_CTX_get_verify_mode(a) == SSL_CTX_get_verify_mode(b) &&
         authorities_of(a) == authorities_of(b);
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

Result<TlsContext> TlsContext::open(const TlsOptions& options, const TlsContext* before) {
  ERR_clear_error();
  TlsContext out{SSL_CTX_new(TLS_server_method())};
  SEEDANCE_CHECK(out.context_ != nullptr, "there is memory for TLS");
  set_rules(out.context_.get());
  const auto identity = load_identity(out.context_.get(), {"tls_cert", options.certificate_file},
                                      {"tls_key", options.key_file});
  if (!identity) return std::unexpected(identity.error());
  if (auto loaded = load_client_ca(out.context_.get(), options); !loaded) {
    return std::unexpected(loaded.error());
  }
  SSL_CTX_set_session_ticket_cb(out.context_.get(), nullptr, on_ticket,
                                reinterpret_cast<void*>(options.clock));
  if (before != nullptr) out.take_ticket_keys(*before);
  return out;
}

void TlsContext::take_ticket_keys(const TlsContext& before) {
  if (!admit_the_same(context_.get(), before.context_.get())) return;
  std::array<unsigned char, kTicketKeyBytes> keys{};
  if (SSL_CTX_get_tlsext_ticket_keys(before.context_.get(), keys.data(), keys.size()) == 1) {
    SSL_CTX_set_tlsext_ticket_keys(context_.get(), keys.data(), keys.size());
  }
  OPENSSL_cleanse(keys.data(), keys.size());
}

WallTime TlsContext::expires() const {
  return expiry_of(SSL_CTX_get0_certificate(context_.get()));
}

struct TlsStream::Transport {
  static int read(BIO* bio, char* into, std::size_t size, std::size_t* got) {
    auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    Moved moved{.flow = Flow::blocked};
    if (stream.allowance_ > 0) {
      const std::span room{into, std::min(size, stream.allowance_)};
      moved = io::receive(stream.socket_, std::as_writable_bytes(room));
      stream.allowance_ -= moved.bytes;
      stream.dry_ = moved.bytes == 0;
    }
    *got = moved.bytes;
    if (moved.bytes > 0) return 1;
    if (moved.flow == Flow::blocked) BIO_set_retry_read(bio);
    return 0;
  }

  // Takes everything: OpenSSL never has to be asked again with the same bytes.
  static int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* taken) {
    auto& stream = *static_cast<TlsStream*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *taken = size;
    std::string_view rest{bytes, size};
    if (stream.backlog_.empty()) {
      const Moved moved = io::send(stream.socket_, rest);
      if (moved.flow == Flow::closed) stream.broken_ = true;
      rest.remove_prefix(moved.bytes);
    }
    if (rest.size() + stream.backlog_.size() > kBacklogBytesMax) stream.broken_ = true;
    if (stream.broken_) return 0;
    stream.backlog_ += rest;
    return 1;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* make() {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    SEEDANCE_CHECK(made != nullptr, "there is memory for a BIO method");
    BIO_meth_set_read_ex(made, read);
    BIO_meth_set_write_ex(made, write);
    BIO_meth_set_ctrl(made, control);
    return made;
  }

  static BIO* bio_of(TlsStream& stream) {
    static const BIO_METHOD* const kMethod = make();
    BIO* bio = BIO_new(kMethod);
    SEEDANCE_CHECK(bio != nullptr, "there is memory for a connection");
    BIO_set_data(bio, &stream);
    BIO_set_init(bio, 1);
    return bio;
  }
};

TlsStream::TlsStream(const TlsContext& context, const Fd& socket)
    : socket_(socket), ssl_(SSL_new(context.context_.get())) {
  SEEDANCE_CHECK(ssl_ != nullptr, "there is memory for a connection");
  SSL_set_accept_state(ssl_.get());
  attach();
}

TlsStream::TlsStream(const TlsClient& client, const std::string& host, const Fd& socket)
    : socket_(socket), ssl_(client.connection_to(host)) {
  attach();
}

void TlsStream::attach() {
  BIO* bio = Transport::bio_of(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
  // Else one call would read all the records that bring no data.
  SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
}

TlsStream::~TlsStream() = default;

Moved::Flow TlsStream::flow_after(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ && !broken_) return Flow::blocked;
  if (error != SSL_ERROR_ZERO_RETURN) {
    if (error_ == 0) error_ = ERR_peek_error();
    broken_ = true;
  }
  ERR_clear_error();
  return Flow::closed;
}

Moved TlsStream::receive(std::span<std::byte> into) {
  Moved moved;
  allowance_ = into.size() + kRecordBytes + kRecordExtra;
  while (moved.bytes < into.size() && !broken_) {
    ERR_clear_error();
    dry_ = false;
    std::size_t got = 0;
    const auto room = into.subspan(moved.bytes);
    const int result = SSL_read_ex(ssl_.get(), room.data(), room.size(), &got);
    moved.bytes += got;
    if (result == 1) {
      idle_records_ = 0;
      heard_ = true;
      continue;
    }
    const Flow flow = flow_after(result);
    if (flow != Flow::blocked || dry_) {
      moved.flow = flow;
      return moved;
    }
    if (allowance_ == 0) return moved;
    broken_ = ++idle_records_ > kIdleRecordsMax;
  }
  if (broken_) moved.flow = Flow::closed;
  return moved;
}

Moved TlsStream::send(std::string_view bytes) {
  Moved moved;
  while (moved.bytes < bytes.size()) {
    if (!flush()) moved.flow = Flow::blocked;
    if (broken_) moved.flow = Flow::closed;
    if (moved.flow != Flow::open) return moved;
    ERR_clear_error();
    std::size_t taken = 0;
    const std::string_view piece = bytes.substr(moved.bytes, kRecordBytes);
    const int result = SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &taken);
    if (result != 1) {
      moved.flow = flow_after(result);
      return moved;
    }
    moved.bytes += taken;
  }
  if (!backlog_.empty()) moved.flow = Flow::blocked;
  return moved;
}

bool TlsStream::flush() {
  if (backlog_.empty() || broken_) return true;
  const Moved moved = io::send(socket_, backlog_);
  if (moved.flow == Flow::closed) broken_ = true;
  backlog_.erase(0, moved.bytes);
  if (!backlog_.empty() && !broken_) return false;
  std::string{}.swap(backlog_);
  return true;
}

void TlsStream::shutdown_send() {
  if (broken_ || !established()) return;
  ERR_clear_error();
  (void)SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

bool TlsStream::met_plain_http() const {
  return ERR_GET_REASON(error_) == SSL_R_HTTP_REQUEST;
}

std::string TlsStream::problem() const {
  return broken_ ? tls_problem(ssl_.get(), error_, heard_) : std::string{};
}

bool TlsStream::established() const {
  return SSL_is_init_finished(ssl_.get()) == 1;
}

std::optional<PeerCertificate> TlsStream::peer() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (!established() || certificate == nullptr) return std::nullopt;
  if (SSL_get_verify_result(ssl_.get()) != X509_V_OK) return std::nullopt;
  const X509_NAME* name = X509_get_subject_name(certificate);
  return PeerCertificate{.subject = text_of(name), .common_name = common_name_of(name)};
}

}  // namespace seedance::io
