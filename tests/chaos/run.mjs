// One engine's share of a chaos run: clients that ask and ask, while everything below them dies.
import { Assembly, percentile } from './ledger.mjs';
import { NativeClient } from './native_client.mjs';
import { Random } from './random.mjs';
import { SseClient } from './sse_client.mjs';
import { WeakNetwork } from './weak_network.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const progressWithinMs = 120_000;
const pollMs = 20;
const faultsToldMax = 10;

// One request, from its key to its verified end.
class Task {
  constructor(key, request) {
    Object.assign(this, { key, request, asked: false, assembly: new Assembly() });
  }

  // The server says which stream it is.
  named(stream, epoch) {
    if (this.stream && (this.stream !== stream || this.epoch !== epoch)) {
      this.assembly.fault(`${this.stream}, epoch ${this.epoch}, is now ${stream}, epoch ${epoch}`);
    }
    Object.assign(this, { stream, epoch });
  }

  resumed({ stream, epoch, from, head }) {
    this.named(stream, epoch);
    const { next } = this.assembly;
    if (from !== next) this.assembly.fault(`resumed at ${from}, not ${next}`);
    if (head < from) this.assembly.fault(`resumed at ${from} of ${head}`);
  }
}

export class Run {
  // engine: of engines.mjs. sabotage: what is added to each place at which a client resumes: not 0
  // only to show that the checks find it.
  constructor(server, engine, { seed, clients, sabotage = 0, verbose }) {
    Object.assign(this, { server, engine, seed, sabotage, verbose });
    this.counts = { streams: 0, tokens: 0, resumes: 0, repeated: 0 };
    this.kills = { worker: 0, server: 0 };
    this.recoveries = { worker: [], server: [], client: [] };
    this.active = new Set();
    this.finishedTasks = [];
    this.verifying = new Set();
    this.faults = [];
    this.counters = { seedance_frame_loss_total: 0, seedance_seq_gap_total: 0 };
    this.random = new Random(seed, `kills/${engine.name}`);
    this.requests = new Random(seed, `requests/${engine.name}`);
    this.network = new WeakNetwork({ host: '127.0.0.1', port: server.port },
      new Random(seed, `network/${engine.name}`));
    this.clientCount = clients;
  }

  fault(sentence) {
    this.faults.push(sentence);
  }

  // With --verbose, what happens when.
  tell(sentence) {
    if (!this.verbose) return;
    const seconds = (performance.now() / 1000).toFixed(2);
    console.error(`${seconds} s, ${this.engine.name}: ${sentence}; ${this.active.size} active, ` +
      `${this.finishedTasks.length} done, ${this.network.cuts} cuts`);
  }

  sabotaged(next) {
    return next === 0 ? 0 : next + this.sabotage;
  }

  nextTask({ direct = false } = {}) {
    if (this.stopping) return undefined;
    const n = this.counts.streams++;
    const request = this.engine.request(n, this.requests);
    const task = new Task(`${this.engine.name}-${this.seed}-${n}`, request);
    task.direct = direct;
    this.active.add(task);
    return task;
  }

  // A client has more of a task than before.
  arrived(task) {
    const measure = task.measure;
    if (!measure) return;
    if (measure.head === undefined) {
      measure.arrivals.push([performance.now(), task.assembly.next]);
    } else if (task.assembly.next > measure.head) {
      this.#measured(task, performance.now());
    }
  }

  #measured(task, now) {
    this.recoveries[task.direct ? task.measure.kind : 'client'].push(now - task.measure.at);
    task.measure = undefined;
  }

  // Resolves when the task is verified.
  finished(task) {
    this.active.delete(task);
    task.measure = undefined;
    this.counts.tokens += task.assembly.next;
    this.finishedTasks.push(task);
    const verified = this.#verify(task).finally(() => this.verifying.delete(verified));
    this.verifying.add(verified);
    return verified;
  }

  // What the client assembled is the finished log as the server has it, however often it dies.
  async #verify(task) {
    if (!task.stream || task.assembly.faults.length > 0) return;
    const deadline = performance.now() + progressWithinMs;
    for (; ; await pause(50)) {
      const log = await this.server.readLog(task.stream);
      if (log) {
        task.log = log;
        return task.assembly.compare(log);
      }
      if (performance.now() > deadline) {
        return task.assembly.fault('its finished log cannot be read');
      }
    }
  }

  #startClients() {
    const weak = `ws://127.0.0.1:${this.network.port}`;
    const make = (i) => {
      const random = new Random(this.seed, `client/${this.engine.name}/${i}`);
      const url = weak.replace('ws', 'http');
      switch (i % 8) {
        case 5: return new SseClient(this, random, { url, form: 'completions' });
        case 6: return new SseClient(this, random, { url, form: 'native' });
        case 7: return new SseClient(this, random, { url, form: 'query' });
        case 4: return new NativeClient(this, random, { url: weak, protocol: 'json', width: 3 });
        default: {
          const protocol = i % 2 ? 'binary' : 'json';
          return new NativeClient(this, random, { url: weak, protocol });
        }
      }
    };
    const clients = Array.from({ length: this.clientCount }, (_, i) => make(i));
    // Two without the weak network tell how long the server itself takes to recover.
    for (let i = 0; i < 2; i++) {
      const random = new Random(this.seed, `direct/${this.engine.name}/${i}`);
      const client = new NativeClient(this, random, {
        url: this.server.url.replace('http', 'ws'), backoffMs: [2, 20] });
      client.direct = true;
      clients.push(client);
    }
    return clients.map((client) => client.work());
  }

  // `kinds`: what to kill, in this order. Between kills every stream gets a new token, since the
  // server gives one up that three starts bring no further; now and then one kill follows right
  // upon another, which it must bear.
  async go(kinds) {
    await this.network.listen();
    const clients = this.#startClients();
    const work = Promise.all(clients);
    work.catch(() => {});
    try {
      await this.#progress(await this.server.streams());
      for (let i = 0; i < kinds.length; i++) {
        await this.#kill(kinds[i]);
        if (this.random.chance(0.15) && i + 1 < kinds.length) {
          await pause(this.random.between(0, 400));
          await this.#kill(kinds[++i]);
        }
        const heads = await this.#heads();
        await this.#progress(heads);
        this.tell('all streams go on');
        await pause(this.random.between(0, this.engine.calmMsMax));
      }
      this.stopping = true;
      this.tell('no more requests');
      await this.#within(work, () => `${this.active.size} streams do not end`);
      await this.#within(Promise.all(this.verifying), () => 'finished logs cannot be read');
      await this.#judge();
    } finally {
      this.stopping = true;
      await this.network.close();
    }
  }

  async #within(promise, sentence) {
    const timer = { id: undefined };
    const late = new Promise((_, reject) => {
      timer.id = setTimeout(() => reject(new Error(sentence())), progressWithinMs);
    });
    await Promise.race([promise, late]).finally(() => clearTimeout(timer.id));
  }

  async #kill(kind) {
    this.tell(`kill ${kind}`);
    if (kind === 'server') await this.#scrape();
    for (const task of this.active) {
      const fresh = { kind, at: performance.now(), head: undefined, arrivals: [] };
      // A client that still waits for what the last kill took from it has waited since then.
      task.measure = task.direct ? fresh : task.measure ?? fresh;
    }
    await (kind === 'server' ? this.server.killServer() : this.server.killWorker());
    this.kills[kind]++;
  }

  // After a kill: what each stream has, behind which recovery begins.
  async #heads() {
    const streams = await this.server.streams();
    for (const task of this.active) {
      const measure = task.measure;
      if (!measure || measure.head !== undefined) continue;
      measure.head = streams.get(task.stream)?.tokens;
      if (measure.head === undefined) {
        task.measure = undefined;  // It was not accepted yet.
        continue;
      }
      const first = measure.arrivals.find(([, next]) => next > measure.head);
      if (first) this.#measured(task, first[0]);
    }
    return streams;
  }

  // Waits until each stream that is running has more tokens than in `before`, or is done.
  async #progress(before) {
    const waiting = new Map([...before].filter(([, { state }]) => state !== 'done'));
    this.tell(`the server knows ${before.size} streams, of which ${waiting.size} run`);
    const deadline = performance.now() + progressWithinMs;
    for (; waiting.size > 0; await pause(pollMs)) {
      this.server.look();
      const now = await this.server.streams();
      for (const [id, { tokens }] of waiting) {
        const stream = now.get(id);
        if (!stream || stream.state === 'done' || stream.tokens > tokens) waiting.delete(id);
      }
      if (performance.now() > deadline) {
        const one = JSON.stringify([...waiting.values()][0]);
        throw new Error(`${waiting.size} streams get no further: ${one}`);
      }
    }
  }

  async #scrape() {
    for (const name of Object.keys(this.counters)) {
      const value = await this.server.counter(name).catch(() => 0);
      if (value === undefined) throw new Error(`the server does not count ${name}`);
      this.counters[name] += value;
    }
  }

  // Everything that can only be said at the end.
  async #judge() {
    await this.#scrape();
    const known = new Set(this.finishedTasks.map(({ stream }) => stream));
    for (const [id, { state }] of await this.server.streams()) {
      if (!known.has(id)) this.fault(`nobody asked for ${id}, which is ${state}`);
    }
    for (const task of this.finishedTasks) if (!task.acknowledged) await this.#verify(task);
    await this.engine.check(this.finishedTasks, (task, sentence) => task.assembly.fault(sentence));
    const { surprises } = this.server;
    if (surprises > 0) this.fault(`the server ended ${surprises} times by itself`);
    for (const [name, value] of Object.entries(this.counters)) {
      if (value !== 0) this.fault(`${name} is ${value}`);
    }
  }

  // For the JSON line; what went wrong is told on standard error.
  report() {
    const tasks = [...this.finishedTasks, ...this.active];
    const sum = (get) => tasks.reduce((total, task) => total + get(task), 0);
    const wrong = tasks.filter(({ assembly }) => assembly.faults.length > 0);
    const told = [...this.faults, ...wrong.flatMap(({ key, assembly }) =>
      assembly.faults.map((sentence) => `${key}: ${sentence}`))];
    // What is wrong comes last, where a log that is cut still shows it.
    if (told.length > 0) console.error(`chaos: the server said:\n${this.server.said}`);
    for (const sentence of told.slice(0, faultsToldMax)) console.error(`chaos: ${sentence}`);
    const times = (list) => (
      { p50: percentile(list, 0.5), p99: percentile(list, 0.99), n: list.length });
    return {
      ...this.counts,
      kills: { ...this.kills, ...this.engine.kills?.(this.server) },
      cuts: this.network.cuts, stalls: this.network.stalls, chunks: this.network.chunks,
      lost: sum(({ assembly }) => assembly.lost) + this.active.size,
      duplicated: sum(({ assembly }) => assembly.duplicated),
      wrong: wrong.length + this.faults.length,
      recovery_ms: { worker: times(this.recoveries.worker), server: times(this.recoveries.server) },
      client_recovery_ms: times(this.recoveries.client),
      ...this.engine.report?.(),
    };
  }
}
