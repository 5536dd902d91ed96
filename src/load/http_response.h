// HTTP/1.1 responses in (RFC 9112), as a client reads them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace seedance::loadgen {

// Reads one response; for the next one on its connection there is a new object. The
// owner gives it what arrives and takes the body as it comes. Bytes behind the end of
// the response are not taken; interim ones (1xx) before it are skipped. Belongs to one thread.
class HttpResponseParser {
 public:
  HttpResponseParser();
  ~HttpResponseParser();
  HttpResponseParser(HttpResponseParser&&) noexcept;
  HttpResponseParser& operator=(HttpResponseParser&&) noexcept;

  // How many bytes it took: all, unless the response is complete or malformed.
  std::size_t on_input(Bytes input);
  // The connection has ended: so do a response that says no length, and any other
  // that is not complete, which is malformed then.
  void on_end();

  // Whether any byte has come.
  bool started() const { return started_; }
  // 0 until the head is here.
  int status() const;
  // Of the body, what has come since the last call; the transfer coding is undone.
  std::string take_body();

  bool complete() const;
  bool malformed() const { return malformed_; }
  // Whether the connection may carry another request, once this is complete.
  bool keep_alive() const;

 private:
  struct Message;

  std::unique_ptr<Message> message_;
  bool started_ = false;
  bool malformed_ = false;
};

}  // namespace seedance::loadgen
