// The example configurations of deploy/, with the proxies that they are for: streams pass
// unbuffered, and survive the proxy.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client, Server } from '../e2e/harness.mjs';

const deploy = join(import.meta.dirname, '../../deploy');
const path = `${process.env.PATH}:/usr/sbin:/sbin`;
const as_root = process.getuid() === 0;

// What is the test's own in each: where it listens and whom it asks, what it writes where.
const proxies = {
  nginx: {
    file: 'nginx.conf',
    changes: ({ port, server, home }) => [
      ['listen 80;', `listen 127.0.0.1:${port};`],
      ['server 127.0.0.1:8080;', `server ${server};`],
      ['http {', `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((kind) => `  ${kind}_temp_path ${home}/${kind};`).join('\n')}`],
    ],
    waits: (text) => /location \/v1\/ \{[^}]*proxy_read_timeout 1h;/.test(text),
    command: ({ file, home }) => ['nginx', '-p', home, '-e', 'stderr', '-c', file, '-g',
      `daemon off; master_process off; pid ${home}/pid;${as_root ? ' user root;' : ''}`],
  },
  haproxy: {
    file: 'haproxy.cfg',
    changes: ({ port, server }) => [
      ['bind :80', `bind 127.0.0.1:${port}`],
      ['server seedance 127.0.0.1:8080', `server seedance ${server}`],
    ],
    waits: (text) => text.includes('http-request set-timeout server 1h if { path_beg /v1/ }'),
    command: ({ file }) => ['haproxy', '-f', file],
  },
  caddy: {
    file: 'Caddyfile',
    changes: ({ port, server }) => [
      ['{\n\tservers', '{\n\tadmin off\n\tservers'],
      ['\n:80 {', `\n:${port} {`],
      ['reverse_proxy 127.0.0.1:8080', `reverse_proxy ${server}`],
    ],
    waits: (text) => !/^\s*(response_header|read)_timeout/m.test(text),
    command: ({ file }) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
};

async function freePort() {
  const listener = createServer();
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  const { port } = listener.address();
  await new Promise((resolve) => { listener.close(resolve); });
  return port;
}

// One of them in front of a server.
class Proxy {
  // Its port was free a moment ago: whoever took it since, a look at it included, sends it elsewhere.
  static async started(name, server) {
    for (;;) {
      const proxy = new Proxy(name, await freePort(), server);
      try {
        await proxy.start();
        return proxy;
      } catch (error) {
        await proxy.stop();
        if (!/in use/.test(error.message)) throw error;
      }
    }
  }

  constructor(name, port, server) {
    const { file, changes, command } = proxies[name];
    this.home = mkdtempSync(join(tmpdir(), `seedance-${name}-`));
    this.url = `http://127.0.0.1:${port}`;
    const values = {
      port, server: new URL(server.url).host, home: this.home, file: join(this.home, file),
    };
    let text = readFileSync(join(deploy, file), 'utf8');
    for (const [from, to] of changes(values)) {
      assert.equal(text.split(from).length, 2, `"${from}" is in deploy/${file} once`);
      text = text.replace(from, to);
    }
    writeFileSync(values.file, text);
    this.command = command(values);
  }

  async start() {
    const [program, ...flags] = this.command;
    let said = '';
    this.process = spawn(program, flags, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: path, HOME: this.home, XDG_DATA_HOME: this.home, XDG_CONFIG_HOME: this.home },
    });
    this.process.stderr.on('data', (text) => { said += text; });
    this.ended = new Promise((resolve, reject) => {
      this.process.on('exit', resolve);
      this.process.on('error', reject);
    });
    let gone;
    this.ended.then(() => { gone = `ended: ${said}`; }, (error) => { gone = error.message; });
    for (;;) {
      if (gone !== undefined) throw new Error(`${program} ${gone}`);
      const answer = await fetch(`${this.url}/readyz`).catch(() => undefined);
      if (answer?.status === 200) return;
      await new Promise(setImmediate);
    }
  }

  async kill() {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  async stop() {
    await this.kill();
    rmSync(this.home, { recursive: true, force: true });
  }
}

// The events of an answer: { id, data }, until it ends or is cut.
async function* events(response) {
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    text += decoder.decode(bytes, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop();
    for (const block of blocks) {
      const id = /^id: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data !== undefined) yield { id, data };
    }
  }
}

function contentOf({ data }) {
  return data === '[DONE]' ? '' : JSON.parse(data).choices[0]?.delta?.content ?? '';
}

const chat = (prompt, max_tokens) =>
  ({ stream: true, max_tokens, messages: [{ role: 'user', content: prompt }] });

function post(url, body, headers = {}) {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

for (const name of Object.keys(proxies)) {
  describe(name, () => {
    let server;
    let waiting;
    let proxy;
    before(async () => {
      const found = spawnSync('which', [name], { env: { PATH: path } });
      assert.equal(found.status, 0, `${name} is not installed: see tools/setup --conformance`);
      server = await Server.scripted('rate=300,length=100000');
      proxy = await Proxy.started(name, server);
    });
    after(async () => {
      await proxy?.stop();
      assert.equal(await server?.stop(), 0);
      assert.equal(await waiting?.stop() ?? 0, 0);
    });

    test('a WebSocket is resumed where the proxy cut it', async () => {
      const ask = { id: 'a', prompt: `over ${name}`, max_tokens: 150 };
      const first = await Client.connect(proxy.url);
      first.send({ type: 'INFER_REQ', ...ask });
      const { stream, epoch } = await first.until((m) => m.type === 'ACCEPTED');
      await first.until((m) => m.type === 'INFER_CHUNK');
      await proxy.kill();
      await first.closed;
      const before = first.messages.filter((m) => m.type === 'INFER_CHUNK');
      const seq = before.at(-1).seq + before.at(-1).n;

      await proxy.start();
      const second = await Client.connect(proxy.url);
      second.send({ type: 'RESUME', id: 'a', stream, seq, epoch });
      const rest = await second.finish('a');
      assert.equal(rest.done.seq, 150);
      assert.equal(rest.chunks[0]?.seq ?? 150, seq);
      const whole = await second.infer({ ...ask, id: 'b' });
      assert.equal(before.map((m) => m.text).join('') + rest.text, whole.text);
      await second.close();
    });

    test('an event stream is resumed where the proxy cut it', async () => {
      const ask = chat(`events over ${name}`, 150);
      const response = await post(proxy.url, ask, { 'idempotency-key': `key of ${name}` });
      assert.equal(response.status, 200);
      const seen = [];
      await assert.rejects(async () => {
        for await (const event of events(response)) {
          seen.push(event);
          if (seen.length === 5) await proxy.kill();
        }
      });

      await proxy.start();
      const again = await fetch(`${proxy.url}/v1/streams/${response.headers.get('seedance-stream')}`,
        { headers: { 'last-event-id': seen.at(-1).id } });
      assert.equal(again.status, 200);
      for await (const event of events(again)) seen.push(event);
      assert.equal(seen.at(-1).data, '[DONE]');
      const whole = await (await post(server.url, { ...ask, stream: false })).json();
      assert.equal(seen.map(contentOf).join(''), whole.choices[0].message.content);
    });

    test('an answer that is no stream may take an hour', () => {
      const { file, waits } = proxies[name];
      assert.ok(waits(readFileSync(join(deploy, file), 'utf8')));
    });

    // The fourth token comes an hour late: whoever holds anything back shows nothing.
    test('what is there arrives before more comes', async () => {
      waiting = await Server.scripted('rate=0,fault=stall@3:3600s', '--drain-timeout-ms', '0',
        '--journal', 'none');
      const front = await Proxy.started(name, waiting);
      const client = await Client.connect(front.url);
      client.send({ type: 'INFER_REQ', id: 'w', prompt: 'wait' });
      await client.until((m) => m.type === 'INFER_CHUNK' && m.seq + m.n === 3);
      client.socket.terminate();

      const response = await post(front.url, chat('wait', 100));
      let text = '';
      for await (const event of events(response)) {
        text += contentOf(event);
        if (text.split(' ').length >= 3) break;
      }
      await front.stop();
    });
  });
}
