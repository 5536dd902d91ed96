#include "wire/http.h"

#include <gtest/gtest.h>

namespace seedance::wire {
namespace {

using namespace std::string_literals;

constexpr HttpLimits kLimits;

struct Outcome {
  std::vector<HttpRequest> requests;
  int status = 0;  // Of the refusal; 0 for none.
  std::string left;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// What a connection makes of the pieces, with an owner that keeps what is left.
Outcome parse(const std::vector<std::string>& pieces, const HttpLimits& limits = kLimits) {
  HttpParser parser{limits};
  Outcome outcome;
  for (const std::string& piece : pieces) {
    outcome.left += piece;
    while (!outcome.left.empty()) {
      const std::size_t taken = parser.on_input(as_bytes(outcome.left));
      outcome.left.erase(0, taken);
      if (parser.error()) {
        outcome.status = parser.error()->status;
        outcome.left.clear();
        return outcome;
      }
      if (parser.complete()) outcome.requests.push_back(parser.take());
    }
  }
  return outcome;
}

int status_of(std::string_view bytes, const HttpLimits& limits = kLimits) {
  return parse({std::string{bytes}}, limits).status;
}

// A request whose head holds `lines`.
std::string get(std::string_view lines = {}) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string{lines} + "\r\n";
}

std::string chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string{body};
}

TEST(HttpParser, ReadsARequest) {
  const Outcome outcome =
      parse({"POST /v1/chat?x=1&y=%20 HTTP/1.1\r\nHost: a:8080\r\n"
             "X-Empty:\r\nx-trim: \t v w \t\r\nContent-Length: 4\r\n\r\nbody"});
  ASSERT_EQ(outcome.requests.size(), 1U);
  const HttpRequest& request = outcome.requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path(), "/v1/chat");
  EXPECT_EQ(request.header("HOST"), "a:8080");
  EXPECT_EQ(request.header("X-Trim"), "v w");
  EXPECT_EQ(request.header("x-empty"), "");
  EXPECT_EQ(request.header("absent"), std::nullopt);
  EXPECT_EQ(request.body, "body");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(request.http_1_0);
}

TEST(HttpParser, GivesTheSameHoweverTheBytesAreCut) {
  const std::string bytes = get() +
                            "POST /a?b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" +
                            chunked("3\r\nabc\r\n00a\r\n0123456789\r\n0\r\n\r\n") +
                            get("Connection: close\r\n") + "GET /next HT";
  const Outcome expected = parse({bytes});
  ASSERT_EQ(expected.requests.size(), 4U);
  EXPECT_EQ(expected.requests[2].body, "abc0123456789");
  EXPECT_FALSE(expected.requests[3].keep_alive);
  for (std::size_t first = 0; first < bytes.size(); ++first) {
    ASSERT_EQ(parse({bytes.substr(0, first), bytes.substr(first)}), expected) << first;
    const std::size_t second = std::min(bytes.size(), first + 7);
    ASSERT_EQ(
        parse({bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)}),
        expected)
        << first;
  }
  std::vector<std::string> bytewise;
  for (const char byte : bytes) bytewise.emplace_back(1, byte);
  EXPECT_EQ(parse(bytewise), expected);
}

TEST(HttpParser, LeavesWhatFollowsARequestToTheOwner) {
  HttpParser parser{kLimits};
  const std::string bytes = get() + "\x81\x80mask";
  EXPECT_EQ(parser.on_input(as_bytes(bytes)), get().size());
  EXPECT_EQ(parser.on_input(as_bytes("more")), 0U);
  ASSERT_TRUE(parser.complete());
  EXPECT_TRUE(parser.started());
  EXPECT_EQ(parser.take().method, "GET");
  EXPECT_FALSE(parser.started());
}

TEST(HttpParser, KnowsWhetherTheConnectionLivesOn) {
  const auto keep_alive = [](const std::string& bytes) {
    return parse({bytes}).requests.at(0).keep_alive;
  };
  EXPECT_TRUE(keep_alive(get()));
  EXPECT_FALSE(keep_alive(get("Connection: Close\r\n")));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0\r\n\r\n"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
}

TEST(HttpParser, ShowsTheHeadBeforeTheBodyComes) {
  HttpParser parser{kLimits};
  parser.on_input(as_bytes("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"));
  EXPECT_EQ(parser.head(), nullptr);
  parser.on_input(as_bytes("\r\n"));
  ASSERT_NE(parser.head(), nullptr);
  EXPECT_EQ(parser.head()->target, "/x");
  EXPECT_FALSE(parser.complete());
}

TEST(HttpParser, TellsOnceThatTheClientWaitsForContinue) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n";
  HttpParser parser{kLimits};
  parser.on_input(as_bytes(head.substr(0, head.size() - 1)));
  EXPECT_FALSE(parser.take_continue());
  parser.on_input(as_bytes("\n"));
  EXPECT_TRUE(parser.take_continue());
  EXPECT_FALSE(parser.take_continue());
  HttpParser at_once{kLimits};
  at_once.on_input(as_bytes(head + "x"));
  EXPECT_TRUE(at_once.complete());
  EXPECT_FALSE(at_once.take_continue());
  EXPECT_EQ(status_of(get("Expect: coffee\r\n")), 417);
}

// Whatever two readers could understand differently.
TEST(HttpParser, RefusesWhatCouldSmuggle) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const std::string& bytes : {
           post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
           post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n",
           post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
           post + "Content-Length: 3, 3\r\n\r\nabc",
           post + "Content-Length: +3\r\n\r\nabc",
           post + "Content-Length: 0x3\r\n\r\nabc",
           post + "Content-Length:\r\n\r\n",
           post + "Content-Length: 99999999999999999999999\r\n\r\n",
           post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           post + "Content-Length : 3\r\n\r\nabc",
           post + "X: a\r\n b\r\n\r\n",
           post + "X: a\r\n\tb\r\n\r\n",
           post + "X: a\n\r\n",
           post + "X: a\rb\r\n\r\n",
           post + "X: a\0b\r\n\r\n"s,
           post + "X y: a\r\n\r\n",
           post + ": a\r\n\r\n",
           post + "no colon\r\n\r\n",
           post + "Host: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\norigin: http://b\r\n\r\n"s,
           "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: a b\r\nAuthorization: a b\r\n\r\n"s,
           "GET / HTTP/1.1\nHost: a\n\n"s,
           "GET / HTTP/1.1\r\n Host: a\r\n\r\n"s,
           "GET / HTTP/1.1\r\n\r\n"s,
           "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET / x HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET / \r\nHost: a\r\n\r\n"s,
           "GET a/ HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET http:/a/ HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET http:///x HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET http://b@a/ HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "GET http://a/ HTTP/1.1\r\n\r\n"s,
           "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s,
           "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s,
       }) {
    EXPECT_EQ(status_of(bytes), 400) << bytes;
  }
}

TEST(HttpParser, TakesAbsoluteTargetsWhoseAuthorityIsTheHost) {
  const auto read = [](std::string_view target) {
    const Outcome outcome = parse({"GET " + std::string{target} + " HTTP/1.1\r\nHost: b\r\n\r\n"});
    if (outcome.requests.size() != 1) return "refused"s;
    const HttpRequest& request = outcome.requests[0];
    EXPECT_EQ(request.headers.size(), 1U);
    return std::string{request.header("host").value_or("none")} + " " + request.target;
  };
  EXPECT_EQ(read("http://a:8080/v1/models?x=1"), "a:8080 /v1/models?x=1");
  EXPECT_EQ(read("HTTPS://a"), "a /");
  EXPECT_EQ(read("http://a?x=http://c/"), "a /?x=http://c/");
  EXPECT_EQ(read("/http://a/"), "b /http://a/");
}

TEST(HttpParser, SkipsAnEmptyLineBeforeARequest) {
  const Outcome outcome = parse({get() + "\r", "\n" + get() + "\r\n"});
  EXPECT_EQ(outcome.requests.size(), 2U);
  EXPECT_EQ(outcome.status, 0);
  HttpParser parser{kLimits};
  EXPECT_EQ(parser.on_input(as_bytes("\r\n")), 2U);
  EXPECT_FALSE(parser.started());
  EXPECT_EQ(parser.on_input(as_bytes("G")), 1U);
  EXPECT_TRUE(parser.started());
}

TEST(HttpParser, RefusesChunksThatCouldSmuggle) {
  for (const char* body :
       {"3;ext=1\r\nabc\r\n0\r\n\r\n", "3;\r\nabc\r\n", "3 \r\nabc\r\n", "3\nabc\r\n0\r\n\r\n",
        "3\r\nabcd\r\n0\r\n\r\n", "3\r\nabc0\r\n\r\n", "-3\r\nabc\r\n", "0x3\r\nabc\r\n", "g\r\n",
        "\r\n", "fffffffffffffffff\r\n", "0;a\r\n\r\n", "0\r\nTrailer: x\r\n\r\n",
        "0\r\nContent-Length: 3\r\n\r\n", "0\r\nX: a\n\r\n"}) {
    EXPECT_EQ(status_of(chunked(body)), 400) << body;
    std::vector<std::string> bytewise;
    for (const char byte : chunked(body)) bytewise.emplace_back(1, byte);
    EXPECT_EQ(parse(bytewise).status, 400) << body;
  }
  EXPECT_EQ(status_of(chunked(std::string(15, '0') + "1\r\na\r\n0\r\n\r\n")), 0);
  EXPECT_EQ(status_of(chunked(std::string(17, '0'))), 400);
}

TEST(HttpParser, RefusesCodingsAndVersionsThatItDoesNotSpeak) {
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, chunked", "chunked, gzip", "x"}) {
    EXPECT_EQ(status_of(get("Transfer-Encoding: "s + coding + "\r\n")), 501) << coding;
  }
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("PRI * HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1x\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / http/1.1\r\nHost: a\r\n\r\n"), 400);
}

TEST(HttpParser, CapsHeadTargetAndHeaderCount) {
  HttpLimits limits;
  limits.target_bytes_max = 100;
  limits.head_bytes_max = 1000;
  limits.headers_max = 10;
  const auto with_target = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(status_of(with_target(100), limits), 0);
  EXPECT_EQ(status_of(with_target(101), limits), 414);
  EXPECT_EQ(status_of("GET /" + std::string(400, 'x'), limits), 414);  // Not one line yet.

  std::string headers;
  for (int i = 0; i < 9; ++i) headers += "X: y\r\n";
  EXPECT_EQ(status_of(get(headers), limits), 0);
  EXPECT_EQ(status_of(get(headers + "X: y\r\n"), limits), 431);

  const std::size_t others = get("X: \r\n").size();
  EXPECT_EQ(status_of(get("X: " + std::string(1000 - others, 'y') + "\r\n"), limits), 0);
  EXPECT_EQ(status_of(get("X: " + std::string(1001 - others, 'y') + "\r\n"), limits), 431);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(2000, 'y'), limits), 431);
}

TEST(HttpParser, CapsTheBodyBeforeItComes) {
  HttpLimits limits;
  limits.body_bytes_max = 10;
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  EXPECT_EQ(status_of(post + "10\r\n\r\n0123456789", limits), 0);
  EXPECT_EQ(status_of(post + "11\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of(post + "18446744073709551615\r\n\r\n", limits), 413);
  EXPECT_EQ(parse({chunked("5\r\n01234\r\n5\r\n01234\r\n0\r\n\r\n")}, limits).requests.size(), 1U);
  EXPECT_EQ(status_of(chunked("5\r\n01234\r\n6\r\n"), limits), 413);
}

// As an owner does that reads its settings again.
TEST(HttpParser, RefusesABodyThatALoweredLimitCatchesInTheMiddle) {
  HttpLimits limits;
  HttpParser parser{limits};
  parser.on_input(as_bytes(chunked("5\r\n01234\r\n")));
  limits.body_bytes_max = 4;
  parser.on_input(as_bytes("1\r\n"));
  ASSERT_TRUE(parser.error());
  EXPECT_EQ(parser.error()->status, 413);
}

TEST(HttpParser, StaysRefused) {
  HttpParser parser{kLimits};
  parser.on_input(as_bytes("bad\n"));
  ASSERT_TRUE(parser.error());
  EXPECT_EQ(parser.on_input(as_bytes(get())), 0U);
  EXPECT_FALSE(parser.complete());
  EXPECT_EQ(parser.head(), nullptr);
}

TEST(HasToken, ReadsCommaLists) {
  EXPECT_TRUE(has_token("keep-alive, Upgrade", "upgrade"));
  EXPECT_TRUE(has_token(" ,\tupgrade\t,", "upgrade"));
  EXPECT_FALSE(has_token("upgrades, up grade", "upgrade"));
  EXPECT_FALSE(has_token("", "upgrade"));
}

TEST(HttpResponse, IsWrittenAsTheStandardSays) {
  std::string out;
  append_response(out, 404, {{"Content-Type", "text/plain"}}, "gone");
  EXPECT_EQ(out,
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone");
  out.clear();
  append_response_head(out, 200, {{"Transfer-Encoding", "chunked"}});
  append_chunk(out, std::string(26, 'x'));
  append_chunk(out, "");
  out += kLastChunk;
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1a\r\n" +
                     std::string(26, 'x') + "\r\n0\r\n\r\n");
}

TEST(HttpResponse, NoValueBeginsAHeaderOfItsOwn) {
  std::string out;
  append_response_head(out, 200, {{"X", "a\r\nSet-Cookie: b\n\0c"s}});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b  c\r\n\r\n");
}

}  // namespace
}  // namespace seedance::wire
