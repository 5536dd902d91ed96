// A client of plain HTTP that never gives up: it posts again with the same Idempotency-Key while
// it has no id of an event, and then comes back with the last id.
import { readEvents } from './sse.mjs';

export class SseClient {
  // form: 'completions' stays with OpenAI's events; 'native' comes back for native messages, and
  // 'query' names its place in the address.
  constructor(run, random, { url, form, backoffMs = [50, 2000] }) {
    Object.assign(this, { run, random, url, form, backoffMs });
  }

  async work() {
    for (let task = this.run.nextTask(); task; task = this.run.nextTask()) {
      for (let failures = 0; !task.assembly.done && task.assembly.faults.length === 0;) {
        const before = task.assembly.next;
        const wait = await (task.stream ? this.#comeBack(task) : this.#ask(task)).catch(() => 0);
        failures = task.assembly.next > before ? 0 : failures + 1;
        const [least, most] = this.backoffMs;
        const pause = Math.min(most, least * 2 ** failures) * (0.5 + this.random.next() / 2);
        if (!task.assembly.done) await new Promise((resolve) => setTimeout(resolve, wait + pause));
      }
      this.run.finished(task);
    }
  }

  async #ask(task) {
    if (task.asked) this.run.counts.repeated++;
    task.asked = true;
    const answer = await readEvents(`${this.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': task.key },
      body: JSON.stringify({ ...task.request, stream: true }),
    }, (event) => this.#completion(task, event));
    return this.#status(task, answer);
  }

  async #comeBack(task) {
    this.run.counts.resumes++;
    const next = this.run.sabotaged(task.assembly.next);
    const place = `${task.stream}:${task.epoch}:${next}`;
    const path = `${this.url}/v1/streams/${task.stream}`;
    const native = (event) => this.#native(task, event);
    let answer;
    if (this.form === 'completions') {
      answer = await readEvents(path, { headers: { 'last-event-id': place } },
        (event) => this.#completion(task, event));
    } else if (this.form === 'native') {
      answer = await readEvents(`${path}?as=native`, { headers: { 'last-event-id': place } },
        native);
    } else {
      answer = await readEvents(`${path}?as=native&from=${next}&epoch=${task.epoch}`, {}, native);
    }
    return this.#status(task, answer);
  }

  // How long to wait for the next try. What is refused for good is a fault.
  #status(task, { status, body }) {
    if (status === 200) return 0;
    const error = JSON.parse(body).error;
    if (![429, 503].includes(status)) {
      const what = `HTTP ${status} ${error.code}: ${error.message}`;
      task.assembly.fault(`${task.stream ?? 'the request'}: ${what}`);
    }
    return 100;
  }

  #place(task, event) {
    const [stream, epoch, next] = (event.id ?? '').split(':');
    if (!next) return undefined;
    task.named(stream, Number(epoch));
    return Number(next);
  }

  #completion(task, event) {
    const next = this.#place(task, event);
    if (event.data === '[DONE]') {
      return task.assembly.end({ finish_reason: task.finishReason });
    }
    if (event.data === '') return;  // A comment, which keeps the connection.
    const { choices, error } = JSON.parse(event.data);
    if (error) return task.assembly.end({ finish_reason: 'error', error });
    if (next === undefined) return task.assembly.fault('an event without an id');
    task.finishReason = choices[0].finish_reason ?? task.finishReason;
    task.assembly.takeEvent(next, choices[0].text);
    this.run.arrived(task);
  }

  #native(task, event) {
    if (event.data === '') return;
    const message = JSON.parse(event.data);
    const next = this.#place(task, event);
    if (message.type === 'RESUMED') return task.resumed(message);
    if (message.type === 'INFER_DONE') return task.assembly.end(message);
    task.assembly.take(message);
    if (next !== task.assembly.next) {
      task.assembly.fault(`the event of ${message.seq} has the id of ${next}`);
    }
    this.run.arrived(task);
  }
}
