// A small model that guesses ahead changes when tokens come, never which.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { binary, regrets, Server } from './harness.mjs';

const epsilon = 0.05;  // Kernels round differently for other shapes of a batch.

let directory;
let model;
let stranger;

function make(name, ...flags) {
  const path = join(directory, name);
  const maker = join(import.meta.dirname, '../../bench/make_model.py');
  const made = spawnSync('python3', [maker, '--tiny', '--type', 'f32', ...flags, '--out', path]);
  assert.equal(made.status, 0, made.stderr?.toString());
  return path;
}

before(() => {
  directory = mkdtempSync(join(tmpdir(), 'seedance-draft-'));
  model = make('tiny.gguf');
  stranger = make('stranger.gguf', '--seed', '2');
});
after(() => rmSync(directory, { recursive: true }));

const prompt = Array.from({ length: 30 }, (_, k) => 300 + (k * 17) % 240);
const request = { prompt, max_tokens: 200, temperature: 0, ignore_eos: true, with: ['tokens'] };
const tokens = ({ chunks }) => chunks.flatMap((chunk) => chunk.tokens);

async function counted(server, name) {
  const text = await (await server.get('/metrics')).text();
  return Number(text.match(new RegExp(`^${name} (\\d+)$`, 'm'))[1]);
}

for (const [name, draft] of [['itself', () => model], ['a stranger', () => stranger]]) {
  test(`a model that ${name} guesses for says what it says alone, also after a crash`, async () => {
    const server = await Server.real(model, '--parallel', '4', '--draft-model', draft());
    const client = await server.connect();
    const alone = await client.infer({ id: 'alone', ...request });
    client.send({ type: 'INFER_REQ', id: 'cut', ...request, max_tokens: 400 });
    await client.until((m) => m.id === 'cut' && m.type === 'INFER_CHUNK' && m.seq > 20);
    process.kill(server.children('worker')[0], 'SIGKILL');
    const cut = await client.finish('cut');
    assert.equal(tokens(alone).length, 200);
    assert.equal(tokens(cut).length, 400);
    for (const regret of regrets(model, [[prompt, tokens(alone)], [prompt, tokens(cut)]])) {
      assert.ok(regret < epsilon, `${regret}`);
    }
    const drafted = await counted(server, 'seedance_tokens_drafted_total');
    assert.ok(drafted > 0);
    assert.ok(await counted(server, 'seedance_tokens_draft_accepted_total') <= drafted);
    await client.close();
    assert.equal(await server.stop(), 0);
  });
}

test('a draft model of another vocabulary is refused with the reason', async () => {
  const other = make('other.gguf', '--vocab', '2048');
  await assert.rejects(Server.real(model, '--draft-model', other),
    /draft_model: '.*other\.gguf' cannot guess for this model: its vocabulary has 2048 tokens, the model's has 4096/);
  const fit = spawnSync(binary, ['fit', model, '--draft-model', other]);
  assert.equal(fit.status, 2);
  assert.match(fit.stderr.toString(), /its vocabulary has 2048 tokens, the model's has 4096/);
});

test('fit counts it', () => {
  const fit = (...flags) => {
    const run = spawnSync(binary, ['fit', model, '--json', ...flags]);
    return JSON.parse(run.stdout.toString());
  };
  const [alone, both] = [fit(), fit('--draft-model', stranger)];
  assert.equal(both.bytes_per_token, 2 * alone.bytes_per_token);
  assert.equal(both.devices.at(-1).weights_bytes, 2 * alone.devices.at(-1).weights_bytes);
});
