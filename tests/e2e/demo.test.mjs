// The demo model, as `seedance serve` without a model serves it: 50 fixed prompts, each answered
// sensibly in form. What it says is the model card's matter; that it says it well formed is ours.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { Server } from './harness.mjs';

const prompts = JSON.parse(readFileSync(join(import.meta.dirname, 'demo_prompts.json'), 'utf8'));
const limits = { temperature: 0, max_tokens: 600 };

let server;
let client;
before(async () => {
  server = await Server.demo();
  client = await server.connect();
});
after(async () => {
  await client.close();
  assert.equal(await server.stop(), 0);
});

// `ask` holds the turns of user and assistant by turns.
function messagesOf({ system, ask }) {
  const turns = ask.map((content, i) => ({ role: i % 2 ? 'assistant' : 'user', content }));
  return system ? [{ role: 'system', content: system }, ...turns] : turns;
}

// The first run of `size` units that occurs three times: of words, and of Chinese characters.
function loop(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
  const characters = [...text].filter((character) => /\p{Script=Han}/u.test(character));
  for (const [units, size] of [[words, 8], [characters, 16]]) {
    const seen = new Map();
    for (let at = 0; at + size <= units.length; at++) {
      const run = units.slice(at, at + size).join(' ');
      seen.set(run, (seen.get(run) ?? 0) + 1);
      if (seen.get(run) === 3) return run;
    }
  }
  return undefined;
}

const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);

test('a loop is seen', () => {
  const words = 'one two three four five six seven eight ';
  const characters = '一二三四五六七八九十上下左右前后';
  assert.equal(loop(words.repeat(2)), undefined);
  assert.equal(loop(words.repeat(3)), words.trim());
  assert.equal(loop(characters.repeat(2)), undefined);
  assert.ok(loop(characters.repeat(3)));
});

// One at a time: the batch that a token is computed in may change its last bits, and with them
// the likelier of two near words.
const answers = [];
for (const prompt of prompts) {
  test(prompt.ask.at(-1), async () => {
    const id = `p${answers.length}`;
    const answer = await client.infer({ id, messages: messagesOf(prompt), ...limits });
    answers.push(answer.text);
    assert.equal(answer.accepted.model, 'demo@1');
    assert.notEqual(answer.text.trim(), '');
    assert.equal(answer.done.finish_reason, 'stop', answer.text);
    assert.equal(loop(answer.text), undefined, answer.text);
    assert.ok(!answer.text.includes('\ufffd'), answer.text);
    // Half of a character would have become a lone surrogate or a replacement in its chunk.
    for (const chunk of answer.chunks) assert.ok(chunk.text.isWellFormed(), answer.text);
    assert.equal(answer.done.sha256, createHash('sha256').update(answer.text).digest('hex'));
    if (prompt.numbers) assert.deepEqual(answer.text.match(/\d+/g)?.map(Number), prompt.numbers);
    if (prompt.contains) assert.ok(answer.text.includes(prompt.contains), answer.text);
  });
}

test('the list of prompts is what it is meant to be', () => {
  assert.equal(prompts.length, 50);
  assert.equal(answers.length, prompts.length);
  assert.ok(prompts.filter((prompt) => prompt.numbers).length >= 4);
  // Whole characters of several bytes come through: not all answers are ASCII.
  assert.ok(answers.filter((text) => !isAscii(text)).length >= 3);
});

test('chunks over SSE add up to the same answers', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const model = (await openai.models.list()).data[0].id;
  assert.equal(model, 'demo@1');
  // A story, a count, a conversation, and what has characters of several bytes.
  const multibyte = answers.findIndex((text) => !isAscii(text));
  assert.notEqual(multibyte, -1);
  for (const at of [0, 21, 46, multibyte]) {
    const stream = await openai.chat.completions.create({
      model, messages: messagesOf(prompts[at]), stream: true, ...limits,
    });
    let text = '';
    for await (const chunk of stream) {
      assert.equal(chunk.model, model);
      text += chunk.choices[0]?.delta.content ?? '';
    }
    assert.equal(text, answers[at]);
  }
});

test('chunks of the binary protocol add up to the same answers', async () => {
  const binary = await server.connect({ protocol: 'seedance.v2+binary' });
  for (const [at, prompt] of prompts.entries()) {
    if (isAscii(answers[at])) continue;
    binary.messages.length = 0;
    binary.send({ type: 'INFER_REQ', id: 'b', messages: messagesOf(prompt), ...limits });
    await binary.until((message) => message.type === 'INFER_DONE');
    // The harness decodes each frame by itself, and fails where one is no whole UTF-8.
    const chunks = binary.messages.filter((message) => message.type === 'INFER_CHUNK');
    assert.equal(chunks.map((chunk) => chunk.text).join(''), answers[at]);
  }
  await binary.close();
});
