// The server dies, is replaced or reloads: nobody is refused, and no token is lost.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { binary, Server } from './harness.mjs';

const script = ['--engine', 'scripted:rate=200,length=1000000'];

let directory;
before(() => { directory = mkdtempSync(join(tmpdir(), 'seedance-restart-')); });
after(() => rmSync(directory, { recursive: true }));

// One connection, one request: the status of the answer, or how it failed.
function ask(url, path = '/readyz') {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(url);
    let answer = '';
    const socket = connect({ host: hostname, port });
    socket.on('data', (bytes) => (answer += bytes));
    socket.on('error', (error) => resolve(error.code));
    socket.on('close', () => resolve(Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]) || 'no answer'));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });
}

// Clients that come all the time; stop() gives how often each outcome was.
function crowd(url, clients = 8) {
  const outcomes = new Map();
  let stopped = false;
  const one = async () => {
    while (!stopped) {
      const outcome = await ask(url);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const all = Array.from({ length: clients }, one);
  return {
    async stop() {
      stopped = true;
      await Promise.all(all);
      return outcomes;
    },
  };
}

// Once somebody lets us in: who is let in by a server that goes at once comes again.
async function connected(server) {
  for (;;) {
    try {
      return await server.connect();
    } catch (error) {
      assert.notEqual(error.code, 'ECONNREFUSED');
    }
  }
}

const request = { prompt: 'Once upon a time', seed: 7, max_tokens: 400, ignore_eos: true };

// Asks, and reads on behind each interruption: `interruptions` are done when so
// many more tokens have come, and give the server that then has the stream.
// Checks that there is no gap and that the whole is what it says it is.
async function answerOver(first, interruptions) {
  let server = first;
  let seq = 0;
  let text = '';
  let accepted;
  for (let i = 0; ; i++) {
    const client = await connected(server);
    client.send(accepted === undefined ? { type: 'INFER_REQ', id: 'a', ...request } :
      { type: 'RESUME', id: 'a', stream: accepted.stream, epoch: accepted.epoch, seq });
    let done;
    if (i < interruptions.length) {
      await client.until((m) => m.type === 'INFER_CHUNK' && m.seq >= seq + 30);
      server = await interruptions[i](server, client);
      await client.closed;
    } else {
      done = (await client.finish('a')).done;
      await client.close();
    }
    for (const message of client.messages) {
      assert.notEqual(message.type, 'ERROR', JSON.stringify(message));
      if (message.type === 'ACCEPTED') accepted = message;
      if (message.type === 'RESUMED') assert.equal(message.from, seq);
      if (message.type !== 'INFER_CHUNK') continue;
      assert.equal(message.seq, seq);
      seq += message.n;
      text += message.text;
    }
    if (!done) continue;
    assert.equal(done.finish_reason, 'length');
    assert.equal(done.seq, seq);
    assert.equal(done.sha256, createHash('sha256').update(text).digest('hex'));
    return text;
  }
}

// Processes that are not our children cannot be waited for, but they hold the
// other end of our pipe.
const gone = (server) => server.out.ended;

test('while the server is killed again and again nobody is refused', async () => {
  const server = await Server.start(...script);
  const clients = crowd(server.url);
  const pids = new Set();
  for (let starts = 2; starts <= 4; starts++) {
    pids.add(server.pid);
    process.kill(server.pid, 'SIGKILL');
    await server.starts(starts);
    assert.equal(await ask(server.url), 200);
  }
  pids.add(server.pid);
  assert.equal(pids.size, 4);
  const outcomes = await clients.stop();
  assert.ok(outcomes.get(200) > 0);
  assert.ok(!outcomes.has('ECONNREFUSED'), JSON.stringify([...outcomes]));
  assert.equal((await server.err.until(/the server died by signal 9; starting it again/, 3)).length, 3);
  assert.equal(await server.stop(), 0);
});

test('SIGUSR2 puts a new server in the place of the old, and every client is answered', async () => {
  const server = await Server.start(...script);
  const clients = crowd(server.url);
  for (let starts = 2; starts <= 4; starts++) {
    const old = server.pid;
    server.process.kill('SIGUSR2');
    const all = await server.starts(starts);
    assert.equal(all.at(-1).url, server.url);
    assert.notEqual(server.pid, old);
    assert.equal(await ask(server.url), 200);
  }
  const outcomes = await clients.stop();
  assert.deepEqual([...outcomes.keys()].filter((outcome) => ![200, 503].includes(outcome)), []);
  assert.equal(await server.stop(), 0);
});

test('what runs after SIGUSR2 is what stands at the path then', async () => {
  const path = join(directory, 'seedance');
  symlinkSync(binary, path);
  const server = await Server.launch({ command: [path], flags: script });
  unlinkSync(path);
  writeFileSync(path, `#!/bin/sh\necho 'this is another version' >&2\nexec '${binary}' "$@"\n`);
  chmodSync(path, 0o755);
  server.process.kill('SIGUSR2');
  await server.starts(2);
  assert.ok(server.stderr.includes('this is another version'), server.stderr);
  assert.equal(await ask(server.url), 200);
  assert.equal(await server.stop(), 0);
});

test('a server that cannot start any more ends the supervisor', async () => {
  const path = join(directory, 'broken');
  symlinkSync(binary, path);
  const server = await Server.launch({ command: [path], flags: script });
  unlinkSync(path);
  server.process.kill('SIGUSR2');
  assert.equal(await server.exited, 1);
  await server.err.ended;
  assert.match(server.stderr, /cannot run .*broken: No such file.*\n.*ended with code 1/);
  assert.match(server.stderr, /5 times in a row/);
});

test('SIGHUP takes over what it can, all or nothing, and drops no stream', async () => {
  const file = join(directory, 'seedance.yaml');
  writeFileSync(file, 'max_connections: 100\n');
  const server = await Server.start(...script, '--config', file);
  const client = await server.connect();
  client.send({ type: 'INFER_REQ', id: 'a', prompt: 'x' });
  await client.until((m) => m.type === 'INFER_CHUNK');
  const { stream } = client.messages.find((m) => m.type === 'ACCEPTED');

  writeFileSync(file, 'api_keys: [sesame]\nmax_connections: many\n');
  server.process.kill('SIGHUP');
  await server.err.until(/^seedance: reload: nothing changed: .*seedance.yaml:2: max_connections/);
  assert.equal(await ask(server.url, '/v1/models'), 200);

  // Wrong where a reload takes nothing over: a restart would fail.
  writeFileSync(file, 'api_keys: [sesame]\njournal: nowhere\n');
  server.process.kill('SIGHUP');
  await server.err.until(/^seedance: reload: nothing changed: journal: "nowhere" is unknown/);
  assert.equal(await ask(server.url, '/v1/models'), 200);

  writeFileSync(file, 'api_keys: [sesame]\nmax_connections: 200\nctx_size: 64\n');
  server.process.kill('SIGHUP');
  await server.err.until(/^seedance: reload: api_keys: 0 secrets -> 1 secret$/);
  await server.err.until(/^seedance: reload: max_connections: 100 -> 200$/);
  await server.err.until(/^seedance: reload: needs a restart: ctx_size: 0 -> 64$/);
  assert.ok(!server.stderr.includes('sesame'));
  while (await ask(server.url, '/v1/models') !== 401) await new Promise(setImmediate);
  const headers = { authorization: 'Bearer sesame' };
  assert.equal((await server.get('/v1/models', { headers })).status, 200);
  assert.equal((await client.closed).code, 1008);  // It came in without a key.
  const again = await server.connect({ headers });
  again.send({ type: 'RESUME', id: 'a', stream, seq: 0 });
  await again.until((m) => m.type === 'INFER_CHUNK');
  assert.equal((await server.starts(1)).length, 1);
  again.send({ type: 'CANCEL', id: 'a' });
  assert.equal((await again.until((m) => m.type === 'INFER_DONE')).finish_reason, 'cancelled');
  await again.close();
  assert.equal(await server.stop(), 0);
});

// A port that is free, or was a moment ago.
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

test('a port that the settings name meanwhile moves neither the sockets nor the journal', async () => {
  const file = join(directory, 'port.yaml');
  const [port, other] = [await freePort(), await freePort()];
  writeFileSync(file, `websocket_port: ${port}\n`);
  const server = await Server.launch({ flags: ['--engine', 'scripted', '--config', file], port: null });
  assert.equal(new URL(server.url).port, `${port}`);
  const answer = await server.post('/v1/completions', { prompt: 'x', max_tokens: 5 });
  const stream = answer.headers.get('seedance-stream');
  await answer.text();

  writeFileSync(file, `websocket_port: ${other}\n`);
  server.process.kill('SIGUSR2');
  assert.equal((await server.starts(2))[1].url, server.url);
  const kept = await server.get(`/v1/streams/${stream}`);
  assert.equal(kept.status, 200, await kept.text());
  server.process.kill('SIGHUP');
  await server.err.until(new RegExp(`^seedance: reload: needs a restart: websocket_port: ${port} -> ${other}$`));
  assert.equal(await server.stop(), 0);
});

test('a model that is not there any more leaves an answer without the names of its tokens', async () => {
  const file = join(directory, 'name.yaml');
  writeFileSync(file, 'model_name: one\n');
  const server = await Server.start('--engine', 'scripted', '--config', file);
  const question = { prompt: 'x', max_tokens: 5, ignore_eos: true };
  const surfaces = [
    ['/v1/completions', { ...question, logprobs: 1 }],
    ['/v1/chat/completions', {
      messages: [{ role: 'user', content: 'x' }], max_tokens: 5, logprobs: true, top_logprobs: 1,
    }],
  ];
  const asked = surfaces.flatMap(([path, body]) =>
    [true, false].map((stream) => [path, { ...body, stream }, { 'idempotency-key': `${path} ${stream}` }]));
  for (const one of asked) {
    const answer = await server.post(...one);
    assert.equal(answer.status, 200);
    assert.match(await answer.text(), /"top_logprobs"/);
  }
  writeFileSync(file, 'model_name: two\n');
  server.process.kill('SIGUSR2');
  await server.starts(2);
  for (const one of asked) {
    const answer = await server.post(...one);
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    assert.match(text, /"logprobs":null/);
    assert.doesNotMatch(text, /"top_logprobs"/);
  }
  assert.equal((await server.starts(2)).length, 2);
  assert.equal(await server.stop(), 0);
});

test('the server ends with its supervisor', async () => {
  const server = await Server.start(...script);
  const client = await server.connect();
  server.process.kill('SIGKILL');
  assert.equal(await server.exited, 'SIGKILL');
  await gone(server);
  await client.closed;
  assert.equal(await ask(server.url), 'ECONNREFUSED');
  rmSync(server.home, { recursive: true });
});

test('a server that is told to stop itself takes the supervisor along', async () => {
  const server = await Server.start(...script);
  process.kill(server.pid, 'SIGTERM');
  assert.equal(await server.exited, 0);
  assert.equal(server.stderr, '');
  rmSync(server.home, { recursive: true });
});

test('every process has the name of the program', async () => {
  const server = await Server.demo();
  const pids = [server.process.pid, server.pid, ...server.children('worker'),
    ...server.children('vocabulary')];
  assert.equal(pids.length, 4);
  for (const pid of pids) {
    assert.equal(readFileSync(`/proc/${pid}/comm`, 'utf8'), 'seedance\n');
    assert.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'),
      /^(.*\/)?seedance\0(serve|worker|vocabulary)\0/);
  }
  assert.equal(await server.stop(), 0);
});

test('without a supervisor there is one process', async () => {
  const server = await Server.start(...script, '--no-supervisor');
  assert.equal(server.pid, undefined);
  server.process.kill('SIGHUP');
  await server.err.until(/reload: nothing changed/);
  assert.equal(await server.stop(), 0);
  const killed = await Server.start(...script, '--no-supervisor');
  killed.process.kill('SIGKILL');
  assert.equal(await killed.exited, 'SIGKILL');
  rmSync(killed.home, { recursive: true });
});

// Starts a server as systemd's socket activation does; `handle` becomes its descriptor 3.
function activate(handle, ...flags) {
  const command = ['/bin/sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"', 'sh', binary];
  return Server.launch({ command, flags: [...script, ...flags], stdio: [handle] });
}

for (const flags of [[], ['--no-supervisor']]) {
  test(`sockets from outside are served ${flags.join()}`, async () => {
    const outside = createServer().listen(0, '127.0.0.1');
    await once(outside, 'listening');
    const { port } = outside.address();
    const server = await activate(outside._handle, ...flags);
    outside.close();  // Ours; the server has its own.
    assert.equal(server.url, `http://127.0.0.1:${port}`);
    assert.equal(await ask(server.url), 200);
    if (flags.length === 0) {
      process.kill(server.pid, 'SIGKILL');
      assert.equal(await ask(server.url, '/healthz'), 200);
    }
    assert.equal(await server.stop(), 0);
  });

  test(`a descriptor that is no listening socket is refused ${flags.join()}`, async () => {
    await assert.rejects(activate('pipe', ...flags), (error) => {
      assert.equal(error.code, 2);
      assert.equal(error.stderr, 'seedance: LISTEN_FDS: descriptor 3 is no listening TCP socket\n');
      return true;
    });
  });
}

test('the supervisor holds next to no memory', async () => {
  const server = await Server.start(...script);
  const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8');
  assert.ok(Number(/RssAnon:\s+(\d+)/.exec(status)[1]) < 4096, status);
  assert.equal(await server.stop(), 0);
});

test('a stream goes on behind its last token when the server is killed', async () => {
  const server = await Server.start('--engine', 'scripted:rate=500');
  const whole = await answerOver(server, []);
  let starts = 1;
  const kill = async (one) => {
    await one.starts(starts++);
    process.kill(one.pid, 'SIGKILL');
    return one;
  };
  assert.equal(await answerOver(server, [kill, kill, kill]), whole);
  assert.equal(await server.stop(), 0);
});

test('a stream goes on in the new server where the old one had no time for it', async () => {
  const server = await Server.start('--engine', 'scripted:rate=500', '--drain-timeout-ms', '0');
  const whole = await answerOver(server, []);
  let starts = 1;
  const replace = async (one, client) => {
    await one.starts(starts++);
    one.process.kill('SIGUSR2');
    await client.until((m) => m.type === 'GOAWAY');
    assert.equal((await client.closed).code, 1012);
    return one;
  };
  assert.equal(await answerOver(server, [replace, replace]), whole);
  assert.equal(await server.stop(), 0);
});

test('a stream goes on when everything was killed and is started by hand', async () => {
  const home = join(directory, 'data');
  const start = () => Server.start('--engine', 'scripted:rate=500', '--data-dir', home);
  const first = await start();
  const whole = await answerOver(first, []);
  let last;
  const killAll = async (one) => {
    const { pid } = one;
    one.process.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await gone(one);
    rmSync(one.home, { recursive: true });
    last = await start();
    return last;
  };
  assert.equal(await answerOver(first, [killAll, killAll]), whole);
  assert.equal(await last.stop(), 0);
});
