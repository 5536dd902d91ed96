// ws.mjs PORT BYTES PERIOD_MS: with `ws`, one frame each period to each client that said something.
import { createRequire } from 'node:module';

const require = createRequire(new URL('../../tests/e2e/package.json', import.meta.url));
const { WebSocketServer } = require('ws');

const [port, bytes, period] = process.argv.slice(2).map(Number);
const payload = 'x'.repeat(bytes);
const asked = new Set();
const server = new WebSocketServer({ port, host: '127.0.0.1', backlog: 4096,
  perMessageDeflate: false, handleProtocols: () => 'bench' });
server.on('connection', (socket) => {
  socket.on('message', () => asked.add(socket));
  socket.on('close', () => asked.delete(socket));
});
setInterval(() => {
  for (const socket of asked) socket.send(payload);
}, period);
