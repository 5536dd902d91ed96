// `seedance chat` through a weak network.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from './random.mjs';
import { Server } from './server.mjs';
import { WeakNetwork } from './weak_network.mjs';

const build = process.env.SEEDANCE_BUILD ?? join(import.meta.dirname, '../../build/release');
const binary = join(build, 'seedance');

// What it prints, its exit code and what it says on standard error.
function chat(port, question) {
  const child = spawn(binary, ['chat', '--url', `ws://127.0.0.1:${port}`, '--stats', question],
    { stdio: ['ignore', 'pipe', 'pipe'] });
  const out = { text: '', said: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (out.text += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (out.said += text));
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...out, code })));
}

test('chat prints the whole answer once, through cuts and the death of the server', async () => {
  const server = await Server.start(binary, '--engine', 'scripted:rate=40');
  const network = new WeakNetwork({ host: '127.0.0.1', port: server.port }, new Random(1, 'chat'));
  await network.listen();
  let resumes = 0;
  // One may find its first connection cut before anything is asked: then it says so and ends.
  for (let answers = 0; answers < 3;) {
    const answering = chat(network.port, `Question ${answers}`);
    const begun = async () => [...(await server.streams()).values()].some(
      ({ state, tokens }) => state !== 'done' && tokens > 20);
    while (answers === 1 && !(await begun())) await new Promise(setImmediate);
    if (answers === 1) await server.killServer();
    const { code, text, said } = await answering;
    if (text === '') continue;
    assert.equal(code, 0, said);
    const [newest] = (await server.streams()).keys();
    const log = await server.readLog(newest);
    assert.equal(text, log.text.endsWith('\n') ? log.text : `${log.text}\n`);
    resumes += Number(/resumed (\d+) times/.exec(said)?.[1] ?? 0);
    answers++;
  }
  assert.ok(resumes > 0);
  await network.close();
  assert.equal(await server.stop(), 0);
});
