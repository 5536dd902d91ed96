#!/usr/bin/env python3
"""The commands as processes: exit codes, one clear line each, nothing half-started.

    cli_test.py SEEDANCE_BINARY MODEL.gguf [unittest arguments]

The binary is in its build directory, beside the demo model.
"""
import contextlib
import json
import os
import pty
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

BINARY, MODEL = "", ""
PATIENCE_S = 60


def run(*arguments, stdin="", environment=None, cwd=None):
    """A command that ends by itself."""
    return subprocess.run([BINARY, *arguments], input=stdin, capture_output=True, text=True,
                          timeout=PATIENCE_S, cwd=cwd,
                          env={**clean_environment(), **(environment or {})}, check=False)


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("SEEDANCE_")}


def gguf_of_many_parts():
    """A head that says it is the first of two files."""
    def text(value):
        return struct.pack("<Q", len(value)) + value
    return (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text(b"split.count")
            + struct.pack("<IH", 2, 2))


class Directory(unittest.TestCase):
    def setUp(self):
        self.holder = tempfile.TemporaryDirectory()
        self.addCleanup(self.holder.cleanup)
        self.directory = self.holder.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content)
        return self.path(name)

    def assert_refused(self, result, *words, code=2):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def serve_refused(self, *arguments, **options):
        """Data directory and working directory of its own; the former is not made in vain."""
        port = () if "--port" in arguments else ("--port", "0")
        return run("serve", *port, "--data-dir", self.path("data"), *arguments,
                   cwd=self.directory, **options)


class Refusals(Directory):
    def test_flags(self):
        self.assert_refused(run("serve", "--prot", "1"), "did you mean --port?")
        self.assert_refused(run("serve", "--port"), "--port")
        self.assert_refused(run("nonsense"), "nonsense")
        self.assert_refused(run("sevre", "--port", "1"), "no command sevre", "did you mean serve?")
        self.assert_refused(run("sevre", "--help"), "no command sevre", "did you mean serve?")
        self.assert_refused(run("keys", "revok", "x"), "did you mean revoke?")
        self.assert_refused(run("serve", "--port", "1", "--port", "2"), "--port was given twice")
        self.assert_refused(run("serve", "--insecure", "--insecure"), "--insecure was given twice")
        self.assert_refused(run("chat", "hello", "--seed", "1", "--seed", "2"), "--seed was given")
        for before in (("--engine", "scripted"), ("--json",), ("--api-key", "k"), ()):
            self.assert_refused(run("serve", *before, "extra.gguf"), "not expected: extra.gguf")
        self.assert_refused(self.serve_refused("--insecure", "extra.gguf"),
                            "\"extra.gguf\" was not expected")
        self.assert_refused(run(), "subcommand")
        self.assert_refused(self.serve_refused("--parallel", "257"), "--parallel", "257", "256")
        self.assert_refused(self.serve_refused("--threads", "few"), "--threads", "few")
        self.assert_refused(self.serve_refused("--engine", "lama"), "engine", "lama")
        self.assert_refused(self.serve_refused("--engine", "scripted:speed=1"), "engine", "speed")
        self.assert_refused(self.serve_refused("--engine", "scripted", "--allowed-origin",
                                               "app.example"), "allowed_origins", "no scheme")

    def test_model_file(self):
        missing = self.path("missing.gguf")
        self.assert_refused(self.serve_refused("--model", missing), missing)
        self.assert_refused(self.serve_refused("--model", self.directory), self.directory)
        text = self.write("text.gguf", "This is no model.\n")
        self.assert_refused(self.serve_refused("--model", text), text)
        empty = self.write("empty.gguf", "")
        self.assert_refused(self.serve_refused("--model", empty), empty)
        with open(MODEL, "rb") as file:
            whole = file.read()
        cut = self.write("cut.gguf", whole[:len(whole) // 2])
        self.assert_refused(self.serve_refused("--model", cut), cut)
        first = self.write("big-00001-of-00002.gguf", gguf_of_many_parts())
        self.assert_refused(self.serve_refused("--model", first), "big-00002-of-00002.gguf")
        self.assertFalse(os.path.exists(self.path("data")))

    def test_variables_that_mean_nothing_are_warned_about(self):
        result = self.serve_refused("--engine", "lama", environment={
            "SEEDANCE_PORT": "9000", "SEEDANCE_MODEL": "x", "SEEDANCE_SERVICE_HOST": "10.0.0.1"})
        self.assertEqual(result.returncode, 2)
        warnings = sorted(result.stderr.splitlines())
        self.assertEqual(len(warnings), 3, warnings)
        self.assertIn("engine", warnings[0])
        self.assertIn("warning: SEEDANCE_MODEL means nothing", warnings[1])
        self.assertIn("did you mean SEEDANCE_WEBSOCKET_PORT?", warnings[2])

    def test_settings_file(self):
        typo = self.write("typo.yaml", "# ours\nwebsocket_prot: 1\n")
        self.assert_refused(self.serve_refused("--config", typo), f"{typo}:2: websocket_prot",
                            "did you mean websocket_port?")
        self.write("seedance.yaml", "threads: many\n")
        self.assert_refused(self.serve_refused(), "seedance.yaml:1: threads", "from 0 to 1024")
        missing = self.path("missing.yaml")
        self.assert_refused(self.serve_refused("--config", missing), missing)
        other = self.write("other.yaml", "engine: scripted\n")
        self.assert_refused(self.serve_refused("--config", other, environment={
            "SEEDANCE_MODEL_PAHT": "x"}), "SEEDANCE_MODEL_PAHT", "SEEDANCE_MODEL_PATH")

    def test_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = str(taken.getsockname()[1])
            self.assert_refused(self.serve_refused("--engine", "scripted", "--port", port), port)

    def test_data_directory_that_others_may_enter(self):
        os.mkdir(self.path("data"))
        os.chmod(self.path("data"), 0o755)
        self.write("data/file", "")
        self.assert_refused(self.serve_refused("--engine", "scripted"), self.path("data"))

    def test_chat(self):
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        self.assert_refused(run("chat", "hello", "--url", f"ws://127.0.0.1:{port}"), str(port),
                            code=1)
        self.assert_refused(run("chat", "hello", "--url", "ftp://host"), "--url")
        for command in (("chat", "hello"), ("bench",)):
            self.assert_refused(run(*command, "--url", "http://host", "--no-verify"),
                                "--no-verify", "https://")
            self.assert_refused(run(*command, "--url", "https://host", "--ca-file", "/nowhere"),
                                "--ca-file: /nowhere")
            self.assert_refused(run(*command, "--url", "https://host", "--cert", "a"), "--key")
        self.assert_refused(run("chat", stdin=""), "prompt")
        self.assert_refused(run("chat", "hello", "--temperature", "hot"), "--temperature", "hot")


class Init(Directory):
    def test_writes_a_file_that_serve_takes(self):
        result = run("init", "--model", "nowhere.gguf", cwd=self.directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        mode = stat.S_IMODE(os.stat(self.path("seedance.yaml")).st_mode)
        self.assertEqual(mode, 0o600)
        with open(self.path("seedance.yaml")) as file:
            text = file.read()
        for key in ("model_path: \"nowhere.gguf\"", "max_concurrent_streams: 0",
                    "websocket_port: 8080", "enable_streaming: true", "buffer_timeout_ms: 0"):
            self.assertIn(f"\n{key}\n", text)
        # It gets as far as the model.
        self.assert_refused(self.serve_refused(), "nowhere.gguf")

    def test_names_the_demo_model_where_no_other_is(self):
        result = run("init", cwd=self.directory)
        self.assertIn("demo model", result.stdout)
        with open(self.path("seedance.yaml")) as file:
            self.assertRegex(file.read(), r"demo model.*\.\nmodel_path: \"\"\n")

    def test_keeps_a_file_that_is_there(self):
        path = self.write("seedance.yaml", "host: localhost\n")
        self.assert_refused(run("init", cwd=self.directory), "seedance.yaml", "--force")
        with open(path) as file:
            self.assertEqual(file.read(), "host: localhost\n")
        self.assertEqual(run("init", "--force", cwd=self.directory).returncode, 0)


class Fit(Directory):
    def fit(self, *arguments):
        return run("fit", *arguments)

    def test_says_what_a_model_takes(self):
        result = self.fit(MODEL, "--ctx-size", "512")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for words in ("64 streams of 512 tokens", "weights", "it fits"):
            self.assertIn(words, result.stdout)
        self.assertIn("demo.gguf: 64 streams", self.fit().stdout)

    def test_says_so_in_json_and_where_it_does_not_fit(self):
        wanted = ("--json", "--ctx-size", "2048", "--parallel", "256", MODEL)
        roomy = json.loads(self.fit(*wanted, "--memory", "1000000").stdout)
        self.assertEqual((roomy["fits"], roomy["streams"]), (True, 256))
        result = self.fit(*wanted, "--memory", "100")
        self.assertEqual(result.returncode, 1)
        tight = json.loads(result.stdout)
        self.assertFalse(tight["fits"])
        self.assertLess(tight["streams_max"], 256)
        self.assertEqual(tight["devices"][0]["weights_bytes"], roomy["devices"][0]["weights_bytes"])

    def test_takes_as_many_streams_as_fit_like_the_server(self):
        few = json.loads(self.fit("--json", "--ctx-size", "2048", "--memory", "200", MODEL).stdout)
        self.assertTrue(few["fits"])
        self.assertTrue(0 < few["streams"] < 64, few)
        text = self.fit("--ctx-size", "2048", "--memory", "200", MODEL).stdout
        self.assertIn(f"it fits, and a tenth of what is available is left; all of that has room "
                      f"for {few['streams_max']} streams of 2048 tokens\n", text)
        self.assertGreater(few["streams_max"], few["streams"])

    def test_says_what_is_asked_for_in_vain(self):
        result = self.fit("--gpu-layers", "20", "--ctx-size", "4096", "--kv-tokens", "3000", MODEL)
        self.assertEqual(result.returncode, 0)
        self.assertIn("ctx_size: 4096 tokens of a stream cannot be: kv_tokens has room for 3000",
                      result.stderr)
        self.assertIn("ctx_size: of 3000 tokens the model was trained for 2048", result.stderr)

    def test_says_of_any_room_what_it_takes(self):
        result = self.fit("--json", "--kv-tokens", "1000000000", "--memory", "1000", MODEL)
        self.assertEqual(result.returncode, 1)
        large = json.loads(result.stdout)
        small = json.loads(self.fit("--json", "--kv-tokens", "1000000", MODEL).stdout)
        self.assertAlmostEqual(large["devices"][-1]["streams_bytes"] / 1000
                               / small["devices"][-1]["streams_bytes"], 1, places=3)

    def test_says_why_room_for_too_many_tokens_does_not_fit(self):
        last = self.fit("--kv-tokens", "1000000000", "--memory", "1000",
                        MODEL).stdout.splitlines()[-1]
        self.assertRegex(last, r"it does not fit: room for 1000000000 tokens, weights included, "
                               r"takes [\d.]+ GiB of memory, 1000.0 MiB are available")
        self.assertNotIn(" 0 streams", last)

    def test_counts_what_a_step_computes_and_guesses(self):
        def step(*flags):
            result = self.fit("--json", "--parallel", "4", "--ctx-size", "4096", *flags, MODEL)
            return json.loads(result.stdout)["devices"][-1]["step_bytes"]
        self.assertGreater(step("--speculate-tokens", "255"), step())
        self.assertLess(step("--batch-tokens", "16"), step())
        with_draft = ("--draft-model", MODEL)
        self.assertEqual(step(*with_draft), step(*with_draft, "--speculate-tokens", "31"))
        self.assertGreater(step(*with_draft, "--speculate-tokens", "32"), step(*with_draft))

    def test_refuses_what_it_cannot_lay_out(self):
        for arguments, word in ((["/no/such.gguf"], "/no/such.gguf"),
                                ([MODEL, "--kv-type", "f15"], "f15"),
                                ([MODEL, "--speculate-tokens", "256"], "--speculate-tokens"),
                                ([MODEL, "--batch-tokens", "65537"], "--batch-tokens"),
                                ([MODEL, "--parallel", "257"], "--parallel")):
            self.assert_refused(self.fit(*arguments), word)


class Version(unittest.TestCase):
    def test_names_both_versions(self):
        self.assertRegex(run("version").stdout, r"^seedance \d+\.\d+\.\d+\nllama.cpp \S+")
        self.assertEqual(set(json.loads(run("version", "--json").stdout)),
                         {"seedance", "llama_cpp"})
        self.assertEqual(run("--version").stdout, run("version").stdout)
        self.assertEqual(run("--version").returncode, 0)

    def test_help_ends_well(self):
        for arguments in (["--help"], ["-h"], ["serve", "--help"], ["chat", "--help"],
                          ["init", "--help"], ["bench", "--help"], ["fit", "--help"],
                          ["journal", "--help"], ["journal", "verify", "--help"],
                          ["keys", "--help"], ["keys", "add", "--help"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertIn("seedance", result.stdout)


class Server(Directory):
    """A server on any free port; `arguments` name its engine."""

    def start(self, *arguments, binary=None, before=None):
        """`before` is called in the process that becomes the server."""
        self.server = subprocess.Popen(
            [binary or BINARY, "serve", "--json", "--port", "0", "--data-dir", self.path("data"),
             *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(),
            cwd=self.directory, preexec_fn=before)
        self.addCleanup(self.server.stdout.close)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.end)
        line = self.server.stdout.readline()
        if not line:
            self.fail(f"the server ended: {self.server.stderr.read()}")
        ready = json.loads(line)
        self.assertEqual(ready["event"], "ready")
        self.url = ready["url"]
        return ready

    def stop(self, number=signal.SIGTERM):
        """Ends the server; gives what it wrote to standard error."""
        self.server.send_signal(number)
        self.assertEqual(self.server.wait(PATIENCE_S), 0)
        return self.server.stderr.read()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE_S) as answer:
            return answer.status, answer.read()

    def end(self):
        """Killed, it would leave a server that still writes. Who asks again waits for no stream."""
        for _ in range(5 * PATIENCE_S):
            self.server.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.wait(0.2)
                return
        self.server.kill()
        self.server.wait()

    def kill_server(self):
        """The process behind the supervisor, which starts another one."""
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)

    def chat(self, *arguments, **options):
        return run("chat", "--url", self.url, *arguments, **options)


class Serve(Server):
    def test_says_where_it_is_and_what_took_how_long(self):
        ready = self.start("--engine", "scripted")
        self.assertGreater(len(ready["timeline"]), 0)
        for stage in ready["timeline"]:
            self.assertGreaterEqual(stage["ms"], 0)
        self.assertEqual(self.get("/readyz")[0], 200)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("data")).st_mode), 0o700)

    def test_ends_cleanly_when_told(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            self.start("--engine", "scripted")
            self.assertEqual(self.stop(number), "")

    def test_outlives_whoever_read_its_output(self):
        self.start("--engine", "scripted")
        self.server.stdout.close()
        self.kill_server()
        self.assertEqual(self.get("/healthz")[0], 200)
        while self.get("/health/plugins/ws-inference")[0] != 200:
            pass
        told = self.stop()
        self.assertEqual(told.count("\n"), 1, told)
        self.assertIn("died by signal 9", told)

    def test_is_started_again_although_it_was_told_to_ignore_its_children(self):
        self.start("--engine", "scripted",
                   before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.kill_server()
        self.assertEqual(json.loads(self.server.stdout.readline())["event"], "ready")
        self.assertEqual(self.get("/readyz")[0], 200)
        self.assertIn("died by signal 9", self.stop())

    def on_terminal(self):
        terminal = Terminal(self, [BINARY, "serve", "--engine", "scripted", "--port", "0",
                                   "--data-dir", self.path("data")])
        terminal.expect("ready after")
        return terminal

    def test_ends_with_its_terminal(self):
        terminal = self.on_terminal()
        terminal.close()
        self.assertEqual(terminal.wait(), 0)

    def test_is_stopped_from_its_terminal(self):
        terminal = self.on_terminal()
        terminal.write("\x03")
        self.assertEqual(terminal.wait(), 0)

    def test_starts_where_others_reach_it_only_if_it_asks_who_they_are(self):
        scripted = ("--engine", "scripted", "--host", "0.0.0.0")
        for alone in ((), ("--no-supervisor",)):
            self.assert_refused(self.serve_refused(*scripted, *alone), "keys_file", "--insecure")
        self.start(*scripted, "--insecure")
        warning = self.stop()
        self.assertEqual(warning.count("\n"), 1, warning)
        self.assertIn("--keys-file", warning)
        self.start(*scripted, "--api-key", "sesame")
        self.assertEqual(self.stop(), "")
        keys = self.write("keys", "# Nobody, for now.\n")
        os.chmod(keys, 0o600)
        self.start(*scripted, "--keys-file", keys)
        self.assertEqual(self.stop(), "")

    def test_streams_a_real_model(self):
        ready = self.start("--model", MODEL, "--parallel", "2", "--threads", "1")
        stages = [stage["stage"] for stage in ready["timeline"]]
        self.assertEqual(stages, ["checks", "load", "KV", "warm-up", "first token"])
        result = self.chat("--raw", "a", "--max-tokens", "5", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        events = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(events[0]["type"], "ACCEPTED")
        self.assertEqual(events[-1]["type"], "INFER_DONE")
        self.assertEqual(sum(event.get("n", 0) for event in events), events[-1]["seq"])
        self.assertEqual(self.stop(), "")


class Keys(Server):
    """`seedance keys`, and a server that reads what it writes."""

    def setUp(self):
        super().setUp()
        self.file = self.path("keys")

    def add(self, *arguments):
        result = run("keys", "add", "--file", self.file, *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\Ask-sd-[\w-]{43}\n\Z")
        return result.stdout.strip()

    def status(self, key, path="/v1/models"):
        request = urllib.request.Request(self.url + path,
                                         headers={"Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def reload(self, line):
        """SIGHUP, and what it was answered with."""
        self.server.send_signal(signal.SIGHUP)
        said = self.server.stderr.readline()
        self.assertIn(line, said)

    def test_are_shown_once(self):
        key = self.add("--tenant", "acme")
        self.assertEqual(stat.S_IMODE(os.stat(self.file).st_mode), 0o600)
        with open(self.file, encoding="utf-8") as file:
            self.assertNotIn(key, file.read())
        listed = run("keys", "list", "--file", self.file)
        self.assertIn("acme-1", listed.stdout)
        self.assertNotIn(key, listed.stdout)
        self.assertEqual(listed.stderr, "")
        as_json = run("keys", "list", "--file", self.file, "--json").stdout
        self.assertEqual([(one["name"], one["role"]) for one in json.loads(as_json)["keys"]],
                         [("acme-1", "user")])

    def test_stand_where_the_settings_say(self):
        environment = {"SEEDANCE_KEYS_FILE": self.file}
        self.assertEqual(run("keys", "add", "--tenant", "a", environment=environment).returncode, 0)
        config = self.write("other.yaml", f"keys_file: {self.file}\n")
        self.assertIn("a-1", run("keys", "list", "--config", config).stdout)
        self.assert_refused(run("keys", "list", cwd=self.directory), "--file", "keys_file")

    def test_refuses_what_cannot_be(self):
        missing = ("--file", self.path("none"))
        self.assert_refused(run("keys"), "subcommand")
        self.assert_refused(run("keys", "add", "--file", self.file), "--tenant")
        self.assert_refused(run("keys", "add", "--tenant", "two words", "--file", self.file),
                            "tenant")
        self.assert_refused(run("keys", "add", "--tenant", "a", "--role", "root", *missing), "root")
        self.assert_refused(run("keys", "list", *missing), missing[1])
        self.assert_refused(run("keys", "revoke", "a-1", *missing), missing[1])
        self.assertEqual(os.listdir(self.directory), [])
        self.add("--tenant", "a", "--name", "mine")
        self.assert_refused(run("keys", "add", "--tenant", "b", "--name", "mine", "--file",
                                self.file), "mine")
        self.assert_refused(run("keys", "revoke", "a-1", "--file", self.file), "a-1")
        bad = self.write("bad", "nonsense\n")
        self.assert_refused(run("keys", "list", "--file", bad), f"{bad}:1:")
        self.assert_refused(self.serve_refused("--engine", "scripted", "--keys-file", bad),
                            "keys_file", f"{bad}:1:")

    def test_open_a_server_until_they_are_revoked(self):
        first = self.add("--tenant", "acme")
        admin = self.add("--tenant", "ops", "--role", "admin")
        self.start("--engine", "scripted", "--keys-file", self.file)
        self.assertEqual([self.status(key) for key in (first, admin, "wrong")], [200, 200, 401])
        self.assertEqual([self.status(key, "/metrics") for key in (first, admin)], [403, 200])
        second = self.add("--tenant", "acme")
        self.assertEqual(run("keys", "revoke", "acme-1", "--file", self.file).returncode, 0)
        self.reload("keys: 2 in all")
        self.wait_for(lambda: self.status(first) == 401)
        self.wait_for(lambda: self.status(second) == 200)
        self.write(self.file, "nonsense\n")
        self.reload(f"nothing changed: keys_file: {self.file}:1:")
        self.assertEqual(self.status(second), 200)
        self.stop()

    def wait_for(self, condition):
        """Each edge takes a reload up in its own time: soon."""
        while not condition():
            pass

    def test_of_both_kinds_cannot_be_dropped_from_a_server_that_others_reach(self):
        config = self.write("seedance.yaml", "api_keys: [sesame]\n")
        self.start("--engine", "scripted", "--host", "0.0.0.0", "--config", config)
        self.write("seedance.yaml", "max_connections: 7\n")
        self.reload("nothing changed: host:")
        self.assertEqual(self.status("sesame"), 200)
        self.assertEqual(self.status("other"), 401)
        self.stop()

    def test_that_others_can_read_are_warned_about(self):
        self.add("--tenant", "acme")
        os.chmod(self.file, 0o644)
        self.start("--engine", "scripted", "--keys-file", self.file)
        self.assertIn("chmod 600", self.stop())

    def test_signals_reach_a_server_with_an_audit_log_and_no_supervisor(self):
        self.start("--engine", "scripted", "--no-supervisor", "--audit-log", self.path("audit"))
        self.reload("nothing changed")
        self.assertEqual(self.stop(), "")

    def test_leave_what_they_did_in_the_audit_log(self):
        key = self.add("--tenant", "acme")
        log = self.path("audit.jsonl")
        self.start("--engine", "scripted:rate=0", "--keys-file", self.file, "--audit-log", log)
        self.assertEqual(self.chat("a secret", "--api-key", key).returncode, 0)
        os.rename(log, self.path("audit.1"))
        self.reload("keys: 1 in all")
        self.wait_for(lambda: os.path.exists(log))
        self.stop()
        with open(self.path("audit.1"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("secret", text)
        self.assertNotIn(key, text)
        events = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(one["event"], one["tenant"], one["key"]) for one in events],
                         [("connect", "acme", "acme-1"), ("request", "acme", "acme-1")])
        self.assertEqual(stat.S_IMODE(os.stat(log).st_mode), 0o600)


class DemoModel(Server):
    """What is served when no model is named."""

    def test_is_found_beside_the_binary(self):
        ready = self.start("--parallel", "2", "--threads", "1")
        self.assertEqual(ready["model"], "demo@1")
        models = json.loads(self.get("/v1/models")[1])["data"]
        self.assertEqual([model["id"] for model in models], ["demo@1"])
        result = self.chat("Hello", "--max-tokens", "5", "--json")
        self.assertEqual(json.loads(result.stdout.splitlines()[0])["model"], "demo@1")
        beside = os.path.join(os.path.dirname(BINARY), "demo.gguf")
        self.assertEqual(self.stop(),
                         f"seedance: no --model given: serving the demo model {beside}\n")

    def test_takes_another_name(self):
        ready = self.start("--model-name", "tales", "--parallel", "2", "--threads", "1")
        self.assertEqual(ready["model"], "tales@1")
        self.stop()

    def test_is_found_where_it_was_installed_or_kept(self):
        subprocess.run(["cmake", "--install", os.path.dirname(BINARY), "--prefix",
                        self.path("usr")], check=True, stdout=subprocess.DEVNULL)
        binary = self.path("usr/bin/seedance")
        installed = self.path("usr/share/seedance/models/demo.gguf")
        kept = self.path("data/models/demo.gguf")
        self.start("--parallel", "2", "--threads", "1", binary=binary)
        self.assertIn(installed, self.stop())
        os.mkdir(self.path("data/models"))
        os.rename(installed, kept)
        self.start("--parallel", "2", "--threads", "1", binary=binary)
        self.assertIn(kept, self.stop())
        os.remove(kept)
        refused = subprocess.run(
            [binary, "serve", "--data-dir", self.path("data")], capture_output=True, text=True,
            timeout=PATIENCE_S, env=clean_environment(), cwd=self.directory, check=False)
        self.assert_refused(refused, self.path("usr/bin/demo.gguf"), installed, kept, "--model")


class Chat(Server):
    def test_echoes_argument_and_standard_input(self):
        self.start("--engine", "scripted:mode=echo,rate=0")
        for result in (self.chat("hello there"), self.chat(stdin="hello there\n")):
            self.assertEqual((result.returncode, result.stdout), (0, "hello there\n"))

    def test_says_how_fast_it_was_where_there_is_a_rate(self):
        self.start("--engine", "scripted:rate=50,length=20")
        self.assertRegex(self.chat("hello", "--stats").stderr,
                         r"^\[20 tokens, first after [\d.]+ ms, then [\d.]+ tokens/s, stop\]\n$")
        self.stop()
        self.start("--engine", "scripted:rate=0,length=20", "--enable-streaming", "false")
        self.assertRegex(self.chat("hello", "--stats").stderr,
                         r"^\[20 tokens, first after [\d.]+ ms, stop\]\n$")

    def test_answers_come_whole_where_streaming_is_off(self):
        self.start("--engine", "scripted:mode=echo,rate=0", "--enable-streaming", "false")
        result = self.chat("a few words and some more", "--json")
        types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
        self.assertEqual(types, ["ACCEPTED", "INFER_CHUNK", "INFER_DONE"])

    def test_fails_with_the_servers_words(self):
        self.start("--engine", "scripted:fault=fail@2,rate=0")
        result = self.chat("hello there")
        self.assertEqual(result.returncode, 1)
        self.assertIn("engine_failed", result.stderr)

    def test_refuses_what_cannot_be_asked_for(self):
        self.start("--engine", "scripted:rate=0")
        self.assert_refused(self.chat("hello", "--model", "other"), "model_not_found", "other")
        self.assert_refused(self.chat("hello", "--temperature", "9"), "invalid_request",
                            "temperature")
        self.assert_refused(self.chat("hello", "--max-tokens", "0"), "invalid_request",
                            "max_tokens")

    def test_wants_the_right_key(self):
        self.start("--engine", "scripted:mode=echo,rate=0", "--api-key", "sesame")
        self.assert_refused(self.chat("hello"), "API key", code=1)
        self.assertEqual(self.chat("hello", "--api-key", "sesame").stdout, "hello\n")
        known = self.chat("hello", environment={"SEEDANCE_API_KEYS": "sesame,other"})
        self.assertEqual(known.stdout, "hello\n")

    def test_is_interrupted_in_one_shot(self):
        self.start("--engine", "scripted:rate=50,length=5000")
        with subprocess.Popen([BINARY, "chat", "--url", self.url, "hello"],
                              stdout=subprocess.PIPE) as process:
            process.stdout.read(1)
            process.send_signal(signal.SIGINT)
            process.stdout.read()
            self.assertEqual(process.wait(PATIENCE_S), 130)

    def test_keeps_the_conversation_when_an_answer_is_stopped(self):
        self.start("--engine", "scripted:rate=50,length=5000")
        terminal = Terminal(self, [BINARY, "chat", "--url", self.url, "--stats"])
        terminal.expect("> ")
        terminal.write("one\n")
        terminal.expect("one\r\n")
        terminal.expect(" ")  # A part of the answer.
        terminal.write("\x03")
        terminal.expect("cancelled]")
        terminal.expect("> ")
        terminal.write("two\n")
        terminal.expect("two\r\n")
        terminal.expect(" ")
        terminal.write("\x03")
        terminal.expect("cancelled]")
        terminal.expect("> ")
        terminal.write("/reset\n")
        terminal.expect("> ")
        terminal.write("\x04")
        self.assertEqual(terminal.wait(), 0)


class Bench(Server):
    """The load generator, against a server whose answers have a known length."""

    APIS = ("native", "binary", "chat", "completions")

    def bench(self, *arguments, **options):
        return run("bench", "--url", self.url, *arguments, **options)

    def report(self, *arguments, code=0):
        result = self.bench("--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (code, ""))
        self.assertEqual(result.stdout.count("\n"), 1)
        return json.loads(result.stdout)

    def test_measures_each_api_in_a_closed_loop(self):
        self.start("--engine", "scripted:rate=0,length=1000")
        for api in self.APIS:
            report = self.report("--api", api, "--concurrency", "3", "--requests", "12",
                                 "--warmup", "3", "--max-tokens", "20")
            self.assertEqual(report["requests"], {"sent": 9, "succeeded": 9, "failed": 0}, api)
            self.assertEqual(report["warmup"]["succeeded"], 3)
            self.assertEqual(report["errors"], {})
            self.assertEqual(report["answer_tokens"], 9 * 20)
            self.assertGreater(report["prompt_tokens"], 0)
            self.assertEqual(report["ttft_ms"]["count"], 9)
            self.assertEqual(report["e2e_ms"]["count"], 9)
            self.assertGreater(report["tokens_per_s"], 0)
            self.assertGreaterEqual(report["e2e_ms"]["max"], report["ttft_ms"]["max"])
            if api in ("native", "binary"):
                self.assertEqual(report["queue_ms"]["count"], 9)

    def test_measures_each_api_in_an_open_loop(self):
        self.start("--engine", "scripted:rate=0,length=1000")
        for api in self.APIS:
            report = self.report("--api", api, "--rate", "500", "--requests", "20",
                                 "--max-tokens", "4", "--slo", "ttft=1h,e2e=1h")
            self.assertEqual(report["load"]["loop"], "open")
            self.assertEqual(report["requests"]["succeeded"], 20)
            self.assertEqual(report["send_delay_ms"]["count"], 20)
            self.assertEqual(report["goodput"]["share"], 1)

    def test_streams_share_a_connection(self):
        self.start("--engine", "scripted:rate=0")
        report = self.report("--concurrency", "8", "--connections", "1", "--requests", "16",
                             "--max-tokens", "4")
        self.assertEqual(report["requests"]["succeeded"], 16)

    def test_asks_what_a_file_says(self):
        self.start("--engine", "scripted:mode=echo,rate=0")
        prompts = self.write("prompts.jsonl", 'one two\n{"messages": [{"role": "user", '
                                              '"content": "one two"}]}\n')
        report = self.report("--prompts", prompts, "--requests", "4", "--max-tokens", "0")
        self.assertEqual(report["requests"]["succeeded"], 4)
        one, two = (self.report("--prompts", prompts, "--requests", "1", "--max-tokens", "0",
                                "--api", "chat")["answer_tokens"] for _ in range(2))
        self.assertEqual(one, two)
        refused = self.bench("--prompts", prompts, "--api", "completions")
        self.assert_refused(refused, "--prompts", "line 2")

    def test_prints_a_table_for_people(self):
        self.start("--engine", "scripted:rate=0")
        result = self.bench("--requests", "8", "--max-tokens", "4", "--slo", "ttft=1h")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for words in ("8 succeeded, 0 failed", "TTFT", "end to end", "goodput", "client CPU"):
            self.assertIn(words, result.stdout)

    def test_counts_refusals_by_their_code(self):
        self.start("--engine", "scripted:rate=0", "--api-key", "sesame")
        for api in ("chat", "completions"):
            report = self.report("--api", api, "--requests", "2", code=1)
            self.assertEqual(list(report["errors"].values()), [2])
        result = self.bench("--requests", "2")
        self.assert_refused(result, "401", code=1)
        for api in self.APIS:
            report = self.report("--api", api, "--requests", "2", "--model", "other", "--api-key",
                                 "sesame", code=1)
            self.assertEqual(report["errors"], {"model_not_found": 2})

    def test_refuses_wrong_flags(self):
        self.url = "http://127.0.0.1:1"
        for arguments, word in ((["--api", "soap"], "--api"), (["--slo", "ttft"], "--slo"),
                                (["--rate", "5", "--concurrency", "5"], "--rate"),
                                (["--rate", "0"], "--rate"), (["--duration", "5"], "--duration"),
                                (["--max-tokens", "2147483648"], "--max-tokens"),
                                (["--warmup", "soon"], "--warmup"), (["--extra", "[]"], "--extra"),
                                (["--requests", "4", "--warmup", "4"], "--warmup"),
                                (["--prompt-tokens", "9:1"], "--prompt-tokens"),
                                (["--prompts", self.path("none")], "--prompts"),
                                (["--api", "chat", "--connections", "2"], "--connections"),
                                (["--api", "chat", "--prompt-ids", "1:9"], "--prompt-ids"),
                                (["--url", "ftp://host"], "--url"),
                                (["--url", "host:99999"], "--url")):
            self.assert_refused(self.bench(*arguments), word)

    def test_says_that_nobody_is_there(self):
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        for api in self.APIS:
            self.assert_refused(run("bench", "--api", api, "--url", f"http://127.0.0.1:{port}"),
                                str(port), "refused", code=1)

    def begin(self, *arguments):
        """A run whose first answer has begun."""
        process = subprocess.Popen([BINARY, "bench", "--url", self.url, "--json", *arguments],
                                   stdout=subprocess.PIPE, text=True, env=clean_environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        while not any(stream["tokens"] > 0
                      for stream in json.loads(self.get("/v1/streams")[1])["data"]):
            self.assertIsNone(process.poll())
        return process

    def test_tells_what_there_is_when_it_is_interrupted(self):
        self.start("--engine", "scripted:rate=50,length=5000")
        process = self.begin("--concurrency", "1")
        process.send_signal(signal.SIGINT)
        report = json.loads(process.stdout.read())
        self.assertEqual(process.wait(PATIENCE_S), 130)
        self.assertTrue(report["interrupted"])
        self.assertEqual(report["requests"], {"sent": 1, "succeeded": 0, "failed": 0})

    def test_outlives_the_server(self):
        for api in self.APIS:
            self.start("--engine", "scripted:rate=50,length=5000", "--no-supervisor", "--journal",
                       "none")
            process = self.begin("--api", api, "--concurrency", "1", "--requests", "3")
            self.server.kill()
            report = json.loads(process.stdout.read())
            self.assertEqual(process.wait(PATIENCE_S), 1)
            self.assertEqual(report["errors"], {"connection_lost": 1, "connect_failed": 2})
            self.server.wait()

    def test_shows_on_a_terminal_how_it_goes(self):
        self.start("--engine", "scripted:rate=50,length=5000")
        terminal = Terminal(self, [BINARY, "bench", "--url", self.url, "--concurrency", "2"])
        terminal.expect("1 s: 2 sent, 2 in flight, ")
        terminal.write("\x03")
        terminal.expect("2 were interrupted")
        self.assertEqual(terminal.wait(), 130)


class Tls(Server):
    """Chat and bench against a server with a certificate of an authority of its own."""

    def setUp(self):
        super().setUp()
        self.certificate("root")
        self.certificate("server", "root")
        self.ca = ("--ca-file", self.path("root.pem"))

    def certificate(self, name, issuer=None):
        signed = ["-CA", self.path(f"{issuer}.pem"), "-CAkey", self.path(f"{issuer}.key"),
                  "-addext", "subjectAltName=DNS:localhost",
                  "-addext", "basicConstraints=critical,CA:FALSE"] if issuer else []
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-noenc", "-subj", f"/CN={name}", "-days", "1",
                        *signed, "-keyout", self.path(f"{name}.key"),
                        "-out", self.path(f"{name}.pem")], check=True, capture_output=True)

    def start_tls(self, *arguments):
        self.start("--engine", "scripted:mode=echo,rate=0", "--tls-cert", self.path("server.pem"),
                   "--tls-key", self.path("server.key"), *arguments)
        self.host = self.url.replace("127.0.0.1", "localhost")

    def ask(self, *arguments, url=None):
        return run("chat", "hello", "--url", url or self.host, *arguments)

    def load(self, api, *arguments, url=None):
        return run("bench", "--url", url or self.host, "--api", api, "--requests", "4", "--json",
                   *arguments)

    def test_talk_to_a_server_that_they_trust(self):
        self.start_tls()
        for url in (self.host, self.host.replace("https", "wss")):
            self.assertEqual(self.ask(*self.ca, url=url).stdout, "hello\n")
        self.assertEqual(self.ask(url=self.host).returncode, 1)
        self.assertEqual(run("chat", "hello", "--url", self.host, environment={
            "SSL_CERT_FILE": self.path("root.pem")}).stdout, "hello\n")
        for api in Bench.APIS:
            report = json.loads(self.load(api, *self.ca).stdout)
            self.assertEqual(report["requests"]["succeeded"], 4, report)

    def test_ask_nothing_of_a_server_that_they_do_not_trust(self):
        self.start_tls()
        for call in (self.ask, lambda *flags, **options: self.load("chat", *flags, **options),
                     lambda *flags, **options: self.load("native", *flags, **options)):
            self.assert_refused(call(), "CN=server", "CN=root", "not trusted", code=1)
            self.assert_refused(call(*self.ca, url=self.url), "for localhost", "not for 127.0.0.1",
                                code=1)
            self.assertEqual(call("--no-verify", url=self.url).returncode, 0)

    def test_say_who_speaks_tls_and_who_does_not(self):
        self.start_tls()
        plain = self.host.replace("https", "http")
        self.assert_refused(self.ask(url=plain), "wss://", code=1)
        self.stop()
        self.start("--engine", "scripted:mode=echo,rate=0")
        tls = self.url.replace("http", "https")
        for result in (self.ask(*self.ca, url=tls), self.load("chat", *self.ca, url=tls)):
            self.assert_refused(result, "does not speak TLS", code=1)

    def test_show_a_certificate(self):
        self.certificate("clients")
        self.certificate("phone", "clients")
        self.start_tls("--tls-client-ca", self.path("clients.pem"), "--tls-client-required", "true")
        ours = ("--cert", self.path("phone.pem"), "--key", self.path("phone.key"))
        self.assertEqual(self.ask(*self.ca, *ours).stdout, "hello\n")
        self.assertEqual(self.load("chat", *self.ca, *ours).returncode, 0)
        for result in (self.ask(*self.ca), self.load("native", *self.ca)):
            self.assert_refused(result, "certificate", code=1)

    def test_resume_over_tls(self):
        self.start("--engine", "scripted:rate=200,length=100", "--tls-cert",
                   self.path("server.pem"), "--tls-key", self.path("server.key"))
        url = self.url.replace("127.0.0.1", "localhost")
        with subprocess.Popen([BINARY, "chat", "--json", "--url", url, *self.ca, "hello"],
                              stdout=subprocess.PIPE, text=True) as process:
            lines = [json.loads(process.stdout.readline()) for _ in range(5)]
            self.kill_server()
            lines += [json.loads(line) for line in process.stdout]
        self.assertEqual(process.returncode, 0)
        self.assertEqual(sum(line.get("n", 0) for line in lines), 100)
        self.assertIn("RESUMED", [line["type"] for line in lines])


class Journal(Server):
    """What `seedance journal` says of the journal of a server that served one answer."""

    def setUp(self):
        super().setUp()
        self.start("--engine", "scripted:mode=echo,rate=0")
        self.journal = self.path("data/journal/0")  # Named by the port that was asked for.
        accepted = self.chat("a secret", "--json").stdout.splitlines()[0]
        self.stream = json.loads(accepted)["stream"]

    def segment(self):
        return os.path.join(self.journal, min(
            name for name in os.listdir(self.journal) if name.endswith(".journal")))

    def inspect(self, *arguments):
        result = run("journal", "inspect", self.journal, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def test_lists_the_streams_and_who_has_it(self):
        in_use = json.loads(self.inspect("--json"))
        self.assertGreater(in_use["in_use_by"], 0)
        self.stop()
        after = json.loads(self.inspect("--json"))
        self.assertIsNone(after["in_use_by"])
        self.assertTrue(after["ended_in_order"])
        self.assertEqual([(stream["stream"], stream["state"]) for stream in after["streams"]],
                         [(self.stream, "done")])
        self.assertIn(self.stream, self.inspect())

    def test_shows_text_only_where_it_is_asked_for(self):
        self.assertNotIn("secret", self.inspect("--stream", self.stream))
        self.assertNotIn("secret", self.inspect("--json"))
        self.assertIn("a secret", self.inspect("--stream", self.stream, "--text"))
        self.assertEqual(json.loads(self.inspect("--json", "--text"))["streams"][0]["text"],
                         "a secret")

    def test_refuses_what_is_not_there(self):
        missing = self.path("nowhere")
        for verb in ("inspect", "verify"):
            self.assert_refused(run("journal", verb, missing), missing)
        self.assert_refused(run("journal", "inspect", self.journal, "--stream", "st_x"), "st_x")
        other = "st_" + "0" * 26
        self.assert_refused(run("journal", "inspect", self.journal, "--stream", other), other,
                            code=1)
        self.assert_refused(run("journal"), "subcommand")

    def test_tells_a_damaged_segment_from_a_torn_one(self):
        self.stop()
        sound = run("journal", "verify", self.journal)
        self.assertEqual(sound.returncode, 0, sound.stdout)
        self.assertIn("sound", sound.stdout)
        with open(self.segment(), "rb") as file:
            whole = file.read()
        middle = len(whole) // 2
        self.write(self.segment(), whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
        damaged = run("journal", "verify", self.journal)
        self.assertEqual(damaged.returncode, 1)
        self.assertIn("damaged at byte", damaged.stdout)
        self.assert_refused(run("journal", "inspect", self.journal), "damaged", "verify", code=1)
        refused = self.serve_refused("--engine", "scripted")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("journal", refused.stderr)
        self.write(self.segment(), whole[:-3])
        torn = run("journal", "verify", self.journal)
        self.assertEqual(torn.returncode, 0, torn.stdout)
        self.assertIn("cuts off", torn.stdout)


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, case, command):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, clean_environment())
        case.addCleanup(self.close)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def write(self, text):
        os.write(self.fd, text.encode())

    def expect(self, text):
        while text not in self.seen:
            try:
                self.seen += os.read(self.fd, 4096).decode(errors="replace")
            except OSError as error:
                raise AssertionError(f"{text!r} did not come after {self.seen!r}") from error
        self.seen = self.seen.split(text, 1)[1]

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


if __name__ == "__main__":
    BINARY, MODEL = map(os.path.abspath, sys.argv[1:3])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
