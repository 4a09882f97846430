// Lessons: each has a state, a text, and the group of flows whose delay is shown (default: all). With `isOfShares` the lecture view
// shows the rates of transfers in place of the packets in the queue. `claims` are the text's
// figures as conditions on the page's measurements at a time (s); the tests check them.

const feeling = (side, kind) => side.feelings.map(([, feeling]) => feeling).find((feeling) => feeling.kind === kind);

/** Short version of the study of lying: packets that ask for low delay get it, or are treated otherwise. */
const LYING = `title = "Who gains by lying?"

[path]
link = "5mbit"
rtt = "100ms"
limit = 40                      # packets: 96 ms of this link

[[flow]]
name = "downloads"              # honest: they want throughput
transport = "reno"
count = 3

[[flow]]
name = "actor"                  # one more download, which may ask for low delay
transport = "reno"

[[flow]]
name = "call"
transport = "voip"
dscp = "ef"                     # asks for low delay, and needs it

[run]
duration = "120s"
seeds = 1

[matrix]
path.qdisc = [
    { label = "strict priority", value = "priority:ef@[taildrop:limit_bytes=60kb]+rest@[taildrop:limit_bytes=60kb]" },
    { label = "FQ-CoDel", value = "fq_codel:flows=65536" },
    { label = "DSD, refusals", value = "dsd:rate=5mbit:bound=40ms:limit_bytes=60kb:green=ef:control=loss" },
]
flow.actor.dscp = [{ label = "honest", value = "be" }, { label = "lies", value = "ef" }]
`;

export const LESSONS = [
  {
    id: "bufferbloat",
    title: "Bufferbloat",
    state: { a: "taildrop", b: "codel", link: "10mbit", flows: "cubic@5s", apps: "ping,call,game", rtt: "40ms", limit: "1000" },
    text: [
      "A ping, a call and a game, and from the fifth second on a download, over a link of 10 Mbit/s with a buffer of 1000 packets that drops only when full (TailDrop, A). The download fills the buffer, because TCP raises its rate until a packet is lost. From then on a ping waits behind the whole queue: more than half a second in place of 40 ms.",
      "CoDel (B) drops a packet when packets have waited too long. After half a minute the link has carried 5 to 6% less than A's, because a sender that slows down early sometimes leaves it idle, and the mean delay is a few milliseconds in place of hundreds. Ping, call and game show the difference.",
    ],
    tries: [
      ["A buffer of 100 packets", { limit: "100" }],
      ["Ten downloads", { flows: "cubic*10@5s" }],
      ["BBR in place of Cubic", { flows: "bbr@5s" }],
      ["A web page beside them", { apps: "ping,call,game,page" }],
    ],
    claims: [
      { at: 4.9, text: "before the download a ping takes 40 ms on both sides", holds: (sides) => sides.every((side) => feeling(side, "ping").p95_ms < 45) },
      { at: 30, text: "A's ping takes more than half a second", holds: ([a]) => feeling(a, "ping").p50_ms > 500 },
      { at: 30, text: "A's mean delay is hundreds of milliseconds, B's a few", holds: ([a, b]) => a.delay.mean > 200 && b.delay.mean < 10 },
      { at: 30, text: "B carries 5 to 6% less", holds: ([a, b]) => b.throughput_mbps > 0.935 * a.throughput_mbps && b.throughput_mbps < 0.955 * a.throughput_mbps },
    ],
  },
  {
    id: "falling-rate",
    title: "CoDel when the rate falls",
    state: { a: "codel", b: "bode:target=50ms", link: "steps:0s@20mbit+15s@2mbit:repeat=30s", flows: "cubic*4", rtt: "40ms", limit: "1000" },
    text: [
      "Every 15 s the link falls from 20 to 2 Mbit/s and comes back, as a phone's does behind a corner. A queue that was short at the high rate is suddenly long at the low rate.",
      "CoDel (A) drops at first one packet in 100 ms, and a little more often each time: it needs seconds to bring the queue down, and meanwhile the delay is far above its target of 5 ms. BoDe (B) checks the waiting time of each packet at the head of the queue, and drops packets beyond its bound of 50 ms at any rate, except for the last three packets of a queue.",
      "Drag the ring in the chart of the link to lower the rate yourself.",
    ],
    tries: [
      ["PIE in place of CoDel", { a: "pie" }],
      ["CoDel with an interval of 20 ms", { a: "codel:interval=20ms" }],
      ["A bound of 20 ms", { b: "bode:target=20ms" }],
    ],
    claims: [
      { at: 20, text: "A is above ten times its target for a while", holds: ([a]) => a.delay.max > 200 },
      { at: 20, text: "B stays near its bound", holds: ([, b]) => b.delay.p99 < 60 },
    ],
  },
  {
    id: "bode",
    title: "What BoDe pays",
    state: { a: "bode:target=20ms", b: "taildrop", link: "synth-lte-driving", flows: "cubic", apps: "ping,call,page", rtt: "100ms", limit: "1000" },
    text: [
      "A synthetic LTE link from a moving car, and a round trip of 100 ms. BoDe's bound of 20 ms (A) is far less than a round trip: when the queue is that short, it runs empty before the sender has recovered from a loss, and capacity is wasted. TailDrop (B) wastes none, and adds seconds of delay.",
      "The chart “Delay and throughput” shows the trade-off: less delay to the left, more throughput upwards. The bound decides where BoDe is between the two extremes. BoDe keeps the delay within the bound, and pays with throughput.",
    ],
    tries: [
      ["A bound of 100 ms", { a: "bode:target=100ms" }],
      ["A bound of 5 ms", { a: "bode:target=5ms" }],
      ["A round trip of 20 ms", { rtt: "20ms" }],
      ["BBR, which needs a shorter queue", { flows: "bbr" }],
    ],
    claims: [
      { at: 60, text: "A loses throughput", holds: ([a, b]) => a.throughput_mbps < 0.9 * b.throughput_mbps },
      { at: 60, text: "B's delay is more than ten times A's", holds: ([a, b]) => b.delay.mean > 10 * a.delay.mean },
    ],
  },
  {
    id: "fair-queueing",
    title: "Fair queueing",
    isOfShares: true,
    state: { a: "codel", b: "fq_codel", link: "10mbit", flows: "cubic,bbr@5s,cubic*3@10s", rtt: "40ms", limit: "1000" },
    text: [
      "Cubic alone, then BBR, then three more downloads of Cubic. In one queue (A: CoDel) the sender that fills it faster gets more: congestion controls decide about the shares, and the ping and the game wait in the same queue.",
      "FQ-CoDel (B) has a queue for each flow, and serves them in turn. Shares are even for any senders, and a flow that sends little finds its queue empty and waits for a packet or two. See “Rate of each transfer”, and the game. A large transfer, such as a web page, gets one share among all, and no more.",
    ],
    tries: [
      ["TailDrop in place of CoDel", { a: "taildrop" }],
      ["One flow of Cubic against five of BBR", { flows: "cubic,bbr*5" }],
      ["BoDe beside it", { a: "bode:target=20ms" }],
    ],
    claims: [
      { at: 40, text: "B's shares are even", holds: ([, b]) => b.fairness > 0.95 },
      { at: 40, text: "A's are less so", holds: ([a, b]) => a.fairness < b.fairness },
      { at: 40, text: "B's game waits less", holds: ([a, b]) => feeling(b, "game").mean_ms < feeling(a, "game").mean_ms },
    ],
  },
  {
    id: "pacers",
    title: "Pacers in a cell",
    shipped: "demo/cell",
    group: "game",
    state: { cases: "0,5" },
    text: [
      "A game and a download share a radio bearer of an LTE cell. The game has strict priority at the SDAP, but the base station moves packets into the RLC buffer below, which has no priorities: there the game waits behind the download (A: no pacer).",
      "A pacer holds packets above, where priority counts, and passes only as many as the radio is about to send (B: e5G-BDP). The delay of the game falls, as the chart of its queue delay shows; the packets of the download wait above instead of below: choose “all packets” at that chart to see this.",
    ],
    tries: [
      ["CoDel at the RLC beside it", { cases: "1,5" }],
      ["DynRLC beside DRQL", { cases: "2,3" }],
    ],
    claims: [{ at: 20, text: "B's game waits less than a tenth", holds: ([a, b]) => b.groups[0].mean * 10 < a.groups[0].mean }],
  },
  {
    id: "lying",
    title: "Who gains by lying",
    isOfShares: true,
    state: { text: LYING, cases: "0,1" },
    text: [
      "A network that gives low delay on request must ensure that a false claim does not pay. Four downloads and a call share 5 Mbit/s. One of the downloads, the actor, may mark its packets like those of the call.",
      "Under strict priority the lie pays: where the actor lies (B), it takes nearly all of the link, and the honest downloads starve. Queues that ignore marks, such as FQ-CoDel, cannot be deceived. DSD with refusals gives low delay for less throughput, so that a download loses by asking for it.",
    ],
    tries: [
      ["FQ-CoDel: honest beside lying", { cases: "2,3" }],
      ["DSD: honest beside lying", { cases: "4,5" }],
    ],
    claims: [
      { at: 30, text: "the liar takes most of the link", holds: ([, b]) => b.flows_mbps[3] > 0.7 * b.flows_mbps.slice(0, 4).reduce((sum, rate) => sum + rate, 0) },
      { at: 30, text: "honest, it has about a quarter", holds: ([a]) => a.flows_mbps[3] < 0.5 * a.flows_mbps.slice(0, 4).reduce((sum, rate) => sum + rate, 0) },
      {
        at: 30, cases: "4,5", text: "under DSD the lie does not pay",
        holds: ([a, b]) => b.flows_mbps[3] < a.flows_mbps[3],
      },
      { at: 30, cases: "2,3", text: "FQ-CoDel does not look at marks", holds: ([a, b]) => a.throughput_mbps === b.throughput_mbps },
    ],
  },
];

/** Settings of a lesson, in the words of its text. */
const PARTS = {
  a: "the discipline of side A", b: "the discipline of side B", link: "the link", flows: "the transfers", apps: "the applications", rtt: "the round trip", limit: "the buffer", duration: "the duration", seed: "the seed",
  text: "the scenario's text", cases: "the cases",
};

/** Sentence about the settings that differ from the lesson's own state `own`; empty without any. */
export function departure(state, own) {
  const isOfText = Boolean(state.text || own.text);
  const parts = Object.keys(PARTS).filter((key) => ["text", "cases"].includes(key) === isOfText && state[key] !== own[key]).map((key) => PARTS[key]);
  if (parts.length === 0) return "";
  const listed = parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0];
  return `No longer as the lesson begins: ${listed} ${parts.length > 1 || /s$/.test(listed) ? "were" : "was"} changed. The text describes the lesson as it begins.`;
}

export const lessonOf = (id) => LESSONS.find((lesson) => lesson.id === id) ?? null;
