// The stream: generated once by ffmpeg into a cache folder; the same version of ffmpeg gives the same stream. A test picture with clock and noise, four
// qualities of constant bit rate, segments of 2 s, no sound.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Width, height and rate in kbit/s; every height is another one, so that the picture tells the quality. */
export const QUALITIES = [
  [426, 240, 300],
  [640, 360, 800],
  [854, 480, 2000],
  [1280, 720, 4000],
];
const FRAMES_PER_SECOND = 24;
const SEGMENT_SECONDS = 2;
/** Counted up with every change of what is made here, so that no old stream is taken. */
const VERSION = 1;

/** The folder with `stream.mpd` and segments of at least `seconds`; makes it where it is missing. */
export async function stream(seconds, say = () => {}) {
  const length = Math.max(60, Math.ceil(seconds / 30) * 30);
  const cache = process.env.QDELAY_DASH_CACHE
    ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'qdelay-dash');
  const folder = path.join(cache, `stream-v${VERSION}-${length}s`);
  if (existsSync(path.join(folder, 'stream.mpd'))) return folder;
  say(`making the stream, ${length} s in ${QUALITIES.length} qualities, once: ${folder}`);
  // Under another name until it is complete.
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await run('ffmpeg', options(length, path.join(unfinished, 'stream.mpd')), { maxBuffer: 1 << 24 });
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (error.code === 'ENOENT') throw new Error("needs ffmpeg with libx264; on Debian: apt-get install ffmpeg");
    throw new Error(`ffmpeg did not make the stream: ${(error.stderr || error.message).trim().split('\n').pop()}`);
  }
  return folder;
}

function options(length, file) {
  const { width, height } = { width: QUALITIES.at(-1)[0], height: QUALITIES.at(-1)[1] };
  const source = `testsrc2=size=${width}x${height}:rate=${FRAMES_PER_SECOND}:duration=${length},noise=alls=14:allf=t`;
  const parts = QUALITIES.map((_, index) => `[s${index}]`).join('');
  const scaled = QUALITIES.map(([width, height], index) => `[s${index}]scale=${width}:${height}[v${index}]`);
  const all = ['-nostdin', '-loglevel', 'error', '-y', '-f', 'lavfi', '-i', source,
    '-filter_complex', [`split=${QUALITIES.length}${parts}`, ...scaled].join(';')];
  QUALITIES.forEach(([, , kbit], index) => {
    all.push('-map', `[v${index}]`, `-b:v:${index}`, `${kbit}k`, `-minrate:v:${index}`, `${kbit}k`,
      `-maxrate:v:${index}`, `${kbit}k`, `-bufsize:v:${index}`, `${kbit}k`);
  });
  // A key frame at each segment's start only; filler data if the picture needs less than the rate.
  const every = FRAMES_PER_SECOND * SEGMENT_SECONDS;
  all.push('-c:v', 'libx264', '-preset', 'veryfast', '-profile:v', 'main', '-pix_fmt', 'yuv420p',
    '-x264-params', 'nal-hrd=cbr', '-g', `${every}`, '-keyint_min', `${every}`, '-sc_threshold', '0',
    '-f', 'dash', '-seg_duration', `${SEGMENT_SECONDS}`, '-use_template', '1', '-use_timeline', '0',
    '-adaptation_sets', 'id=0,streams=v', '-init_seg_name', 'init-$RepresentationID$.m4s',
    '-media_seg_name', 'video-$RepresentationID$-$Number%03d$.m4s', file);
  return all;
}
