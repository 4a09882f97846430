// Computes the results from the samples of both browsers, and from the link's report.

import { columns, fixed, percentile } from '../shared.mjs';

/** The rate of the media's figures leaves out this much at the beginning, in which the sender looks for the rate of the link. */
const SETTLE_S = 10;

const last = (samples, kind) => samples.findLast((one) => one[kind])?.[kind] ?? {};
const spread = (values) => ({
  frames: values.length, mean: values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length,
  p50: percentile(values, 0.5), p95: percentile(values, 0.95), p99: percentile(values, 0.99), max: percentile(values, 1),
});

/** Bits a second between the first sample after `from` and the last one up to `to`, both in milliseconds. */
function rate(samples, kind, names, from, to) {
  const some = samples.filter((one) => one[kind] && one.at >= from && one.at <= to);
  if (some.length < 2) return null;
  const [first, final] = [some[0], some.at(-1)];
  const bytes = (one) => names.reduce((sum, name) => sum + (one[kind][name] ?? 0), 0);
  return (bytes(final) - bytes(first)) * 8 / (final.at - first.at) * 1000;
}

/** The browsers' figures and the link's. */
export function figures(seen, link, settings) {
  const call = callFigures(seen, settings);
  return {
    // All IP bytes that the link delivered, which are the call's, over the time of the call.
    ip_kbps: link.down.throughput_mbps * link.duration_s * 1000 / call.seconds,
    ...call,
    queue_delay_ms: { p50: link.down.queue_delay_ms.p50, p95: link.down.queue_delay_ms.p95, p99: link.down.queue_delay_ms.p99 },
    drops: link.down.drops,
    drop_share: link.down.packets_arrived > 0 ? link.down.drops / link.down.packets_arrived : 0,
    grade: link.audit.grade,
    delays_hold_to_ms: link.audit.delays_hold_to_ms,
    trustworthy: link.audit.trustworthy,
  };
}

/** What the two browsers say. */
export function callFigures(seen, { fps }) {
  const { sent, received, link_started: started } = seen;
  const seconds = (sent.ended - sent.began) / 1000;
  const out = last(sent.samples, 'outbound-rtp');
  const into = last(received.samples, 'inbound-rtp');
  const during = received.frames.filter(([at]) => at <= sent.ended + 1000);
  const delays = during.map(([, delay]) => delay).filter((delay) => delay !== null);
  const complete = new Map(received.complete.map(([stamp, at]) => [stamp, at]));
  // From the picture's time to the time at which its last packet had come.
  const assembled = during.filter(([, delay, stamp]) => delay !== null && complete.has(stamp))
    .map(([at, delay, stamp]) => complete.get(stamp) - (at - delay));
  const gaps = during.slice(1).map(([at], index) => at - during[index][0]);
  const rates = (kind, names, samples) => {
    const settled = rate(samples, kind, names, sent.began + SETTLE_S * 1000, sent.ended);
    return { all: rate(samples, kind, names, 0, sent.ended), settled };
  };
  const media = rates('inbound-rtp', ['bytesReceived', 'headerBytesReceived'], received.samples);
  const targets = sent.samples.map((one) => one['outbound-rtp']?.targetBitrate).filter((value) => value > 0);
  const trips = sent.samples.map((one) => one['candidate-pair']?.currentRoundTripTime).filter((value) => value > 0);
  const kbps = (bits) => bits === null ? null : bits / 1000;
  const payload = received.complete.reduce((sum, [, , bytes]) => sum + bytes, 0);
  return {
    began_s: (sent.began - started) / 1000,
    seconds,
    // RTP with its headers, at the receiver; without what the first seconds had.
    media_kbps: kbps(media.all),
    media_settled_kbps: kbps(media.settled),
    // Encoded pictures that came whole, without headers.
    payload_kbps: payload * 8 / 1000 / seconds,
    target_kbps: targets.length === 0 ? null : targets.reduce((sum, value) => sum + value, 0) / targets.length / 1000,
    frames_made: sent.made?.frames ?? last(sent.samples, 'media-source').frames ?? null,
    frames_skipped: sent.made?.skipped ?? null,
    frames_encoded: out.framesEncoded ?? 0,
    frames_received: into.framesReceived ?? 0,
    frames_decoded: into.framesDecoded ?? 0,
    frames_dropped: into.framesDropped ?? 0,
    frames_shown: during.length,
    frames_unreadable: sent.made ? during.length - delays.length : null,
    key_frames: into.keyFramesDecoded ?? 0,
    fps: during.length / seconds,
    freezes: into.freezeCount ?? 0,
    frozen_s: into.totalFreezesDuration ?? 0,
    longest_gap_ms: percentile(gaps, 1),
    // Without a picture for more than three of their intervals and 150 ms.
    gaps: gaps.filter((gap) => gap > Math.max(3000 / fps, 1000 / fps + 150)).length,
    frame_delay_ms: sent.made ? spread(delays) : null,
    complete_delay_ms: sent.made ? spread(assembled) : null,
    jitter_buffer_ms: into.jitterBufferEmittedCount > 0 ? 1000 * into.jitterBufferDelay / into.jitterBufferEmittedCount : null,
    height_median: percentile(during.map(([, , , height]) => height), 0.5),
    height_least: percentile(during.map(([, , , height]) => height), 0),
    limited_s: out.qualityLimitationDurations ?? null,
    resent_share: out.bytesSent > 0 ? out.retransmittedBytesSent / out.bytesSent : null,
    // What was sent beside pictures: error correction, and padding of probes.
    redundant_share: out.bytesSent > 0 ? Math.max(0, 1 - (payload + out.retransmittedBytesSent) / out.bytesSent) : null,
    packets_lost: into.packetsLost ?? 0,
    packets_resent: out.retransmittedPacketsSent ?? 0,
    nacks: into.nackCount ?? 0,
    key_requests: into.pliCount ?? 0,
    rtt_ms: { p50: scaled(percentile(trips, 0.5)), p95: scaled(percentile(trips, 0.95)), max: scaled(percentile(trips, 1)) },
  };
}

const scaled = (seconds) => seconds === null ? null : seconds * 1000;

/** A column for each discipline. */
export function table({ settings, runs }) {
  const measures = [
    ['rate through the link, mean', 'Mbit/s', 2, (figures) => figures.ip_kbps / 1000],
    ['media at the receiver, mean', 'Mbit/s', 2, (figures) => figures.media_kbps === null ? null : figures.media_kbps / 1000],
    ["sender's target, mean", 'Mbit/s', 2, (figures) => figures.target_kbps === null ? null : figures.target_kbps / 1000],
    ['pictures shown', '1/s', 1, (figures) => figures.fps],
    ['  their height, median', 'lines', 0, (figures) => figures.height_median],
    ['freezes', '', 0, (figures) => figures.freezes],
    ['  frozen', 's', 1, (figures) => figures.frozen_s],
    ['frame delay, p50', 'ms', 0, (figures) => figures.frame_delay_ms?.p50 ?? null],
    ['  p95', 'ms', 0, (figures) => figures.frame_delay_ms?.p95 ?? null],
    ['  until complete, p50', 'ms', 0, (figures) => figures.complete_delay_ms?.p50 ?? null],
    ['  until complete, p95', 'ms', 0, (figures) => figures.complete_delay_ms?.p95 ?? null],
    ['jitter buffer, mean', 'ms', 0, (figures) => figures.jitter_buffer_ms],
    ['round trip, p95', 'ms', 0, (figures) => figures.rtt_ms.p95],
    ['sent again', '%', 1, (figures) => figures.resent_share === null ? null : 100 * figures.resent_share],
    ['error correction, padding', '%', 1, (figures) => figures.redundant_share === null ? null : 100 * figures.redundant_share],
    ['queue delay down, p95', 'ms', 1, (figures) => figures.queue_delay_ms.p95],
    ['queue delay down, p99', 'ms', 1, (figures) => figures.queue_delay_ms.p99],
    ['packets dropped, down', '%', 1, (figures) => 100 * figures.drop_share],
  ];
  const rows = [
    ['', '', ...runs.map((run) => run.qdisc)],
    ...measures.map(([name, unit, digits, value]) => [name, unit, ...runs.map((run) => fixed(value(run.figures), digits))]),
    ['accuracy of the link', '', ...runs.map((run) => run.figures.grade)],
    ['its verdict', '', ...runs.map((run) => run.figures.trustworthy ? 'trustworthy' : 'not trustworthy')],
  ];
  const reasons = runs.flatMap((run) => run.link.audit.reasons.map((reason) => `${run.qdisc} is not trustworthy: ${reason}`));
  const limited = runs.filter((run) => run.figures.limited_s?.cpu > 0)
    .map((run) => `${run.qdisc}: the sender had too little processor time for ${run.figures.limited_s.cpu.toFixed(1)} s, and sent less for it`);
  return [
    ...columns(rows),
    `${settings.seconds} s behind ${settings.trace.split('/').pop()} from its second ${settings.start} on, ${settings.delay} each way, `
      + `up ${settings.up?.split('/').pop() ?? 'without limit'}; ${settings.codec} ${settings.width}x${settings.height} at ${settings.fps}/s, `
      + `at most ${settings.maxKbps} kbit/s`,
    ...reasons,
    ...limited,
  ].join('\n');
}
