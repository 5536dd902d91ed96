// Answers that keep to a grammar or a schema, whatever the model would rather say.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { binary, models, Server } from './harness.mjs';

const stories = join(import.meta.dirname, '../../../shared/models/stories260K.gguf');
const all = existsSync(stories) && !models.includes(stories) ? [...models, stories] : models;

// Each with what holds of every value that is valid.
const schemas = {
  person: [{
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 12 },
      age: { type: 'integer', minimum: 0, maximum: 120 },
    },
    required: ['name', 'age'],
    additionalProperties: false,
  }, (value) => {
    assert.deepEqual(Object.keys(value), ['name', 'age']);
    assert.ok([...value.name].length <= 12);
    assert.ok(Number.isInteger(value.age) && value.age >= 0 && value.age <= 120);
  }],
  colours: [{
    type: 'array', items: { enum: ['red', 'gr\u00fcn', '\u9752'] }, minItems: 2, maxItems: 4,
  }, (value) => {
    assert.ok(value.length >= 2 && value.length <= 4);
    for (const each of value) assert.ok(['red', 'gr\u00fcn', '\u9752'].includes(each));
  }],
  place: [{
    $defs: { point: { type: 'object', properties: { x: { type: 'number' }, y: { type: 'number' } }, required: ['x', 'y'] } },
    type: 'object',
    properties: { at: { $ref: '#/$defs/point' }, note: { anyOf: [{ const: 'here' }, { type: 'null' }] } },
    required: ['at', 'note'],
  }, (value) => {
    assert.deepEqual(Object.keys(value), ['at', 'note']);
    assert.deepEqual(Object.keys(value.at), ['x', 'y']);
    assert.ok(typeof value.at.x === 'number' && typeof value.at.y === 'number');
    assert.ok(value.note === 'here' || value.note === null);
  }],
};

for (const model of all) describe(basename(model), () => {
  let server;
  let openai;
  before(async () => {
    server = await Server.real(model);
    openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  });
  after(async () => { assert.equal(await server.stop(), 0); });

  for (const [name, [schema, check]] of Object.entries(schemas)) {
    test(`${name}: native and chat answers are valid, greedy or drawn`, async () => {
      const client = await server.connect();
      const id = (await openai.models.list()).data[0].id;
      for (const sampling of [{ temperature: 0 }, { seed: 1 }, { seed: 2, top_p: 0.9 }, { seed: 3, temperature: 2 }]) {
        const native = await client.infer({
          id: 'a', prompt: 'Once upon a time', json_schema: schema, ...sampling,
        });
        assert.equal(native.error, undefined);
        assert.equal(native.done.finish_reason, 'stop');
        check(JSON.parse(native.text));
        client.messages.length = 0;
        const ask = {
          model: id,
          messages: [{ role: 'user', content: 'JSON, please.' }],
          response_format: { type: 'json_schema', json_schema: { name, schema, strict: true } },
          ...sampling,
        };
        let streamed = '';
        for await (const chunk of await openai.chat.completions.create({ ...ask, stream: true })) {
          streamed += chunk.choices[0]?.delta.content ?? '';
        }
        check(JSON.parse(streamed));
        const whole = await openai.chat.completions.create(ask);
        assert.equal(whole.choices[0].finish_reason, 'stop');
        check(JSON.parse(whole.choices[0].message.content));
      }
      await client.close();
    });
  }

  test('a grammar as llama-server takes it', async () => {
    const id = (await openai.models.list()).data[0].id;
    for (const seed of [1, 2, 3]) {
      const answer = await openai.completions.create({
        model: id, prompt: 'Is it?', max_tokens: 20, seed, grammar: 'root ::= ("yes" | "no") [.!]{1,2}',
      });
      assert.match(answer.choices[0].text, /^(yes|no)[.!]{1,2}$/);
      assert.equal(answer.choices[0].finish_reason, 'stop');
    }
  });

  test('what cannot be kept to is refused by its name, and harms nobody', async () => {
    const client = await server.connect();
    const slow = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`p${i}`, {}]));
    const [vocabulary] = server.children('vocabulary');
    const refusals = [
      [{ grammar: 'root ::= other' }, 'grammar'],
      [{ grammar: 'root ::= root "a" | "b"' }, 'grammar'],
      [{ grammar: 'root ::= "a"{1,100000}' }, 'grammar'],
      [{ grammar: `root ::= ${'('.repeat(60000)}` }, 'grammar'],
      [{ grammar: `root ::= "${'a'.repeat(70000)}"` }, 'grammar'],
      [{ json_schema: { type: 'string', pattern: '(?=a)b' } }, 'json_schema'],
      [{ json_schema: { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/a' } } } }, 'json_schema'],
      [{ json_schema: { type: 'object', properties: slow } }, 'json_schema'],
      [{ json_schema: { type: 'number', multipleOf: 2 } }, 'json_schema'],
      [{ json_schema: { anyOf: [{ type: 'object' }], properties: {} } }, 'json_schema'],
    ];
    const other = server.connect().then(async (one) => {
      const answer = await one.infer({ id: 'b', prompt: 'Once', max_tokens: 5 });
      await one.close();
      return answer;
    });
    for (const [format, param] of refusals) {
      client.messages.length = 0;
      const { error } = await client.infer({ id: 'a', prompt: 'Once', ...format });
      assert.equal(error.code, 'invalid_request', error.message);
      assert.equal(error.param, param);
      assert.equal(error.retryable, false);
    }
    assert.equal((await other).done.finish_reason, 'length');
    assert.deepEqual(server.children('vocabulary'), [vocabulary]);
    await client.close();
  });
});

test('schemas that take long hold up no other tenant', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'seedance-keys-'));
  t.after(() => rmSync(home, { recursive: true }));
  const file = join(home, 'keys');
  const headers = (tenant) => {
    const added = spawnSync(binary, ['keys', 'add', '--tenant', tenant, '--file', file]);
    return { authorization: `Bearer ${added.stdout.toString().trim()}` };
  };
  const [hostile, other] = ['hostile', 'other'].map(headers);
  const server = await Server.demo('--keys-file', file);
  t.after(async () => { assert.equal(await server.stop(), 0); });
  const slow = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`p${i}`, {}]));
  const client = await server.connect({ headers: hostile });
  for (let i = 0; i < 12; ++i) {
    client.send({ type: 'INFER_REQ', id: `h${i}`, prompt: 'p', json_schema: { type: 'object', properties: slow } });
  }
  client.send({ type: 'PING', ts: 1 });
  await client.until((m) => m.type === 'PONG');  // They are all in the line.
  const quick = await server.connect({ headers: other });
  assert.ok((await quick.infer({ id: 'q', prompt: 'Once', max_tokens: 2 })).done);
  const refused = () => client.messages.filter((m) => m.type === 'ERROR');
  assert.ok(refused().length < 12, `${refused().length} schemas were looked at before`);
  await Promise.all([client.close(), quick.close()]);
});

// The new worker goes on in the grammar where the tokens so far have led.
test('an answer whose worker is killed keeps to its grammar', async (t) => {
  const server = await Server.demo();
  t.after(async () => { assert.equal(await server.stop(), 0); });
  const client = await server.connect();
  const [worker] = server.children('worker');
  client.send({
    type: 'INFER_REQ', id: 'k', prompt: 'Once', seed: 5,
    grammar: 'root ::= "[" item ("," item){199} "]"\nitem ::= "{\\"n\\":" [1-9] [0-9]? "}"',
  });
  const { seq } = await client.until((m) => m.id === 'k' && m.type === 'INFER_CHUNK' && m.seq >= 40);
  process.kill(worker, 'SIGKILL');
  const { text, done, chunks } = await client.finish('k');
  assert.equal(done.finish_reason, 'stop', JSON.stringify(done));
  const items = JSON.parse(text);
  assert.equal(items.length, 200);
  for (const { n } of items) assert.ok(n >= 1 && n <= 99);
  assert.equal(done.seq, chunks.reduce((sum, chunk) => sum + chunk.n, 0));
  assert.ok(done.seq > seq);
  assert.notDeepEqual(server.children('worker'), [worker]);
  await client.close();
});
