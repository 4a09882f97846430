// Round trips: sends an IP packet of 64 bytes at fixed intervals to an echo server, in a thread of its own.

import dgram from 'node:dgram';
import { parentPort, workerData } from 'node:worker_threads';

const { address, port, everyMs } = workerData;
const BYTES = 36;
const sent = [];
const socket = dgram.createSocket('udp4');

const now = () => process.hrtime.bigint();

socket.on('message', (message) => {
  const arrived = now();
  const one = sent[message.readUInt32BE(0)];
  if (one) one.rtt = Number(arrived - one.from) / 1e6;
});
socket.on('error', () => {});
socket.connect(port, address, () => {
  const timer = setInterval(() => {
    const message = Buffer.alloc(BYTES);
    message.writeUInt32BE(sent.length, 0);
    sent.push({ at: Date.now(), from: now(), rtt: null });
    socket.send(message, () => {});
  }, everyMs);
  // Wait a second for the last answers.
  parentPort.once('message', () => {
    clearInterval(timer);
    setTimeout(() => {
      parentPort.postMessage(sent.map(({ at, rtt }) => ({ at, rtt })));
      socket.close();
    }, 1000);
  });
});
