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

Needs ffmpeg, Chromium (PATH or CHROME), qdelay (QDELAY, this checkout's target/release, or PATH) and the right to make
a link ('qdelay link --help'). The stream is made once, into ~/.cache/qdelay-dash (or QDELAY_DASH_CACHE).`;

async function main() {
  const { values } = parseArgs({
    options: {
      trace: { type: 'string', default: 'synth-lte-driving' }, up: { type: 'string' },
      qdisc: { type: 'string', default: 'taildrop,bode' }, delay: { type: 'string', default: '10ms' },
      seconds: { type: 'string', default: '40' }, bulk: { type: 'string' }, ping: { type: 'string', default: '50' },
      'no-realtime': { type: 'boolean' }, spin: { type: 'string', default: '400us' }, out: { type: 'string', default: 'qdelay-results/dash' },
      screenshots: { type: 'boolean' }, help: { type: 'boolean', short: 'h' },
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
  };
  const qdelay = command();
  // Its packages may be missing, which needs a readable message.
  const { serve } = await import('./serve.mjs').catch(missing);
  await import('./play.mjs').catch(missing);
  const { stream } = await import('./stream.mjs');
  browser();
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

/** One discipline: the link with the player inside, and the server for it out here. */
async function one({ qdelay, serve, folder, qdisc, link, settings, screenshot }) {
  const task = JSON.stringify({ seconds: settings.seconds, bulk: settings.bulk, pingMs: settings.pingMs, screenshot });
  const words = ['link', '--down', settings.trace, '--qdisc', qdisc, '--delay', settings.delay, '--json', link, '--quiet'];
  if (settings.up) words.push('--up', settings.up);
  if (settings.realtime) words.push('--realtime', '--spin', settings.spin);
  words.push('--', process.execPath, path.join(HERE, 'play.mjs'), task);
  const child = spawn(qdelay, words, { stdio: ['pipe', 'pipe', 'inherit'] });
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
        server = await serve(last.outside, folder);
        child.stdin.write(`${JSON.stringify({ http: server.http, echo: server.echo })}\n`);
      }
    }
    const status = await ended;
    if (status !== 0 || !last?.player) throw new Error(`${qdisc}: the player behind the link failed (${status})`);
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
