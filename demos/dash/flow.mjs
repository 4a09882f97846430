#!/usr/bin/env node
// The simulated stream as a real player in `qdelay run --clock real`, at both ends of the path:
//
//     qdelay run mine.toml --clock real --program 'dash=node demos/dash/flow.mjs'
//
// Outside it serves the chunks at QDELAY_PORT. Inside it plays them with dash.js in a headless Chromium by the rule of QDELAY_TRANSPORT; the page
// and its scripts come from the loopback device, so that nothing but chunks is on the path. docs/real.md says how it is told what to do.

import readline from 'node:readline';
import { pathToFileURL } from 'node:url';
import { rules } from './abr.mjs';
import { media } from './film.mjs';
import { session } from './rule.mjs';

const { QDELAY_END, QDELAY_OUTSIDE, QDELAY_PORT, QDELAY_SEED, QDELAY_TRANSPORT } = process.env;

async function flow() {
  if (!QDELAY_TRANSPORT) throw new Error('QDELAY_TRANSPORT is not set: this is a program of qdelay run --clock real');
  const wasm = await rules();
  const film = (await session(await WebAssembly.compile(wasm), QDELAY_TRANSPORT)).film();
  const { manifest, chunk, codec } = await media(film);
  const served = { wasm, chunk, task: () => ({
    transport: QDELAY_TRANSPORT, seed: Number(QDELAY_SEED), codec, manifest: manifest(`http://${QDELAY_OUTSIDE}:${QDELAY_PORT}/`),
  }) };
  await (QDELAY_END === 'outside' ? outside : inside)(served);
}

/** Lines of standard input, and its end. */
function input() {
  const lines = readline.createInterface({ input: process.stdin });
  const line = new Promise((resolve) => lines.once('line', resolve));
  const end = new Promise((resolve) => lines.once('close', resolve));
  return { line, end };
}

async function outside(film) {
  const { serveChunks } = await import('./serve.mjs');
  const server = await serveChunks(QDELAY_OUTSIDE, film, Number(QDELAY_PORT));
  const { end } = input();
  console.log('ready');
  await end;
  server.close();
}

async function inside(film) {
  const [{ serve }, { open }] = [await import('./serve.mjs'), await import('./play.mjs')];
  const server = await serve('127.0.0.1', null, { film, hasChunks: false });
  const { line, end } = input();
  const browser = await open([QDELAY_OUTSIDE, '127.0.0.1']);
  try {
    await browser.page.goto(`http://127.0.0.1:${server.http}/film.html`, { timeout: 120_000, waitUntil: 'load' });
    const manifest = await browser.page.evaluate('prepare()');
    console.log('ready');
    const started = await Promise.race([line, end]);
    if (started !== undefined) await browser.page.evaluate((url) => window.start(url), manifest);
    await end;
    const { errors, stream, chunks, samples, version } = await browser.page.evaluate('collect()');
    if (errors.length > 0) throw new Error(`the player failed: ${errors[0]}`);
    const origin = chunks[0]?.requested ?? 0;
    const seconds = (at) => Math.round(at - origin) / 1000;
    console.log(JSON.stringify({
      stream, player: `dash.js ${version}`, browser: browser.version,
      chunks: chunks.map(({ rung, bytes, buffer, requested, first, last }) => ({
        rung, bytes, buffer_s: Math.round(buffer * 1000) / 1000, requested_s: seconds(requested), first_s: seconds(first), last_s: seconds(last),
      })),
      buffer_s: samples.map(({ at, buffer }) => [seconds(at), Math.round(buffer * 1000) / 1000]),
    }));
  } finally {
    await browser.close();
    server.close();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await flow();
    process.exit(0);
  } catch (error) {
    console.error(`flow: ${error.message}`);
    process.exit(1);
  }
}
