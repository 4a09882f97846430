// Computes the results from the observations: the same figures for a table, a plot and results.json.

import { columns, fixed, percentile } from '../shared.mjs';

export function figures(seen, link) {
  const { player, bulk, pings, began } = seen;
  const shown = player.samples.map((sample) => sample.kbps).filter((kbps) => kbps !== null);
  const within = (at, { from, to }) => from !== null && at >= from && at < to;
  const stalls = player.stalls.map(({ from, to }) => ((to ?? player.ended) - from) / 1000);
  const round = (values) => {
    const back = values.map((ping) => ping.rtt).filter((rtt) => rtt !== null);
    return {
      sent: values.length, lost: values.length - back.length, min: percentile(back, 0),
      p50: percentile(back, 0.5), p95: percentile(back, 0.95), p99: percentile(back, 0.99), max: percentile(back, 1),
    };
  };
  return {
    // Bit rate of the displayed picture, with equal weight for each sample, from the first picture on.
    bitrate_kbps: shown.length === 0 ? null : shown.reduce((sum, kbps) => sum + kbps, 0) / shown.length,
    qualities_loaded_kbps: [...new Set(player.segments.map((segment) => segment.kbps))].sort((a, b) => a - b),
    start_s: player.playing === null ? null : (player.playing - began) / 1000,
    played_s: player.position,
    stalls: stalls.length,
    stalled_s: stalls.reduce((sum, seconds) => sum + seconds, 0),
    frames_dropped: player.frames.dropped,
    frames_shown: player.frames.shown,
    bulk_mbps: bulk.from === null ? null : bulk.bytes * 8 / 1e3 / (bulk.to - bulk.from),
    // Bytes of bodies, without headers; none of them is from the browser's cache.
    cached_loads: player.cached,
    received_bytes: player.bytes + bulk.bytes,
    rtt_ms: round(pings),
    rtt_loaded_ms: round(pings.filter((ping) => within(ping.at, bulk))),
    rtt_alone_ms: round(pings.filter((ping) => !within(ping.at, bulk))),
    queue_delay_p99_ms: link.down.queue_delay_ms.p99,
    up_queue_delay_p99_ms: link.up.queue_delay_ms.p99,
    drops: link.down.drops,
    drop_share: link.down.packets_arrived > 0 ? link.down.drops / link.down.packets_arrived : 0,
    utilization: link.down.utilization,
    trustworthy: link.audit.trustworthy,
  };
}

/** A column for each discipline. */
export function table({ settings, machine, runs }) {
  const share = ({ sent, lost }) => 100 * lost / Math.max(1, sent);
  const measures = [
    ['bit rate shown, mean', 'Mbit/s', 2, (figures) => figures.bitrate_kbps === null ? null : figures.bitrate_kbps / 1000],
    ['until the first picture', 's', 1, (figures) => figures.start_s],
    ['stalls', '', 0, (figures) => figures.stalls],
    ['stalled', 's', 1, (figures) => figures.stalled_s],
    ['frames dropped', '', 0, (figures) => figures.frames_dropped],
    ['download beside it', 'Mbit/s', 2, (figures) => figures.bulk_mbps],
    ['round trip, p50', 'ms', 0, (figures) => figures.rtt_ms.p50],
    ['  p95', 'ms', 0, (figures) => figures.rtt_ms.p95],
    ['  p99', 'ms', 0, (figures) => figures.rtt_ms.p99],
    ['  during the download, p50', 'ms', 0, (figures) => figures.rtt_loaded_ms.p50],
    ['  during the download, p99', 'ms', 0, (figures) => figures.rtt_loaded_ms.p99],
    ['  probes without an answer', '%', 1, (figures) => share(figures.rtt_ms)],
    ['queue delay down, p99', 'ms', 1, (figures) => figures.queue_delay_p99_ms],
    ['queue delay up, p99', 'ms', 1, (figures) => figures.up_queue_delay_p99_ms],
    ['packets dropped, down', '%', 1, (figures) => 100 * figures.drop_share],
    ['link used, down', '%', 0, (figures) => 100 * figures.utilization],
  ];
  const rows = [
    ['', '', ...runs.map((run) => run.qdisc)],
    ...measures.map(([name, unit, digits, value]) => [name, unit, ...runs.map((run) => fixed(value(run.figures), digits))]),
    ['verdict of the link', '', ...runs.map((run) => run.figures.trustworthy ? 'trustworthy' : 'not trustworthy')],
  ];
  const reasons = runs.flatMap((run) => run.link.audit.reasons.map((reason) => `${run.qdisc} is not trustworthy: ${reason}`));
  return [
    ...columns(rows),
    `${settings.seconds} s behind ${settings.trace.split('/').pop()}, ${settings.delay} each way, up ${settings.up?.split('/').pop() ?? 'without limit'}; `
      + `the download from ${settings.bulk[0]} s to ${settings.bulk[1]} s; TCP ${machine.tcp_congestion_control}`,
    ...reasons,
  ].join('\n');
}
