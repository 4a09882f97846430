#!/usr/bin/env node
// A video call of two real browsers in `qdelay run --clock real`, one at either end of the path:
//
//     qdelay run mine.toml --clock real --program 'webrtc=node demos/webrtc/flow.mjs'
//
// Offer, answer and the sender's samples go through a socket in QDELAY_MEETING, so that nothing but the call is on the path. QDELAY_CALL has
// settings in place of those below, as JSON. docs/real.md says how it is told what to do.

import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { end } from './end.mjs';
import { callFigures } from './figures.mjs';

const { QDELAY_CALL, QDELAY_END, QDELAY_MEETING, QDELAY_OUTSIDE, QDELAY_SECONDS } = process.env;

/** Lines of JSON in both directions. */
function talk(socket) {
  const lines = readline.createInterface({ input: socket })[Symbol.asyncIterator]();
  return {
    say: (message) => socket.write(`${JSON.stringify(message)}\n`),
    hear: async () => {
      const { value, done } = await lines.next();
      if (done) throw new Error('the other end of the call ended');
      return JSON.parse(value);
    },
  };
}

/** The other end of the call: the one outside listens. */
async function meet() {
  const place = path.join(QDELAY_MEETING, 'call');
  if (QDELAY_END === 'outside') {
    const server = net.createServer();
    server.listen(place);
    const [socket] = await once(server, 'connection');
    server.close();
    return talk(socket);
  }
  for (let tries = 0; ; tries += 1) {
    const socket = net.connect(place);
    try {
      await once(socket, 'connect');
      return talk(socket);
    } catch (error) {
      if (tries >= 1000) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function flow() {
  if (!QDELAY_MEETING) throw new Error('QDELAY_MEETING is not set: this is a program of qdelay run --clock real');
  const isSender = QDELAY_END === 'outside';
  // The last second is for what is still under way, and for agreeing on the call at first.
  const seconds = Number(QDELAY_SECONDS) - 1;
  if (!(seconds >= 1)) throw new Error(`a call of ${QDELAY_SECONDS} s is too short; expected at least 2 s from the flow's start to its end`);
  const settings = {
    width: 640, height: 360, fps: 30, maxKbps: 2500, codec: 'VP8', fec: true, source: 'clock', audio: false, ...JSON.parse(QDELAY_CALL ?? '{}'), seconds,
  };
  const words = readline.createInterface({ input: process.stdin });
  const [line, over] = [once(words, 'line'), once(words, 'close')];
  let hasBegun = false;
  let peer = null;
  const kill = () => {
    peer?.kill();
    process.exit(1);
  };
  process.once('SIGTERM', kill).once('SIGINT', kill);
  over.then(() => hasBegun || kill());
  peer = await end({ ...settings, role: isSender ? 'sender' : 'receiver', outside: QDELAY_OUTSIDE });
  try {
    const other = await meet();
    const { version } = await peer.hear('ready');
    console.log('ready');
    await line;
    hasBegun = true;
    const started = Date.now();
    if (isSender) {
      peer.say({ outside: QDELAY_OUTSIDE });
      other.say(await peer.hear('offer'));
      peer.say(await other.hear());
      other.say(await peer.hear('sent', seconds * 1000 + 120_000));
      await over;
      return;
    }
    peer.say(await other.hear());
    other.say(await peer.hear('answer'));
    const sent = await other.hear();
    await over;
    peer.say({ kind: 'end' });
    const received = await peer.hear('seen');
    console.log(JSON.stringify({ call: callFigures({ link_started: started, sent, received }, settings), browser: version, settings }));
  } finally {
    await peer.close();
  }
}

try {
  await flow();
  process.exit(0);
} catch (error) {
  console.error(`flow: ${error.message}`);
  process.exit(1);
}
