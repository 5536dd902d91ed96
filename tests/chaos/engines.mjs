// What can run under chaos: the scripted engine, whose text is known exactly, and a real model,
// whose every choice can be checked alone.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server } from './server.mjs';

// Streams outlive every pause of the run, and all run at once.
const common = ['--terminal-ttl-ms', '3600000', '--detach-ttl-ms', '3600000', '--parallel', '64'];
const tokens = [60, 240];  // Of an answer, at least and at most.
// llama.cpp's attention over 64 rows and more rounds otherwise than over fewer: on such prompts and
// this model it alone, in one piece against token by token, chose 0.36 below the best in 62,000
// tokens. A token lost or repeated shows by whole units.
const regretMax = 0.75;
const regretStreamsMax = 500;

// Engines die by the script, at every so many of their steps; what they say depends on nothing
// but the prompt.
export function scripted(build) {
  const binary = join(build, 'seedance');
  const start = (script, ...flags) =>
    Server.start(binary, '--engine', `scripted:length=400,${script}`, ...common, ...flags);
  return {
    name: 'scripted',
    start: () => start('rate=60,jitter=0.5,fault=die@700'),
    calmMsMax: 1000,
    request: (n, random) => ({ prompt: `Story ${n}`, max_tokens: random.between(...tokens) }),
    kills: (server) => ({ engine: server.childDeaths }),

    // The same requests, undisturbed.
    async check(tasks, fault) {
      const server = await start('rate=0', '--journal', 'none');
      for (const task of tasks) {
        const answer = await fetch(`${server.url}/v1/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(task.request),
        });
        const { choices, usage } = await answer.json();
        const { text, next } = task.assembly;
        if (choices[0].text !== text) fault(task, 'its text is not that of an undisturbed run');
        if (usage.completion_tokens !== next) fault(task, 'an undisturbed run has another length');
      }
      await server.stop();
    },
  };
}

export function llama(build, original) {
  const binary = join(build, 'seedance');
  // Streams go on only on the model on which they began, which a build may replace meanwhile.
  const directory = mkdtempSync(join(tmpdir(), 'seedance-chaos-'));
  const model = join(directory, 'model.gguf');
  copyFileSync(original, model);
  return {
    name: 'llama',
    // One thread: barriers between threads crawl on a machine that is busy otherwise.
    start: () => Server.start(binary, '--model', model, '--threads', '1', ...common),
    calmMsMax: 300,  // Between two kills.

    // Three of four are greedy, whose choices can be checked.
    request(n, random) {
      const prompt = Array.from({ length: random.between(4, 32) }, () => random.between(262, 500));
      const sampling = n % 4 === 3 ? { temperature: 1, seed: n } : { temperature: 0 };
      return { prompt, max_tokens: random.between(...tokens), ignore_eos: true, ...sampling };
    },

    // A lone forward pass over prompt and answer makes the same choices.
    check(tasks, fault) {
      const greedy = tasks.filter(({ request, log }) => request.temperature === 0 && log)
        .slice(0, regretStreamsMax);
      const line = ({ request, log }) => `${request.prompt.join(' ')};${log.ids.join(' ')}\n`;
      const input = greedy.map(line).join('');
      const child = spawnSync(join(build, 'tests/regret'), [model], { input, maxBuffer: 1 << 26 });
      if (child.status !== 0) throw new Error(`regret ended with ${child.status}: ${child.stderr}`);
      const worst = child.stdout.toString().trim().split('\n').map(Number);
      this.regret = Math.max(...worst);
      greedy.forEach((task, i) => {
        if (!(worst[i] < regretMax)) fault(task, `a choice is ${worst[i]} below the best`);
      });
    },

    report() {
      return { regret: this.regret };
    },
    end: () => rmSync(directory, { recursive: true }),
  };
}
