#!/usr/bin/env node
// proxy.mjs FROM TO: a weak network between two ports of this machine, until it is interrupted.
import { Random } from './random.mjs';
import { WeakNetwork } from './weak_network.mjs';

const [from, to] = process.argv.slice(2).map(Number);
if (!(from > 0 && to > 0)) {
  console.error('usage: proxy.mjs FROM TO');
  process.exit(2);
}
const network = new WeakNetwork({ host: '127.0.0.1', port: to }, new Random(Date.now(), 'proxy'));
await network.listen(from);
process.on('SIGINT', () => {
  console.log(`${network.chunks} chunks, ${network.cuts} cuts, ${network.stalls} stalls`);
  process.exit(0);
});
