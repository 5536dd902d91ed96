#include "load/http_response.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/dynamic_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <utility>

namespace seedance::loadgen {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint32_t kHeadBytesMax = 64U << 10U;

}  // namespace

struct HttpResponseParser::Message {
  // Grows as it comes: what a server says of its length is no reason to reserve it.
  using Parser = http::response_parser<http::basic_dynamic_body<beast::flat_buffer>>;

  Message() { begin(); }

  void begin() {
    parser.emplace();
    parser->eager(true);
    parser->header_limit(kHeadBytesMax);
    parser->body_limit(boost::none);  // The owner takes it as it comes.
  }

  // 100 Continue and its like, behind which the answer is still to come.
  bool is_interim() const {
    const int status = parser->is_header_done() ? static_cast<int>(parser->get().result_int()) : 0;
    return status >= 100 && status < 200 && status != 101;
  }

  std::optional<Parser> parser;
  std::string left;  // Bytes that are no whole line or chunk head yet.
};

HttpResponseParser::HttpResponseParser() : message_(std::make_unique<Message>()) {}
HttpResponseParser::~HttpResponseParser() = default;
HttpResponseParser::HttpResponseParser(HttpResponseParser&&) noexcept = default;
HttpResponseParser& HttpResponseParser::operator=(HttpResponseParser&&) noexcept = default;

std::size_t HttpResponseParser::on_input(Bytes input) {
  if (complete() || malformed_ || input.empty()) return 0;
  started_ = true;
  std::string& left = message_->left;
  const std::size_t before = left.size();
  left += as_text(input);
  std::size_t used = 0;
  while (used < left.size() && !complete() && !malformed_) {
    beast::error_code error;
    const std::size_t count =
        message_->parser->put(boost::asio::buffer(left.data() + used, left.size() - used), error);
    used += count;
    if (error == http::error::need_more || (!error && count == 0)) break;
    malformed_ = error.failed();
    if (!malformed_ && message_->is_interim()) message_->begin();
  }
  if (!complete()) {
    left.erase(0, used);
    return input.size();
  }
  left.clear();
  return used - before;
}

void HttpResponseParser::on_end() {
  if (complete() || malformed_) return;
  beast::error_code error;
  // Nothing of the answer may have come though interim ones have.
  const bool begun = message_->parser->got_some();
  if (begun) message_->parser->put_eof(error);
  malformed_ = !begun || error.failed() || !complete();
}

int HttpResponseParser::status() const {
  if (!message_->parser->is_header_done()) return 0;
  return static_cast<int>(message_->parser->get().result_int());
}

std::string HttpResponseParser::take_body() {
  beast::flat_buffer& body = message_->parser->get().body();
  std::string taken{static_cast<const char*>(body.data().data()), body.size()};
  body.clear();
  return taken;
}

bool HttpResponseParser::complete() const {
  return message_->parser->is_done();
}

bool HttpResponseParser::keep_alive() const {
  return message_->parser->keep_alive();
}

}  // namespace seedance::loadgen
