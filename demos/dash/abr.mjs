// One player, twice: dash.js behind `qdelay link`, and the simulator's `dash` over the same path. Both play the same video by the same rule.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { columns, fixed, machine } from '../shared.mjs';
import { media } from './film.mjs';
import { session } from './rule.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const BUILD = 'cargo build --release --locked --target wasm32-unknown-unknown --manifest-path demos/dash/rule/Cargo.toml';

/** The rules as WebAssembly: QDELAY_DASH_RULE, or what `BUILD` makes. */
export async function rules() {
  const file = process.env.QDELAY_DASH_RULE ?? path.join(HERE, 'rule/target/wasm32-unknown-unknown/release/qdelay_dash_rule.wasm');
  if (!existsSync(file)) throw new Error(`there is no ${file}; make it: rustup target add wasm32-unknown-unknown; ${BUILD}`);
  return readFile(file);
}

/** Plays and simulates each rule behind each discipline; the results. `play` runs a player behind a link, with a film. */
export async function beside({ qdelay, settings, rules: names, qdiscs, out, play, say }) {
  const wasm = await rules();
  const module = await WebAssembly.compile(wasm);
  const computer = await machine();
  await mkdir(out, { recursive: true });
  const runs = [];
  for (const qdisc of qdiscs) {
    for (const rule of names) {
      const transport = `dash:abr=[${rule}]:over=${computer.tcp_congestion_control}:length=${settings.length}s${settings.video ? `:${settings.video}` : ''}`;
      const film = (await session(module, transport)).film();
      const seconds = Math.ceil(film.chunk * film.sizes.length * 1.5 + 15);
      const name = path.join(out, `${runs.length}`);
      const scenario = `${name}.toml`;
      await writeFile(scenario, scenarioText(settings, { transport, qdisc, seconds }));
      say(`${rule} behind ${qdisc}: up to ${seconds + settings.start} s behind ${settings.trace}`);
      const simulated = await simulate(qdelay, scenario, `${name}-simulated`);
      const { manifest, chunk, codec } = await media(film);
      const served = { wasm, chunk, task: (base) => ({ transport, seed: 1, codec, manifest: manifest(base) }) };
      const seen = await play({ name: `${rule} behind ${qdisc}`, scenario, link: `${name}-link.json`, film: served, task: { film: true, start: settings.start, seconds } });
      const link = JSON.parse(await readFile(`${name}-link.json`, 'utf8'));
      if (seen.player.errors.length > 0) throw new Error(`${rule} behind ${qdisc}: the player failed: ${seen.player.errors[0]}`);
      runs.push({ rule, qdisc, transport, stream: seen.player.stream, simulated, grade: link.audit.grade, link, seen });
    }
  }
  return { schema_version: 1, settings, machine: computer, runs };
}

/** The scenario of a run: its path is the link's, its flow the simulated player. */
function scenarioText(settings, { transport, qdisc, seconds }) {
  const isRate = (text) => /^[\d.]+ ?[kmg]?bit$/.test(text) || text === 'infinite';
  const full = (text) => isRate(text) || !existsSync(text) ? text : path.resolve(text);
  const text = JSON.stringify;
  return [
    '[path]', `${isRate(settings.trace) ? 'link' : 'trace'} = ${text(full(settings.trace))}`, `uplink = ${text(settings.up ? full(settings.up) : 'none')}`,
    `rtt = ${text(settings.rtt)}`, `qdisc = ${text(qdisc)}`,
    '[[flow]]', 'name = "film"', `transport = ${text(transport)}`, `start = "${settings.start}s"`,
    '[run]', `duration = "${settings.start + seconds}s"`, '',
  ].join('\n');
}

/** `stream` of the scenario's flow in simulated time. */
async function simulate(qdelay, scenario, out) {
  await rm(out, { recursive: true, force: true });
  const child = spawn(qdelay, ['run', scenario, '--no-report', '--out', out], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error(`qdelay run ${scenario} ended with ${status}`);
  const [name] = await readdir(path.join(out, 'cases'));
  const summary = JSON.parse(await readFile(path.join(out, 'cases', name, 'summary.json'), 'utf8'));
  return summary.flows[0].stream;
}

/** Two rows for each run, the real player's and the simulated one's. */
export function table({ settings, machine: computer, runs }) {
  const measures = [
    ['chunks', 'chunks', 0], ['Mbit/s', 'bitrate_mbps', 3], ['switches', 'switches', 0], ['startup ms', 'startup_ms', 0], ['stalls', 'stalls', 0],
    ['stalled s', 'stalled_s', 2], ['played s', 'played_s', 1], ['QoE', 'qoe', 1], ['QoE per chunk', 'qoe_per_chunk', 3],
  ];
  const row = (name, whose, stream, grade) => [name, whose, ...measures.map(([, field, digits]) => fixed(stream[field] ?? null, digits)), grade];
  const rows = [
    ['', '', ...measures.map(([heading]) => heading), 'link'],
    ...runs.flatMap((run) => [row(`${run.rule}, ${run.qdisc}`, 'dash.js', run.stream, run.grade), row('', 'simulated', run.simulated, '')]),
  ];
  const reasons = runs.flatMap((run) => run.link.audit.reasons.map((reason) => `${run.rule}, ${run.qdisc}: the link is not trustworthy: ${reason}`));
  // A page that was not ready in time met another part of the trace.
  const late = runs.filter((run) => run.seen.began_s > settings.start + 0.1)
    .map((run) => `${run.rule}, ${run.qdisc}: dash.js began at ${run.seen.began_s.toFixed(1)} s, as its page was not ready before; give it more time by --start`);
  return [
    ...columns(rows),
    `${settings.length} s of video behind ${settings.trace.split('/').pop()} from its second ${settings.start} on, round trip ${settings.rtt}, `
      + `up ${settings.up?.split('/').pop() ?? 'without limit'}; TCP ${computer.tcp_congestion_control}`,
    ...late,
    ...reasons,
  ].join('\n');
}
