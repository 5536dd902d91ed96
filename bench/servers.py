"""Starts and stops the processes that are measured, and puts load on them."""

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import typing
import urllib.error
import urllib.request

import machine
from common import ROOT, say

READY_SECONDS_MAX = 120
# Token ids that every model has, and that are text in all of them.
IDS = (300, 3000)
GREEDY = {"temperature": 0, "ignore_eos": True}
KV_OF_EACH = ("--no-kv-unified",)


class Binaries:
    """Where the programs are; flags override."""

    DEFAULTS = {
        "seedance": "build/release/seedance",
        "journal_bench": "build/release/bench/seedance_bench_journal",
        "llama_server": ".deps/llama-build-bench/bin/llama-server",
        "batched_bench": ".deps/llama-build-bench/bin/llama-batched-bench",
    }

    def __init__(self, args):
        for name, path in self.DEFAULTS.items():
            setattr(self, name, str(getattr(args, name) or ROOT / path))

    @classmethod
    def add_flags(cls, parser):
        for name, path in cls.DEFAULTS.items():
            flag = "--" + name.replace("_", "-")
            parser.add_argument(flag, metavar="PATH", help=f"default {path}")


class Shape(typing.NamedTuple):
    """How large a server is. Flags with the same names do as well."""

    threads: int
    parallel: int  # Streams that it batches at most.
    context: int  # Tokens for each of them.


def add_flags(parser):
    """For what starts servers."""
    parser.add_argument("--parallel", type=int, default=64,
                        help="streams that a server may batch (%(default)s)")
    Binaries.add_flags(parser)


class Server:
    """A running server: its base URL, process id and the name of its model."""

    def __init__(self, port, process, scheme):
        self.port, self.process, self.pid = port, process, process.pid
        self.url = f"{scheme}://127.0.0.1:{port}"

    def get(self, path):
        any_server = ssl._create_unverified_context() if self.url.startswith("https:") else None
        with urllib.request.urlopen(self.url + path, timeout=5, context=any_server) as reply:
            return reply.read()

    def model(self):
        return json.loads(self.get("/v1/models"))["data"][0]["id"]

    def wait_ready(self, path):
        deadline = time.monotonic() + READY_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with code {self.process.returncode}")
            with contextlib.suppress(OSError, urllib.error.URLError):
                self.get(path)
                return
            time.sleep(0.05)
        raise RuntimeError(f"{self.url}{path} did not become ready")


def output(command):
    """All that it prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True).stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command, port, ready_path, scheme="http"):
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            server = Server(port, process, scheme)
            server.wait_ready(ready_path)
            yield server
        except Exception:
            log.seek(max(0, os.fstat(log.fileno()).st_size - 2000))
            say(f"$ {' '.join(command)}\n{log.read().decode(errors='replace')}")
            raise
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def certificate(directory):
    """The flags for a server with a certificate that it signed itself."""
    paths = [os.path.join(directory, name) for name in ("server.pem", "server.key")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-noenc", "-days", "1", "-subj", "/CN=localhost",
                    "-out", paths[0], "-keyout", paths[1]], check=True, capture_output=True)
    return ("--tls-cert", paths[0], "--tls-key", paths[1])


@contextlib.contextmanager
def seedance(binaries, model, shape, flags=(), tls=False):
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="seedance-bench-") as data:
        command = [binaries.seedance, "serve", "--model", model, "--port", str(port),
                   "--no-supervisor", "--data-dir", data, "--threads", str(shape.threads),
                   "--parallel", str(shape.parallel), "--ctx-size", str(shape.context), *flags,
                   *(certificate(data) if tls else ())]
        with running(command, port, "/readyz", "https" if tls else "http") as server:
            yield server


@contextlib.contextmanager
def llama_server(binaries, model, shape, flags=KV_OF_EACH):
    """The peer: no page, no request log, no host cache of finished prompts."""
    port = free_port()
    command = [binaries.llama_server, "-m", model, "--host", "127.0.0.1", "--port", str(port),
               "-t", str(shape.threads), "-np", str(shape.parallel),
               "-c", str(shape.parallel * shape.context),
               "--no-ui", "--cache-ram", "0", "--log-disable", *flags]
    with running(command, port, "/health") as server:
        yield server


def worker_of(server):
    for child in machine.children(server.pid):
        with open(f"/proc/{child}/cmdline", "rb") as line:
            if b"worker" in line.read().split(b"\0"):
                return child
    raise RuntimeError("the server has no worker")


def metric(server, name):
    """The sum of all samples whose name begins so."""
    lines = server.get("/metrics").decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def bench_command(binaries, server, api, extra, flags):
    """Distinct prompts, answers of one length, greedy unless `extra` says otherwise. Over HTTP each
    request has a connection of its own: llama-server has a thread for every open one."""
    command = [binaries.seedance, "bench", "--json", "--quiet", "--url", server.url, "--api", api,
               "--model", server.model(), "--prompt-ids", f"{IDS[0]}:{IDS[1]}", "--extra",
               json.dumps({**GREEDY, **extra}), *(str(flag) for flag in flags)]
    return command + ["--no-keep-alive"] * (api == "completions")


def bench_result(text):
    result = json.loads(text)
    if result["errors"]:
        raise RuntimeError(f"requests failed: {result['error_messages']}")
    return result


def bench(binaries, server, api, extra, *flags):
    command = bench_command(binaries, server, api, extra, flags)
    return bench_result(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def ask(server, prompt, tokens, extra):
    """A greedy answer over SSE, asked for when its first line is wanted: the lines with data."""
    body = {"model": server.model(), "prompt": prompt, "max_tokens": tokens, "stream": True,
            **GREEDY, **extra}
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})

    def lines():
        with urllib.request.urlopen(request) as reply:
            yield from (line for line in reply if line.startswith(b"data: {"))
    return lines()


def first_token(server, prompt, extra):
    """When one short answer was asked for, and when its first token came (s)."""
    lines = ask(server, prompt, 8, extra)
    began = time.monotonic()
    first = next(lines)
    came = time.monotonic()
    if b'"error"' in first:
        raise RuntimeError(first.decode())
    for _ in lines:
        pass
    return began, came


def first_token_ms(server, prompt, extra):
    began, came = first_token(server, prompt, extra)
    return 1000 * (came - began)


def batched_bench(binaries, model, threads, streams, prompt_tokens, tokens, flags=KV_OF_EACH):
    """What llama.cpp does with no server around it: an object for each number of streams."""
    command = [binaries.batched_bench, "-m", model, "-t", str(threads),
               "-npp", str(prompt_tokens), "-ntg", str(tokens), "-npl", ",".join(map(str, streams)),
               "-c", str(max(streams) * (prompt_tokens + tokens)), "--output-format", "jsonl",
               *flags]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def journal(binaries, *words):
    """What seedance_bench_journal prints."""
    command = [binaries.journal_bench, *(str(word) for word in words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def start_ms(binaries, port, data):
    """How long a server on the scripted engine takes until it serves, with what is in `data`."""
    command = [binaries.seedance, "serve", "--engine", "scripted", "--port", str(port),
               "--no-supervisor", "--data-dir", str(data)]
    began = time.monotonic()
    with running(command, port, "/readyz"):
        return (time.monotonic() - began) * 1e3
