// The engine runs out of memory, aborts and hangs, while it loads, in a prompt and in mid-answer: each
// stream goes on to its end, with no token lost or repeated, or ends with a typed error.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { binary, Server } from './harness.mjs';

const model = join(dirname(binary), 'test-models/tiny.gguf');
const kinds = ['oom', 'abort', 'hang'];
const causes = { oom: 'out_of_memory', abort: 'aborted', hang: 'hung' };
const all = { concurrency: 3 };  // Most of them wait.

let directory;
before(() => { directory = mkdtempSync(join(tmpdir(), 'seedance-faults-')); });
after(() => rmSync(directory, { recursive: true }));

function start(fault, ...flags) {
  return Server.launch({
    command: ['/usr/bin/env', `SEEDANCE_FAULT=${fault}`, binary],
    flags: ['--threads', '1', '--model', model, '--ctx-size', '256', '--parallel', '4', ...flags],
  });
}

const patience = (ms) => ['--step-timeout-ms', ms, '--load-timeout-ms', ms];

// So many workers suffer the fault; those behind them are well.
const only = (times, fault) => {
  const file = join(directory, `${fault}-${times}`);
  return { file, text: `${fault},times=${times}:${file}` };
};

function ask(client, id, tokens) {
  return client.infer({
    id, prompt: Array.from({ length: 20 }, (_, i) => 300 + id.charCodeAt(0) + i), max_tokens: tokens,
    temperature: 0, ignore_eos: true, with: ['tokens'],
  });
}

// Every position once and in order, and the text is the one that was summed up at its end.
function assertWhole({ chunks, done, text }, tokens) {
  let seq = 0;
  for (const chunk of chunks) {
    assert.equal(chunk.seq, seq);
    assert.equal(chunk.tokens.length, chunk.n);
    seq += chunk.n;
  }
  assert.equal(done.seq, seq);
  assert.equal(done.sha256, createHash('sha256').update(text).digest('hex'));
  if (tokens === undefined) return;
  assert.equal(done.finish_reason, 'length');
  assert.equal(seq, tokens);
  assert.equal(done.usage.completion_tokens, tokens);
}

async function metric(server, name) {
  const text = await (await server.get('/metrics')).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line.slice(name.length + 1));
}

const ends = (server, kind) => metric(server, `seedance_engine_ends_total{cause="${causes[kind]}"}`);

async function assertNothingLost(server) {
  assert.equal(await metric(server, 'seedance_seq_gap_total'), 0);
  assert.equal(await metric(server, 'seedance_frame_loss_total'), 0);
}

describe('one worker fails: the next one goes on', all, () => {
  for (const kind of kinds) for (const place of ['load', 'prefill', 'decode:20']) {
    test(`${kind}@${place}`, async () => {
      const fault = only(1, `${kind}@${place}`);
      const server = await start(fault.text, ...patience(2000));
      const client = await server.connect();
      const answers = await Promise.all(['a', 'b', 'c'].map((id) => ask(client, id, 50)));
      for (const answer of answers) assertWhole(answer, 50);
      assert.equal(readFileSync(fault.file).length, 1);
      assert.equal(await ends(server, kind), 1);
      // No memory, or an abort before any request, is the settings' fault.
      const falls = kind === 'oom' || (kind === 'abort' && place === 'load');
      assert.equal(await metric(server, 'seedance_engine_fallback'), falls ? 1 : 0);
      await assertNothingLost(server);
      await client.close();
      assert.equal(await server.stop(), 0);
    });
  }
});

describe('no worker can load: the server says why', all, () => {
  const reasons = {
    oom: /no memory can be set up for the model.* \(out of memory: see max_concurrent_streams/,
    abort: /the worker was killed by signal 6 \(Aborted\), by llama.cpp or a backend/,
    hang: /the worker said nothing for 1.0 s while it loaded, and was killed \(load_timeout_ms\)/,
  };
  for (const kind of kinds) test(kind, async () => {
    await assert.rejects(start(`${kind}@load`, '--fallback', 'none', ...patience(1000)), (error) => {
      assert.equal(error.code, 2);
      assert.match(error.stderr, reasons[kind]);
      return true;
    });
  });
});

describe('no worker gets through the prompt: its stream fails, typed', all, () => {
  for (const kind of kinds) test(kind, async () => {
    const server = await start(`${kind}@prefill`, '--fallback', 'none', ...patience(1000));
    const client = await server.connect();
    const answer = await ask(client, 'a', 50);
    assertWhole(answer);
    assert.equal(answer.done.finish_reason, 'error');
    assert.equal(answer.done.error.code, 'engine_failed');
    assert.equal(answer.done.seq, 0);
    assert.equal(await ends(server, kind), 4);
    await server.ready();
    await client.close();
    assert.equal(await server.stop(), 0);
  });
});

describe('every worker fails behind its first token: the answer comes to its end', all, () => {
  for (const kind of kinds) test(kind, async () => {
    const server = await start(`${kind}@decode`, '--fallback', 'none', ...patience(1000));
    const client = await server.connect();
    assertWhole(await ask(client, 'a', 5), 5);
    assert.equal(await ends(server, kind), 4);
    await assertNothingLost(server);
    await client.close();
    assert.equal(await server.stop(), 0);
  });
});

describe('the chain of fallbacks', all, () => {
  const chain = ['--fallback', 'batch_tokens=64', '--fallback', 'batch_tokens=32 max_concurrent_streams=2'];

  for (const [kind, deaths] of [['oom', 2], ['abort', 6]]) {
    test(`is walked as far as it must be: ${kind}`, async () => {
      const server = await start(only(deaths, `${kind}@prefill`).text, ...chain);
      const client = await server.connect();
      const answers = await Promise.all(['a', 'b', 'c'].map((id) => ask(client, id, 20)));
      for (const answer of answers) assertWhole(answer, 20);
      assert.equal(await ends(server, kind), deaths);
      assert.equal(await metric(server, 'seedance_engine_fallback'), 2);
      await server.err.until(/fallback 1 of 2, until the server is started again: batch_tokens=64$/);
      await server.err.until(/fallback 2 of 2, .*: batch_tokens=32 max_concurrent_streams=2$/);
      const [worker] = server.children('worker');
      const argv = readFileSync(`/proc/${worker}/cmdline`, 'utf8').split('\0');
      assert.equal(argv[argv.indexOf('--parallel') + 1], '2');
      await client.close();
      assert.equal(await server.stop(), 0);
    });
  }

  // For a while there is no memory for any of them.
  test('begins anew where it is spent', async () => {
    const fault = only(4, 'oom@load');
    writeFileSync(fault.file, 'xxxx');  // Nobody suffers yet.
    const server = await start(fault.text, '--fallback', 'batch_tokens=64');
    const client = await server.connect();
    writeFileSync(fault.file, '');
    process.kill(server.children('worker')[0], 'SIGKILL');
    assertWhole(await ask(client, 'a', 50), 50);
    assert.equal(await ends(server, 'oom'), 4);
    assert.equal(await metric(server, 'seedance_engine_fallback'), 0);
    await assertNothingLost(server);
    await client.close();
    assert.equal(await server.stop(), 0);
  });

  // A request that kills workers with any settings fails alone, and leaves the server as it was.
  test('is gone back where it was of no use', async () => {
    const server = await start('oom@prefill', ...chain);
    const client = await server.connect();
    const answer = await ask(client, 'a', 20);
    assert.equal(answer.done.error.code, 'engine_failed');
    assert.equal(await ends(server, 'oom'), 6);
    assert.equal(await metric(server, 'seedance_engine_fallback'), 0);
    await server.err.until(/no fallback helped/);
    await client.close();
    assert.equal(await server.stop(), 0);
  });
});

test('a fault that is none stops the start', async () => {
  await assert.rejects(start('oom@night'), (error) => {
    assert.equal(error.code, 2);
    assert.match(error.stderr, /SEEDANCE_FAULT: "oom@night" is no fault/);
    return true;
  });
});
