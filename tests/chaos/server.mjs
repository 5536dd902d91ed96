// The server under test as processes: starts it, kills it and its worker, and sees what becomes
// of them.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Assembly } from './ledger.mjs';
import { readEvents } from './sse.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const saidMax = 64 << 10;  // Bytes kept of what the server says on standard error.

// What readLog() gives when the server died meanwhile or is not there.
const unreadable = undefined;

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// False when it ended before.
function kill(pid) {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
    return false;
  }
}

// [{ pid, parent, words }] of every process that can be seen.
function processes() {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      if (/^State:\s*Z/m.test(status)) return [];
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return [{ pid: Number(pid), parent: Number(/^PPid:\s*(\d+)/m.exec(status)[1]), words }];
    } catch {
      return [];  // It ended while we looked.
    }
  });
}

export class Server {
  static async start(binary, ...flags) {
    const server = new Server();
    server.binary = binary;
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}`;
    server.home = mkdtempSync(join(tmpdir(), 'seedance-chaos-'));
    server.args = ['serve', '--port', String(server.port), '--data-dir', server.home, ...flags];
    server.said = '';
    server.childDeaths = 0;  // Of workers and engines, as the server tells them.
    server.surprises = 0;    // Ends of the server that nobody here caused.
    server.#spawn();
    await server.ready();
    return server;
  }

  #spawn() {
    this.process = spawn(this.binary, this.args, { stdio: ['ignore', 'ignore', 'pipe'] });
    createInterface({ input: this.process.stderr }).on('line', (line) => {
      if (line.endsWith('; it is started again')) this.childDeaths++;
      this.said = `${this.said}${line}\n`.slice(-saidMax);
    });
    this.gone = undefined;
    this.exited = new Promise((resolve) => this.process.on('exit', (code, signal) => {
      this.gone = `${code ?? signal}`;
      resolve(code ?? signal);
    }));
  }

  #mustRun() {
    if (this.gone) throw new Error(`the server is gone (${this.gone}): ${this.said}`);
  }

  // The process that serves: below the supervisor, beside orphans that end.
  #serving(all = processes()) {
    return all.find(({ parent, words }) =>
      parent === this.process.pid && words.includes('--supervised'))?.pid;
  }

  #worker(all = processes()) {
    const serving = this.#serving(all);
    return all.find(({ parent, words }) => parent === serving && words.includes('worker'))?.pid;
  }

  async #served(other) {
    for (;;) {
      const serving = this.#serving();
      if (serving !== undefined && serving !== other) return serving;
      this.#mustRun();
      await pause(5);
    }
  }

  async ready() {
    for (;;) {
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.status === 200) break;
      this.#mustRun();
      await pause(5);
    }
    this.server = this.#serving();
  }

  // Notices a server that is another than the one that we knew.
  look() {
    const serving = this.#serving();
    if (serving === this.server) return;
    if (this.server !== undefined) this.surprises++;
    this.server = serving;
  }

  // SIGKILL for the serving process, which the supervisor replaces.
  async killServer() {
    this.look();
    const victim = await this.#served();
    kill(victim);
    this.server = await this.#served(victim);
  }

  // SIGKILL for the worker, as soon as there is one.
  async killWorker() {
    for (;;) {
      const victim = this.#worker();
      if (victim !== undefined && kill(victim)) return;
      this.look();
      await pause(5);
    }
  }

  // The unfinished and the recent streams, by id; waits for a server that answers.
  async streams() {
    for (;;) {
      try {
        const answer = await fetch(`${this.url}/v1/streams`);
        if (answer.status === 200) {
          const { data } = await answer.json();
          return new Map(data.map((stream) => [stream.stream, stream]));
        }
      } catch {
        // It is not there yet.
      }
      this.#mustRun();
      await pause(5);
    }
  }

  // The finished log of a stream, as another reader is served it.
  async readLog(stream) {
    const log = new Assembly();
    let status;
    try {
      const path = `${this.url}/v1/streams/${stream}?as=native&with=tokens`;
      ({ status } = await readEvents(path, {}, ({ data }) => {
        if (data === '') return;
        const message = JSON.parse(data);
        if (message.type === 'INFER_CHUNK') log.take(message);
        if (message.type === 'INFER_DONE') log.end(message);
      }));
    } catch {
      return unreadable;
    }
    if (status !== 200 && status !== 503) log.fault(`HTTP ${status}`);
    return log.done || log.faults.length > 0 ? log : unreadable;
  }

  // The sum of a counter's series; nothing where the server does not have it.
  async counter(name) {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const series = text.split('\n').filter((line) => line.split(/[ {]/)[0] === name);
    if (series.length === 0) return undefined;
    return series.reduce((sum, line) => sum + Number(line.split(' ').pop()), 0);
  }

  async stop() {
    this.look();
    this.process.kill('SIGTERM');
    const code = await this.exited;
    rmSync(this.home, { recursive: true, force: true });
    return code;
  }
}
