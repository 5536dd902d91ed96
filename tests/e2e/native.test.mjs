// The native protocol over a real socket, with the scripted engine.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Server } from './harness.mjs';

let server;
before(async () => { server = await Server.scripted('rate=2000,length=60'); });
after(async () => { assert.equal(await server.stop(), 0); });

function checkGapless({ chunks, done, text }) {
  let seq = 0;
  for (const chunk of chunks) {
    assert.equal(chunk.seq, seq);
    seq += chunk.n;
  }
  assert.equal(done.seq, seq);
  assert.equal(done.usage.completion_tokens, seq);
  assert.equal(done.sha256, createHash('sha256').update(text).digest('hex'));
}

test('a prompt streams: accepted, chunks without gap, one end', async () => {
  const client = await server.connect();
  const answer = await client.infer({ id: 'a', prompt: 'Once upon a time', max_tokens: 40 });
  assert.match(answer.accepted.stream, /^st_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.equal(answer.done.finish_reason, 'length');
  assert.equal(answer.done.usage.completion_tokens, 40);
  checkGapless(answer);
  for (const field of ['queue_ms', 'prefill_ms', 'ttft_ms', 'decode_ms']) {
    assert.ok(answer.done.timing[field] >= 0, field);
  }
  await client.close();
});

test('messages stream as a prompt does', async () => {
  const client = await server.connect();
  const answer = await client.infer({ id: 'm', messages: [{ role: 'user', content: 'Hello' }] });
  assert.equal(answer.done.finish_reason, 'stop');
  checkGapless(answer);
  await client.close();
});

test('many streams share one connection and keep apart', async () => {
  const client = await server.connect();
  const ask = (id) => client.infer({ id, prompt: `prompt ${id}`, max_tokens: 30, seed: 1 });
  const together = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(`s${i}`)));
  for (const [i, answer] of together.entries()) {
    checkGapless(answer);
    const alone = await client.infer({ id: `alone${i}`, prompt: `prompt s${i}`, max_tokens: 30, seed: 1 });
    assert.equal(answer.text, alone.text);
  }
  await client.close();
});

test('binary chunks carry the same stream', async () => {
  const request = { prompt: 'binary', max_tokens: 30, with: ['tokens'] };
  const json = await server.connect();
  const expected = await json.infer({ id: 'j', ...request });
  const client = await server.connect({ protocol: 'seedance.v2+binary' });
  client.send({ type: 'INFER_REQ', id: 'b', ...request });
  const accepted = await client.until((m) => m.type === 'ACCEPTED');
  const done = await client.until((m) => m.type === 'INFER_DONE');
  const chunks = client.messages.filter((m) => m.type === 'INFER_CHUNK');
  for (const chunk of chunks) assert.equal(chunk.channel, accepted.channel);
  assert.equal(chunks.map((c) => c.text).join(''), expected.text);
  assert.deepEqual(chunks.flatMap((c) => c.tokens), expected.chunks.flatMap((c) => c.tokens));
  assert.equal(done.sha256, expected.done.sha256);
  await client.close();
  await json.close();
});

test('no chunk ends inside a character, whole or user-perceived', async () => {
  const client = await server.connect();
  const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const boundary of ['utf8', 'grapheme']) {
    const answer = await client.infer({ id: boundary, prompt: 'emoji 👩‍👩‍👧 你好', max_tokens: 60, boundary });
    assert.ok(!answer.text.includes('\ufffd') || answer.done.finish_reason === 'length');
    if (boundary !== 'grapheme') continue;
    const starts = new Set([...graphemes.segment(answer.text)].map((s) => s.index));
    let at = 0;
    for (const chunk of answer.chunks) {
      if (chunk.text) assert.ok(starts.has(at), `a chunk begins inside a grapheme at ${at}`);
      at += chunk.text.length;
    }
  }
  await client.close();
});

test('a stop string ends the stream and is no part of the text', async () => {
  const client = await server.connect();
  const whole = await client.infer({ id: 'w', prompt: 'stop here', max_tokens: 40, seed: 1 });
  const stop = whole.text.slice(20, 26);
  const answer = await client.infer({ id: 's', prompt: 'stop here', max_tokens: 40, seed: 1, stop });
  assert.equal(answer.done.finish_reason, 'stop');
  assert.equal(answer.text, whole.text.slice(0, whole.text.indexOf(stop)));
  checkGapless(answer);
  await client.close();
});

test('ping measures, bad messages are answered and the connection lives', async () => {
  const client = await server.connect();
  client.send({ type: 'PING', ts: 123 });
  const pong = await client.until((m) => m.type === 'PONG');
  assert.equal(pong.ts, 123);
  client.socket.send('{not json');
  const broken = await client.until((m) => m.type === 'ERROR');
  assert.equal(broken.retryable, false);
  for (const [request, param] of [
    [{ id: 'x', prompt: 'p', temperature: 'hot' }, 'temperature'],
    [{ id: 'x', prompt: 'p', grammar: 'root ::= "a"' }, 'grammar'],  // No script keeps to one.
    [{ id: 'x', prompt: 'p', nonsense: 1 }, 'nonsense'],
    [{ id: 'x' }, 'prompt'],
  ]) {
    client.messages.length = 0;
    const { error } = await client.infer(request);
    assert.equal(error.code, 'invalid_request');
    assert.ok(error.message.includes(param), error.message);
  }
  const { error } = await client.infer({ id: 'y', prompt: 'p', model: 'nobody' });
  assert.equal(error.code, 'model_not_found');
  const answer = await client.infer({ id: 'z', prompt: 'p', max_tokens: 3 });
  checkGapless(answer);
  await client.close();
});

test('cancel works in queue, in prefill and in decode', async () => {
  const slow = await Server.scripted('rate=50,length=100000,prefill=20ms', '--parallel', '1');
  const client = await slow.connect();
  for (let i = 0; i < 4; i++) client.send({ type: 'INFER_REQ', id: `c${i}`, prompt: 'slow' });
  for (let i = 0; i < 4; i++) await client.until((m) => m.id === `c${i}` && m.type === 'ACCEPTED');
  client.send({ type: 'CANCEL', id: 'c3' });
  assert.equal((await client.finish('c3')).done.finish_reason, 'cancelled');
  await client.until((m) => m.id === 'c0' && m.type === 'INFER_CHUNK');
  client.send({ type: 'CANCEL', id: 'c0' });
  const decoded = await client.finish('c0');
  assert.equal(decoded.done.finish_reason, 'cancelled');
  checkGapless(decoded);
  client.send({ type: 'CANCEL', id: 'c1' });
  assert.equal((await client.finish('c1')).done.finish_reason, 'cancelled');
  client.send({ type: 'CANCEL', id: 'c2' });
  assert.equal((await client.finish('c2')).done.finish_reason, 'cancelled');
  const metrics = await (await slow.get('/metrics')).text();
  assert.match(metrics, /seedance_streams_running 0\n/);
  await client.close();
  assert.equal(await slow.stop(), 0);
});

test('a stream whose reader is gone ends by itself', async () => {
  const slow = await Server.scripted('rate=100,length=100000');
  const client = await slow.connect();
  client.send({ type: 'INFER_REQ', id: 'd', prompt: 'bye', detach: 'cancel' });
  await client.until((m) => m.type === 'INFER_CHUNK');
  client.socket.terminate();
  for (;;) {
    const metrics = await (await slow.get('/metrics')).text();
    if (/seedance_streams_ended_total\{reason="cancelled"\} 1\n/.test(metrics)) break;
    await new Promise(setImmediate);
  }
  assert.equal(await slow.stop(), 0);
});

test('without a journal SIGTERM ends every stream with a terminal, then the server with 0', async () => {
  const slow = await Server.scripted('rate=100,length=100000', '--drain-timeout-ms', '0', '--journal', 'none');
  const client = await slow.connect();
  client.send({ type: 'INFER_REQ', id: 'e', prompt: 'end' });
  await client.until((m) => m.type === 'INFER_CHUNK');
  const stopped = slow.stop();
  assert.equal((await client.finish('e')).done.finish_reason, 'cancelled');
  assert.equal((await client.closed).code, 1012);
  assert.equal(await stopped, 0);
});
