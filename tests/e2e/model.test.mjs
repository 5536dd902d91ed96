// Real models in real worker processes.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { models, regrets, Server } from './harness.mjs';

for (const model of models) describe(basename(model), () => {
  let server;
  before(async () => { server = await Server.real(model, '--parallel', '64'); });
  after(async () => { assert.equal(await server.stop(), 0); });

  test('a stock client and the native protocol stream the same model', async () => {
    const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const id = (await openai.models.list()).data[0].id;
    const whole = await openai.completions.create({
      model: id, prompt: 'Once upon a time', max_tokens: 24, temperature: 0,
    });
    const client = await server.connect();
    const answer = await client.infer({ id: 'a', prompt: 'Once upon a time', max_tokens: 24, temperature: 0 });
    assert.equal(answer.text, whole.choices[0].text);
    assert.equal(answer.done.usage.prompt_tokens, whole.usage.prompt_tokens);
    await client.close();
  });

  // No cross-talk: whatever was computed with 63 others is what each alone would choose.
  test('64 streams at once, each as if it were alone', async () => {
    const epsilon = 0.05;  // Kernels round differently for other shapes of a batch.
    const prompts = Array.from({ length: 64 }, (_, i) =>
      Array.from({ length: 8 + (i % 7) * 4 }, (_, k) => 262 + ((i * 37 + k * 11) % 240)));
    const clients = await Promise.all(Array.from({ length: 16 }, () => server.connect()));
    const answers = await Promise.all(prompts.map((prompt, i) => clients[i % 16].infer({
      id: `s${i}`, prompt, max_tokens: 40, temperature: 0, ignore_eos: true, with: ['tokens'],
    })));
    const outputs = answers.map(({ chunks }) => chunks.flatMap((chunk) => chunk.tokens));
    for (const output of outputs) assert.equal(output.length, 40);
    const worst = regrets(model, prompts.map((prompt, i) => [prompt, outputs[i]]));
    assert.equal(worst.length, 64);
    for (const [i, regret] of worst.entries()) assert.ok(regret < epsilon, `stream ${i}: ${regret}`);
    // The check can fail: a neighbour's answer is not one's own.
    assert.ok(regrets(model, [[prompts[0], outputs[1]]])[0] > epsilon);
    await Promise.all(clients.map((client) => client.close()));
  });

  test('the next turn of a conversation is computed from where it is new', async () => {
    const client = await server.connect();
    const ask = async (id, prompt) => {
      const { chunks, done } = await client.infer({
        id, prompt, max_tokens: 20, temperature: 0, ignore_eos: true, with: ['tokens'],
      });
      return [chunks.flatMap((chunk) => chunk.tokens), done.usage.prompt_tokens_details.cached_tokens];
    };
    const first = Array.from({ length: 50 }, (_, k) => 262 + (k * 17) % 240);
    const [answer, before] = await ask('first', first);
    assert.equal(before, 0);
    const second = [...first, ...answer, 300, 301];
    const [next, cached] = await ask('second', second);
    assert.equal(cached, first.length + answer.length - 1);  // Its last token was never computed.
    assert.ok(regrets(model, [[second, next]])[0] < 0.05);
    let metrics;
    do {  // The worker tells it before it waits for work: behind the answer.
      metrics = await (await fetch(`${server.url}/metrics`)).text();
    } while (!new RegExp(`^seedance_kv_prefix_reused_total ${cached}$`, 'm').test(metrics));
    assert.match(metrics, new RegExp(`^seedance_prompt_tokens_cached_total ${cached}$`, 'm'));
    assert.match(metrics, /^seedance_kv_cells\{state="active"\} 0$/m);
    assert.match(metrics, /^seedance_kv_cells\{state="cached"\} [1-9]/m);
    assert.match(metrics, /^seedance_engine_own_bytes [1-9]/m);
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
    assert.ok(error.numbers.prompt_tokens > error.numbers.context_tokens);
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
});
