// What one client has of one stream, held against what it should have.
import { createHash } from 'node:crypto';

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');

// Tokens and text in the order in which they came, over any number of connections.
export class Assembly {
  constructor() {
    this.next = 0;        // The token wanted next.
    this.text = '';
    this.ids = [];        // Empty where the client does not see ids.
    this.lost = 0;        // Tokens that were passed over.
    this.duplicated = 0;  // Tokens that came again.
    this.faults = [];     // Sentences: what else is not as it must be.
    this.done = undefined;
  }

  fault(sentence) {
    this.faults.push(sentence);
  }

  // A chunk of the native protocol.
  take({ seq, n, text, tokens = [] }) {
    if (this.done) this.fault(`tokens at ${seq} behind the end`);
    if (!(n >= 1)) this.fault(`a chunk of ${n} tokens`);
    this.lost += Math.max(0, seq - this.next);
    this.duplicated += Math.min(n, Math.max(0, this.next - seq));
    this.next = seq + n;
    this.text += text;
    this.ids.push(...tokens);
  }

  // An event of an OpenAI stream, whose id says up to which token it goes.
  takeEvent(next, text) {
    if (this.done) this.fault(`tokens up to ${next} behind the end`);
    this.duplicated += Math.max(0, this.next - next);
    this.next = next;
    this.text += text;
  }

  // The end: INFER_DONE, or what an OpenAI stream says of it.
  end({ seq = this.next, finish_reason, sha256: hash, error }) {
    if (this.done) return this.fault('a second end');
    this.done = { seq, finish_reason };
    this.lost += Math.max(0, seq - this.next);
    this.duplicated += Math.max(0, this.next - seq);
    if (!['length', 'stop'].includes(finish_reason)) {
      this.fault(`it ended with ${finish_reason}: ${error?.code} ${error?.message}`);
    }
    if (hash !== undefined && hash !== sha256(this.text)) {
      this.fault('the sha256 is of another text');
    }
  }

  // `log` is another whole assembly, of the finished stream.
  compare(log) {
    if (!this.done) return this.fault('it has no end');
    if (log.lost + log.duplicated + log.faults.length > 0) this.fault(`the log: ${log.faults}`);
    if (this.text !== log.text) this.fault('its text is not that of the finished log');
    if (this.next !== log.next) this.fault(`${this.next} tokens instead of ${log.next}`);
    if (this.ids.length > 0 && this.ids.join() !== log.ids.join()) {
      this.fault('its ids are not those of the finished log');
    }
    if (this.done.finish_reason !== log.done.finish_reason) this.fault('another end than the log');
  }
}

// Milliseconds, and what can be said of many of them.
export function percentile(values, share) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.floor(share * sorted.length));
  return Math.round(10 * sorted[at]) / 10;
}
