#!/usr/bin/env node
// How long a killed worker and a lost connection keep a client waiting, against what they must
// cost.
//
//   recovery.mjs [--model GGUF] [--streams N,N,...] [--repeat N] [--threads N] [--build DIR]
//
// worker: SIGKILL in the middle of N streams; the time to each stream's next token, against the
// time that a worker of its own takes to load the model and that the same server takes to read
// the same prompts and tokens as new requests. client: a connection cut in mid-answer; the time
// from sending RESUME to the first missing token, against a PING on the same connection, on
// loopback and through a proxy that delays 150 ms each way. Prints one JSON line; exit code 1 where
// the worker's overhead is over 100 ms or the client's over 8 ms at the median.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import net from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { percentile } from '../tests/chaos/ledger.mjs';
import { Random } from '../tests/chaos/random.mjs';
import { Server } from '../tests/chaos/server.mjs';

const require = createRequire(new URL('../tests/e2e/package.json', import.meta.url));
const WebSocket = require('ws');
const root = join(import.meta.dirname, '..');

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: join(root, 'models/demo/demo.gguf') },
    streams: { type: 'string', default: '1,8,32' },
    repeat: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    build: { type: 'string', default: join(root, 'build/release') },
  },
});

const binary = join(options.build, 'seedance');
const repeat = Number(options.repeat);
const promptTokens = 128;
const killAt = 64;  // Tokens of the stream that is behind all others.
const serveFlags = ['--model', options.model, '--threads', options.threads, '--parallel', '64',
  '--ctx-size', '512'];
const workerOverheadMsMax = 100;
const clientOverheadMsMax = 8;

const readyKind = 4;  // Of a worker's messages: u32 size of the body, little-endian; u8 kind; ...

// From spawning a worker to its message that it is ready.
async function loadMs() {
  const began = performance.now();
  const worker = spawn(binary, ['worker', '--fd', '3', ...serveFlags],
    { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  let bytes = Buffer.alloc(0);
  for (let kind; kind !== readyKind;) {
    while (bytes.length < 5) {
      bytes = Buffer.concat([bytes, (await once(worker.stdio[3], 'data'))[0]]);
    }
    kind = bytes[4];
    bytes = bytes.subarray(4 + bytes.readUInt32LE(0));
  }
  const ms = performance.now() - began;
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  return ms;
}

// A connection and, by the client's name for it, what came of each stream.
class Client {
  static async open(url) {
    const client = new Client();
    client.streams = new Map();
    client.arrivals = new Map();  // Name: [[when, next]] of its chunks.
    client.socket = new WebSocket(`${url.replace('http', 'ws')}/ws/inference`, 'seedance.v2+json',
      { perMessageDeflate: false });
    client.socket._socket?.setNoDelay(true);
    client.waiting = [];
    client.socket.on('message', (bytes) => {
      client.#take(performance.now(), JSON.parse(bytes.toString()));
    });
    client.socket.on('error', () => {});
    await once(client.socket, 'open');
    return client;
  }

  #take(now, message) {
    const { id, type } = message;
    if (type === 'ERROR') throw new Error(JSON.stringify(message));
    if (type === 'PONG') this.ponged = now;
    if (type === 'ACCEPTED') this.streams.set(id, message);
    if (type === 'INFER_CHUNK') {
      if (!this.arrivals.has(id)) this.arrivals.set(id, []);
      this.arrivals.get(id).push([now, message.seq + message.n, message]);
    }
    this.waiting = this.waiting.filter(({ holds, resolve }) => !holds() || resolve());
  }

  until(holds) {
    return new Promise((resolve) => {
      if (holds()) return resolve();
      this.waiting.push({ holds, resolve });
    });
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
    return performance.now();
  }

  infer(id, prompt, max_tokens) {
    return this.send({ type: 'INFER_REQ', id, prompt, max_tokens, temperature: 0, ignore_eos: true,
      with: ['tokens'] });
  }

  next(id) {
    return this.arrivals.get(id)?.at(-1)[1] ?? 0;
  }

  tokens(id) {
    return this.arrivals.get(id).flatMap(([, , { tokens }]) => tokens);
  }

  async ping() {
    this.ponged = undefined;
    const sent = this.send({ type: 'PING', ts: 1 });
    await this.until(() => this.ponged !== undefined);
    return this.ponged - sent;
  }

  async end() {
    for (const id of this.streams.keys()) this.send({ type: 'CANCEL', id });
    this.socket.close();
    await once(this.socket, 'close');
  }
}

const random = new Random(1, 'recovery');
const prompt = () => Array.from({ length: promptTokens }, () => random.between(262, 500));

// Kills the worker in the middle of `count` streams.
async function workerKill(server, count) {
  const client = await Client.open(server.url);
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  const prompts = names.map(prompt);
  names.forEach((name, i) => client.infer(name, prompts[i], 350));
  await client.until(() => names.every((name) => client.next(name) >= killAt));
  await server.killWorker();
  const killed = performance.now();
  // What the server had already is no recovery: that follows a pause, which is the longest.
  const heads = new Map(names.map((name) => [name, client.next(name)]));
  await client.until(() => names.every((name) => client.next(name) >= heads.get(name) + 16));
  const waits = names.map((name) => {
    const times = [killed, ...client.arrivals.get(name).map(([when]) => when)
      .filter((when) => when > killed)];
    const gaps = times.slice(1).map((when, i) => when - times[i]);
    return times[gaps.indexOf(Math.max(...gaps)) + 1] - killed;
  });
  const known = names.map((name, i) => [...prompts[i], ...client.tokens(name).slice(0, heads.get(name))]);
  await client.end();

  const fresh = await Client.open(server.url);
  const asked = performance.now();
  known.forEach((tokens, i) => fresh.infer(`f${i}`, tokens, 16));
  await fresh.until(() => known.every((_, i) => fresh.next(`f${i}`) > 0));
  const prefill = Math.max(...known.map((_, i) => fresh.arrivals.get(`f${i}`)[0][0])) - asked;
  await fresh.end();
  return { wait: Math.max(...waits), prefill, load: await loadMs() };
}

// Delays what goes through it, either way.
async function delay(port, ms) {
  const pass = (from, to) => {
    from.on('data', (bytes) => setTimeout(() => to.writable && to.write(bytes), ms));
    from.on('close', () => setTimeout(() => to.destroy(), ms));
    from.on('error', () => {});
  };
  const proxy = net.createServer({ noDelay: true }, (near) => {
    const far = net.connect({ port, noDelay: true });
    pass(near, far);
    pass(far, near);
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return proxy;
}

// Cuts a connection in mid-answer and comes back on another.
async function clientCut(url) {
  const first = await Client.open(url);
  first.infer('a', prompt(), 350);
  await first.until(() => first.next('a') >= killAt);
  const { stream, epoch } = first.streams.get('a');
  const seq = first.next('a');
  first.socket.terminate();
  const second = await Client.open(url);
  const rtt = await second.ping();
  const sent = second.send({ type: 'RESUME', id: 'a', stream, seq, epoch });
  await second.until(() => second.next('a') > seq);
  const [came, , message] = second.arrivals.get('a')[0];
  if (message.seq !== seq) throw new Error(`resumed at ${message.seq}, not ${seq}`);
  second.send({ type: 'CANCEL', stream });
  second.socket.close();
  await once(second.socket, 'close');
  return { wait: came - sent, rtt };
}

const median = (rows, get) => percentile(rows.map(get), 0.5);
const server = await Server.start(binary, ...serveFlags, '--max-streams-per-connection', '64');
const report = { model: options.model.split('/').pop(), worker: {}, client: {} };
let good = true;

for (const count of options.streams.split(',').map(Number)) {
  const rows = [];
  for (let i = 0; i < repeat; i++) rows.push(await workerKill(server, count));
  const overhead = ({ wait, load, prefill }) => wait - load - prefill;
  report.worker[count] = {
    wait_ms: median(rows, ({ wait }) => wait), load_ms: median(rows, ({ load }) => load),
    prefill_ms: median(rows, ({ prefill }) => prefill), overhead_ms: median(rows, overhead),
    overhead_ms_max: percentile(rows.map(overhead), 1),
  };
  good &&= report.worker[count].overhead_ms <= workerOverheadMsMax;
}

const proxy = await delay(server.port, 150);
const ways = { loopback: server.url, delayed: `http://127.0.0.1:${proxy.address().port}` };
for (const [way, url] of Object.entries(ways)) {
  const rows = [];
  for (let i = 0; i < 4 * repeat; i++) rows.push(await clientCut(url));
  const overhead = ({ wait, rtt }) => wait - rtt;
  report.client[way] = {
    wait_ms: median(rows, ({ wait }) => wait), rtt_ms: median(rows, ({ rtt }) => rtt),
    overhead_ms: median(rows, overhead), overhead_ms_max: percentile(rows.map(overhead), 1),
  };
  good &&= report.client[way].overhead_ms <= clientOverheadMsMax;
}
proxy.close();
await server.stop();
console.log(JSON.stringify(report));
process.exit(good ? 0 : 1);
