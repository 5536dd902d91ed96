// Stock clients over TLS: fetch, ws, a certificate that is replaced, clients with certificates.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { Server } from './harness.mjs';

const directory = mkdtempSync(join(tmpdir(), 'seedance-tls-'));
const file = (name) => join(directory, name);
const read = (name) => readFileSync(file(name));

function openssl(...args) {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];

// A root, or a certificate that `issuer` signs.
function certificate(name, { issuer } = {}) {
  const signed = issuer ? ['-CA', file(`${issuer}.pem`), '-CAkey', file(`${issuer}.key`),
    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-addext', 'basicConstraints=critical,CA:FALSE'] : [];
  openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-days', '1', ...signed,
    '-keyout', file(`${name}.key`), '-out', file(`${name}.pem`));
}

const shown = (name) => ({ ca: read('root.pem'), cert: read(`${name}.pem`), key: read(`${name}.key`) });

// Resolves with the status, the body and the server's certificate. Shows the phone's own.
function get(url, options = {}) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { ...shown('phone'), agent: false, ...options }, (response) => {
      const { CN } = response.socket.getPeerCertificate().subject;
      let body = '';
      response.on('data', (bytes) => (body += bytes));
      response.on('end', () => resolve({ status: response.statusCode, body, certificate: CN }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

let server;

before(async () => {
  certificate('root');
  certificate('server', { issuer: 'root' });
  certificate('clients');
  certificate('phone', { issuer: 'clients' });
  server = await Server.scripted('rate=2000,length=100', '--tls-cert', file('server.pem'),
    '--tls-key', file('server.key'), '--tls-client-ca', file('clients.pem'));
});

after(async () => {
  assert.equal(await server.stop(), 0);
  rmSync(directory, { recursive: true });
});

test('every route is served over TLS, and no other way', async () => {
  assert.match(server.url, /^https:/);
  const models = await get(`${server.url}/v1/models`);
  assert.equal(models.status, 200);
  assert.equal(models.certificate, 'server');
  const plain = await fetch(`${server.url.replace('https', 'http')}/v1/models`);
  assert.equal(plain.status, 400);
  assert.match(await plain.text(), /https/);
});

test('a stream comes over wss', async () => {
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}/ws/inference`,
    'seedance.v2+json', shown('phone'));
  await new Promise((resolve, reject) => socket.on('open', resolve).on('error', reject));
  let next = 0;
  const done = new Promise((resolve) => socket.on('message', (text) => {
    const message = JSON.parse(text);
    if (message.type === 'INFER_CHUNK') {
      assert.equal(message.seq, next);
      next += message.n;
    }
    if (message.type === 'INFER_DONE') resolve(message);
  }));
  socket.send(JSON.stringify({ type: 'INFER_REQ', id: 'a', prompt: 'Hello' }));
  assert.equal((await done).seq, next);
  socket.close();
});

test('a client comes in with a certificate of ours, and with no other', async () => {
  assert.equal((await get(`${server.url}/v1/models`)).status, 200);
  const without = { cert: undefined, key: undefined };
  assert.equal((await get(`${server.url}/v1/models`, without)).status, 401);
  assert.equal((await get(`${server.url}/healthz`, without)).status, 200);
  certificate('stranger');
  await assert.rejects(get(`${server.url}/v1/models`, shown('stranger')));
});

test('SIGHUP takes a new certificate, and keeps the old one when the new is broken', async () => {
  certificate('renewed', { issuer: 'root' });
  openssl('x509', '-in', file('renewed.pem'), '-out', file('server.pem'));
  server.process.kill('SIGHUP');
  await server.err.until(/tls_key: .*not that of the certificate/);  // The key is still that of the old one.
  assert.equal((await get(`${server.url}/healthz`)).certificate, 'server');
  openssl('pkey', '-in', file('renewed.key'), '-out', file('server.key'));
  server.process.kill('SIGHUP');
  for (;;) {
    const { certificate: name } = await get(`${server.url}/healthz`);
    if (name === 'renewed') break;
    assert.equal(name, 'server');
  }
});
