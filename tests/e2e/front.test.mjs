// Probes, keys, hosts and origins, and what is not there.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { after, before, test } from 'node:test';
import { Server } from './harness.mjs';

let server;
before(async () => { server = await Server.scripted('rate=2000,length=10'); });
after(async () => { assert.equal(await server.stop(), 0); });

// fetch() forbids some headers, so this goes one step lower.
function status(url, path, headers) {
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject);
    sent.end();
  });
}

test('probes, metrics and the page answer', async () => {
  assert.equal((await server.get('/healthz')).status, 200);
  assert.equal((await server.get('/readyz')).status, 200);
  const plugin = await (await server.get('/health/plugins/ws-inference')).json();
  assert.deepEqual(plugin, { status: 'ready', streams_active: 0 });
  assert.match(await (await server.get('/metrics')).text(), /^seedance_streams_running 0$/m);
  const page = await server.get('/');
  assert.match(page.headers.get('content-type'), /^text\/html/);
  assert.match(await page.text(), /ws\/inference/);
});

test('what is not there is said in the shape of OpenAI', async () => {
  const missing = await server.get('/v1/nothing');
  assert.equal(missing.status, 404);
  assert.ok((await missing.json()).error.message);
  assert.equal((await server.get('/v1/chat/completions')).status, 405);
  assert.equal((await server.post('/v1/chat/completions', 'text')).status, 400);
});

test('strange hosts and origins are refused, on loopback too', async () => {
  assert.equal(await status(server.url, '/v1/models', { host: 'evil.example' }), 403);
  assert.equal(await status(server.url, '/v1/models', { origin: 'https://evil.example' }), 403);
  assert.equal(await status(server.url, '/v1/models', { origin: server.url }), 200);
  await assert.rejects(server.connect({ headers: { origin: 'https://evil.example' } }),
    (error) => error.status === 403);
});

test('a key guards every route', async () => {
  const guarded = await Server.scripted('rate=2000,length=10', '--api-key', 'secret');
  const key = { authorization: 'Bearer secret' };
  assert.equal((await guarded.get('/v1/models')).status, 401);
  assert.equal((await guarded.get('/v1/models', { headers: { authorization: 'Bearer wrong' } })).status, 401);
  assert.equal((await guarded.get('/v1/models', { headers: key })).status, 200);
  await assert.rejects(guarded.connect(), (error) => error.status === 401);
  const client = await guarded.connect({ headers: key });
  assert.ok((await client.infer({ id: 'k', prompt: 'p', max_tokens: 2 })).done);
  await client.close();
  assert.equal(await guarded.stop(), 0);
});
