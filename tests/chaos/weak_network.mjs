// A TCP proxy that is as bad as a network can be: it delays, stalls, and cuts
// connections at any byte.
import net from 'node:net';

const delayMs = 150;  // In each direction.
const cut = 0.15;     // The share of chunks in which a connection ends.
const stall = 0.02;   // The share of chunks that are late, and by how much.
const stallMs = [200, 1500];
const bufferedBytesMax = 256 << 10;  // In one direction; more is left to the sender's kernel.

export class WeakNetwork {
  constructor(target, random) {
    Object.assign(this, { target, random });
    this.chunks = this.cuts = this.stalls = 0;
    this.pairs = new Set();
    this.server = net.createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  async listen(port = 0) {
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    this.port = this.server.address().port;
    return this;
  }

  async close() {
    for (const pair of this.pairs) pair.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #accept(client) {
    const server = net.connect({ ...this.target, allowHalfOpen: true });
    const pair = {
      destroy: () => {
        this.pairs.delete(pair);
        client.destroy();
        server.destroy();
      },
      // Who looks for a difference between a lost and a reset connection finds both.
      cut: () => {
        this.cuts++;
        this.pairs.delete(pair);
        for (const socket of [client, server]) {
          this.random.chance(0.5) ? socket.resetAndDestroy() : socket.destroy();
        }
      },
    };
    this.pairs.add(pair);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on('error', () => {});  // 'close' follows.
    }
    this.#forward(client, server, pair);
    this.#forward(server, client, pair);
  }

  // From one side to the other, in order: each chunk, the end, then the loss of a side.
  #forward(from, to, pair) {
    const queue = [];  // What is under way: { due, deliver, bytes }.
    let buffered = 0, last = 0, timer;
    const run = () => {
      timer = undefined;
      while (queue.length > 0 && queue[0].due <= performance.now()) {
        const { deliver, bytes } = queue.shift();
        buffered -= bytes;
        deliver();
        if (to.destroyed) return;
      }
      if (buffered < bufferedBytesMax && !to.writableNeedDrain) from.resume();
      if (queue.length > 0) timer = setTimeout(run, queue[0].due - performance.now());
    };
    const put = (deliver, bytes = 0, lateMs = 0) => {
      last = Math.max(last, performance.now() + delayMs + lateMs);
      queue.push({ due: last, deliver, bytes });
      buffered += bytes;
      timer ??= setTimeout(run, queue[0].due - performance.now());
    };
    const write = (bytes) => {
      if (!to.destroyed && !to.write(bytes)) from.pause();
    };
    to.on('drain', () => buffered < bufferedBytesMax && from.resume());
    from.on('data', (bytes) => {
      this.chunks++;
      if (this.random.chance(cut)) {
        const whole = this.random.between(0, bytes.length);
        put(() => { write(bytes.subarray(0, whole)); pair.cut(); }, bytes.length);
        return;
      }
      const stalls = this.random.chance(stall);
      if (stalls) this.stalls++;
      put(() => write(bytes), bytes.length, stalls ? this.random.between(...stallMs) : 0);
      if (buffered >= bufferedBytesMax) from.pause();
    });
    from.on('end', () => put(() => to.end()));
    from.on('close', () => put(pair.destroy));
  }
}
