// The checks of the chaos run, on streams that are known to be right or wrong.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Assembly, percentile, sha256 } from './ledger.mjs';

const chunks = [
  { seq: 0, n: 2, text: 'Once', tokens: [7, 8] },
  { seq: 2, n: 1, text: ' upon', tokens: [9] },
  { seq: 3, n: 1, text: ' a', tokens: [10] },
];
const end = { seq: 4, finish_reason: 'length', sha256: sha256('Once upon a') };

function assembled(list, last = end) {
  const assembly = new Assembly();
  for (const chunk of list) assembly.take(chunk);
  assembly.end(last);
  return assembly;
}

function verdict(assembly) {
  assembly.compare(assembled(chunks));
  return [assembly.lost, assembly.duplicated, assembly.faults.length > 0];
}

test('a whole stream has no fault', () => {
  assert.deepEqual(verdict(assembled(chunks)), [0, 0, false]);
});

test('a missing chunk is lost, in the middle and at the end', () => {
  assert.deepEqual(verdict(assembled([chunks[0], chunks[2]])), [1, 0, true]);
  assert.deepEqual(verdict(assembled(chunks.slice(0, 2))), [1, 0, true]);
  assert.deepEqual(verdict(assembled([])), [4, 0, true]);
});

test('a chunk that comes again is duplicated, whole or in part', () => {
  assert.deepEqual(verdict(assembled([chunks[0], chunks[0], ...chunks.slice(1)])), [0, 2, true]);
  assert.deepEqual(verdict(assembled([chunks[0], { seq: 1, n: 2, text: ' upon', tokens: [8, 9] },
    chunks[2]])), [0, 1, true]);
});

test('another text, other ids, another end are faults', () => {
  for (const change of [{ text: 'Twice' }, { tokens: [8, 7] }]) {
    const changed = [{ ...chunks[0], ...change }, ...chunks.slice(1)];
    assert.deepEqual(verdict(assembled(changed)), [0, 0, true]);
  }
  assert.deepEqual(verdict(assembled(chunks, { ...end, finish_reason: 'stop' })), [0, 0, true]);
  assert.deepEqual(verdict(assembled(chunks, { ...end, finish_reason: 'error' })), [0, 0, true]);
  assert.deepEqual(verdict(assembled(chunks, { ...end, sha256: sha256('other') })), [0, 0, true]);
});

test('two ends, none, and tokens behind the end are faults', () => {
  const twice = assembled(chunks);
  twice.end(end);
  assert.equal(verdict(twice)[2], true);
  const behind = assembled(chunks);
  behind.take({ seq: 4, n: 1, text: '', tokens: [1] });
  assert.equal(verdict(behind)[2], true);
  const none = new Assembly();
  for (const chunk of chunks) none.take(chunk);
  assert.equal(verdict(none)[2], true);
});

test('an event that goes back is duplicated', () => {
  const assembly = new Assembly();
  assembly.takeEvent(2, 'Once');
  assembly.takeEvent(2, '');
  assembly.takeEvent(1, 'O');
  assert.equal(assembly.duplicated, 1);
});

test('percentiles', () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i);
  assert.equal(percentile(values, 0.5), 51);
  assert.equal(percentile(values, 0.99), 100);
  assert.equal(percentile([], 0.5), null);
});
