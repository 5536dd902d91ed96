// The stock OpenAI client against a server with the scripted engine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { Server } from './harness.mjs';

let server;
let openai;
let model;
before(async () => {
  server = await Server.scripted('rate=2000,length=50');
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  model = (await openai.models.list()).data[0].id;
});
after(async () => { assert.equal(await server.stop(), 0); });

const messages = [{ role: 'user', content: 'Tell me a story.' }];

test('chat completions stream what they answer whole', async () => {
  const whole = await openai.chat.completions.create({ model, messages, seed: 7 });
  assert.equal(whole.object, 'chat.completion');
  assert.equal(whole.model, model);
  assert.equal(whole.choices[0].message.role, 'assistant');
  assert.equal(whole.choices[0].finish_reason, 'stop');
  const stream = await openai.chat.completions.create({
    model, messages, seed: 7, stream: true, stream_options: { include_usage: true },
  });
  let text = '';
  let usage;
  const reasons = [];
  let first;
  for await (const chunk of stream) {
    first ??= chunk;
    assert.ok(Array.isArray(chunk.choices));
    assert.match(chunk.id, /^chatcmpl-/);
    assert.equal(chunk.id, first.id);
    text += chunk.choices[0]?.delta.content ?? '';
    if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
    usage ??= chunk.usage;
  }
  assert.equal(first.choices[0].delta.role, 'assistant');
  assert.deepEqual(reasons, ['stop']);
  assert.equal(text, whole.choices[0].message.content);
  assert.deepEqual(usage, whole.usage);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
});

test('completions stream what they answer whole', async () => {
  const request = { model, prompt: 'Once upon', max_tokens: 20, seed: 3 };
  const whole = await openai.completions.create(request);
  assert.equal(whole.object, 'text_completion');
  assert.equal(whole.choices[0].finish_reason, 'length');
  assert.equal(whole.usage.completion_tokens, 20);
  let text = '';
  for await (const chunk of await openai.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.text ?? '';
  }
  assert.equal(text, whole.choices[0].text);
});

test('the stream helper of the client assembles the message', async () => {
  const runner = openai.chat.completions.stream({ model, messages, seed: 7 });
  const final = await runner.finalChatCompletion();
  const whole = await openai.chat.completions.create({ model, messages, seed: 7 });
  assert.equal(final.choices[0].message.content, whole.choices[0].message.content);
});

test('logprobs name every token', async () => {
  const whole = await openai.chat.completions.create({
    model, messages, seed: 7, max_completion_tokens: 5, logprobs: true, top_logprobs: 2,
  });
  const { content } = whole.choices[0].logprobs;
  assert.equal(content.length, 5);
  for (const token of content) {
    assert.ok(token.logprob <= 0);
    assert.equal(token.top_logprobs.length, 2);
  }
});

test('errors have the shape that the client knows', async () => {
  await assert.rejects(openai.chat.completions.create({ model: 'nobody', messages }),
    (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  for (const [field, value] of Object.entries({ n: 2, tools: [{ type: 'function', function: { name: 'f' } }] })) {
    await assert.rejects(openai.chat.completions.create({ model, messages, [field]: value }),
      (error) => error instanceof OpenAI.BadRequestError && error.param === field &&
        error.message.includes(field));
  }
  await assert.rejects(openai.chat.completions.create({ model, messages, temperature: 9 }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'temperature');
  await assert.rejects(openai.chat.completions.create({ model, messages: [] }), OpenAI.BadRequestError);
});

test('an aborted request ends its stream', async () => {
  const slow = await Server.scripted('rate=100,length=100000', '--orphan-ttl-ms', '0');
  const client = new OpenAI({ baseURL: `${slow.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const stream = await client.chat.completions.create({ model, messages, stream: true });
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) break;
  }
  stream.controller.abort();
  for (;;) {
    const metrics = await (await slow.get('/metrics')).text();
    if (/seedance_streams_running 0\n/.test(metrics)) break;
    await new Promise(setImmediate);
  }
  assert.equal(await slow.stop(), 0);
});
