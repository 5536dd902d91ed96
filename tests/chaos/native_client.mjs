// A client of the native protocol that never gives up: it asks again with the same key while it
// does not know whether its request arrived, and resumes at the next token once it does.
import { createRequire } from 'node:module';
import { binaryChunk } from './fm.mjs';

const require = createRequire(new URL('../e2e/package.json', import.meta.url));
const WebSocket = require('ws');

export class NativeClient {
  // width: streams on its connection at the same time. backoffMs: least and most between two tries.
  constructor(run, random, { url, protocol = 'json', width = 1, backoffMs = [50, 2000] }) {
    Object.assign(this, { run, random, url, protocol, width, backoffMs });
    this.tasks = new Map();  // By the name that it has on the connection.
    this.names = 0;
    this.failures = 0;
  }

  // Until there are no more tasks and all are done.
  async work() {
    while (this.#fill() > 0) {
      await this.#connection();
      const [least, most] = this.backoffMs;
      const pause = Math.min(most, least * 2 ** this.failures++) * (0.5 + this.random.next() / 2);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  #fill() {
    const fresh = [];
    while (this.tasks.size < this.width) {
      const task = this.run.nextTask(this);
      if (!task) break;
      const name = `n${++this.names}`;
      this.tasks.set(name, task);
      fresh.push(name);
    }
    if (this.socket?.readyState === WebSocket.OPEN) for (const name of fresh) this.#ask(name);
    return this.tasks.size;
  }

  #connection() {
    return new Promise((resolve) => {
      const socket = new WebSocket(`${this.url}/ws/inference`, `seedance.v2+${this.protocol}`,
        { handshakeTimeout: 10_000, perMessageDeflate: false });
      this.socket = socket;
      this.channels = new Map();
      this.twins = new Map();
      socket.on('open', () => {
        for (const name of this.tasks.keys()) this.#ask(name);
      });
      socket.on('message', (bytes, isBinary) => {
        const message = isBinary ? binaryChunk(bytes) : JSON.parse(bytes.toString());
        const name = isBinary ? this.channels.get(message.channel) : message.id;
        this.#take(name, message);
      });
      socket.on('error', () => {});  // 'close' follows.
      socket.on('unexpected-response', (_, response) => {
        if (response.statusCode !== 503) this.run.fault(`the upgrade: HTTP ${response.statusCode}`);
        socket.terminate();
      });
      socket.on('close', () => {
        clearTimeout(this.retry);
        resolve();
      });
    });
  }

  #ask(name) {
    const task = this.tasks.get(name);
    const extras = { with: ['tokens'] };
    if (task.stream) {
      this.run.counts.resumes++;
      const { stream, epoch } = task;
      const seq = this.run.sabotaged(task.assembly.next);
      this.#send({ type: 'RESUME', id: name, stream, seq, epoch, ...extras });
      return;
    }
    if (task.asked) this.run.counts.repeated++;
    task.asked = true;
    const request = { type: 'INFER_REQ', key: task.key, ...task.request, ...extras };
    this.#send({ ...request, id: name });
    // Twice at once is the same stream, too.
    if (!this.random.chance(0.1)) return;
    this.twins.set(`${name}-twin`, task);
    this.#send({ ...request, id: `${name}-twin` });
  }

  #send(message) {
    this.socket.send(JSON.stringify(message));
  }

  #take(name, message) {
    if (this.twins.has(name)) {
      const task = this.twins.get(name);
      if (message.type === 'ACCEPTED') task.named(message.stream, message.epoch);
      return this.#onChannel(name, message);
    }
    const task = this.tasks.get(name);
    if (!task) return;
    switch (message.type) {
      case 'ACCEPTED':
        task.named(message.stream, message.epoch);
        return this.#onChannel(name, message);
      case 'RESUMED':
        task.resumed(message);
        return this.#onChannel(name, message);
      case 'INFER_CHUNK':
        if (message.n === 0) return;  // The binary form of the end, before INFER_DONE.
        this.failures = 0;
        task.assembly.take(message);
        return this.run.arrived(task);
      case 'INFER_DONE':
        task.assembly.end(message);
        return this.#finish(name);
      case 'ERROR':
        return this.#refused(name, message);
    }
  }

  #onChannel(name, message) {
    if (message.channel !== undefined) this.channels.set(message.channel, name);
  }

  #refused(name, { code, message, retryable, retry_after_ms = 100 }) {
    const task = this.tasks.get(name);
    if (retryable) {
      this.retry = setTimeout(() => {
        if (this.socket.readyState === WebSocket.OPEN && this.tasks.has(name)) this.#ask(name);
      }, Math.min(retry_after_ms, 1000));
      return;
    }
    task.assembly.fault(`${task.stream ?? 'the request'} was refused: ${code}: ${message}`);
    this.#finish(name);
  }

  #finish(name) {
    const task = this.tasks.get(name);
    this.tasks.delete(name);
    this.run.finished(task).then(() => this.#acknowledge(task));
    if (this.#fill() === 0) this.socket.close(1000);
  }

  // Some say that they have it all: such a stream need not be kept.
  #acknowledge(task) {
    if (this.socket.readyState !== WebSocket.OPEN || !this.random.chance(0.25)) return;
    task.acknowledged = true;
    this.#send({ type: 'ACK', stream: task.stream, seq: task.assembly.next });
  }
}
