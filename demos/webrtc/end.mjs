// One end of the call: a headless Chromium with `page.html`, and a small HTTP server on the loopback device between it and this program.
// The page asks for its task (`/task`), says what it has to say (`/say`) and waits for what it is told (`/hear`).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { browser } from '../shared.mjs';

const FILES = { '/page.html': 'text/html', '/page.js': 'text/javascript', '/complete.js': 'text/javascript' };
/** How long a browser on a starved machine may take for a step that takes a second elsewhere. */
const PATIENCE_MS = 120_000;

/** Starts a browser with `task`; what it says is taken with `hear`, what it is told is given with `say`. */
export async function end(task) {
  const heard = mailbox();
  const told = mailbox();
  const server = http.createServer((request, response) => {
    answer(request, response, { task, heard, told }).catch((error) => {
      response.statusCode = 500;
      response.end(error.message);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const profile = await mkdtemp(path.join(tmpdir(), 'qdelay-webrtc-'));
  // Chromium's own traffic (updates, reports, DNS) would use the link as well. What it leaves in TMPDIR is removed with the profile.
  const child = spawn(browser(), [
    '--headless', `--user-data-dir=${profile}`, '--no-sandbox', '--mute-audio', '--disable-gpu', '--disable-dev-shm-usage',
    '--no-first-run', '--no-default-browser-check', '--disable-breakpad', '--no-proxy-server', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--disable-extensions', '--no-pings', '--window-size=640,360',
    '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    '--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream',
    // Addresses as they are, since nobody answers for the names that would hide them.
    '--disable-features=WebRtcHideLocalIpsWithMdns',
    `http://127.0.0.1:${server.address().port}/page.html`,
  ], { detached: true, stdio: 'ignore', env: { ...process.env, TMPDIR: profile } });
  const failure = new Promise((_, reject) => {
    child.once('error', reject);
    child.once('exit', (status, signal) => reject(new Error(`the browser ended (${status ?? signal})`)));
  });
  failure.catch(() => {});
  return {
    say: (message) => told.put(message),
    /** The next message of this kind; an error where the page failed, the browser ended, or nothing came for long. */
    hear: async (kind, patienceMs = PATIENCE_MS) => {
      const timer = new AbortController();
      const late = sleep(patienceMs, null, { signal: timer.signal })
        .then(() => { throw new Error(`waited for '${kind}' of the browser for ${patienceMs / 1000} s`); });
      late.catch(() => {});
      try {
        const message = await Promise.race([heard.take(), failure, late]);
        if (message.kind !== kind) throw new Error(message.error ?? `'${message.kind}' in place of '${kind}'`);
        return message;
      } finally {
        timer.abort();
      }
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await finish(child);
      await rm(profile, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
    },
    /** At once, for a program that is being ended itself. */
    kill: () => {
      signal(child, 'SIGKILL');
      try {
        rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
      } catch {
        // It was still being written to.
      }
    },
  };
}

async function answer(request, response, { task, heard, told }) {
  const { pathname } = new URL(request.url, 'http://localhost');
  const json = (value) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(value));
  };
  if (FILES[pathname]) {
    response.setHeader('content-type', FILES[pathname]);
    response.end(await readFile(new URL(`.${pathname}`, import.meta.url)));
  } else if (pathname === '/task') {
    json(task);
  } else if (pathname === '/hear') {
    json(await told.take());
  } else if (pathname === '/say') {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    heard.put(JSON.parse(text));
    json({});
  } else {
    response.statusCode = 404;
    response.end();
  }
}

/** Messages that wait for a reader, or a reader that waits for messages. */
function mailbox() {
  const messages = [];
  const readers = [];
  return {
    put: (message) => readers.length > 0 ? readers.shift()(message) : messages.push(message),
    take: () => messages.length > 0 ? Promise.resolve(messages.shift()) : new Promise((resolve) => readers.push(resolve)),
  };
}

/** Ends the browser with all its processes, which are a group of their own. */
async function finish(child) {
  if (child.pid === undefined) return;
  const ended = child.exitCode !== null || child.signalCode !== null ? Promise.resolve() : once(child, 'exit');
  signal(child, 'SIGTERM');
  await Promise.race([ended, sleep(5000, null, { ref: false })]);
  signal(child, 'SIGKILL');
  await ended;
}

function signal(child, name) {
  try {
    process.kill(-child.pid, name);
  } catch {
    // None is left.
  }
}
