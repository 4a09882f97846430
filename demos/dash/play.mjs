// The side behind the link: `qdelay link ... -- node play.mjs '{"seconds": 40, ...}'`. Plays the stream in a headless Chromium, with
// a download beside it for a part of the time, measures round trips, and prints the observations as the last line, JSON.
//
// The server can only bind to the link's outer address once the link is there. So this program prints that address first, and reads the
// ports from standard input.

import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import puppeteer from 'puppeteer-core';
import { browser } from '../shared.mjs';

async function play(task) {
  // The link begins with this program.
  const appeared = Date.now();
  const outside = process.env.QDELAY_OUTSIDE;
  if (!outside) throw new Error('QDELAY_OUTSIDE is not set: this runs behind qdelay link');
  console.log(JSON.stringify({ outside }));
  const ports = JSON.parse(await firstLine());
  const base = `http://${outside}:${ports.http}`;
  const chromium = await open([outside]);
  try {
    const { page, version } = chromium;
    return { browser: version, ...await (task.film ? watch(page, base, task, appeared) : stream(page, base, ports, task)) };
  } finally {
    await chromium.close();
  }
}

/** A headless Chromium with an empty page, which reaches these addresses only. */
export async function open(addresses) {
  const profile = await mkdtemp(path.join(tmpdir(), 'qdelay-dash-'));
  let chromium;
  const close = async () => {
    await chromium?.close().catch(() => {});
    await rm(profile, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
  };
  try {
    // Chromium's own traffic (updates, reports, DNS) would use the link as well.
    chromium = await puppeteer.launch({
      executablePath: browser(),
      userDataDir: profile,
      pipe: true,
      headless: true,
      timeout: 120_000,
      protocolTimeout: 120_000,
      defaultViewport: { width: 640, height: 360 },
      args: [
        '--no-sandbox', '--mute-audio', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-proxy-server',
        '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-pings',
        '--autoplay-policy=no-user-gesture-required',
        `--host-resolver-rules=MAP * ~NOTFOUND, ${addresses.map((address) => `EXCLUDE ${address}`).join(', ')}`,
      ],
    });
    return { version: await chromium.version(), page: await chromium.newPage(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The demo's stream, with a download beside it and round trips. */
async function stream(page, base, ports, { seconds, bulk, pingMs, screenshot }) {
  const asked = Date.now();
  await page.goto(`${base}/page.html`, { timeout: 120_000 });
  const ping = new Worker(new URL('./ping.mjs', import.meta.url),
    { workerData: { address: new URL(base).hostname, port: ports.echo, everyMs: pingMs } });
  await page.evaluate('start()');
  const began = Date.now();
  const load = download(`${base}/bulk`, bulk);
  const end = began + seconds * 1000;
  if (screenshot) {
    await sleep(seconds * 500);
    await page.screenshot({ path: screenshot });
  }
  await sleep(Math.max(0, end - Date.now()));
  const player = await page.evaluate('collect()');
  const bytes = await load;
  const pings = await new Promise((resolve, reject) => {
    ping.once('message', resolve);
    ping.once('error', reject);
    ping.postMessage('end');
  });
  return { page_loaded_ms: began - asked, began, player, bulk: bytes, pings };
}

/** The simulated stream's video alone, from second `start` of the link on, to its end or for `seconds`. */
async function watch(page, base, { start, seconds }, appeared) {
  await page.goto(`${base}/film.html`, { timeout: 120_000, waitUntil: 'load' });
  const manifest = await page.evaluate('prepare()');
  // A browser that took longer to start begins later in the trace, as `began_s` says.
  await sleep(Math.max(0, appeared + start * 1000 - Date.now()));
  await page.evaluate((url) => window.start(url), manifest);
  const end = Date.now() + seconds * 1000;
  while (Date.now() < end && !await page.evaluate('isOver()')) await sleep(Math.min(250, Math.max(0, end - Date.now())));
  const player = await page.evaluate('collect()');
  return { began_s: (player.started - appeared) / 1000, player };
}

/** Takes from `url` from second `from` to second `to`; how many bytes came. */
async function download(url, [from, to]) {
  const seen = { from: null, to: null, bytes: 0 };
  if (to <= from) return seen;
  await sleep(from * 1000);
  seen.from = Date.now();
  await new Promise((resolve) => {
    const request = http.get(url, (response) => {
      response.on('data', (data) => { seen.bytes += data.length; });
      response.on('error', () => {});
    });
    request.on('error', () => {});
    setTimeout(() => {
      request.destroy();
      resolve();
    }, (to - from) * 1000);
  });
  seen.to = Date.now();
  return seen;
}

function firstLine() {
  return new Promise((resolve, reject) => {
    const lines = readline.createInterface({ input: process.stdin });
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
      process.stdin.destroy();
    });
    lines.once('close', () => reject(new Error('standard input ended before the ports of the server were given')));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    console.log(JSON.stringify(await play(JSON.parse(process.argv[2]))));
  } catch (error) {
    console.error(`play: ${error.message}`);
    process.exitCode = 1;
  }
}
