#!/usr/bin/env node
// Plays a DASH stream through `qdelay link`, once for each queue discipline, and shows the results side by side.

import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { browser, command, machine, number, wayBack } from '../shared.mjs';
import { figures, table } from './figures.mjs';
import { plot } from './plot.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const HELP = `node run.mjs [OPTIONS]

Plays a DASH stream in a headless Chromium behind 'qdelay link', once for each queue discipline, with a download
beside it for a part of the time. Prints a table; DIR gets results.json and plot.html.

  --trace NAME|FILE   link towards the player, as of 'qdelay link --down' [default: synth-lte-driving]
  --up NAME|FILE      link from the player [default: the trace's .up where it ships or lies beside it, else no limit]
  --qdisc LIST        queue disciplines, separated by commas [default: taildrop,bode]
  --delay TIME        delay of each direction behind its link [default: 10ms]
  --seconds N         how long to play for each discipline [default: 40]
  --bulk FROM-TO      seconds in which there is a download beside the stream, 0-0 for never
                      [default: the middle half of the time]
  --ping MS           a round trip is measured so often [default: 50]
  --no-realtime       without 'qdelay link --realtime'
  --spin TIME         as of 'qdelay link --spin'; a virtual machine that wakes late needs as long as that [default: 400us]
  --out DIR           [default: qdelay-results/dash]
  --screenshots       a picture of the player at half the time, DIR/DISCIPLINE.png
  --priority N        the link, but not the browser in it, gets the real-time priority N by 'chrt'

With --abr it plays the simulated stream's video by the simulated stream's rule instead, alone on the link, and simulates the same:

  --abr LIST          rules of 'dash', separated by commas, with parameters in square brackets: bb,[bola:gamma=3],robustmpc
  --length N          seconds of video [default: 193]
  --video TEXT        further parameters of 'dash', such as buffer=25s:video=2
  --start N           seconds from the link's start, which is the trace's, to the film's [default: 8]

Needs ffmpeg, Chromium (PATH or CHROME), qdelay (QDELAY, this checkout's target/release, or PATH) and the right to make
a link ('qdelay link --help'). The stream is made once, into ~/.cache/qdelay-dash (or QDELAY_DASH_CACHE).`;

async function main() {
  const { values } = parseArgs({
    options: {
      trace: { type: 'string', default: 'synth-lte-driving' }, up: { type: 'string' },
      qdisc: { type: 'string', default: 'taildrop,bode' }, delay: { type: 'string', default: '10ms' },
      seconds: { type: 'string', default: '40' }, bulk: { type: 'string' }, ping: { type: 'string', default: '50' },
      'no-realtime': { type: 'boolean' }, spin: { type: 'string', default: '400us' }, out: { type: 'string', default: 'qdelay-results/dash' },
      screenshots: { type: 'boolean' }, priority: { type: 'string' }, abr: { type: 'string' }, length: { type: 'string', default: '193' },
      video: { type: 'string' }, start: { type: 'string', default: '8' }, help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return console.log(HELP);
  const seconds = number('--seconds', values.seconds, 1, 3600);
  const settings = {
    trace: values.trace,
    up: values.up ?? wayBack(values.trace),
    delay: values.delay,
    seconds,
    bulk: values.bulk ? span(values.bulk, seconds) : [seconds / 4, seconds * 3 / 4],
    pingMs: number('--ping', values.ping, 1, 10_000),
    realtime: !values['no-realtime'],
    spin: values.spin,
    priority: values.priority === undefined ? null : number('--priority', values.priority, 1, 99),
  };
  const qdelay = command();
  // Its packages may be missing, which needs a readable message.
  const { serve } = await import('./serve.mjs').catch(missing);
  await import('./play.mjs').catch(missing);
  const { stream } = await import('./stream.mjs');
  browser();
  if (values.abr !== undefined) return film({ qdelay, serve, values, settings });
  const folder = await stream(seconds + 5, console.error);
  await mkdir(values.out, { recursive: true });
  const runs = [];
  // The parts of a discipline's name are separated by colons, not commas.
  for (const qdisc of values.qdisc.split(',')) {
    console.error(`${qdisc}: ${seconds} s behind ${settings.trace}`);
    const screenshot = values.screenshots ? path.resolve(values.out, `${qdisc.replaceAll(/[^\w.-]/g, '-')}.png`) : null;
    const link = path.join(values.out, `link-${runs.length}.json`);
    const seen = await one({ qdelay, serve, folder, qdisc, link, settings, screenshot });
    const report = JSON.parse(await readFile(link, 'utf8'));
    runs.push({ qdisc, figures: figures(seen, report), link: report, seen });
  }
  const results = { schema_version: 1, settings, machine: await machine(), runs };
  await writeFile(path.join(values.out, 'results.json'), JSON.stringify(results, null, 1));
  await writeFile(path.join(values.out, 'plot.html'), plot(results));
  console.log(table(results));
  console.log(`\n${path.join(values.out, 'plot.html')} shows the results over time, results.json has all of them`);
}

/** The simulated stream's video by its rule, beside the simulation. */
async function film({ qdelay, serve, values, settings: { trace, up, realtime, spin, priority } }) {
  const { beside, table: figuresOf } = await import('./abr.mjs');
  const [, amount, unit] = /^([\d.]+)(us|ms|s)$/.exec(values.delay) ?? [];
  if (unit === undefined) throw new Error(`--delay ${values.delay}: expected a time such as 10ms`);
  const settings = {
    trace, up, rtt: `${2 * amount}${unit}`, length: number('--length', values.length, 1, 3600), video: values.video ?? null,
    start: number('--start', values.start, 0, 600), realtime, spin, priority,
  };
  const play = ({ name, scenario, link, film: served, task }) =>
    behind({ qdelay, serve, name, link, settings, task, film: served, path: ['--scenario', scenario] });
  const results = await beside({
    qdelay, settings, rules: list(values.abr), qdiscs: values.qdisc.split(','), out: values.out, play, say: console.error,
  });
  await writeFile(path.join(values.out, 'results.json'), JSON.stringify(results, null, 1));
  console.log(figuresOf(results));
  console.log(`\n${path.join(values.out, 'results.json')} has every chunk, and the buffer over time`);
}

/** Rules between commas; those with parameters are in square brackets. */
function list(text) {
  const all = text.split(',').map((rule) => rule.trim().replace(/^\[(.*)\]$/, '$1'));
  if (all.some((rule) => rule === '')) throw new Error(`--abr ${text}: expected rules, separated by commas`);
  return all;
}

/** One discipline. */
function one({ qdelay, serve, folder, qdisc, link, settings, screenshot }) {
  const task = { seconds: settings.seconds, bulk: settings.bulk, pingMs: settings.pingMs, screenshot };
  const words = ['--down', settings.trace, '--qdisc', qdisc, '--delay', settings.delay];
  if (settings.up) words.push('--up', settings.up);
  return behind({ qdelay, serve, folder, name: qdisc, link, settings, task, path: words });
}

/** The link with the player inside, and the server for it out here. */
async function behind({ qdelay, serve, folder = null, film: served = null, name, link, settings, task, path: where }) {
  const words = [qdelay, 'link', ...where, '--json', link, '--quiet'];
  if (settings.realtime) words.push('--realtime', '--spin', settings.spin);
  words.push('--');
  if (settings.priority !== null) {
    words.unshift('chrt', '-f', `${settings.priority}`);
    words.push('chrt', '-o', '0');
  }
  words.push(process.execPath, path.join(HERE, 'play.mjs'), JSON.stringify(task));
  const child = spawn(words[0], words.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  child.stdin.on('error', () => {});
  let server;
  let last;
  try {
    for await (const line of readline.createInterface({ input: child.stdout })) {
      last = JSON.parse(line);
      if (last.outside) {
        server = await serve(last.outside, folder, { film: served });
        child.stdin.write(`${JSON.stringify({ http: server.http, echo: server.echo })}\n`);
      }
    }
    const status = await ended;
    if (status !== 0 || !last?.player) throw new Error(`${name}: the player behind the link failed (${status})`);
    return last;
  } finally {
    server?.close();
    if (child.exitCode === null && child.signalCode === null) child.kill();
  }
}

function span(text, seconds) {
  const [from, to] = text.split('-').map(Number);
  if (!(from >= 0 && to >= from && to <= seconds)) throw new Error(`--bulk ${text}: expected FROM-TO in seconds, up to ${seconds}`);
  return [from, to];
}

function missing(error) {
  if (error.code === 'ERR_MODULE_NOT_FOUND' || error.code === 'MODULE_NOT_FOUND') {
    throw new Error(`its packages are missing: npm ci --prefix ${path.relative('.', HERE) || '.'}`);
  }
  throw error;
}

try {
  await main();
} catch (error) {
  console.error(`run: ${error.message}`);
  process.exitCode = 1;
}
