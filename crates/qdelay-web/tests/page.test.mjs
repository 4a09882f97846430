// The parts of the page that need no browser: the link's points beside a list with the rate of each millisecond, and the forms of a state.
//
// node tests/page.test.mjs [SEED]

import assert from "node:assert/strict";
import { drawn, from, observed, pointsOf, rateAt, tail, textOf } from "../page/link.js";
import { departure } from "../page/lessons.js";
import { DEFAULTS, addressOf, appsOf, checked, flowsOf, flowsText, playedOf, scenarioOf, stateOf } from "../page/state.js";

const seed = Number(process.argv[2] ?? 1);
let drawNumber = seed >>> 0;
/** Numbers below `limit`: an LCG of our own, so that a failure can be had again. */
function random(limit) {
  drawNumber = (Math.imul(drawNumber, 1664525) + 1013904223) >>> 0;
  return Math.floor((drawNumber / 2 ** 32) * limit);
}

const LENGTH = 3000;
/** The rate of each millisecond, by walking through the points. */
const walked = (points) => {
  const rates = [];
  for (let ms = 0; ms < LENGTH; ms += 1) {
    let rate = null;
    for (const [at, kbit] of points) if (at <= ms) rate = kbit;
    rates.push(rate);
  }
  return rates;
};
/** Rates by the millisecond are equal; the first that is not is told. */
function same(rates, model, what) {
  const at = model.findIndex((rate, ms) => rate !== rates[ms]);
  assert.equal(at, -1, `${what}: at ${at} ms ${rates[at]}, expected ${model[at]}`);
}
const three = (kbit) => (kbit <= 0 ? 0 : Math.min(400_000, Math.max(1, Number(kbit.toPrecision(3)))));

for (let round = 0; round < 300; round += 1) {
  let points = [[0, three(random(50_000))]];
  let model = walked(points);
  for (let step = 0; step < 12; step += 1) {
    if (random(2) === 0) {
      const [ms, kbit] = [random(LENGTH), random(60_000)];
      points = from(points, ms, kbit);
      for (let at = ms; at < LENGTH; at += 1) model[at] = three(kbit);
    } else {
      const width = 100;
      const [a, b] = [[random(LENGTH - 300), random(60_000)], [random(LENGTH - 300), random(60_000)]];
      points = drawn(points, a, b, width);
      const [[first, low], [last, high]] = a[0] <= b[0] ? [a, b] : [b, a];
      const [begin, end] = [Math.floor(first / width), Math.floor(last / width)];
      for (let place = begin; place <= end; place += 1) {
        const kbit = begin === end ? high : low + (high - low) * ((place - begin) / (end - begin));
        for (let at = place * width; at < (place + 1) * width; at += 1) model[at] = three(kbit);
      }
    }
    const what = `seed ${seed}, round ${round}, step ${step}`;
    same(walked(points), model, what);
    assert.equal(points[0][0], 0, what);
    assert.ok(points.every(([ms, kbit], at) => at === 0 || (ms > points[at - 1][0] && kbit !== points[at - 1][1])), what);
    const now = random(LENGTH);
    assert.equal(rateAt(points, now), model[now], what);
    same(walked(tail(points, now)), model.slice(now), what);
    same(walked(pointsOf(textOf(points), LENGTH)), model, `${what}: ${textOf(points)}`);
  }
}

// A repeated profile, and texts that are no profile.
const repeated = walked(pointsOf("steps:0s@20mbit+500ms@2mbit:repeat=1s", LENGTH));
assert.ok(repeated.every((kbit, ms) => kbit === (ms % 1000 < 500 ? 20_000 : 2000)));
for (const text of ["steps:", "steps:1s@1mbit", "steps:0s@1mbit+0s@2mbit", "steps:0s@1mbt", "steps:0s@1mbit:repeat=0s", "steps:0s@1mbit+2s@2mbit:repeat=1s", "steps:0s@1mbit:overhead=14", "htb:1mbit", "synth-lte-driving", ""]) {
  assert.equal(pointsOf(text, 1000), null, text);
}
assert.deepEqual(observed([1, 1, 2.5, 0], 100), [[0, 1000], [200, 2500], [300, 0]]);
assert.deepEqual(pointsOf("2.5mbit", 0), [[0, 2500]]);
assert.deepEqual([textOf([[0, 2500]]), textOf([[0, 0]]), textOf([[0, 0], [500, 1]])], ["2.5mbit", "steps:0s@0kbit", "steps:0s@0kbit+500ms@1kbit"]);

// Transfers and their text.
for (const text of ["cubic", "cubic*3,bbr@5s", "cubic:ecn=on*2@1s", "dash:bb:over=[cubic:ecn=on,x]", ""]) assert.equal(flowsText(flowsOf(text)), text);
assert.deepEqual(appsOf("ping,nothing,__proto__,game"), ["ping", "game"]);
assert.equal(flowsOf("cubic*99999")[0].count, 500);

// A state, its address, and back; entered as text and by the form.
const states = [
  DEFAULTS,
  { ...DEFAULTS, a: "bode:target=5ms", b: "", link: "steps:0s@5mbit+3s@700kbit", flows: "cubic*2@1s,bbr", apps: "", speed: "10", lesson: "bode", view: "lecture" },
  { ...DEFAULTS, a: "priority:ef@[taildrop:limit_bytes=60kb]+rest@[codel]", link: "a&b=c#d.trace" },
  { ...DEFAULTS, text: `# äöü 👋 "quotes" & <tags>\n[path]\nlink = '10mbit'\n`.repeat(50), cases: "3,1" },
];
for (const state of states) {
  const address = await addressOf(state);
  assert.deepEqual(await stateOf(`#${address}`), state, address);
}
assert.equal(await addressOf(DEFAULTS), "");
await assert.rejects(stateOf("#z=!!!"), /damaged/);
await assert.rejects(stateOf("#text=x"), /means nothing here/);
// A few bytes may stand for gigabytes: unpacking ends at the longest text.
{
  const packed = new Blob([new Uint8Array(100_000_000)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const letters = Buffer.from(await new Response(packed).arrayBuffer()).toString("base64url");
  const read = ReadableStreamDefaultReader.prototype.read;
  let unpacked = 0;
  ReadableStreamDefaultReader.prototype.read = async function () {
    const piece = await read.call(this);
    unpacked += piece.value?.length ?? 0;
    return piece;
  };
  await assert.rejects(stateOf(`#z=${letters}`), /damaged/);
  ReadableStreamDefaultReader.prototype.read = read;
  assert.ok(unpacked < 3_000_000, `${unpacked} bytes were unpacked`);
}

// Valid addresses in another form than the page writes, and errors that the simulator would not see.
for (const [address, usual] of [
  ["#limit=0500&seed=007&speed=2.0", "limit=500&seed=7&speed=2"],
  ["#apps=game,ping&flows=cubic*1@0s,%20bbr*2", "flows=cubic,bbr*2&apps=ping,game"],
  ["#a=%20pie%20&cases=3,9&view=lecture", "a=pie&view=lecture"],
]) assert.equal(await addressOf(await stateOf(address)), usual);
for (const [address, part] of [
  ["#speed=0", /Speed .* “0”: expected one of 0.1, /], ["#speed=3", /“3”/], ["#speed=", /Speed/], ["#limit=many", /whole number of packets/], ["#limit=-5", /“-5”/], ["#seed=1.5", /whole number/],
  ["#apps=ping,pong", /“pong”: expected some of ping, call, page, game/], ["#flows=cubic*0", /1 to 500/], ["#flows=cubic*501", /1 to 500/], ["#view=large", /“large”: expected lecture or nothing/],
]) await assert.rejects(stateOf(address), part, address);
assert.throws(() => checked({ ...DEFAULTS, text: "x", cases: "1,two" }), /number of a case/);

// Differences from a lesson's initial state.
assert.equal(departure(DEFAULTS, DEFAULTS), "");
assert.equal(departure({ ...DEFAULTS, speed: "5", view: "lecture" }, DEFAULTS), "");
assert.match(departure({ ...DEFAULTS, b: "pie" }, DEFAULTS), /: the discipline of side B was changed\. The text describes the lesson as it begins/);
assert.match(departure({ ...DEFAULTS, apps: "" }, DEFAULTS), /: the applications were changed/);
assert.match(departure({ ...DEFAULTS, a: "pie", link: "1mbit", seed: "2" }, DEFAULTS), /: the discipline of side A, the link and the seed were changed/);
assert.match(departure({ ...DEFAULTS, text: "x", cases: "2,3", a: "pie" }, { ...DEFAULTS, text: "x", cases: "0,1" }), /: the cases were changed/);

assert.deepEqual([playedOf(DEFAULTS), playedOf({ ...DEFAULTS, b: "" }), playedOf({ ...DEFAULTS, b: "taildrop" }), playedOf({ ...DEFAULTS, text: "x", cases: "4,-1,x" })], [[0, 1], [0], [0, 0], [4]]);
const text = scenarioOf({ ...DEFAULTS, flows: "cubic,cubic,web*2", rtt: '4"0ms' });
assert.deepEqual([...text.matchAll(/^name = (.*)$/gm)].map(([, name]) => name), ['"cubic"', '"cubic_2"', '"web"', '"ping"', '"call"', '"page"', '"game"']);
assert.ok(text.includes('rtt = "4\\"0ms"'));

console.log("the page's parts: all as expected");
