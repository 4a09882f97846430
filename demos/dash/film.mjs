// The simulated stream's video as real media: each chunk has exactly the simulated bytes, at each bit rate. A chunk is a small picture of even
// grey, which costs nearly nothing to decode, filled up by a `free` box, which players skip. Nothing is written to a disk.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

const FRAMES_PER_SECOND = 12;
const TIMESCALE = 90_000;
const WIDTH = 128;
/** A height of its own tells each quality, as in the demo's other stream. */
const height = (rung) => 72 + 2 * rung;

/** Media of a `film` of rule.mjs: the manifest below an address, and the bytes of a chunk. Makes the pictures by ffmpeg, a second or two. */
export async function media(film) {
  const frames = Math.max(1, Math.round(film.chunk * FRAMES_PER_SECOND));
  const rungs = await Promise.all(film.ladder.map((_, rung) => encoded(rung, frames)));
  // Whether the smallest chunk has room for its picture is known before anything is played.
  rungs.forEach((encoding, rung) => {
    const sizes = film.sizes.map((chunk) => chunk[rung]);
    const smallest = sizes.indexOf(Math.min(...sizes));
    fragment(encoding, film, smallest, sizes[smallest]);
  });
  return {
    codec: rungs.at(-1).codec,
    manifest: (base) => manifest(film, rungs, base),
    chunk(rung, index) {
      const bytes = film.sizes[index]?.[rung];
      return bytes === undefined || !rungs[rung] ? null : fragment(rungs[rung], film, index, bytes);
    },
  };
}

/** The start of chunk `index`, or of frame `part` of `parts` in it, in ticks. */
const ticks = (film, index, part = 0, parts = 1) => Math.round((index + part / parts) * film.chunk * TIMESCALE);

/** The initialization segment, and the frames of a chunk. */
async function encoded(rung, frames) {
  const options = ['-nostdin', '-loglevel', 'error', '-f', 'lavfi',
    '-i', `color=c=0x606060:size=${WIDTH}x${height(rung)}:rate=${FRAMES_PER_SECOND}`, '-frames:v', `${frames}`,
    '-c:v', 'libx264', '-profile:v', 'main', '-pix_fmt', 'yuv420p', '-bf', '0', '-g', '9999', '-sc_threshold', '0', '-threads', '1',
    '-movflags', '+frag_keyframe+empty_moov+default_base_moof', '-video_track_timescale', `${TIMESCALE}`, '-f', 'mp4', 'pipe:1'];
  const { stdout: file } = await run('ffmpeg', options, { encoding: 'buffer', maxBuffer: 1 << 26 }).catch((error) => {
    if (error.code === 'ENOENT') throw new Error('needs ffmpeg with libx264; on Debian: apt-get install ffmpeg');
    throw new Error(`ffmpeg did not make the picture: ${String(error.stderr || error.message).trim().split('\n').pop()}`);
  });
  const top = boxes(file);
  const init = Buffer.concat(top.filter(({ type }) => type === 'ftyp' || type === 'moov').map(({ whole }) => whole));
  const [profile, compatibility, level] = init.subarray(init.indexOf('avcC') + 5);
  const sizes = sampleSizes(top.find(({ type }) => type === 'moof'));
  const data = top.find(({ type }) => type === 'mdat').content;
  if (sizes.length !== frames || sizes.reduce((sum, size) => sum + size, 0) !== data.length) {
    throw new Error(`ffmpeg made ${sizes.length} frames in the first fragment, expected ${frames}`);
  }
  const hex = [profile, compatibility, level].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { init, codec: `avc1.${hex}`, sizes, data };
}

/** The boxes that follow each other in `buffer`. */
function boxes(buffer) {
  const all = [];
  for (let at = 0; at + 8 <= buffer.length;) {
    const bytes = buffer.readUInt32BE(at);
    if (bytes < 8) throw new Error('a box of an unexpected size from ffmpeg');
    all.push({ type: buffer.toString('latin1', at + 4, at + 8), whole: buffer.subarray(at, at + bytes), content: buffer.subarray(at + 8, at + bytes) });
    at += bytes;
  }
  return all;
}

/** ISO/IEC 14496-12, 8.8.8: the sizes in the `trun` of a `moof`, or that of all by its `tfhd`. */
function sampleSizes(moof) {
  const traf = boxes(boxes(moof.content).find(({ type }) => type === 'traf').content);
  const { content } = traf.find(({ type }) => type === 'trun');
  const flags = content.readUIntBE(1, 3);
  const count = content.readUInt32BE(4);
  let at = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
  const fields = [0x100, 0x200, 0x400, 0x800].filter((flag) => flags & flag);
  if (!fields.includes(0x200)) throw new Error('no sizes of frames from ffmpeg');
  return Array.from({ length: count }, () => {
    const size = content.readUInt32BE(at + 4 * fields.indexOf(0x200));
    at += 4 * fields.length;
    return size;
  });
}

function box(type, ...parts) {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + parts.reduce((sum, part) => sum + part.length, 0));
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, ...parts]);
}

const words = (...values) => {
  const buffer = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => buffer.writeUInt32BE(value >>> 0, 4 * index));
  return buffer;
};

/** Chunk `index` of `bytes`, with the frames at their times. */
function fragment({ sizes, data }, film, index, bytes) {
  const start = ticks(film, index);
  const samples = sizes.flatMap((size, frame) => {
    const [from, to] = [frame, frame + 1].map((part) => ticks(film, index, part, sizes.length));
    // The first needs no other frame, and all others do.
    return [to - from, size, frame === 0 ? 0x02000000 : 0x01010000];
  });
  const moof = (offset) => box('moof', box('mfhd', words(0, index + 1)), box('traf',
    box('tfhd', words(0x020000, 1)), box('tfdt', words(0x01000000, start / 2 ** 32, start)),
    box('trun', words(0x000701, sizes.length, offset, ...samples))));
  const picture = [moof(moof(0).length + 8), box('mdat', data)];
  const rest = bytes - picture.reduce((sum, part) => sum + part.length, 0);
  if (rest < 8) throw new Error(`a chunk of ${bytes} bytes has no room for its picture; expected higher bit rates or longer chunks`);
  return Buffer.concat([...picture, box('free', Buffer.alloc(rest - 8))]);
}

/** Initialization segments are in the manifest: the simulated player has none to load. */
function manifest(film, rungs, base) {
  const chunks = film.sizes.map((_, index) => `<S t="${ticks(film, index)}" d="${ticks(film, index + 1) - ticks(film, index)}"/>`).join('');
  const representations = rungs.map(({ init, codec }, rung) => `<Representation id="${rung}" bandwidth="${film.ladder[rung]}" codecs="${codec}" `
    + `width="${WIDTH}" height="${height(rung)}"><SegmentTemplate timescale="${TIMESCALE}" startNumber="0" media="${rung}/$Number$.m4s" `
    + `initialization="data:video/mp4;base64,${init.toString('base64')}"><SegmentTimeline>${chunks}</SegmentTimeline></SegmentTemplate></Representation>`);
  const seconds = (film.sizes.length * film.chunk).toFixed(6);
  return `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" `
    + `minBufferTime="PT${film.chunk.toFixed(3)}S" mediaPresentationDuration="PT${seconds}S"><BaseURL>${base}</BaseURL><Period>`
    + `<AdaptationSet contentType="video" mimeType="video/mp4" segmentAlignment="true" startWithSAP="1">${representations.join('')}</AdaptationSet>`
    + '</Period></MPD>';
}
