"""Starts and stops the processes that are measured, and runs the load against them."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
READY_SECONDS_MAX = 120


class Binaries:
    """Where the programs are; flags of run.py override."""

    DEFAULTS = {
        "seedance": "build/release/seedance",
        "journal": "build/release/bench/seedance_bench_journal",
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
            print(f"$ {' '.join(command)}\n{log.read().decode(errors='replace')}")
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
def seedance(binaries, model, args, flags=(), tls=False):
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="seedance-bench-") as data:
        command = [binaries.seedance, "serve", "--model", model, "--port", str(port),
                   "--no-supervisor", "--data-dir", data, "--threads", str(args.threads),
                   "--parallel", str(args.parallel), "--ctx-size", str(args.context), *flags,
                   *(certificate(data) if tls else ())]
        with running(command, port, "/readyz", "https" if tls else "http") as server:
            yield server


@contextlib.contextmanager
def llama_server(binaries, model, args, flags=("--no-kv-unified",)):
    """The peer at its best: no page, no request log, no host cache of finished prompts."""
    port = free_port()
    command = [binaries.llama_server, "-m", model, "--host", "127.0.0.1", "--port", str(port),
               "-t", str(args.threads), "-np", str(args.parallel),
               "-c", str(args.parallel * args.context),
               "--no-ui", "--cache-ram", "0", "--log-disable", *flags]
    with running(command, port, "/health") as server:
        yield server


def load(binaries, server, api, streams, requests, extra=None, prompt_tokens=32):
    """A closed loop of distinct prompts, greedy, all answers of one length. The first round warms
    up. HTTP connections carry one request each: llama-server has a thread for every open one."""
    command = [binaries.seedance, "bench", "--json", "--quiet", "--url", server.url, "--api", api,
               "--model", server.model(), "--concurrency", str(streams),
               "--requests", str(requests), "--warmup", str(streams), "--prompt-tokens",
               str(prompt_tokens), "--prompt-ids", "300:4095", "--max-tokens", "64", "--extra",
               json.dumps({"temperature": 0, "ignore_eos": True, **(extra or {})})]
    if api == "completions":
        command.append("--no-keep-alive")
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if result["errors"]:
        print(f"  errors: {result['error_messages']}")
    return result


def batched_bench(binaries, model, args, streams):
    """Output tokens/s of llama.cpp with no server around it: for each number of streams a list."""
    command = [binaries.batched_bench, "-m", model, "-t", str(args.threads), "-npp", "32",
               "-ntg", "64", "-npl", ",".join(str(n) for n in streams for _ in range(3)),
               "-c", str(max(streams) * args.context), "--no-kv-unified",
               "--output-format", "jsonl"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {n: [n * row["tg"] / row["t"] for row in rows if row["pl"] == n] for n in streams}


def journal(binaries, *words):
    """What seedance_bench_journal prints."""
    command = [binaries.journal, *(str(word) for word in words)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def start_ms(binaries, port, data):
    """How long a server on the scripted engine takes until it serves, with what is in `data`."""
    command = [binaries.seedance, "serve", "--engine", "scripted", "--port", str(port),
               "--no-supervisor", "--data-dir", str(data)]
    began = time.monotonic()
    with running(command, port, "/readyz"):
        return (time.monotonic() - began) * 1e3
