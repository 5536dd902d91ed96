// Contexts that are too small, and conversations turn by turn.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { models, regrets, Server } from './harness.mjs';

const user = (content) => ({ role: 'user', content });
const dropped = (done) => done.usage.prompt_tokens_details.dropped_tokens;

describe('with the scripted engine', () => {
  let server, client;
  before(async () => {
    server = await Server.scripted('rate=0,length=30,context=100', '--max-shift-tokens', '400');
    client = await server.connect();
  });
  after(async () => {
    await client.close();
    assert.equal(await server.stop(), 0);
  });

  test('a long conversation is refused, or its middle left out', async () => {
    const messages = [{ role: 'system', content: 'Be brief.' }, user('First of all.')];
    for (let i = 0; i < 10; ++i) {
      messages.push({ role: 'assistant', content: `Answer ${i}.` }, user(`Question ${i}?`));
    }
    const { error } = await client.infer({ id: 'error', messages });
    assert.equal(error.code, 'context_length_exceeded');
    const { accepted, done } = await client.infer({ id: 'cut', messages, overflow: 'truncate_middle', max_tokens: 20 });
    assert.ok(accepted.prompt_tokens <= 80);
    assert.ok(accepted.dropped.messages >= 2 && accepted.dropped.messages % 2 === 0);
    assert.equal(accepted.dropped.tokens, error.numbers.prompt_tokens - accepted.prompt_tokens);
    assert.equal(dropped(done), accepted.dropped.tokens);
    const kept = [...messages.slice(0, 2), ...messages.slice(2 + accepted.dropped.messages)];
    const same = await client.infer({ id: 'kept', messages: kept, max_tokens: 20 });
    assert.equal(same.done.usage.prompt_tokens, accepted.prompt_tokens);
    assert.equal(same.done.sha256, done.sha256);
    assert.equal(same.accepted.dropped, undefined);
    assert.equal(dropped(same.done), undefined);
    const huge = [user('word '.repeat(100))];
    const none = await client.infer({ id: 'huge', messages: huge, overflow: 'truncate_middle' });
    assert.equal(none.error.code, 'context_length_exceeded');
    assert.ok(none.error.numbers.kept_tokens > none.error.numbers.prompt_tokens_max);
  });

  test('an answer goes on behind its context, and says what it has forgotten', async () => {
    const ask = { prompt: 'Once', max_tokens: 300, ignore_eos: true };
    const short = await client.infer({ id: 'short', ...ask });
    assert.ok(short.done.usage.total_tokens === 100 && short.done.finish_reason === 'length');
    const long = await client.infer({ id: 'long', ...ask, overflow: 'shift' });
    assert.equal(long.done.usage.completion_tokens, 300);
    assert.ok(long.text.startsWith(short.text));
    assert.ok(dropped(long.done) > 100);
    const endless = await client.infer({ id: 'endless', ...ask, max_tokens: 100_000, overflow: 'shift' });
    assert.equal(endless.done.usage.completion_tokens, 400);
  });

  test('the OpenAI routes have the same policies', async () => {
    const long = { prompt: 'word '.repeat(200), max_tokens: 10 };
    assert.equal((await server.post('/v1/completions', long)).status, 400);
    for (const overflow of ['truncate_middle', 'shift']) {
      const { usage } = await (await server.post('/v1/completions', { ...long, overflow })).json();
      assert.equal(usage.prompt_tokens, 90);
      assert.ok(usage.prompt_tokens_details.dropped_tokens > 100);
    }
    const refused = await server.post('/v1/chat/completions', { messages: [user('Hi')], overflow: 'cut' });
    assert.equal(refused.status, 400);
    assert.equal((await refused.json()).error.param, 'overflow');
  });

  test('a conversation turn by turn is the conversation', async () => {
    const messages = [];
    let parent, tokens = 0;
    for (const question of ['One?', 'Two?', 'Three?']) {
      messages.push(user(question));
      const whole = await client.infer({ id: `whole ${question}`, messages, max_tokens: 8 });
      const next = await client.infer({ id: question, messages: [user(question)], max_tokens: 8, parent });
      assert.equal(next.text, whole.text);
      assert.equal(next.done.usage.prompt_tokens, whole.done.usage.prompt_tokens);
      assert.ok(next.done.usage.prompt_tokens > tokens);
      tokens = next.done.usage.total_tokens;
      parent = next.accepted.stream;
      messages.push({ role: 'assistant', content: next.text });
    }
    const chat = await server.post('/v1/chat/completions', { messages: [user('Four?')], max_tokens: 8, parent });
    assert.equal(chat.status, 200);
    assert.ok((await chat.json()).usage.prompt_tokens > tokens);
  });

  test('a parent that is not there is refused', async () => {
    const parent = 'st_00000000000000000000000001';
    const { error } = await client.infer({ id: 'none', prompt: 'x', parent });
    assert.equal(error.code, 'stream_not_found');
    assert.equal(error.param, 'parent');
  });
});

for (const model of models) describe(basename(model), () => {
  let server, client;
  before(async () => {
    server = await Server.real(model, '--parallel', '4', '--ctx-size', '256');
    client = await server.connect();
  });
  after(async () => {
    await client.close();
    assert.equal(await server.stop(), 0);
  });

  test('each turn of a conversation computes only what is new', async () => {
    let parent, known = 0;
    for (const question of ['Tell me a story.', 'And then?', 'How does it end?']) {
      const { accepted, done } = await client.infer({
        id: question, messages: [user(question)], max_tokens: 30, temperature: 0, parent,
      });
      const { prompt_tokens, completion_tokens, prompt_tokens_details } = done.usage;
      assert.ok(prompt_tokens > known);
      // The last token of the answer was not computed; an end token may be another one's.
      if (parent) assert.ok(prompt_tokens_details.cached_tokens >= known - 2);
      known = prompt_tokens + completion_tokens;
      parent = accepted.stream;
    }
  });

  test('behind a cut each token is that of a model which sees the rest alone', async () => {
    const prompt = Array.from({ length: 40 }, (_, k) => 262 + (k * 17) % 240);
    const ask = { prompt, temperature: 0, ignore_eos: true, with: ['tokens'] };
    const { chunks, done } = await client.infer({ id: 'shift', ...ask, max_tokens: 300, overflow: 'shift' });
    const tokens = chunks.flatMap((chunk) => chunk.tokens);
    assert.equal(tokens.length, 300);
    const half = Math.floor((256 - 1) / 2);
    assert.equal(dropped(done), half);
    const all = [...prompt, ...tokens];
    const seen = [all[0], ...all.slice(1 + half, 256)];
    assert.ok(regrets(model, [[seen, all.slice(256, 256 + half)]])[0] < 0.05);
  });
});
