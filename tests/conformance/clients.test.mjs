// WebSocket clients that people use, against the server: with and without compression.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { binary, Server } from '../e2e/harness.mjs';

const require = createRequire(new URL('../e2e/package.json', import.meta.url));
const Ws = require('ws');
const Faye = require('faye-websocket');
const { WebSocket: Undici } = require('undici');
const { default: Reconnecting } = require('partysocket/ws');

const protocol = 'seedance.v2+json';
const messages = ['', 'grüße ✓ 🙂', 'x'.repeat(300_000), new Uint8Array(0),
  Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256)];

// Each opens a socket with the interface of a browser's.
const clients = {
  ws: (url, protocols) => new Ws(url, protocols),
  undici: (url, protocols) => new Undici(url, protocols),
  'faye-websocket': (url, protocols) => new Faye.Client(url, protocols),
  partysocket: (url, protocols) =>
    new Reconnecting(url, protocols, { WebSocket: Ws, maxRetries: 0 }),
};

// Its messages one after the other, and how it closed.
class Socket {
  constructor(socket) {
    this.socket = socket;
    this.arrived = [];
    this.readers = [];
    socket.binaryType = 'arraybuffer';
    socket.onmessage = ({ data }) => {
      const message = typeof data === 'string' ? data : new Uint8Array(data);
      if (this.readers.length > 0) this.readers.shift()(message);
      else this.arrived.push(message);
    };
    this.opened = new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = (event) => reject(new Error(event.message ?? 'not opened'));
    });
    this.closed = new Promise((resolve) => { socket.onclose = resolve; });
  }

  next() {
    if (this.arrived.length > 0) return Promise.resolve(this.arrived.shift());
    return new Promise((resolve) => { this.readers.push(resolve); });
  }
}

for (const deflate of ['false', 'true']) {
  describe(`with websocket_deflate ${deflate}`, () => {
    let server;
    let at;
    before(async () => {
      server = await Server.scripted('rate=0,length=200', '--debug-echo', '--websocket-deflate', deflate);
      at = server.url.replace('http', 'ws');
    });
    after(async () => { assert.equal(await server.stop(), 0); });

    for (const [name, open] of Object.entries(clients)) {
      test(`${name} gets its messages back`, async () => {
        const socket = new Socket(open(`${at}/debug/echo`));
        await socket.opened;
        for (const message of messages) {
          // Faye takes only Buffers for binary.
          socket.socket.send(typeof message === 'string' ? message : Buffer.from(message));
          assert.deepEqual(await socket.next(), message);
        }
        socket.socket.close(1000, 'done');
        assert.equal((await socket.closed).code, 1000);
      });

      test(`${name} streams`, async () => {
        const socket = new Socket(open(`${at}/ws/inference`, [protocol]));
        await socket.opened;
        assert.equal(socket.socket.protocol, protocol);
        socket.socket.send(JSON.stringify({ type: 'INFER_REQ', id: '1', prompt: 'a story', merge_ms: 20 }));
        let seq = 0;
        let message = {};
        while (message.type !== 'INFER_DONE') {
          message = JSON.parse(await socket.next());
          if (message.type !== 'INFER_CHUNK') continue;
          assert.equal(message.seq, seq);
          seq += message.n;
        }
        assert.equal(message.seq, seq);
        socket.socket.close(1000);
        assert.equal((await socket.closed).code, 1000);
      });
    }

    test('ws says what was agreed', async () => {
      const socket = new Ws(`${at}/debug/echo`, { perMessageDeflate: { threshold: 0 } });
      await new Promise((resolve) => { socket.on('open', resolve); });
      assert.equal('permessage-deflate' in socket._extensions, deflate === 'true');
      assert.equal(socket.extensions, deflate === 'true' ? 'permessage-deflate' : '');
      for (const size of [1, 100, 10_000]) {
        const back = new Promise((resolve) => { socket.once('message', resolve); });
        socket.send('y'.repeat(size));
        assert.equal((await back).toString(), 'y'.repeat(size));
      }
      socket.close();
    });
  });
}

test('partysocket comes back to a server that started again', async () => {
  // On the same port.
  const first = await Server.scripted('rate=0', '--debug-echo');
  const { port } = new URL(first.url);
  const socket = new Reconnecting(`ws://127.0.0.1:${port}/debug/echo`, [],
    { WebSocket: Ws, minReconnectionDelay: 10, maxReconnectionDelay: 50 });
  let opens = 0;
  const opened = (count) => new Promise((resolve) => {
    const check = () => { if (opens >= count) resolve(); };
    socket.addEventListener('open', check);
    check();
  });
  socket.addEventListener('open', () => { opens += 1; });
  await opened(1);
  assert.equal(await first.stop(), 0);
  const second = spawn(binary, ['serve', '--engine', 'scripted', '--port', port, '--debug-echo',
    '--journal', 'none'], { stdio: 'ignore' });
  await opened(2);
  const back = new Promise((resolve) => { socket.addEventListener('message', resolve, { once: true }); });
  socket.send('again');
  assert.equal((await back).data, 'again');
  socket.close();
  const ended = new Promise((resolve) => { second.on('exit', resolve); });
  second.kill();
  assert.equal(await ended, 0);
});
