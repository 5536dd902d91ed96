#!/usr/bin/env node
// Holds the real server to its promise under chaos: clients on a weak network, workers and servers
// killed at random, and yet every client ends with exactly the tokens of one generation.
//
//   chaos.mjs [--kills N] [--engine scripted|llama|both] [--seed N] [--clients N] [--model GGUF]
//             [--build DIR] [--sabotage N] [--verbose]
//
// Kills the server and the worker N times each, for both engines at the same time. Prints one JSON
// line; exit code 1 unless nothing was lost, duplicated or wrong. --sabotage adds N to each place
// at which a client resumes, to show that it would be found.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { llama, scripted } from './engines.mjs';
import { Random } from './random.mjs';
import { Run } from './run.mjs';

const root = join(import.meta.dirname, '../..');

const { values: options } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    engine: { type: 'string', default: 'both' },
    seed: { type: 'string', default: '1' },
    clients: { type: 'string', default: '32' },
    model: { type: 'string', default: join(root, 'models/demo/demo.gguf') },
    build: { type: 'string', default: process.env.SEEDANCE_BUILD ?? join(root, 'build/release') },
    sabotage: { type: 'string', default: '0' },
    verbose: { type: 'boolean', default: false },
  },
});

async function chaos(engine) {
  const seed = Number(options.seed);
  const kills = (kind) => Array.from({ length: Number(options.kills) }, () => kind);
  // Engines of the script die by themselves.
  const kinds = [...kills('server'), ...(engine.name === 'scripted' ? [] : kills('worker'))];
  const server = await engine.start();
  const run = new Run(server, engine, {
    seed, clients: Number(options.clients), sabotage: Number(options.sabotage),
    verbose: options.verbose });
  const began = performance.now();
  try {
    await run.go(new Random(seed, `order/${engine.name}`).shuffled(kinds));
  } catch (error) {
    run.fault(error.stack);
  }
  const code = await server.stop();
  if (code !== 0) run.fault(`the server ended with ${code}`);
  engine.end?.();
  return { seconds: Math.round((performance.now() - began) / 1000), ...run.report() };
}

// Adds up what can be added up.
function total(reports, name) {
  return reports.reduce((sum, report) => sum + report[name], 0);
}

const engines = [];
if (options.engine !== 'llama') engines.push(scripted(options.build));
if (options.engine !== 'scripted') engines.push(llama(options.build, options.model));
const reports = {};
await Promise.all(engines.map(async (engine) => (reports[engine.name] = await chaos(engine))));

const all = Object.values(reports);
const verdict = {};
for (const name of ['lost', 'duplicated', 'wrong']) verdict[name] = total(all, name);
const sums = {};
for (const name of ['streams', 'tokens', 'cuts', 'resumes', 'repeated']) {
  sums[name] = total(all, name);
}
console.log(JSON.stringify({ seed: Number(options.seed), ...sums, ...verdict, engines: reports }));
process.exit(Object.values(verdict).every((count) => count === 0) ? 0 : 1);
