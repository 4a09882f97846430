// The server outside the link: page, player, stream, an endless download, and an echo server for datagrams. All on one address.
//
//     node serve.mjs ADDRESS [HTTP-PORT [ECHO-PORT]]

import dgram from 'node:dgram';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import sirv from 'sirv';
import { stream } from './stream.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
// The page's script is the file that 'require' would load.
const PLAYER = path.dirname(createRequire(import.meta.url).resolve('dashjs'));
const BLOCK = Buffer.alloc(64 * 1024, 'qdelay');

// A segment in the browser's cache would be available at once, without the link.
const FILES = { extensions: [], setHeaders: (response) => response.setHeader('cache-control', 'no-store') };

/** What the demo's own folder gives: pages and their scripts. */
const PAGES = ['/page.html', '/film.html', '/film.js', '/rule.mjs'];

/** Serves `folder` and the rest on `address`; ports of 0 are chosen. A `film` (abr.mjs) has a server of its own, as in the simulator, unless another program has it. */
export async function serve(address, folder, { httpPort = 0, echoPort = 0, film = null, hasChunks = true } = {}) {
  const player = sirv(PLAYER, FILES);
  const segments = folder === null ? null : sirv(folder, FILES);
  const page = sirv(HERE, FILES);
  const server = http.createServer((request, response) => {
    const missing = () => response.writeHead(404).end();
    const below = (prefix, handler) => {
      if (!request.url.startsWith(prefix)) return false;
      request.url = request.url.slice(prefix.length - 1);
      handler(request, response, missing);
      return true;
    };
    if (request.url === '/bulk') return bulk(response);
    if (below('/dashjs/', player) || (segments && below('/stream/', segments))) return undefined;
    if (film && request.url === '/rule.wasm') return answer(response, 'application/wasm', film.wasm);
    if (film && request.url === '/film.json') {
      return answer(response, 'application/json', JSON.stringify(film.task(`http://${address}:${chunks?.port}/`)));
    }
    return PAGES.includes(request.url) ? page(request, response, missing) : missing();
  });
  const chunks = film && hasChunks ? await serveChunks(address, film) : null;
  await listen(server, (ready) => server.listen(httpPort, address, ready));
  const echo = dgram.createSocket('udp4');
  echo.on('message', (message, from) => echo.send(message, from.port, from.address, () => {}));
  await listen(echo, (ready) => echo.bind(echoPort, address, ready));
  return {
    http: server.address().port,
    echo: echo.address().port,
    close() {
      echo.close();
      chunks?.close();
      end(server);
    },
  };
}

/** The server of a film's chunks. */
export async function serveChunks(address, film, port = 0) {
  const server = http.createServer((request, response) => {
    const [, rung, index] = /^\/(\d+)\/(\d+)\.m4s$/.exec(request.url) ?? [];
    const bytes = rung === undefined ? null : film.chunk(Number(rung), Number(index));
    // Another port is another origin.
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('timing-allow-origin', '*');
    return bytes ? answer(response, 'video/mp4', bytes) : response.writeHead(404).end();
  });
  // One connection for the whole film; the default ends one that is idle for 5 s.
  server.keepAliveTimeout = 0;
  await listen(server, (ready) => server.listen(port, address, ready));
  return { port: server.address().port, close: () => end(server) };
}

function end(server) {
  server.close();
  server.closeAllConnections();
}

function answer(response, type, body) {
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body), 'cache-control': 'no-store' });
  response.end(body);
}

/** As many bytes as there is room for, until the other side has enough. */
function bulk(response) {
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  const fill = () => {
    while (!response.destroyed && response.write(BLOCK));
  };
  response.on('drain', fill);
  fill();
}

function listen(server, start) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    start(() => {
      server.off('error', reject);
      // The link may be removed before its last answer is sent.
      server.on('error', () => {});
      resolve();
    });
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [address, httpPort, echoPort] = process.argv.slice(2);
  if (!address) throw new Error('node serve.mjs ADDRESS [HTTP-PORT [ECHO-PORT]]');
  const ports = await serve(address, await stream(60, console.error), { httpPort: Number(httpPort ?? 0), echoPort: Number(echoPort ?? 0) });
  console.log(JSON.stringify({ http: ports.http, echo: ports.echo }));
}
