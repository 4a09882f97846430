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

/** Serves `folder` and the rest on `address`; ports of 0 are chosen. */
export async function serve(address, folder, httpPort = 0, echoPort = 0) {
  const player = sirv(PLAYER, FILES);
  const segments = sirv(folder, FILES);
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
    if (below('/dashjs/', player) || below('/stream/', segments)) return undefined;
    return request.url === '/page.html' ? page(request, response, missing) : missing();
  });
  await listen(server, (ready) => server.listen(httpPort, address, ready));
  const echo = dgram.createSocket('udp4');
  echo.on('message', (message, from) => echo.send(message, from.port, from.address, () => {}));
  await listen(echo, (ready) => echo.bind(echoPort, address, ready));
  return {
    http: server.address().port,
    echo: echo.address().port,
    close() {
      echo.close();
      server.close();
      server.closeAllConnections();
    },
  };
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
  const ports = await serve(address, await stream(60, console.error), Number(httpPort ?? 0), Number(echoPort ?? 0));
  console.log(JSON.stringify({ http: ports.http, echo: ports.echo }));
}
