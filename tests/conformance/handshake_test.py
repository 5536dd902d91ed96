"""What is no proper upgrade is refused with the status that says why (C13, C14), and so is what is
no proper request: 400 404 405 413 414 426 431. 408 takes ten seconds: the unit tests have it.
"""
import unittest

from raw_client import ECHO, NATIVE, Client, Refused, Server, Stream, request

SERVER = None


def setUpModule():
    global SERVER
    SERVER = Server("--max-message-bytes", "10000")


def tearDownModule():
    SERVER.stop()


class Handshake(unittest.TestCase):
    def answer(self, sent):
        with Stream(SERVER.port) as stream:
            stream.send(sent)
            return stream.response()

    def expect(self, status, sent):
        got, headers, body = self.answer(sent)
        self.assertEqual(got, status, (sent, body))
        self.assertTrue(body)
        return headers

    def test_the_key_of_the_standard_is_accepted(self):
        status, headers, _ = self.answer(request(Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ=="))
        self.assertEqual(status, 101)
        self.assertEqual(headers["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        self.assertNotIn("sec-websocket-protocol", headers)
        self.assertNotIn("sec-websocket-extensions", headers)

    def test_case_and_company_do_not_matter(self):
        for changes in ({"Upgrade": "WebSocket"}, {"Connection": "keep-alive, Upgrade"},
                        {"Connection": "UPGRADE"}, {"Upgrade": "h2c, websocket"}):
            self.assertEqual(self.answer(request(**changes))[0], 101, changes)

    def test_c14_improper_upgrades_get_400(self):
        for path in (ECHO, NATIVE):
            for sent in (
                    request(path, Connection="close"), request(path, without=("Connection",)),
                    request(path, without=("Sec-WebSocket-Key",)),
                    request(path, Sec_WebSocket_Key="short"),
                    request(path, Sec_WebSocket_Key="dGhlIHNhbXBsZSBub25jZQ==x"),
                    request(path, version="HTTP/1.0"), request(path, without=("Host",)),
                    request(path, Content_Length="3") + b"abc"):
                self.expect(400, sent)

    def test_c14_another_version_gets_426_and_the_right_one(self):
        for version in ("8", "0", "14", "13, 8", "x"):
            headers = self.expect(426, request(Sec_WebSocket_Version=version))
            self.assertEqual(headers["sec-websocket-version"], "13")
            self.assertEqual(headers["upgrade"], "websocket")
        self.expect(426, request(without=("Sec-WebSocket-Version",)))

    def test_c14_no_upgrade_gets_426(self):
        for path in (ECHO, NATIVE):
            headers = self.expect(426, request(path, without=("Upgrade", "Connection")))
            self.assertEqual(headers["upgrade"], "websocket")

    def test_c14_no_other_route_switches(self):
        for path, status in (("/", 200), ("/v1/models", 200), ("/healthz", 200), ("/nothing", 404),
                             ("/v1/chat/completions", 405)):
            self.assertEqual(self.answer(request(path))[0], status, path)

    def test_another_method_gets_405_and_the_right_one(self):
        for path in (ECHO, NATIVE):
            headers = self.expect(405, request(path, method="POST", Content_Length="0"))
            self.assertEqual(headers["allow"], "GET")

    def test_c13_a_list_of_protocols_is_a_list_of_tokens(self):
        for value in ("", ",", "a,,b", "a b", "caf\xe9", "\"quoted\"", "a;b"):
            self.expect(400, request(NATIVE, Sec_WebSocket_Protocol=value))
        long_list = ", ".join(f"p{i}" for i in range(3000)) + ", seedance.v2+json"
        with Client(SERVER.port, NATIVE, Sec_WebSocket_Protocol=long_list) as client:
            self.assertEqual(client.headers["sec-websocket-protocol"], "seedance.v2+json")

    def test_what_is_too_long_is_refused_by_its_kind(self):
        self.expect(414, request("/" + "x" * 9000))
        self.expect(431, request(X_Long="x" * 40_000))
        self.expect(431, request(**{f"X_{i}": "x" for i in range(200)}))
        self.expect(413, b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                         b"Content-Length: 10001\r\n\r\n")

    def test_a_refused_client_may_try_again_on_the_connection(self):
        with Stream(SERVER.port) as stream:
            stream.send(request(Sec_WebSocket_Version="8"))
            self.assertEqual(stream.response()[0], 426)
            stream.send(request())
            self.assertEqual(stream.response()[0], 101)


class EchoRoute(unittest.TestCase):
    def test_it_is_not_there_unless_asked_for(self):
        server = Server("--debug-echo", "false")
        self.addCleanup(server.stop)
        with self.assertRaises(Refused) as refused:
            Client(server.port)
        self.assertEqual(refused.exception.status, 404)

    def test_it_needs_the_key_that_every_route_needs(self):
        server = Server("--api-key", "secret")
        self.addCleanup(server.stop)
        with self.assertRaises(Refused) as refused:
            Client(server.port)
        self.assertEqual(refused.exception.status, 401)
        Client(server.port, Authorization="Bearer secret").close()


if __name__ == "__main__":
    unittest.main()
