// The chaos run in short, and that it can fail.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

function chaos(...flags) {
  const program = join(import.meta.dirname, 'chaos.mjs');
  const child = spawnSync(process.execPath, [program, ...flags]);
  return { ...child, report: JSON.parse(child.stdout.toString() || '{}') };
}

// With the scripted engine, whose text is known exactly, and with the demo model at the same time.
test('20 kills each of server and worker lose, repeat and change nothing', (t) => {
  const { status, stdout, stderr } = chaos('--kills', '20');
  t.diagnostic(stdout.toString());
  assert.equal(status, 0, stderr.toString());
});

for (const late of [1, -1]) {
  test(`clients that resume ${late} tokens off are found`, () => {
    const { status, report } = chaos(
      '--engine', 'scripted', '--kills', '1', '--clients', '8', `--sabotage=${late}`);
    assert.equal(status, 1);
    assert.ok(late > 0 ? report.lost > 0 : report.duplicated > 0);
    assert.ok(report.wrong > 0);
  });
}
