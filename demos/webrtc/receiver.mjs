// The end behind the link: `qdelay link ... -- node receiver.mjs '{"role": "receiver", ...}'`. What the other end and this one have to say
// to each other goes through standard input and output, a line of JSON each: so nothing but the call is on the link.

import readline from 'node:readline';
import { end } from './end.mjs';

async function receive(task) {
  const outside = process.env.QDELAY_OUTSIDE;
  if (!outside) throw new Error('QDELAY_OUTSIDE is not set: this runs behind qdelay link');
  const started = Date.now();
  const say = (message) => console.log(JSON.stringify(message));
  const lines = readline.createInterface({ input: process.stdin });
  const words = lines[Symbol.asyncIterator]();
  const hear = async () => {
    const { value, done } = await words.next();
    if (done) throw new Error('standard input ended before the call did');
    return JSON.parse(value);
  };
  const peer = await end({ ...task, role: 'receiver', outside });
  const kill = () => {
    peer.kill();
    process.exit(1);
  };
  process.once('SIGTERM', kill).once('SIGINT', kill);
  lines.once('close', kill);
  try {
    const { version } = await peer.hear('ready');
    say({ kind: 'ready', outside, started, version });
    peer.say(await hear());
    say(await peer.hear('answer'));
    peer.say(await hear());
    say(await peer.hear('seen'));
  } finally {
    lines.off('close', kill);
    lines.close();
    await peer.close();
  }
}

try {
  await receive(JSON.parse(process.argv[2]));
  process.exit(0);
} catch (error) {
  console.error(`receiver: ${error.message}`);
  process.exit(1);
}
