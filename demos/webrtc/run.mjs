#!/usr/bin/env node
// A video call through `qdelay link`, once for each queue discipline: what the browsers say of it beside what the link says.

import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { browser, command, machine, number, wayBack } from '../shared.mjs';
import { end } from './end.mjs';
import { figures, table } from './figures.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const HELP = `node run.mjs [OPTIONS]

A video call between two headless Chromium, one of them behind 'qdelay link', once for each queue discipline. The picture goes
towards the one behind the link. Prints a table; DIR gets results.json with all samples.

  --trace NAME|FILE   link towards the receiver, as of 'qdelay link --down' [default: synth-lte-driving]
  --up NAME|FILE      link from the receiver [default: the trace's .up where it ships or lies beside it, else no limit]
  --qdisc LIST        queue disciplines, separated by commas [default: taildrop,bode:target=100ms]
  --delay TIME        delay of each direction behind its link [default: 20ms]
  --seconds N         length of a call [default: 60]
  --start N           seconds from the link's start, which is the trace's, to that of the call [default: 8]
  --size WxH          of the picture [default: 640x360]
  --fps N             pictures a second [default: 30]
  --max KBPS          most that the sender's encoder may use, kbit/s [default: 2500]
  --codec NAME        VP8, VP9, AV1 or H264 [default: VP8]
  --no-fec            without redundant packets (RED, ULPFEC), which Chromium sends where packets get lost
  --source NAME       clock: a picture made by this program, with a clock in it, by which the delay of each frame is measured;
                      camera: Chromium's fake camera, without that [default: clock]
  --audio             with Chromium's fake microphone
  --realtime          with 'qdelay link --realtime'
  --spin TIME         as of 'qdelay link --spin' [default: 50us with --realtime, else 0s]
  --priority N        the link, but not the browser in it, gets the real-time priority N by 'chrt'
  --out DIR           [default: qdelay-results/webrtc]

Needs Chromium (PATH or CHROME), qdelay (QDELAY, this checkout's target/release, or PATH) and the right to make a link
('qdelay link --help'), as root: the other browser is in the machine's own network.`;

/** Whom a signal that ends this program has to end too. */
const running = new Set();

async function main() {
  const { values } = parseArgs({
    options: {
      trace: { type: 'string', default: 'synth-lte-driving' }, up: { type: 'string' },
      qdisc: { type: 'string', default: 'taildrop,bode:target=100ms' }, delay: { type: 'string', default: '20ms' },
      seconds: { type: 'string', default: '60' }, start: { type: 'string', default: '8' },
      size: { type: 'string', default: '640x360' }, fps: { type: 'string', default: '30' }, max: { type: 'string', default: '2500' },
      codec: { type: 'string', default: 'VP8' }, 'no-fec': { type: 'boolean' }, source: { type: 'string', default: 'clock' },
      audio: { type: 'boolean' }, realtime: { type: 'boolean' }, spin: { type: 'string' }, priority: { type: 'string' },
      out: { type: 'string', default: 'qdelay-results/webrtc' }, help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return console.log(HELP);
  const [width, height] = size(values.size);
  if (!['clock', 'camera'].includes(values.source)) throw new Error(`--source ${values.source}: expected clock or camera`);
  const settings = {
    trace: values.trace,
    up: values.up ?? wayBack(values.trace),
    delay: values.delay,
    seconds: number('--seconds', values.seconds, 1, 3600),
    start: number('--start', values.start, 0, 3600),
    width,
    height,
    fps: number('--fps', values.fps, 1, 120),
    maxKbps: number('--max', values.max, 30, 100_000),
    codec: values.codec,
    fec: !values['no-fec'],
    source: values.source,
    audio: values.audio ?? false,
    realtime: values.realtime ?? false,
    spin: values.spin ?? null,
    priority: values.priority === undefined ? null : number('--priority', values.priority, 1, 99),
  };
  const qdelay = command();
  browser();
  await mkdir(values.out, { recursive: true });
  const runs = [];
  // The parts of a discipline's name are separated by colons, not commas.
  for (const qdisc of values.qdisc.split(',')) {
    console.error(`${qdisc}: ${settings.seconds} s behind ${settings.trace}`);
    const link = path.join(values.out, `link-${runs.length}.json`);
    const seen = await one({ qdelay, qdisc, link, settings });
    const report = JSON.parse(await readFile(link, 'utf8'));
    runs.push({ qdisc, figures: figures(seen, report, settings), link: report, seen });
  }
  const results = { schema_version: 1, settings, machine: await machine(), runs };
  await writeFile(path.join(values.out, 'results.json'), JSON.stringify(results));
  console.log(table(results));
  console.log(`\n${path.join(values.out, 'results.json')} has all samples and frames`);
}

/** One discipline: the link with the receiver inside, and the sender out here. */
async function one({ qdelay, qdisc, link, settings }) {
  const words = [qdelay, 'link', '--down', settings.trace, '--qdisc', qdisc, '--delay', settings.delay, '--json', link, '--quiet'];
  if (settings.up) words.push('--up', settings.up);
  if (settings.realtime) words.push('--realtime');
  if (settings.spin) words.push('--spin', settings.spin);
  words.push('--');
  if (settings.priority !== null) {
    words.unshift('chrt', '-f', `${settings.priority}`);
    words.push('chrt', '-o', '0');
  }
  words.push(process.execPath, path.join(HERE, 'receiver.mjs'), JSON.stringify(settings));
  const child = spawn(words[0], words.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
  running.add(child);
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(status ?? signal));
  });
  ended.catch(() => {});
  child.stdin.on('error', () => {});
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const hear = async (kind) => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${qdisc}: the receiver behind the link ended (${await ended})`);
    const message = JSON.parse(value);
    if (message.kind !== kind) throw new Error(`${qdisc}: '${message.kind}' of the receiver in place of '${kind}'`);
    return message;
  };
  const say = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  let sender;
  try {
    sender = await end({ ...settings, role: 'sender' });
    running.add(sender);
    const [{ version }, there] = [await sender.hear('ready'), await hear('ready')];
    await sleep(Math.max(0, there.started + settings.start * 1000 - Date.now()));
    sender.say({ outside: there.outside });
    say(await sender.hear('offer'));
    sender.say(await hear('answer'));
    const sent = await sender.hear('sent', settings.seconds * 1000 + 120_000);
    say({ kind: 'end' });
    const received = await hear('seen');
    const status = await ended;
    if (status !== 0) throw new Error(`${qdisc}: the receiver behind the link failed (${status})`);
    return { browser: version, link_started: there.started, sent, received };
  } finally {
    await sender?.close();
    if (child.exitCode === null && child.signalCode === null) {
      child.stdin.end();
      child.kill();
      await ended.catch(() => {});
    }
    running.delete(sender);
    running.delete(child);
  }
}

function size(text) {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text) ?? [];
  // Even numbers, for half of the resolution in colour; 32 blocks of the clock have to be readable.
  if (!(width >= 160 && width <= 1920 && height >= 90 && height <= 1080 && width % 2 === 0 && height % 2 === 0)) {
    throw new Error(`--size ${text}: expected WIDTHxHEIGHT, even numbers from 160x90 to 1920x1080`);
  }
  return [Number(width), Number(height)];
}

for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  process.once(name, () => {
    for (const each of running) each.kill();
    process.exit(1);
  });
}

try {
  await main();
} catch (error) {
  console.error(`run: ${error.message}`);
  process.exitCode = 1;
}
