// The page of film.html: dash.js plays the simulated stream's video by the simulated stream's rule. Times in `seen` are milliseconds since 1970.

import { session } from '/rule.mjs';

const video = document.getElementById('video');
const now = () => performance.timeOrigin + performance.now();
const seen = { started: null, playing: null, ended: null, stalls: [], samples: [], chunks: [], errors: [] };
/** The rule; the video; the choice of each chunk that was asked for, so that a rule is asked once for each. */
let rule = null;
let film = null;
const choices = [];
let player = null;
let stall = null;

/** What there is beyond the picture that is shown, s. */
function buffered() {
  const { buffered: ranges, currentTime } = video;
  for (let index = 0; index < ranges.length; index += 1) {
    // A picture of the first chunk may begin a little late.
    if (currentTime >= ranges.start(index) - 0.1 && currentTime <= ranges.end(index)) return ranges.end(index) - currentTime;
  }
  return 0;
}

function choose() {
  const next = seen.chunks.length;
  if (choices[next] === undefined) {
    const buffer = buffered();
    const at = now();
    const rung = rule.choose((at - seen.started) / 1000, buffer, next, next === 0 ? null : seen.chunks[next - 1].rung);
    choices[next] = { rung, buffer, at };
  }
  return choices[next].rung;
}

/** dash.js's interface of a rule of one's own: it is asked before each request. */
function PageRule() {
  const { context } = this;
  return {
    getClassName: () => 'PageRule',
    getSwitchRequest(rules) {
      const SwitchRequest = dashjs.FactoryMaker.getClassFactoryByName('SwitchRequest');
      const request = SwitchRequest(context).create();
      const all = rules.getAbrController().getPossibleVoRepresentationsFilteredBySettings(rules.getMediaInfo(), true);
      const rung = `${choose()}`;
      request.representation = all.find(({ id }) => id === rung) ?? SwitchRequest.NO_CHANGE;
      request.priority = SwitchRequest.PRIORITY.STRONG;
      return request;
    },
    reset() {},
  };
}
PageRule.__dashjs_factory_name = 'PageRule';

/** Settings under which dash.js does what the simulated player does: one rule, no chunk given up or loaded twice, the same room. */
function settings(firstKbps) {
  const off = { active: false };
  return {
    debug: { logLevel: dashjs.Debug.LOG_LEVEL_NONE },
    streaming: {
      abr: {
        rules: {
          throughputRule: off, bolaRule: off, insufficientBufferRule: off, switchHistoryRule: off, droppedFramesRule: off,
          abandonRequestsRule: off, l2ARule: off, loLPRule: off,
        },
        initialBitrate: { video: firstKbps },
        limitBitrateByPortal: false,
      },
      buffer: { fastSwitchEnabled: false, bufferToKeep: 20, initialBufferLevel: film.startup > 0 ? film.startup : NaN },
      // How often it looks whether there is room for a chunk, ms; the default is 500.
      scheduling: { defaultTimeout: 20 },
      cmcd: { enabled: false },
    },
  };
}

/** dash.js requests a chunk where it fits below its target, the rule where the buffer has fallen to its level. */
function wait() {
  const target = rule.patience() + film.chunk;
  player.updateSettings({ streaming: { buffer: {
    bufferTimeDefault: target, bufferTimeAtTopQuality: target, bufferTimeAtTopQualityLongForm: target,
  } } });
}

/** Loads all that is not the video, so that `start` loads nothing else. */
async function prepare() {
  const [task, module] = await Promise.all([
    fetch('/film.json').then((answer) => answer.json()), WebAssembly.compileStreaming(fetch('/rule.wasm')),
  ]);
  rule = await session(module, task.transport, task.seed);
  film = rule.film();
  const type = `video/mp4; codecs="${task.codec}"`;
  if (!window.MediaSource || !MediaSource.isTypeSupported(type)) throw new Error(`this browser does not play ${type}`);
  player = dashjs.MediaPlayer().create();
  player.addABRCustomRule('qualitySwitchRules', 'PageRule', dashjs.FactoryMaker.getClassFactory(PageRule));
  player.on(dashjs.MediaPlayer.events.ERROR, (event) => seen.errors.push(event.error.message ?? String(event.error)));
  player.on(dashjs.MediaPlayer.events.FRAGMENT_LOADING_COMPLETED, loaded);
  // A stall begins when the player has no data left, and ends when playing continues. Before the first picture it is the startup.
  video.addEventListener('playing', () => {
    seen.playing ??= now();
    if (stall) stall.to = now();
    stall = null;
  });
  video.addEventListener('waiting', () => {
    if (seen.playing === null || stall || seen.ended !== null) return;
    stall = { from: now(), to: null };
    seen.stalls.push(stall);
  });
  video.addEventListener('ended', () => { seen.ended = now(); });
  video.addEventListener('error', () => seen.errors.push(video.error.message));
  performance.setResourceTimingBufferSize(100_000);
  return URL.createObjectURL(new Blob([task.manifest], { type: 'application/dash+xml' }));
}

function start(manifest) {
  seen.started = now();
  player.updateSettings(settings(film.ladder[choose()] / 1000));
  wait();
  player.initialize(video, manifest, true);
  setInterval(() => seen.samples.push({ at: now(), position: video.currentTime, buffer: buffered() }), 250);
}

function loaded({ request, error }) {
  if (request.type !== 'MediaSegment') return;
  if (error) {
    seen.errors.push(`chunk ${request.index}: ${error}`);
    return;
  }
  const [index, rung, bytes] = [seen.chunks.length, Number(request.representation.id), request.bytesLoaded];
  // The browser's own times of the request, to a tenth of a millisecond; dash.js has milliseconds.
  const timing = performance.getEntriesByName(request.url).at(-1);
  const [asked, first, last] = timing?.responseEnd > 0
    ? [timing.requestStart, timing.responseStart, timing.responseEnd].map((at) => at + performance.timeOrigin)
    : [request.startDate, request.firstByteDate, request.endDate].map((date) => date.getTime());
  if (request.index !== index || bytes !== film.sizes[index][rung] || rung !== choices[index]?.rung) {
    seen.errors.push(`chunk ${request.index} at ${rung} with ${bytes} bytes in place of chunk ${index} at ${choices[index]?.rung}`);
  }
  const requested = choices[index]?.at ?? asked;
  seen.chunks.push({ rung, bytes, buffer: choices[index]?.buffer ?? null, requested, asked, first, last, connection: timing?.connectStart > timing?.fetchStart });
  rule.downloaded({ rung, bytes, wait: (first - asked) / 1000, transfer: (last - first) / 1000 });
  wait();
}

function collect() {
  const end = seen.ended ?? now();
  const seconds = (from, to) => Math.max(0, (to - from) / 1000);
  const frames = video.getVideoPlaybackQuality();
  return {
    ...seen,
    collected: now(),
    frames: { shown: frames.totalVideoFrames - frames.droppedVideoFrames, dropped: frames.droppedVideoFrames },
    stream: rule.figures({
      startup: seconds(seen.started, seen.playing ?? end),
      stalls: seen.stalls.length,
      stalled: seen.stalls.reduce((sum, { from, to }) => sum + seconds(from, to ?? end), 0),
      played: video.currentTime,
    }, seen.chunks.length),
    version: player.getVersion(),
  };
}

Object.assign(window, { prepare, start, collect, isOver: () => seen.ended !== null || seen.errors.length > 0 });
