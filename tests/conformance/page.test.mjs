// The page in a real browser: an answer outlives its connection, its server and the network.
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { Browser } from './browser.mjs';
import { Server } from '../e2e/harness.mjs';

const key = 'sesame-4711';
const prompt = Array.from({ length: 300 }, (_, i) => `word${i}`).join(' ');

// Between browser and server: keeps what browsers send, and cuts.
class Wire {
  static async start(port) {
    const wire = new Wire();
    wire.pairs = new Set();
    wire.heads = [];
    wire.server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      const pair = [client, server];
      wire.pairs.add(pair);
      client.on('data', (bytes) => {
        const text = bytes.toString('latin1');
        if (/^(GET|POST) /.test(text)) wire.heads.push(text);
      });
      for (const [one, other] of [pair, [server, client]]) {
        one.pipe(other);
        one.on('error', () => other.destroy());
        one.on('close', () => { other.destroy(); wire.pairs.delete(pair); });
      }
    });
    await new Promise((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
    wire.url = `http://127.0.0.1:${wire.server.address().port}/`;
    return wire;
  }

  // The first lines of the requests for WebSockets.
  get sockets() {
    return this.heads.filter((head) => head.startsWith('GET /ws/inference'));
  }

  cut() {
    for (const [client, server] of this.pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  stop() {
    this.cut();
    return new Promise((resolve) => this.server.close(resolve));
  }
}

let browser;
let open;    // A server that asks for nothing,
let closed;  // and one that wants a key.
let wires;

before(async () => {
  const script = 'mode=echo,rate=1000';
  [browser, open, closed] = await Promise.all([Browser.start(), Server.scripted(script),
    Server.scripted(script, '--api-key', key)]);
  wires = await Promise.all([open, closed].map(({ url }) => Wire.start(new URL(url).port)));
});

after(async () => {
  await Promise.all(wires.map((wire) => wire.stop()));
  await browser.stop();
  for (const server of [open, closed]) assert.equal(await server.stop(), 0);
});

async function whole(page) {
  const { text, wrong, note } = await page.answer();
  assert.equal(wrong, '');
  assert.equal(text, prompt);
  assert.match(note, /\d+ tokens/);
}

test('an answer streams, and is whole although its connection is cut twice', async () => {
  const [wire] = wires;
  const page = await browser.open(wire.url);
  await page.status(/ready/);
  await page.ask(prompt);
  for (const characters of [100, 1000]) {
    await page.characters(characters);
    wire.cut();
    await page.status(/trying again/);
  }
  await whole(page);
  assert.equal(wire.sockets.length, 3);
  assert.ok(wire.heads.every((head) => !/ticket/.test(head)), 'no ticket where no key is asked for');
});

test('an answer is whole although its server is killed', async () => {
  const page = await browser.open(wires[0].url);
  await page.status(/ready/);
  await page.ask(prompt);
  await page.characters(100);
  process.kill(open.pid, 'SIGKILL');
  await whole(page);
});

test('an answer is whole although the network was away', async () => {
  const page = await browser.open(wires[0].url);
  const network = (offline) => page.call('Network.emulateNetworkConditions',
    { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
  await page.call('Network.enable');
  await page.status(/ready/);
  await page.ask(prompt);
  await page.characters(100);
  await network(true);
  await page.status(/offline/);
  await network(false);
  await whole(page);
});

test('an answer is stopped although the connection is away just then', async () => {
  const [wire] = wires;
  const page = await browser.open(wire.url);
  await page.status(/ready/);
  await page.ask(prompt);
  await page.characters(100);
  wire.cut();
  await page.status(/trying again/);
  await page.evaluate('document.getElementById("stop").click()');
  const { text, note } = await page.answer();
  assert.match(note, /stopped by you/);
  assert.ok(text.length < prompt.length && prompt.startsWith(text));
});

test('a key buys a ticket for each connection and is never shown to a WebSocket', async () => {
  const wire = wires[1];
  const page = await browser.open(wire.url);
  await page.status(/the server wants an API key/);
  await page.fill('key', 'wrong');
  await page.status(/the server refuses that API key/);
  await page.fill('key', 'schl\u00fcssel');
  await page.status(/that is no API key/);
  const before = wire.sockets.length;
  await page.fill('key', key);
  await page.status(/ready/);
  await page.ask(prompt);
  await page.characters(100);
  wire.cut();
  await whole(page);
  const sockets = wire.sockets.slice(before);
  const tickets = sockets.map((head) => /^GET \/ws\/inference\?ticket=(tk_[\w-]+) /.exec(head)[1]);
  assert.equal(new Set(tickets).size, 2);
  for (const head of sockets) assert.ok(!head.includes(key) && !head.includes('seedance.key'));
});
