// One self-contained HTML page: quality shown, buffer and round trip by time, the disciplines on one axis.

const WIDTH = 900;
const HEIGHT = 200;
const LEFT = 60;
const RIGHT = 24;
const BOTTOM = 28;
// Okabe and Ito's colours, which are distinguishable with any colour vision.
const COLOURS = ['#d55e00', '#0072b2', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

const escape = (text) => String(text).replace(/[&<>"]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[one]);

export function plot({ settings, runs }) {
  const series = (values) => runs.map((run) => values(run.seen.player, run.seen)
    .map(([at, value]) => [(at - run.seen.began) / 1000, value]).filter(([at]) => at >= 0 && at <= settings.seconds));
  const bitrate = series((player) => player.samples.map((sample) => [sample.at, sample.kbps === null ? null : sample.kbps / 1000]));
  const buffer = series((player) => player.samples.map((sample) => [sample.at, sample.buffer]));
  const trips = series((_, seen) => seen.pings.map((ping) => [ping.at, ping.rtt]));
  const stalls = runs.map((run) => run.seen.player.stalls
    .map(({ from, to }) => [from, to ?? run.seen.player.ended].map((at) => (at - run.seen.began) / 1000)));
  const keys = runs.map((run, index) => `<span style="color:${COLOURS[index % COLOURS.length]}">&#9632; ${escape(run.qdisc)}</span>`);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>A DASH stream behind ${escape(path(settings.trace))}</title>
<style>body { font: 14px sans-serif; margin: 24px; color: #222; background: #fff } svg { display: block; max-width: 100% }
h2 { font-size: 14px; margin: 18px 0 4px } text { font: 12px sans-serif; fill: #444 } span { margin-right: 16px }</style>
<h1 style="font-size:18px">A DASH stream behind ${escape(path(settings.trace))}, ${settings.seconds} s</h1>
<p>${keys.join(' ')} <span style="background:#eee">&nbsp; a download beside it &nbsp;</span></p>
<h2>Bit rate of the picture shown, Mbit/s; bars below: stalls</h2>${chart(settings, bitrate, { stalls })}
<h2>Buffer of the player, s</h2>${chart(settings, buffer, {})}
<h2>Round trip, ms (logarithmic); a gap is a datagram that did not come back</h2>${chart(settings, trips, { logarithmic: true })}
</html>
`;
}

const path = (name) => name.split('/').pop();

function chart(settings, all, { logarithmic = false, stalls = [] }) {
  const values = all.flat().map(([, value]) => value).filter((value) => value !== null);
  const top = Math.max(...values, logarithmic ? 100 : 1) * 1.05;
  const bottom = logarithmic ? Math.max(1, Math.min(...values, 100) * 0.8) : 0;
  const scale = logarithmic ? Math.log10 : (value) => value;
  const x = (at) => LEFT + at / settings.seconds * (WIDTH - LEFT - RIGHT);
  const y = (value) => 8 + (scale(top) - scale(Math.max(value, bottom))) / (scale(top) - scale(bottom)) * (HEIGHT - 8 - BOTTOM);
  const parts = [`<rect x="${x(settings.bulk[0])}" y="8" width="${x(settings.bulk[1]) - x(settings.bulk[0])}" height="${HEIGHT - 8 - BOTTOM}" fill="#eee"/>`];
  for (const tick of ticks(bottom, top, logarithmic)) {
    parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(tick)}" y2="${y(tick)}" stroke="#ccc"/>`,
      `<text x="${LEFT - 6}" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`);
  }
  const step = [1, 2, 5, 10, 20, 60, 300].find((step) => settings.seconds / step <= 12) ?? 600;
  for (let at = 0; at <= settings.seconds; at += step) {
    parts.push(`<text x="${x(at)}" y="${HEIGHT - 10}" text-anchor="middle">${at} s</text>`);
  }
  all.forEach((points, index) => parts.push(`<path d="${line(points, x, y)}" fill="none" stroke="${COLOURS[index % COLOURS.length]}" stroke-width="1.5"/>`));
  stalls.forEach((spans, index) => spans.forEach(([from, to]) => parts.push(
    `<rect x="${x(from)}" y="${HEIGHT - BOTTOM - 6 + index * 4}" width="${Math.max(2, x(to) - x(from))}" height="4" fill="${COLOURS[index % COLOURS.length]}"/>`)));
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" role="img">${parts.join('')}</svg>`;
}

function ticks(bottom, top, logarithmic) {
  if (logarithmic) return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000].filter((tick) => tick >= bottom && tick <= top);
  const step = [0.5, 1, 2, 5, 10, 20, 50].find((step) => top / step <= 6) ?? 100;
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, index) => index * step);
}

/** A pen that is lifted where there is nothing. */
function line(points, x, y) {
  let down = false;
  return points.map(([at, value]) => {
    const part = value === null ? '' : `${down ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    down = value !== null;
    return part;
  }).join('');
}
