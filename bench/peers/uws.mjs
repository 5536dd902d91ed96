// uws.mjs PORT BYTES PERIOD_MS: the same with uWebSockets.js.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const uws = require('@btc-vision/uwebsockets.js');

const [port, bytes, period] = process.argv.slice(2).map(Number);
const payload = 'x'.repeat(bytes);
const asked = new Set();
uws.App().ws('/*', {
  compression: uws.DISABLED,
  idleTimeout: 0,
  message: (socket) => asked.add(socket),
  close: (socket) => asked.delete(socket),
}).listen('127.0.0.1', port, (listening) => {
  if (!listening) process.exit(1);
});
setInterval(() => {
  for (const socket of asked) socket.send(payload, false, false);
}, period);
