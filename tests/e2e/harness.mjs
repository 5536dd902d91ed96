// Starts real servers and talks to them; used by every end-to-end test.
//
// SEEDANCE_BUILD is the build directory. SEEDANCE_TEST_MODELS, GGUF files separated by colons,
// are tested beside the demo model.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import WebSocket from 'ws';

const build = process.env.SEEDANCE_BUILD ?? join(import.meta.dirname, '../../build/release');
export const binary = join(build, 'seedance');
const others = (process.env.SEEDANCE_TEST_MODELS ?? '').split(':').filter((path) => path !== '');

// The real models to test.
export const models = [join(import.meta.dirname, '../../models/demo/demo.gguf'), ...others];

// For each of [prompt tokens, output tokens]: how far below the best logit the
// worst choice is, when `model`, with an adapter if one is given, computes the sequence alone.
export function regrets(model, pairs, ...adapter) {
  const input = pairs.map((pair) => pair.map((tokens) => tokens.join(' ')).join(';')).join('\n');
  const child = spawnSync(join(build, 'tests/regret'), [model, ...adapter], { input: `${input}\n` });
  if (child.status !== 0) throw new Error(`regret ended with ${child.status}: ${child.stderr}`);
  return child.stdout.toString().trim().split('\n').map(Number);
}

// The lines that a stream has brought, and those to come.
class Lines {
  constructor(stream) {
    this.all = [];
    this.waiting = [];
    const reader = createInterface({ input: stream });
    reader.on('line', (line) => {
      this.all.push(line);
      this.#check();
    });
    this.ended = new Promise((resolve) => reader.on('close', () => {
      this.over = true;
      this.#check();
      resolve();
    }));
  }

  // Resolves with all lines that match, when they are `count`.
  until(pattern, count = 1) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ pattern, count, resolve, reject });
      this.#check();
    });
  }

  #check() {
    this.waiting = this.waiting.filter(({ pattern, count, resolve, reject }) => {
      const found = this.all.filter((line) => pattern.test(line));
      if (found.length >= count) resolve(found);
      else if (this.over) reject(new Error(`no ${pattern} in:\n${this.all.join('\n')}`));
      return found.length < count && !this.over;
    });
  }
}

// A running server. `stop()` ends it and gives its exit code.
export class Server {
  static start(...flags) {
    return Server.launch({ flags });
  }

  // `command` stands in front of `serve`; `stdio` is added to the three usual ones. `port` is
  // null where the settings file names one.
  static async launch({ command = [binary], flags = [], stdio = [], cwd = undefined, port = 0 } = {}) {
    const server = new Server();
    server.home = mkdtempSync(join(tmpdir(), 'seedance-e2e-'));
    const address = port === null ? [] : ['--port', port];
    const home = flags.includes('--data-dir') ? [] : ['--data-dir', server.home];
    const args = ['serve', ...address, ...home, '--json', ...flags];
    server.process = spawn(command[0], [...command.slice(1), ...args],
      { stdio: ['ignore', 'pipe', 'pipe', ...stdio], cwd });
    server.out = new Lines(server.process.stdout);
    server.err = new Lines(server.process.stderr);
    server.exited = new Promise((resolve) =>
      server.process.on('exit', (code, signal) => resolve(code ?? signal)));
    try {
      const [ready] = await server.starts(1);
      server.url = ready.url;
    } catch (error) {
      const code = await server.exited;
      await server.err.ended;
      const ended = new Error(`server ended with ${code}: ${server.stderr}`, { cause: error });
      throw Object.assign(ended, { code, stderr: server.stderr });
    }
    return server;
  }

  // What a server said when it was ready, for each of `count` starts.
  async starts(count) {
    return (await this.out.until(/"event":"ready"/, count)).map((line) => JSON.parse(line));
  }

  get stderr() {
    return this.err.all.map((line) => `${line}\n`).join('');
  }

  static scripted(script, ...flags) {
    return Server.start('--engine', script ? `scripted:${script}` : 'scripted', ...flags);
  }

  // One thread: barriers between threads crawl on a machine that is busy otherwise.
  static demo(...flags) {
    return Server.start('--threads', '1', ...flags);
  }

  static real(model, ...flags) {
    return Server.start('--threads', '1', '--model', model, ...flags);
  }

  async stop(signal = 'SIGTERM') {
    this.process.kill(signal);
    const code = await this.exited;
    rmSync(this.home, { recursive: true, force: true });
    return code;
  }

  get(path, options) {
    return fetch(this.url + path, options);
  }

  post(path, body, headers = {}) {
    return fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  connect(options) {
    return Client.connect(this.url, options);
  }

  // Resolves when the server says that it is ready, asking as fast as it answers.
  async ready() {
    while ((await this.get('/readyz')).status !== 200) await new Promise(setImmediate);
  }

  // The process that serves: the supervisor's child.
  get pid() {
    return childrenOf(this.process.pid, 'serve')[0];
  }

  // The pids of the server's children whose command line holds `word`.
  children(word) {
    return childrenOf(this.pid, word);
  }
}

// Nothing when the process ended meanwhile.
function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

function childrenOf(parent, word) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
  return pids.filter((pid) =>
    Number(/^PPid:\s*(\d+)/m.exec(read(pid, 'status') ?? '')?.[1]) === parent &&
    (read(pid, 'cmdline') ?? '').split('\0').includes(word));
}

// One native WebSocket connection; keeps every message by the stream's client id.
export class Client {
  static async connect(url, { protocol = 'seedance.v2+json', headers = {} } = {}) {
    const client = new Client();
    client.messages = [];
    client.waiting = [];
    client.socket = new WebSocket(`${url.replace('http', 'ws')}/ws/inference`, protocol, { headers });
    client.socket.on('message', (bytes, isBinary) => {
      client.messages.push(isBinary ? parseFrame(bytes) : JSON.parse(bytes.toString()));
      client.#check();
    });
    client.closed = new Promise((resolve) => client.socket.on('close', (code, reason) => {
      client.gone = true;
      client.#check();
      resolve({ code, reason: reason.toString() });
    }));
    await new Promise((resolve, reject) => {
      client.socket.on('open', resolve);
      client.socket.on('error', reject);
      client.socket.on('unexpected-response', (_, response) =>
        reject(Object.assign(new Error(`HTTP ${response.statusCode}`), { status: response.statusCode })));
    });
    return client;
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  // The first message, past or future, for which `wanted` holds.
  async until(wanted) {
    const found = this.messages.find(wanted);
    if (found) return found;
    return new Promise((resolve, reject) => {
      this.waiting.push({ wanted, resolve, reject });
      this.#check();
    });
  }

  // Asks and reads to the end: { accepted, chunks, done, text }, or { error }.
  async infer(request) {
    this.send({ type: 'INFER_REQ', ...request });
    return this.finish(request.id);
  }

  async finish(id) {
    const end = await this.until((m) => m.id === id && ['INFER_DONE', 'ERROR'].includes(m.type));
    const mine = this.messages.filter((m) => m.id === id);
    const chunks = mine.filter((m) => m.type === 'INFER_CHUNK');
    return {
      accepted: mine.find((m) => m.type === 'ACCEPTED'),
      chunks,
      text: chunks.map((chunk) => chunk.text).join(''),
      done: end.type === 'INFER_DONE' ? end : undefined,
      error: end.type === 'ERROR' ? end : undefined,
    };
  }

  close() {
    this.socket.close(1000);
    return this.closed;
  }

  #check() {
    this.waiting = this.waiting.filter(({ wanted, resolve, reject }) => {
      const found = this.messages.find(wanted);
      if (found) resolve(found);
      else if (this.gone) reject(new Error('the connection closed first'));
      return !found && !this.gone;
    });
  }
}

// A binary chunk (docs/formats/protocol.md) as an object.
function parseFrame(bytes) {
  if (bytes.readUInt16BE(0) !== 0x464d || bytes[2] !== 2) throw new Error('not an FM frame');
  const flags = bytes[3];
  const payload = bytes.subarray(16, 16 + bytes.readUInt32BE(12));
  const n = payload.readUInt16BE(0);
  let at = 2;
  const tokens = [];
  if (flags & 8) for (let i = 0; i < n; i++, at += 4) tokens.push(payload.readInt32BE(at));
  if (flags & 16) at += 4 * n;
  return {
    type: 'INFER_CHUNK', channel: bytes.readUInt32BE(4), seq: bytes.readUInt32BE(8), n, flags, tokens,
    text: new TextDecoder('utf-8', { fatal: true }).decode(payload.subarray(at)),
  };
}
