// One model with two adapters: every request is answered with the one that it names.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { regrets, Server } from './harness.mjs';

const epsilon = 0.05;  // Kernels round differently for other shapes of a batch.
const names = ['tiny@1', 'tiny@1+one', 'tiny@1+two'];

let directory;
let model;
let adapters;
let server;

function make(name, ...flags) {
  const path = join(directory, name);
  const maker = join(import.meta.dirname, '../../bench/make_model.py');
  const made = spawnSync('python3', [maker, '--tiny', ...flags, '--out', path]);
  assert.equal(made.status, 0, made.stderr?.toString());
  return path;
}

before(async () => {
  directory = mkdtempSync(join(tmpdir(), 'seedance-adapters-'));
  model = make('tiny.gguf', '--type', 'f32');
  adapters = [1, 2].map((seed) => make(`${seed}.gguf`, '--lora', '4', '--seed', seed));
  server = await Server.real(model, '--parallel', '8',
    '--adapter', `one=${adapters[0]}`, '--adapter', `two=${adapters[1]}`);
});
after(async () => {
  assert.equal(await server.stop(), 0);
  rmSync(directory, { recursive: true });
});

const prompt = Array.from({ length: 30 }, (_, k) => 300 + (k * 17) % 240);
const request = { prompt, max_tokens: 40, temperature: 0, ignore_eos: true, with: ['tokens'] };
const tokens = ({ chunks }) => chunks.flatMap((chunk) => chunk.tokens);

// How far `output` is from what name i says alone.
const regret = (i, output) =>
  regrets(model, [[prompt, output]], ...(i === 0 ? [] : [adapters[i - 1]]))[0];

test('all at once, each as if it were alone', async () => {
  const client = await server.connect();
  const answers = await Promise.all([...names, ...names].map((name, i) =>
    client.infer({ id: `${i}`, model: name, ...request })));
  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.accepted.model, names[i % 3]);
    assert.equal(tokens(answer).length, 40);
    for (const other of [0, 1, 2]) {
      const near = regret(other, tokens(answer)) < epsilon;
      assert.equal(near, other === i % 3, `${names[i % 3]} against ${names[other]}`);
    }
  }
  assert.equal(new Set(answers.map((answer) => answer.text)).size, 3);
  await client.close();
});

test('a worker killed in mid-stream: each goes on with its own', async () => {
  const client = await server.connect();
  for (const name of names) client.send({ type: 'INFER_REQ', id: name, model: name, ...request, max_tokens: 400 });
  for (const name of names) await client.until((m) => m.id === name && m.type === 'INFER_CHUNK' && m.seq > 20);
  process.kill(server.children('worker')[0], 'SIGKILL');
  for (const [i, name] of names.entries()) {
    const answer = await client.finish(name);
    assert.equal(answer.done.finish_reason, 'length');
    assert.equal(tokens(answer).length, 400);
    assert.ok(regret(i, tokens(answer)) < epsilon, name);
  }
  assert.match(await (await server.get('/metrics')).text(), /^seedance_engine_restarts_total 1$/m);
  await client.close();
});

test('a stock client sees them as models', async () => {
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  assert.deepEqual((await openai.models.list()).data.map(({ id }) => id), names);
  assert.equal((await openai.models.retrieve('tiny+two')).id, 'tiny@1+two');
  const whole = await openai.completions.create({ model: 'tiny+one', prompt: 'Once', max_tokens: 3 });
  assert.equal(whole.model, 'tiny@1+one');
  const chat = await openai.chat.completions.create({
    model: 'tiny@1+two', messages: [{ role: 'user', content: 'Once' }], max_tokens: 3,
  });
  assert.equal(chat.model, 'tiny@1+two');
  await assert.rejects(openai.completions.create({ model: 'tiny+three', prompt: 'Once' }), (error) => {
    assert.equal(error.status, 404);
    assert.equal(error.code, 'model_not_found');
    assert.match(error.message, /tiny, tiny\+one, tiny\+two/);
    return true;
  });
});

test('a broken adapter is named before anything starts', async () => {
  const cut = join(directory, 'cut.gguf');
  writeFileSync(cut, readFileSync(adapters[0]).subarray(0, -100));
  await assert.rejects(Server.real(model, '--adapter', `one=${adapters[0]}`, '--adapter', `cut=${cut}`),
    ({ code, stderr }) => code === 2 && stderr.includes(`adapter file '${cut}' is cut short`));
  await assert.rejects(Server.real(model, '--adapter', `one=${model}`),
    ({ code, stderr }) => code === 2 && stderr.includes('holds no adapter'));
});
