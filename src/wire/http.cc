#include "wire/http.h"

#include <algorithm>
#include <array>
#include <boost/beast/http/basic_parser.hpp>
#include <charconv>
#include <utility>

#include "base/check.h"

namespace seedance::wire {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// Longest method and version beside a target in a request line.
constexpr std::size_t kLineBytesBesideTarget = 64;
// Digits of a chunk's size, leading zeros and all.
constexpr int kChunkDigitsMax = 16;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Whether a request line names a version, if only one that we do not speak.
bool names_http_version(std::string_view line) {
  if (std::ranges::count(line, ' ') != 2) return false;
  const std::string_view version = line.substr(line.rfind(' ') + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) &&
         version[6] == '.' && is_digit(version[7]);
}

HttpError from_beast(beast::error_code code, std::string_view request_line) {
  if (code == http::error::bad_version && names_http_version(request_line)) {
    return {505, "HTTP version not supported"};
  }
  if (code == http::error::bad_content_length || code == http::error::multiple_content_length) {
    return {400, "bad Content-Length"};
  }
  if (code == http::error::bad_transfer_encoding) return {400, "bad Transfer-Encoding"};
  return {400, "malformed request"};
}

}  // namespace

// One request on its way in. Collects the head, lets Beast parse it, checks what
// Beast is too lenient about, and decodes the body.
class HttpParser::Message final : private http::basic_parser<true> {
 public:
  explicit Message(const HttpLimits& limits) : limits_(&limits) {
    header_limit(UINT32_MAX);  // The head is bounded here.
    eager(true);
    skip(true);  // The body is read here.
  }

  std::size_t on_input(std::string_view input) {
    std::size_t taken = 0;
    if (place_ == Place::head) taken = read_head(input);
    while (taken < input.size() && place_ != Place::head && !complete() && !error) {
      taken += read_body(input.substr(taken));
    }
    return taken;
  }

  // An empty line before a request is none of it.
  bool started() const { return place_ != Place::head || !head_.empty() || error; }
  bool head_done() const { return place_ != Place::head && !error; }
  bool complete() const { return place_ == Place::end && !error; }

  HttpRequest request;
  std::optional<HttpError> error;
  bool wants_continue = false;

 private:
  using string_view = beast::string_view;
  using error_code = beast::error_code;

  // What the next byte belongs to.
  enum class Place : std::uint8_t {
    head,
    body,  // Of a Content-Length.
    chunk_size,
    chunk_size_lf,
    chunk_data,
    chunk_data_cr,
    chunk_data_lf,
    last_cr,
    last_lf,
    end,
  };

  // Takes input up to the empty line that ends the head.
  std::size_t read_head(std::string_view input) {
    std::size_t taken = 0;
    while (taken < input.size() && place_ == Place::head && !error) {
      const std::size_t newline = input.find('\n', taken);
      const std::size_t end = newline == std::string_view::npos ? input.size() : newline + 1;
      const std::size_t size = head_.size() + end - taken;
      if (lines_ == 0 && size > limits_->target_bytes_max + kLineBytesBesideTarget) {
        error = target_too_long();
      } else if (size > limits_->head_bytes_max) {
        error = {431,
                 "the head may have " + std::to_string(limits_->head_bytes_max) + " bytes at most"};
      } else {
        head_ += input.substr(taken, end - taken);
        taken = end;
        if (newline != std::string_view::npos) on_line(std::string_view{head_}.substr(line_at_));
      }
    }
    return taken;
  }

  void on_line(std::string_view line) {
    if (!line.ends_with("\r\n")) {
      error = {400, "bare line feed"};
    } else if (line.size() == 2) {
      if (lines_ == 0 && !std::exchange(empty_line_skipped_, true)) {
        head_.clear();  // Some clients end a body with it.
      } else if (lines_ == 0) {
        error = {400, "empty request line"};
      } else {
        parse_head();
      }
      return;
    } else if (lines_ > 0 && (line[0] == ' ' || line[0] == '\t')) {
      error = {400, "folded header"};
    } else if (lines_ > limits_->headers_max) {
      error = {431, "there may be " + std::to_string(limits_->headers_max) + " headers at most"};
    }
    if (lines_ == 0) line_bytes_ = line.size();
    ++lines_;
    line_at_ = head_.size();
  }

  void parse_head() {
    error_code code;
    put(boost::asio::buffer(head_), code);
    if (code && !error)
      error = from_beast(code, std::string_view{head_}.substr(0, line_bytes_ - 2));
    std::string{}.swap(head_);
    if (error) return;
    left_ = content_length().value_or(0);
    if (!takes(left_)) error = body_too_big();
    place_ = chunked() ? Place::chunk_size : left_ > 0 ? Place::body : Place::end;
    if (place_ == Place::end) wants_continue = false;  // There is no body to wait for.
  }

  // The limit may be less than it was when the body began.
  bool takes(std::uint64_t more) const {
    const std::size_t max = limits_->body_bytes_max;
    return request.body.size() <= max && more <= max - request.body.size();
  }

  HttpError target_too_long() const {
    return {414, "the request's target may have " + std::to_string(limits_->target_bytes_max) +
                     " bytes at most"};
  }

  HttpError body_too_big() const {
    return {413, "the body may have " + std::to_string(limits_->body_bytes_max) + " bytes at most"};
  }

  // Takes a piece of data or one byte of what surrounds it.
  std::size_t read_body(std::string_view input) {
    if (place_ != Place::body && place_ != Place::chunk_data) {
      if (!read_chunk_byte(input[0])) error = {400, "bad chunk"};
      return 1;
    }
    const std::string_view piece = input.substr(0, left_);
    request.body += piece;
    left_ -= piece.size();
    if (left_ == 0) place_ = place_ == Place::body ? Place::end : Place::chunk_data_cr;
    return piece.size();
  }

  // One byte of a size line or of the line ends behind data; false for any that
  // may not be there. So extensions and trailers are refused too.
  bool read_chunk_byte(char byte) {
    const auto expect = [byte, this](char expected, Place next) {
      place_ = next;
      return byte == expected;
    };
    switch (place_) {
      case Place::chunk_size:
        if (byte == '\r') return digits_ > 0 && expect('\r', Place::chunk_size_lf);
        return read_digit(byte);
      case Place::chunk_size_lf:
        if (!takes(left_)) {
          error = body_too_big();
          return true;
        }
        return expect('\n', left_ > 0 ? Place::chunk_data : Place::last_cr);
      case Place::chunk_data_cr:
        return expect('\r', Place::chunk_data_lf);
      case Place::chunk_data_lf:
        digits_ = 0;
        return expect('\n', Place::chunk_size);
      case Place::last_cr:
        return expect('\r', Place::last_lf);
      case Place::last_lf:
        return expect('\n', Place::end);
      default:
        return false;
    }
  }

  bool read_digit(char byte) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::size_t value = kDigits.find(lower(byte));
    left_ = left_ * 16 + value;
    return value != std::string_view::npos && ++digits_ <= kChunkDigitsMax;
  }

  void refuse(HttpError why, error_code& code) {
    error = std::move(why);
    code = http::error::bad_value;
  }

  void on_request_impl(http::verb, string_view method, string_view target, int version,
                       error_code& code) override {
    request.method = method;
    request.target = target;
    if (target[0] != '/' && target != "*") split_absolute();
    request.http_1_0 = version == 10;
    if (target.size() > limits_->target_bytes_max) {
      return refuse(target_too_long(), code);
    }
    if (request.target.empty()) return refuse({400, "bad request target"}, code);
  }

  // An absolute-form target (RFC 9112, 3.2.2) becomes its path; none if it is no such.
  void split_absolute() {
    const std::string target = std::exchange(request.target, {});
    const std::size_t scheme_end = std::min(target.find("://"), target.size());
    const std::string_view scheme = std::string_view{target}.substr(0, scheme_end);
    if (!equals_ignoring_case(scheme, "http") && !equals_ignoring_case(scheme, "https")) return;
    if (scheme_end == target.size()) return;
    const std::size_t begin = scheme_end + 3;
    const std::size_t end = std::min(target.find_first_of("/?", begin), target.size());
    authority_ = target.substr(begin, end - begin);
    if (authority_.empty() || authority_.find_first_of("@#") != std::string::npos) return;
    request.target = (target.substr(end).starts_with('/') ? "" : "/") + target.substr(end);
  }

  void on_field_impl(http::field field, string_view name, string_view value,
                     error_code& code) override {
    switch (field) {
      case http::field::host:
        if (++hosts_ > 1) return refuse({400, "more than one Host"}, code);
        break;
      case http::field::origin:
        if (++origins_ > 1) return refuse({400, "more than one Origin"}, code);
        break;
      case http::field::authorization:
        if (++authorizations_ > 1) return refuse({400, "more than one Authorization"}, code);
        break;
      case http::field::content_length:
        // Beast also takes lists and repetitions of one number.
        if (++lengths_ > 1 ||
            !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; })) {
          return refuse({400, "bad Content-Length"}, code);
        }
        break;
      case http::field::transfer_encoding:
        if (request.http_1_0) return refuse({400, "Transfer-Encoding in HTTP/1.0"}, code);
        if (!equals_ignoring_case(value, "chunked")) {
          return refuse({501, "transfer coding not supported"}, code);
        }
        break;
      case http::field::expect:
        if (!equals_ignoring_case(value, "100-continue")) {
          return refuse({417, "expectation not supported"}, code);
        }
        wants_continue = !request.http_1_0;
        break;
      default:
        break;
    }
    request.headers.emplace_back(std::string{name}, std::string{value});
  }

  void on_header_impl(error_code& code) override {
    if (hosts_ == 0 && !request.http_1_0) return refuse({400, "no Host"}, code);
    if (!authority_.empty()) replace_host();
    request.keep_alive = keep_alive();
  }

  // What the header says does not count beside the target's authority.
  void replace_host() {
    std::erase_if(request.headers, [](const HttpHeader& header) {
      return equals_ignoring_case(header.name, "Host");
    });
    request.headers.emplace_back("Host", std::move(authority_));
  }

  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view, error_code&) override { return 0; }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view, error_code&) override { return 0; }
  void on_finish_impl(error_code&) override {}

  const HttpLimits* limits_;
  std::string head_;
  std::string authority_;       // Of an absolute target.
  std::size_t line_at_ = 0;     // Where in head_ the current line begins.
  std::size_t lines_ = 0;       // Before it.
  std::size_t line_bytes_ = 0;  // Of the request line.
  std::uint64_t left_ = 0;      // Of the body or chunk.
  Place place_ = Place::head;
  int digits_ = 0;  // Of the chunk's size.
  int hosts_ = 0;
  int lengths_ = 0;
  int origins_ = 0;
  int authorizations_ = 0;
  bool empty_line_skipped_ = false;
};

HttpParser::HttpParser(const HttpLimits& limits) : limits_(&limits) {}
HttpParser::~HttpParser() = default;
HttpParser::HttpParser(HttpParser&&) noexcept = default;
HttpParser& HttpParser::operator=(HttpParser&&) noexcept = default;

std::size_t HttpParser::on_input(Bytes input) {
  if (input.empty() || error_ || complete()) return 0;
  if (!message_) message_ = std::make_unique<Message>(*limits_);
  const std::size_t taken = message_->on_input(as_text(input));
  error_ = message_->error;
  if (message_->complete()) message_->wants_continue = false;  // The body came unasked.
  return taken;
}

bool HttpParser::started() const {
  return message_ != nullptr && message_->started();
}

const HttpRequest* HttpParser::head() const {
  return message_ && message_->head_done() ? &message_->request : nullptr;
}

bool HttpParser::complete() const {
  return message_ && message_->complete();
}

bool HttpParser::take_continue() {
  return message_ && std::exchange(message_->wants_continue, false);
}

HttpRequest HttpParser::take() {
  SEEDANCE_CHECK(complete(), "there is no complete request");
  HttpRequest request = std::move(message_->request);
  message_.reset();
  return request;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

bool has_token(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (equals_ignoring_case(trim(list.substr(0, comma)), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string_view HttpRequest::path() const {
  return std::string_view{target}.substr(0, target.find('?'));
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find_if(headers, [name](const HttpHeader& header) {
    return equals_ignoring_case(header.name, name);
  });
  if (found == headers.end()) return std::nullopt;
  return found->value;
}

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {499, "Client Closed Request"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"}};
  const auto* found = std::ranges::find(kPhrases, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kPhrases) ? "Unknown" : found->second;
}

namespace {

// So that no value, whatever it is made of, can begin a header of its own.
void append_field_text(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out += text;
  std::ranges::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
}

void append_number(std::string& out, std::size_t number, int base) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
  out.append(digits.data(), end);
}

void append_field(std::string& out, const HttpField& field) {
  append_field_text(out, field.name);
  out += ": ";
  append_field_text(out, field.value);
  out += "\r\n";
}

void append_status_line(std::string& out, int status) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::size_t>(status), 10);
  out += ' ';
  out += reason_phrase(status);
  out += "\r\n";
}

}  // namespace

void append_response_head(std::string& out, int status, std::span<const HttpField> headers) {
  append_status_line(out, status);
  for (const HttpField& field : headers) append_field(out, field);
  out += "\r\n";
}

void append_response_head(std::string& out, int status, std::initializer_list<HttpField> headers) {
  append_response_head(out, status, std::span{headers.begin(), headers.size()});
}

void append_response(std::string& out, int status, std::initializer_list<HttpField> headers,
                     std::string_view body) {
  append_status_line(out, status);
  for (const HttpField& field : headers) append_field(out, field);
  out += "Content-Length: ";
  append_number(out, body.size(), 10);
  out += "\r\n\r\n";
  out += body;
}

void append_chunk(std::string& out, std::string_view payload) {
  if (payload.empty()) return;
  append_number(out, payload.size(), 16);
  out += "\r\n";
  out += payload;
  out += "\r\n";
}

}  // namespace seedance::wire
