// Either end of the call, in the browser.

/** Of the clock in the picture: its bits, and those that check them. */
const CLOCK_BITS = 24;
const CHECK_BITS = 8;
const BLOCKS = CLOCK_BITS + CHECK_BITS;
const DARK = 16;
const LIGHT = 235;
/** The picture repeats after so many frames. */
const PICTURES = 60;

const check = (clock) => (clock ^ clock >> 8 ^ clock >> 16 ^ 0x5a) & 0xff;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const hear = async () => (await fetch('/hear')).json();
const say = (message) => fetch('/say', { method: 'POST', body: JSON.stringify(message) });

/** A picture with texture that moves, and noise as of a camera, so that the encoder has use for what it may send. */
function pictures(width, height) {
  let seed = 1;
  // Numerical Recipes' generator: the same picture in each call.
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const period = PICTURES * 2;
  const texture = Float32Array.from({ length: period * height }, () => random() * 70 - 35);
  const [across, down] = [(width + 1) >> 1, (height + 1) >> 1];
  return Array.from({ length: PICTURES }, (_, number) => {
    const data = new Uint8Array(width * height + 2 * across * down);
    for (let y = 0, at = 0; y < height; y += 1) {
      const row = (y >> 1) * period;
      for (let x = 0; x < width; x += 1, at += 1) {
        const moved = (x + 2 * number) % period;
        data[at] = 120 + 50 * Math.sin(moved * 2 * Math.PI / period) + texture[row + (moved >> 1)] + 12 * (random() - 0.5);
      }
    }
    data.fill(118, width * height, width * height + across * down);
    data.fill(138, width * height + across * down);
    return data;
  });
}

/** Draws the time, in milliseconds, as a row of dark and light blocks at the upper edge. */
function drawClock(luma, width, now) {
  const clock = now % 2 ** CLOCK_BITS;
  const bits = clock * 2 ** CHECK_BITS + check(clock);
  const block = width / BLOCKS;
  for (let number = 0; number < BLOCKS; number += 1) {
    const shade = Math.floor(bits / 2 ** (BLOCKS - 1 - number)) % 2 === 1 ? LIGHT : DARK;
    const [from, to] = [Math.round(number * block), Math.round((number + 1) * block)];
    for (let y = 0; y < Math.round(block); y += 1) luma.fill(shade, y * width + from, y * width + to);
  }
}

/** The time since the picture was made, in milliseconds; null if its clock is not readable. */
async function age(frame, now) {
  const { width, height } = frame.visibleRect;
  const block = width / BLOCKS;
  const rect = { x: frame.visibleRect.x, y: 2 * Math.floor(block / 4), width, height: Math.min(2, height) };
  const data = new Uint8Array(frame.allocationSize({ rect }));
  const [luma] = await frame.copyTo(data, { rect });
  let bits = 0;
  for (let number = 0; number < BLOCKS; number += 1) {
    const [from, to] = [Math.floor((number + 0.3) * block), Math.ceil((number + 0.7) * block)];
    let sum = 0;
    for (let x = from; x < to; x += 1) sum += data[luma.offset + x];
    bits = bits * 2 + (sum / (to - from) > 126 ? 1 : 0);
  }
  const clock = Math.floor(bits / 2 ** CHECK_BITS);
  if (bits % 2 ** CHECK_BITS !== check(clock)) return null;
  return (now - clock + 2 ** CLOCK_BITS) % 2 ** CLOCK_BITS;
}

/** A track with the clock in its pictures, and how many have been made. */
function clockTrack({ width, height, fps }) {
  const track = new MediaStreamTrackGenerator({ kind: 'video' });
  const writer = track.writable.getWriter();
  const all = pictures(width, height);
  const made = { frames: 0, skipped: 0, end: false };
  const begin = performance.now();
  let number = 0;
  const next = () => {
    if (made.end) return;
    const data = all[number % PICTURES];
    drawClock(data, width, Date.now());
    const frame = new VideoFrame(data, { format: 'I420', codedWidth: width, codedHeight: height, timestamp: Math.round(performance.now() * 1000) });
    writer.write(frame).catch(() => {});
    made.frames += 1;
    // A camera does not catch up.
    const due = Math.max(number + 1, Math.floor((performance.now() - begin) * fps / 1000));
    made.skipped += due - number - 1;
    number = due;
    setTimeout(next, Math.max(0, begin + number * 1000 / fps - performance.now()));
  };
  next();
  return { track, made };
}

/** Codecs of a call: one for the picture, and what repeats or protects its packets. */
function codecs(kind, name, fec) {
  const wanted = [name, 'rtx', ...fec ? ['red', 'ulpfec', 'flexfec-03'] : []].map((word) => `${kind}/${word}`.toLowerCase());
  const found = RTCRtpReceiver.getCapabilities(kind).codecs.filter((codec) => wanted.includes(codec.mimeType.toLowerCase()));
  if (!found.some((codec) => codec.mimeType.toLowerCase() === wanted[0])) throw new Error(`this browser has no ${name}`);
  return found;
}

/** The description with its candidates: of them, those on the link, and IPv4. */
async function described(pc, outside) {
  if (pc.iceGatheringState !== 'complete') {
    await new Promise((resolve) => pc.addEventListener('icegatheringstatechange', () => pc.iceGatheringState === 'complete' && resolve()));
  }
  const net = outside.split('.').slice(0, 3).join('.');
  const { type, sdp } = pc.localDescription;
  const lines = sdp.split('\r\n');
  const kept = lines.filter((line) => !line.startsWith('a=candidate:') || line.split(' ')[4].startsWith(`${net}.`));
  if (!kept.some((line) => line.startsWith('a=candidate:'))) {
    throw new Error(`no candidate on the link, only ${lines.filter((line) => line.startsWith('a=candidate:')).map((line) => line.split(' ')[4])}`);
  }
  return { type, sdp: kept.join('\r\n') };
}

function connected(pc) {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (pc.connectionState === 'connected') resolve();
      if (pc.connectionState === 'failed') reject(new Error('the two ends did not find each other'));
    };
    pc.addEventListener('connectionstatechange', look);
    look();
  });
}

/** What is taken of each kind of the browser's statistics. */
const WANTED = {
  'outbound-rtp': ['bytesSent', 'headerBytesSent', 'packetsSent', 'retransmittedBytesSent', 'retransmittedPacketsSent', 'targetBitrate',
    'framesEncoded', 'framesSent', 'keyFramesEncoded', 'framesPerSecond', 'frameHeight', 'qpSum', 'totalEncodeTime', 'totalPacketSendDelay',
    'qualityLimitationReason', 'qualityLimitationDurations', 'qualityLimitationResolutionChanges', 'nackCount', 'pliCount', 'encoderImplementation'],
  'remote-inbound-rtp': ['roundTripTime', 'fractionLost', 'jitter'],
  'media-source': ['frames', 'framesPerSecond', 'height'],
  'candidate-pair': ['availableOutgoingBitrate', 'currentRoundTripTime', 'bytesSent', 'bytesReceived', 'packetsSent', 'packetsReceived'],
  'inbound-rtp': ['bytesReceived', 'headerBytesReceived', 'packetsReceived', 'packetsLost', 'packetsDiscarded', 'retransmittedPacketsReceived',
    'retransmittedBytesReceived', 'framesReceived', 'framesDecoded', 'framesDropped', 'keyFramesDecoded', 'freezeCount',
    'totalFreezesDuration', 'pauseCount', 'totalPausesDuration', 'jitter', 'jitterBufferDelay', 'jitterBufferTargetDelay', 'jitterBufferMinimumDelay',
    'jitterBufferEmittedCount', 'framesPerSecond', 'frameHeight', 'totalDecodeTime', 'totalProcessingDelay', 'totalAssemblyTime', 'nackCount',
    'pliCount', 'decoderImplementation'],
};

async function sample(pc) {
  const one = { at: Date.now() };
  const report = await pc.getStats();
  const pair = report.values().find((stats) => stats.type === 'transport')?.selectedCandidatePairId;
  for (const stats of report.values()) {
    const names = WANTED[stats.type];
    if (!names || (stats.kind ?? 'video') !== 'video' || (stats.type === 'candidate-pair' && stats.id !== pair)) continue;
    one[stats.type] = Object.fromEntries(names.filter((name) => stats[name] !== undefined).map((name) => [name, stats[name]]));
  }
  return one;
}

/** A sample each second until `hasEnded`, and one at the end. */
async function sampled(pc, hasEnded) {
  const samples = [];
  const begin = performance.now();
  for (let second = 1; !hasEnded(); second += 1) {
    samples.push(await sample(pc));
    const left = () => begin + second * 1000 - performance.now();
    while (!hasEnded() && left() > 0) await sleep(Math.min(100, Math.max(1, left())));
  }
  samples.push(await sample(pc));
  return samples;
}

async function send(task) {
  const { width, height, fps } = task;
  const constraints = { video: { width, height, frameRate: fps }, audio: task.audio };
  let media;
  if (task.audio || task.source === 'camera') media = await navigator.mediaDevices.getUserMedia(constraints);
  await say({ kind: 'ready', version: navigator.userAgent });
  const { outside } = await hear();
  const pc = new RTCPeerConnection();
  const clock = task.source === 'clock' ? clockTrack(task) : null;
  const track = clock?.track ?? media.getVideoTracks()[0];
  const transceiver = pc.addTransceiver(track, { direction: 'sendonly', sendEncodings: [{ maxBitrate: task.maxKbps * 1000, maxFramerate: fps }] });
  transceiver.setCodecPreferences(codecs('video', task.codec, task.fec));
  if (task.audio) pc.addTransceiver(media.getAudioTracks()[0], { direction: 'sendonly' });
  await pc.setLocalDescription();
  await say({ kind: 'offer', description: await described(pc, outside) });
  await pc.setRemoteDescription((await hear()).description);
  await connected(pc);
  const began = Date.now();
  const samples = await sampled(pc, () => Date.now() >= began + task.seconds * 1000);
  const ended = Date.now();
  if (clock) clock.made.end = true;
  pc.close();
  await say({ kind: 'sent', began, ended, samples, made: clock && { frames: clock.made.frames, skipped: clock.made.skipped } });
}

async function receive(task) {
  await say({ kind: 'ready', version: navigator.userAgent });
  const offer = await hear();
  const pc = new RTCPeerConnection();
  const frames = [];
  const complete = [];
  const worker = new Worker('complete.js');
  worker.onmessage = ({ data }) => complete.push(data);
  pc.ontrack = ({ track, receiver }) => {
    if (track.kind !== 'video') return;
    receiver.transform = new RTCRtpScriptTransform(worker);
    watch(track, frames, task.source === 'clock');
  };
  await pc.setRemoteDescription(offer.description);
  await pc.setLocalDescription();
  await say({ kind: 'answer', description: await described(pc, task.outside) });
  await connected(pc);
  let hasEnded = false;
  hear().then(() => { hasEnded = true; });
  const samples = await sampled(pc, () => hasEnded);
  pc.close();
  await say({ kind: 'seen', samples, frames, complete });
}

/** Each decoded picture, as the page gets it: when, how old, which, how high. */
async function watch(track, frames, hasClock) {
  const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 30 }).readable.getReader();
  for (;;) {
    const { value: frame, done } = await reader.read();
    if (done) return;
    const now = Date.now();
    const delay = hasClock ? await age(frame, now).catch(() => null) : null;
    frames.push([now, delay, frame.metadata().rtpTimestamp ?? null, frame.visibleRect.height]);
    frame.close();
  }
}

try {
  const task = await (await fetch('/task')).json();
  await (task.role === 'sender' ? send(task) : receive(task));
} catch (error) {
  await say({ kind: 'failed', error: `${error.name}: ${error.message}` });
}
