#include "load/http_response.h"

#include <gtest/gtest.h>

namespace seedance::loadgen {
namespace {

struct Read {
  int status = 0;
  std::string body;
  std::size_t taken = 0;
  bool complete = false;
  bool malformed = false;
  bool keep_alive = false;

  friend bool operator==(const Read&, const Read&) = default;
};

Read read(std::string_view bytes, std::size_t piece_bytes, bool ends = false) {
  HttpResponseParser parser;
  Read read;
  while (!bytes.empty() && !parser.complete() && !parser.malformed()) {
    read.taken += parser.on_input(as_bytes(bytes.substr(0, piece_bytes)));
    read.body += parser.take_body();
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  if (ends) parser.on_end();
  read.status = parser.status();
  read.complete = parser.complete();
  read.malformed = parser.malformed();
  read.keep_alive = read.complete && parser.keep_alive();
  return read;
}

constexpr std::string_view kChunked =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    "6\r\ndata: \r\n3;x=y\r\nhi\n\r\n0\r\n\r\n";

TEST(HttpResponse, UndoesTheTransferCodingHoweverItIsCut) {
  const Read whole{.status = 200,
                   .body = "data: hi\n",
                   .taken = kChunked.size(),
                   .complete = true,
                   .keep_alive = true};
  for (std::size_t piece = 1; piece <= kChunked.size(); ++piece) {
    EXPECT_EQ(read(kChunked, piece), whole) << piece;
  }
}

TEST(HttpResponse, LeavesWhatIsBehindItsEnd) {
  const std::string two =
      "HTTP/1.1 503 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno" + std::string{kChunked};
  EXPECT_EQ(
      read(two, two.size()),
      (Read{.status = 503, .body = "no", .taken = two.size() - kChunked.size(), .complete = true}));
}

TEST(HttpResponse, ComesBehindInterimOnes) {
  const std::string bytes =
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    const Read got = read(bytes, piece);
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, "ok");
    EXPECT_TRUE(got.complete);
  }
}

TEST(HttpResponse, MayEndWithItsConnection) {
  const std::string_view open = "HTTP/1.1 200 OK\r\n\r\nsome";
  EXPECT_FALSE(read(open, 7).complete);
  EXPECT_EQ(read(open, 7, true),
            (Read{.status = 200, .body = "some", .taken = open.size(), .complete = true}));
}

// It is the server's word only.
TEST(HttpResponse, ReservesNothingForTheLengthThatItSays) {
  HttpResponseParser parser;
  parser.on_input(as_bytes("HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n\r\nsome"));
  EXPECT_FALSE(parser.malformed());
  EXPECT_EQ(parser.take_body(), "some");
}

TEST(HttpResponse, IsMalformedWhereItIsCutOffOrNone) {
  EXPECT_TRUE(read(kChunked.substr(0, kChunked.size() - 1), 5, true).malformed);
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nno", 99, true).malformed);
  EXPECT_TRUE(read("", 1, true).malformed);
  EXPECT_TRUE(read("HTTP/1.1 100 Continue\r\n\r\n", 99, true).malformed);
  EXPECT_TRUE(read("SSH-2.0-OpenSSH\r\n\r\n", 3).malformed);
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 99).malformed);
  EXPECT_TRUE(read("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), 99).malformed);
}

}  // namespace
}  // namespace seedance::loadgen
