#include "wire/ws_handshake.h"

#include <openssl/evp.h>

#include <algorithm>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <vector>

#include "base/check.h"

namespace seedance::wire {
namespace {

constexpr std::string_view kVersion = "13";
constexpr std::size_t kResponseHeadMax = 16 << 10;

std::string base64(const unsigned char* bytes, std::size_t size) {
  std::string out((size + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock ends with a NUL.
  const int length =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes, static_cast<int>(size));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

// Whether `key` is what base64 makes of 16 bytes: 22 digits and "==", the last
// digit holding two bits only.
bool is_key(std::string_view key) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (key.size() != 24 || !key.ends_with("==")) return false;
  key.remove_suffix(2);
  return key.find_first_not_of(kDigits) == std::string_view::npos &&
         kDigits.find(key.back()) % 16 == 0;
}

// Calls `use(token)` for each token of a comma-separated list, in one pass.
// False if the list is none.
template <typename Use>
bool for_each_token(std::string_view list, Use use) {
  std::size_t at = 0;
  const auto skip_space = [&] {
    while (at < list.size() && (list[at] == ' ' || list[at] == '\t')) ++at;
  };
  for (;;) {
    skip_space();
    const std::size_t begin = at;
    while (at < list.size() && is_token_char(list[at])) ++at;
    if (at == begin) return false;
    use(list.substr(begin, at - begin));
    skip_space();
    if (at == list.size()) return true;
    if (list[at++] != ',') return false;
  }
}

// Whether one of the headers of this name holds the token.
bool any_has_token(const HttpRequest& request, std::string_view name, std::string_view token) {
  return std::ranges::any_of(request.headers, [&](const HttpHeader& header) {
    return equals_ignoring_case(header.name, name) && has_token(header.value, token);
  });
}

std::ptrdiff_t count(const HttpRequest& request, std::string_view name) {
  return std::ranges::count_if(request.headers, [&](const HttpHeader& header) {
    return equals_ignoring_case(header.name, name);
  });
}

std::unexpected<HttpError> refuse(int status, std::string_view detail) {
  return std::unexpected(HttpError{status, std::string{detail}});
}

// The first protocol offered that is supported; empty if there is none.
std::expected<std::string_view, HttpError> choose_protocol(
    const HttpRequest& request, std::span<const std::string_view> supported) {
  std::string_view chosen;
  for (const HttpHeader& header : request.headers) {
    if (!equals_ignoring_case(header.name, "Sec-WebSocket-Protocol")) continue;
    const bool whole = for_each_token(header.value, [&](std::string_view offered) {
      const auto found = std::ranges::find(supported, offered);
      if (chosen.empty() && found != supported.end()) chosen = *found;
    });
    if (!whole) return refuse(400, "bad Sec-WebSocket-Protocol");
  }
  return chosen;
}

}  // namespace

bool wants_websocket(const HttpRequest& request) {
  return any_has_token(request, "Upgrade", "websocket");
}

std::expected<WsUpgrade, HttpError> check_upgrade(const HttpRequest& request,
                                                  std::span<const std::string_view> supported,
                                                  Compression compression) {
  if (!request.header("Upgrade")) return refuse(426, "a WebSocket is needed here");
  if (!wants_websocket(request)) return refuse(400, "bad Upgrade");
  if (request.method != "GET") return refuse(400, "a WebSocket begins with GET");
  if (request.http_1_0) return refuse(400, "a WebSocket begins with HTTP/1.1");
  if (!any_has_token(request, "Connection", "upgrade")) return refuse(400, "bad Connection");
  if (!request.body.empty()) return refuse(400, "a WebSocket begins without a body");
  if (request.header("Sec-WebSocket-Version") != kVersion) {
    return refuse(426, "WebSocket version not supported");
  }
  const auto key = request.header("Sec-WebSocket-Key");
  if (!key || !is_key(*key) || count(request, "Sec-WebSocket-Key") != 1) {
    return refuse(400, "bad Sec-WebSocket-Key");
  }
  const auto protocol = choose_protocol(request, supported);
  if (!protocol) return std::unexpected(protocol.error());
  WsUpgrade upgrade{.accept = accept_key(*key), .protocol = *protocol, .deflate = {}};
  if (compression == Compression::on) {
    const auto deflate = choose_deflate(request);
    if (!deflate) return std::unexpected(deflate.error());
    upgrade.deflate = *deflate;
  }
  return upgrade;
}

void append_upgrade_response(std::string& out, const WsUpgrade& upgrade) {
  const std::string extensions = upgrade.deflate ? deflate_answer(*upgrade.deflate) : "";
  std::vector<HttpField> fields{{"Upgrade", "websocket"},
                                {"Connection", "Upgrade"},
                                {"Sec-WebSocket-Accept", upgrade.accept}};
  if (!upgrade.protocol.empty()) fields.push_back({"Sec-WebSocket-Protocol", upgrade.protocol});
  if (upgrade.deflate) fields.push_back({"Sec-WebSocket-Extensions", extensions});
  append_response_head(out, 101, fields);
}

std::string accept_key(std::string_view key) {
  const std::string text = std::string{key} + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const int done = EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  SEEDANCE_CHECK(done == 1, "SHA-1 is there");
  return base64(digest, size);
}

std::string make_key(const std::array<std::uint8_t, 16>& entropy) {
  return base64(entropy.data(), entropy.size());
}

void append_upgrade_request(std::string& out, const WsClientRequest& request) {
  const auto append_field = [&out](std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
  };
  out += "GET ";
  out += request.target;
  out += " HTTP/1.1\r\n";
  append_field("Host", request.host);
  append_field("Upgrade", "websocket");
  append_field("Connection", "Upgrade");
  append_field("Sec-WebSocket-Version", kVersion);
  append_field("Sec-WebSocket-Key", request.key);
  if (!request.protocol.empty()) append_field("Sec-WebSocket-Protocol", request.protocol);
  for (const HttpField& field : request.headers) append_field(field.name, field.value);
  out += "\r\n";
}

Result<WsClientUpgrade> check_upgrade_response(Bytes input, std::string_view key,
                                               std::string_view protocol) {
  namespace http = boost::beast::http;
  const std::size_t end = as_text(input).find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (input.size() > kResponseHeadMax) return fail(Errc::invalid, "response head too big");
    return fail(Errc::truncated, "response head");
  }
  http::response_parser<http::empty_body> parser;
  parser.header_limit(UINT32_MAX);
  parser.skip(true);
  boost::beast::error_code code;
  const std::size_t head_bytes = parser.put(boost::asio::buffer(input.data(), end + 4), code);
  if (code) return fail(Errc::invalid, "malformed response");

  const auto& response = parser.get();
  const auto value = [&response](std::string_view name) {
    const auto text = response[{name.data(), name.size()}];
    return std::string_view{text.data(), text.size()};
  };
  if (response.result_int() != 101) {
    const auto reason = response.reason();
    return fail(Errc::invalid, "server answered " + std::to_string(response.result_int()) + " " +
                                   std::string{reason.data(), reason.size()});
  }
  if (!has_token(value("Upgrade"), "websocket") || !has_token(value("Connection"), "upgrade")) {
    return fail(Errc::invalid, "server did not upgrade to a WebSocket");
  }
  if (value("Sec-WebSocket-Accept") != accept_key(key)) {
    return fail(Errc::invalid, "wrong Sec-WebSocket-Accept");
  }
  const std::string_view chosen = value("Sec-WebSocket-Protocol");
  if (!chosen.empty() && chosen != protocol) {
    return fail(Errc::invalid, "server chose a subprotocol that was not offered");
  }
  if (!value("Sec-WebSocket-Extensions").empty()) {
    return fail(Errc::invalid, "server chose an extension that was not offered");
  }
  return WsClientUpgrade{head_bytes, std::string{chosen}};
}

}  // namespace seedance::wire
