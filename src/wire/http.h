// HTTP/1.1 requests in (RFC 9112), response heads out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace seedance::wire {

struct HttpLimits {
  std::size_t target_bytes_max = 8 << 10;  // Beyond: 414.
  std::size_t head_bytes_max = 32 << 10;   // Beyond: 431.
  std::size_t headers_max = 100;           // Beyond: 431.
  std::size_t body_bytes_max = 16 << 20;   // Beyond: 413.
};

struct HttpHeader {
  std::string name;
  std::string value;

  friend bool operator==(const HttpHeader&, const HttpHeader&) = default;
};

// ASCII letters of either case are the same.
bool equals_ignoring_case(std::string_view a, std::string_view b);

// Whether a comma-separated header value holds `token`, whatever its case.
bool has_token(std::string_view list, std::string_view token);

struct HttpRequest {
  std::string method{};
  // As sent: path and query, still percent-encoded. Begins with '/' or is "*".
  std::string target{};
  bool http_1_0 = false;
  bool keep_alive = true;
  std::vector<HttpHeader> headers{};  // In the order sent.
  std::string body{};

  std::string_view path() const;

  // The first header of this name, whatever its case.
  std::optional<std::string_view> header(std::string_view name) const;

  friend bool operator==(const HttpRequest&, const HttpRequest&) = default;
};

// Why a request is refused. After one that HttpParser gave, the connection is
// to be closed behind the answer.
struct HttpError {
  int status = 400;
  std::string detail;

  friend bool operator==(const HttpError&, const HttpError&) = default;
};

// Reads one request after the other from a connection.
//
// The owner gives it what arrives and keeps what it does not take: the bytes
// behind a complete request, which go to the parser again after take(), or to
// a WsConnection after an upgrade. Deadlines are the owner's (408). Refuses
// with 400 whatever two readers could understand differently: bare CR or LF,
// folded headers, space before a colon, more than one Content-Length, Host, Origin or
// Authorization, Content-Length with Transfer-Encoding, chunk extensions, trailers. Holds no
// memory between requests. Skips one empty line before a request; an absolute target
// becomes its path, and its authority the Host. Belongs to one thread.
class HttpParser {
 public:
  // `limits` outlive the parser.
  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(HttpParser&&) noexcept;
  HttpParser& operator=(HttpParser&&) noexcept;

  // Returns how many bytes it took: all, unless the request is complete or
  // refused.
  std::size_t on_input(Bytes input);

  // Whether any byte of a request has come that take() has not returned.
  bool started() const;

  // The request with an empty body as soon as its head is here, so that it can
  // be refused before the body comes. Valid until the next call that changes
  // the parser.
  const HttpRequest* head() const;

  bool complete() const;
  const std::optional<HttpError>& error() const { return error_; }

  // True once if the client waits for kContinue before it sends the body.
  bool take_continue();

  // The complete request; the parser is ready for the next one.
  HttpRequest take();

 private:
  class Message;

  const HttpLimits* limits_;
  std::unique_ptr<Message> message_;
  std::optional<HttpError> error_;
};

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// "Not Found" for 404.
std::string_view reason_phrase(int status);

struct HttpField {
  std::string_view name;
  std::string_view value;  // Control characters are written as spaces.
};

// Appends status line, headers and the empty line. Adds nothing of its own.
void append_response_head(std::string& out, int status, std::initializer_list<HttpField> headers);
void append_response_head(std::string& out, int status, std::span<const HttpField> headers);

// Appends a whole response; adds Content-Length.
void append_response(std::string& out, int status, std::initializer_list<HttpField> headers,
                     std::string_view body);

// Transfer-Encoding: chunked. An empty payload appends nothing (it would end
// the body); kLastChunk ends it.
void append_chunk(std::string& out, std::string_view payload);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace seedance::wire
