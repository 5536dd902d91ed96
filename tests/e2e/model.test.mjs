// A real model in a real worker process.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { Server } from './harness.mjs';

let server;
before(async () => { server = await Server.real('--parallel', '8'); });
after(async () => { assert.equal(await server.stop(), 0); });

test('a stock client and the native protocol stream the same model', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const model = (await openai.models.list()).data[0].id;
  const whole = await openai.completions.create({
    model, prompt: 'Once upon a time', max_tokens: 24, temperature: 0,
  });
  const client = await server.connect();
  const answer = await client.infer({ id: 'a', prompt: 'Once upon a time', max_tokens: 24, temperature: 0 });
  assert.equal(answer.text, whole.choices[0].text);
  assert.equal(answer.done.usage.prompt_tokens, whole.usage.prompt_tokens);
  await client.close();
});

test('a seed reproduces a sampled answer', async () => {
  const client = await server.connect();
  const ask = (id, seed) => client.infer({ id, prompt: 'The cat', max_tokens: 24, temperature: 1, seed });
  const one = await ask('1', 42);
  assert.equal((await ask('2', 42)).text, one.text);
  assert.notEqual((await ask('3', 43)).text, one.text);
  await client.close();
});

test('a prompt over the context is refused with the numbers', async () => {
  const client = await server.connect();
  const { error } = await client.infer({ id: 'long', prompt: 'word '.repeat(20000) });
  assert.equal(error.code, 'context_length_exceeded');
  assert.ok(error.prompt_tokens > error.context_tokens);
  await client.close();
});

test('a worker killed in mid-stream: a typed end, then service again', async () => {
  const client = await server.connect();
  client.send({ type: 'INFER_REQ', id: 'k', prompt: 'Once', ignore_eos: true });
  await client.until((m) => m.id === 'k' && m.type === 'INFER_CHUNK');
  const [worker] = server.children('worker');
  process.kill(worker, 'SIGKILL');
  const killed = await client.finish('k');
  // A short context may end a stream before the signal lands: then it ended by length.
  if (killed.done.finish_reason !== 'length') {
    assert.equal(killed.done.finish_reason, 'error');
    assert.equal(killed.done.error.code, 'engine_failed');
    assert.equal(killed.done.seq, killed.chunks.reduce((sum, chunk) => sum + chunk.n, 0));
  }
  const answer = await client.infer({ id: 'again', prompt: 'Once', max_tokens: 5 });
  assert.equal(answer.done.finish_reason, 'length');
  assert.notDeepEqual(server.children('worker'), [worker]);
  await client.close();
});

test('a vocabulary process that dies is replaced', async () => {
  const [vocabulary] = server.children('vocabulary');
  process.kill(vocabulary, 'SIGKILL');
  const client = await server.connect();
  for (let i = 0; ; i++) {
    const answer = await client.infer({ id: `v${i}`, prompt: 'Once', max_tokens: 3 });
    if (answer.done) break;
    assert.equal(answer.error.retryable, true);
  }
  await client.close();
});
