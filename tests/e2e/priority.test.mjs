// Who is urgent does not wait for who is not, and nobody waits for ever.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { models, regrets, Server } from './harness.mjs';

const crowd = 200;

async function metric(server, name) {
  const metrics = await (await server.get('/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(metrics)[1]);
}

// The worker tells it behind the last token, before it waits.
async function untilMetric(server, name, value) {
  while (await metric(server, name) !== value) await new Promise(setImmediate);
}

test('a realtime request goes before 200 queued batch ones', async () => {
  const server = await Server.scripted('rate=100,length=100000', '--parallel', '4',
    '--max-streams-per-connection', `${crowd}`);
  const many = await server.connect();
  for (let i = 0; i < crowd; i++) {
    many.send({ type: 'INFER_REQ', id: `b${i}`, prompt: `b${i}`, max_tokens: 50, priority: 'batch' });
  }
  const queued = [];
  for (let i = 0; i < crowd; i++) {
    queued.push((await many.until((m) => m.id === `b${i}` && m.type === 'ACCEPTED')).queue);
  }
  assert.ok(queued.at(-1) > crowd / 2, `place ${queued.at(-1)}`);
  const one = await server.connect();
  const answer = await one.infer({ id: 'r', prompt: 'now', max_tokens: 5, priority: 'realtime' });
  assert.equal(answer.accepted.queue, 0);
  assert.equal(answer.done.usage.completion_tokens, 5);
  // In the order of arrival all of them would have begun.
  const begun = new Set(many.messages.filter((m) => m.type === 'INFER_CHUNK').map((m) => m.id));
  assert.ok(begun.size < crowd, `${begun.size} began before it was done`);
  const metrics = await (await server.get('/metrics')).text();
  assert.match(metrics, /^seedance_queue_depth\{priority="batch"\} [1-9]/m);
  assert.match(metrics, /^seedance_queue_seconds_count\{priority="realtime"\} 1$/m);
  await one.close();
  await many.close();
  assert.equal(await server.stop(), 0);
});

test('whoever makes room for it goes on behind its tokens', async () => {
  const server = await Server.demo('--parallel', '2', '--max-streams-per-connection', '16');
  const many = await server.connect();
  const prompts = Array.from({ length: 8 }, (_, i) =>
    Array.from({ length: 12 }, (_, k) => 262 + ((i * 37 + k * 11) % 240)));
  const answers = prompts.map((prompt, i) => many.infer({
    id: `b${i}`, prompt, max_tokens: 80, temperature: 0, ignore_eos: true, with: ['tokens'],
    priority: 'batch',
  }));
  await many.until((m) => m.type === 'INFER_CHUNK');
  const one = await server.connect();
  for (let i = 0; i < 3; i++) {
    const answer = await one.infer({
      id: `r${i}`, prompt: 'now', max_tokens: 2, ignore_eos: true, priority: 'realtime',
    });
    assert.equal(answer.accepted.queue, 0);
  }
  const done = await Promise.all(answers);
  const outputs = done.map(({ chunks }) => chunks.flatMap((chunk) => chunk.tokens));
  for (const [i, { chunks }] of done.entries()) {
    assert.equal(outputs[i].length, 80);
    let seq = 0;
    for (const chunk of chunks) {
      assert.equal(chunk.seq, seq);
      seq += chunk.n;
    }
  }
  assert.ok(await metric(server, 'seedance_sequences_parked_total') >= 1);
  assert.ok(await metric(server, 'seedance_sequences_restored_total') >= 1);
  await untilMetric(server, 'seedance_park_memory_bytes', 0);
  const worst = regrets(models[0], prompts.map((prompt, i) => [prompt, outputs[i]]));
  for (const [i, regret] of worst.entries()) assert.ok(regret < 0.05, `stream ${i}: ${regret}`);
  await one.close();
  await many.close();
  assert.equal(await server.stop(), 0);
});

test('priority and deadline_ms are checked on every surface', async () => {
  const server = await Server.scripted('rate=2000,length=10');
  const client = await server.connect();
  const { error } = await client.infer({ id: 'a', prompt: 'p', priority: 'urgent' });
  assert.equal(error.code, 'invalid_request');
  assert.equal(error.param, 'priority');
  const bodies = {
    '/v1/completions': { prompt: 'p', max_tokens: 2 },
    '/v1/chat/completions': { messages: [{ role: 'user', content: 'p' }], max_tokens: 2 },
  };
  for (const [path, body] of Object.entries(bodies)) {
    const good = await server.post(path, { ...body, priority: 'realtime', deadline_ms: 60000 });
    assert.equal(good.status, 200);
    for (const wrong of [{ priority: 'urgent' }, { deadline_ms: 0 }]) {
      const refused = await server.post(path, { ...body, ...wrong });
      assert.equal(refused.status, 400);
      const { error: problem } = await refused.json();
      assert.equal(problem.code, 'invalid_request');
      assert.equal(problem.param, Object.keys(wrong)[0]);
    }
  }
  await client.close();
  assert.equal(await server.stop(), 0);
});
