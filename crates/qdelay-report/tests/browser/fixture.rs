//! Result folders of made-up figures, written from the types of the result files.

use qdelay_study::intervals;
use qdelay_study::results::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder in the temporary directory that goes when this does.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let path = env::temp_dir().join(format!("qdelay-report-{name}-{}", process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a made-up study has.
#[derive(Clone)]
pub struct Fixture {
    pub title: String,
    pub about: String,
    pub traces: Vec<String>,
    pub qdiscs: Vec<String>,
    pub transports: Vec<String>,
    pub seeds: usize,
    /// Whether all seeds give the same run.
    pub same_seeds: bool,
    pub groups: Vec<String>,
    pub bins: usize,
    pub expects: Vec<ExpectResult>,
    pub substitute_for: Option<String>,
    /// Whether the second and third discipline do exactly the same.
    pub twins: bool,
    /// Whether the bottleneck is a cell.
    pub cell: bool,
    /// How many slices it has.
    pub slices: usize,
    /// Whether flows use two codepoints and cross two hops, and a queue has a green bias.
    pub coloured: bool,
    /// Whether the flows of the first group are calls.
    pub calls: bool,
    /// Whether the groups are a call with video, a video stream and a browser.
    pub viewers: bool,
    /// Whether the flow of each group is a connection that was watched; the second is paced.
    pub connections: bool,
    /// How many UEs the cell has figures of, each twice as slow as the one before.
    pub ues: usize,
}

impl Default for Fixture {
    fn default() -> Fixture {
        Fixture {
            title: "Four queues on a driving trace".to_string(),
            about: "What each discipline makes of a link whose rate changes all the time.\nOne download at a time.".to_string(),
            traces: texts(&["synth-lte-driving"]),
            qdiscs: texts(&["taildrop", "codel", "pie", "bode:target=20ms"]),
            transports: texts(&["cubic", "bbr"]),
            seeds: 1,
            same_seeds: false,
            groups: texts(&["bulk"]),
            bins: 120,
            expects: Vec::new(),
            substitute_for: None,
            twins: false,
            cell: false,
            slices: 0,
            coloured: false,
            calls: false,
            viewers: false,
            connections: false,
            ues: 0,
        }
    }
}

pub fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text.to_string()).collect()
}

pub fn expect(claim: &str, value: f64, high: f64) -> ExpectResult {
    ExpectResult {
        claim: claim.to_string(),
        measure: "queue_delay_ms.p99".to_string(),
        unit: "ratio".to_string(),
        value: Some(value),
        low: None,
        high: Some(high),
        paper: None,
        verdict: if value <= high { "match" } else { "miss" }.to_string(),
        missing_reason: None,
    }
}

/// Writes the study into `parent/name`.
pub fn write(parent: &Path, name: &str, fixture: &Fixture) -> PathBuf {
    let folder = parent.join(name);
    let seeds: Vec<String> = (1..=fixture.seeds).map(|seed| seed.to_string()).collect();
    let axes = [
        ("path.trace", &fixture.traces),
        ("path.qdisc", &fixture.qdiscs),
        ("flow.transport", &fixture.transports),
        ("seed", &seeds),
    ];
    let mut cases = Vec::new();
    for at in combinations(&axes.map(|(_, labels)| labels.len())) {
        let labels: BTreeMap<String, String> = axes
            .iter()
            .zip(&at)
            .map(|((name, labels), &at)| (name.to_string(), labels[at].clone()))
            .collect();
        let id = format!("{:03}-case", cases.len());
        let case = case(fixture, &id, labels, &at);
        write_case(&folder, fixture, &case);
        cases.push(case.without_curves());
    }
    let axes =
        axes.map(|(name, labels)| AxisFile { name: name.to_string(), labels: labels.clone() }).to_vec();
    let (points, differences) = (intervals::point_means(&axes, &cases), intervals::paired(&axes, &cases));
    let summary = Summary {
        schema_version: SCHEMA_VERSION,
        scenario: "made-up".to_string(),
        title: fixture.title.clone(),
        about: fixture.about.clone(),
        axes,
        cases,
        expects: fixture.expects.clone(),
        unverified: Vec::new(),
        same_runs: Vec::new(),
        clock: None,
        recorded_by: None,
        population: None,
        points,
        differences,
    };
    fs::write(folder.join("summary.json"), pretty(&summary)).unwrap();
    folder
}

fn combinations(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |found, &size| {
        found.iter().flat_map(|at| (0..size).map(|next| [at.as_slice(), &[next]].concat())).collect()
    })
}

fn write_case(folder: &Path, fixture: &Fixture, case: &CaseSummary) {
    let directory = folder.join("cases").join(&case.id);
    fs::create_dir_all(&directory).unwrap();
    let trace = &case.labels["path.trace"];
    let flows: Vec<_> = fixture
        .groups
        .iter()
        .map(|name| serde_json::json!({ "name": name, "transport": case.labels["flow.transport"], "count": 1, "start": "0s" }))
        .collect();
    let run = RunFile {
        schema_version: SCHEMA_VERSION,
        qdelay: "0.1.0".to_string(),
        scenario: "made-up".to_string(),
        id: case.id.clone(),
        labels: case.labels.clone(),
        settings: serde_json::json!({
            "path": { "trace": trace, "qdisc": case.labels["path.qdisc"], "rtt": "20ms", "limit": 1000 },
            "flow": flows,
            "run": { "duration": "60s", "warmup": "0s", "seed": case.labels["seed"], "series": null },
        }),
        traces: BTreeMap::from([(
            trace.clone(),
            TraceFile {
                digest: "9f1c6a7be20d3345".to_string(),
                substitute_for: fixture.substitute_for.clone(),
            },
        )]),
        clock: None,
        audit: None,
        laboratory: None,
        drops_by_reason: BTreeMap::new(),
    };
    fs::write(directory.join("run.json"), pretty(&run)).unwrap();
    fs::write(directory.join("summary.json"), pretty(case)).unwrap();
}

/// Numbers between 0 and 1 that are the same every time.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// The rate of a link that wanders, in Mbit/s.
fn capacity(bins: usize, trace: usize) -> Vec<f64> {
    let mut draw = Draw(77 + trace as u64);
    let mut rate = 8.0;
    (0..bins)
        .map(|_| {
            rate = (rate * (0.72 + 0.56 * draw.next()) + 0.3).clamp(0.4, 24.0);
            if draw.next() < 0.03 { 0.2 } else { rate }
        })
        .collect()
}

fn stages(factor: f64) -> BTreeMap<String, DelaySummary> {
    let stage = |(name, mean): (&str, f64)| (name.to_string(), delays(&[mean * factor], 1.0));
    [("sdap", 30.0), ("rlc", 10.0), ("air", 4.0), ("reassembly", 1.0)].into_iter().map(stage).collect()
}

/// So many slices, of which all but the first have a quantum.
fn slices(count: usize) -> BTreeMap<String, SliceFigures> {
    let slice = |number: usize| {
        let quantum = |factor: f64| factor * number as f64;
        let spread = QuantumFigures {
            min: quantum(-40.0),
            p25: quantum(-20.0),
            p50: quantum(-10.0),
            p75: quantum(5.0),
            max: quantum(10.0),
            mean: quantum(-9.0),
        };
        let slice = SliceFigures {
            share: 0.25,
            rbs_granted: 1000,
            rbs_used: 900,
            rbs_wasted: 60,
            rbs_unfit: 0,
            rbs_lent: 40,
            rbs_used_share: 0.9,
            throughput_mbps: 3.5,
            quantum_rbs: (number > 0).then_some(spread),
            ..SliceFigures::default()
        };
        (format!("slice-{number}"), slice)
    };
    (0..count).map(slice).collect()
}

fn codepoints() -> BTreeMap<String, CodepointFigures> {
    let codepoint = |dropped: u64, delay: f64| CodepointFigures {
        arrived: 2000,
        delivered: 2000 - dropped,
        dropped,
        marked: 0,
        loss: dropped as f64 / 2000.0,
        throughput_mbps: 3.5,
        queue_delay_ms: delays(&[delay], 1.0),
    };
    [("be".to_string(), codepoint(40, 40.0)), ("ef".to_string(), codepoint(100, 8.0))].into_iter().collect()
}

/// In the order of the way, which is not that of their names.
fn hops() -> BTreeMap<String, HopFigures> {
    let hop = |place: u64, delay: f64| HopFigures {
        place,
        arrived: 4000,
        delivered: 3990,
        drops: 10,
        marks: place - 1,
        throughput_mbps: 7.25,
        utilization: 0.75,
        queue_delay_ms: delays(&[delay], 1.0),
        ..HopFigures::default()
    };
    [("metro".to_string(), hop(1, 2.0)), ("core".to_string(), hop(2, 1.0))].into_iter().collect()
}

fn cell_series(series: &Series) -> CellSeries {
    let packets = &series.backlog_packets;
    CellSeries {
        rlc_bytes_mean: packets.iter().map(|packets| *packets as f64 * 900.0).collect(),
        rlc_bytes_max: packets.iter().map(|packets| packets * 1500).collect(),
        rlc_packets_mean: packets.iter().map(|packets| *packets as f64 * 0.6).collect(),
        rlc_packets_max: packets.clone(),
        rbs_offered: vec![12_500; packets.len()],
        rbs_used: (0..packets.len() as u64).map(|bin| 12_500 - bin % 700).collect(),
        mcs: (0..packets.len()).map(|bin| (bin % 40 != 0).then_some((bin / 5 % 29) as f64)).collect(),
        rank: Vec::new(),
    }
}

/// A connection whose window is a saw with teeth of 20 bins; nothing is there in the first bin.
fn connection(series: &Series, index: usize) -> ConnectionSeries {
    let bins = series.throughput_mbps.len();
    let bytes = |factor: u64| -> Vec<Option<u64>> {
        let saw =
            |bin: usize| (bin > 0).then_some(factor * 1448 * (20 + (bin as u64 + 7 * index as u64) % 20));
        (0..bins).map(saw).collect()
    };
    let numbers =
        |value: f64| -> Vec<Option<f64>> { (0..bins).map(|bin| (bin > 0).then_some(value)).collect() };
    ConnectionSeries {
        cwnd_bytes: bytes(2),
        ssthresh_bytes: bytes(3),
        in_flight_bytes: bytes(1),
        srtt_ms: series.delay_mean_ms.iter().map(|ms| ms.map(|ms| 40.0 + ms)).collect(),
        rtt_ms: series.delay_max_ms.iter().map(|ms| ms.map(|ms| 40.0 + ms)).collect(),
        pacing_mbps: if index == 1 { numbers(6.0) } else { vec![None; bins] },
        delivery_mbps: numbers(5.0),
        retransmits: vec![0; bins],
        ca_state: vec![Some(0); bins],
    }
}

/// A call whose picture is frozen and a stream that waits in every tenth bin, and a browser; the better, the less is queued.
fn viewers(series: &Series) -> [FlowSeries; 3] {
    let (bins, bin_ms) = (series.delay_mean_ms.len(), series.bin_s * 1e3);
    let delay = |factor: f64| {
        series.delay_mean_ms.iter().map(|ms| ms.map(|ms| 200.0 + factor * ms)).collect::<Vec<_>>()
    };
    let waits: Vec<f64> = (0..bins).map(|bin| if bin % 10 == 9 { bin_ms } else { 0.0 }).collect();
    let rate: Vec<Option<f64>> = series.throughput_mbps.iter().map(|mbps| Some(mbps * 0.9)).collect();
    let call = VideoSeries {
        target_mbps: rate.clone(),
        encoded_mbps: series.throughput_mbps.clone(),
        height: series.throughput_mbps.iter().map(|mbps| Some(if *mbps > 5.0 { 720 } else { 360 })).collect(),
        delay_mean_ms: delay(0.8),
        delay_max_ms: delay(1.2),
        display_mean_ms: delay(1.0),
        display_max_ms: delay(1.5),
        shown: vec![15; bins],
        late: waits.iter().map(|ms| u64::from(*ms > 0.0)).collect(),
        not_shown: vec![0; bins],
        frozen_ms: waits.clone(),
    };
    let stream = StreamSeries {
        buffer_s: (0..bins).map(|bin| Some((bin % 10) as f64)).collect(),
        chosen_mbps: rate.clone(),
        shown_mbps: rate,
        startup_ms: vec![0.0; bins],
        stalled_ms: waits,
        chunks: vec![1; bins],
        qoe: vec![1.0; bins],
    };
    let web = WebSeries { pages: vec![1; bins], load_mean_ms: delay(2.0), load_max_ms: delay(3.0) };
    [
        FlowSeries { video: Some(call), ..FlowSeries::default() },
        FlowSeries { stream: Some(stream), ..FlowSeries::default() },
        FlowSeries { web: Some(web), ..FlowSeries::default() },
    ]
}

fn case(fixture: &Fixture, id: &str, labels: BTreeMap<String, String>, at: &[usize]) -> CaseSummary {
    let mut at = at.to_vec();
    if fixture.same_seeds {
        at[3] = 0;
    }
    if fixture.twins && at[1] == 2 {
        at[1] = 1;
    }
    let bound = [900.0, 90.0, 140.0, 20.0, 45.0, 60.0][at[1] % 6] * [1.0, 0.7, 0.85][at[2] % 3];
    let share = [0.99, 0.95, 0.93, 0.88, 0.96, 0.91][at[1] % 6] * [1.0, 0.94, 0.9][at[2] % 3];
    let mut draw = Draw((at[0] * 7919 + at[1] * 131 + at[2] * 17 + at[3]) as u64 + 5);
    let link = capacity(fixture.bins, at[0]);
    let mut full = 0.3;
    let (mut series, mut samples) =
        (Series { bin_s: 60.0 / fixture.bins as f64, ..Series::default() }, Vec::new());
    for &rate in &link {
        full = (full * 0.8 + 0.5 * draw.next() * (6.0 / (rate + 2.0))).min(1.2);
        let delay = bound * full * (0.3 + 0.4 * draw.next());
        let used = rate * share * (0.9 + 0.1 * draw.next());
        samples.extend((0..20).map(|_| delay * (0.1 + 1.2 * draw.next() * draw.next().sqrt())));
        series.capacity_mbps.push(Some(rate));
        series.throughput_mbps.push(used);
        series.delay_mean_ms.push((rate > 0.3).then_some(delay));
        series.delay_max_ms.push((rate > 0.3).then_some(delay * 1.7));
        series.backlog_packets.push((delay * used / 12.0) as u64);
        series.drops.push(if draw.next() < 0.12 { (draw.next() * 20.0) as u64 } else { 0 });
        series.marks.push(0);
        if fixture.coloured {
            series.green_bias.push(1.0 / (1.0 + series.drops.len() as f64 % 20.0));
        }
    }
    if fixture.cell {
        series.cell = Some(cell_series(&series));
    }
    samples.sort_by(f64::total_cmp);
    let throughput = series.throughput_mbps.iter().sum::<f64>() / fixture.bins as f64;
    let offered = link.iter().sum::<f64>() / fixture.bins as f64;
    let drops = series.drops.iter().sum();
    let delay = delays(&samples, 1.0);
    let groups = fixture.groups.iter().enumerate().map(|(index, name)| {
        let factor = if index == 0 { 1.0 } else { 0.25 };
        let part = throughput / fixture.groups.len() as f64;
        let group = GroupFigures {
            flows: 1,
            throughput_mbps: part,
            goodput_mbps: part * 0.96,
            queue_delay_ms: delays(&samples, factor),
            loss_ratio: 0.01,
            stages: fixture.cell.then(|| stages(factor)),
            within_tti: fixture.cell.then_some(0.5),
            voice: ((fixture.cell || fixture.calls) && index == 0).then(|| VoiceFigures {
                r: 81.0,
                mos: 4.05,
                ..VoiceFigures::default()
            }),
            ..GroupFigures::default()
        };
        (name.clone(), group)
    });
    let groups: BTreeMap<String, GroupFigures> = groups.collect();
    for (index, name) in fixture.groups.iter().enumerate() {
        let factor = if index == 0 { 1.0 } else { 0.25 };
        let scale =
            |values: &[Option<f64>]| values.iter().map(|value| value.map(|value| value * factor)).collect();
        let part = GroupSeries {
            throughput_mbps: series
                .throughput_mbps
                .iter()
                .map(|rate| rate / fixture.groups.len() as f64)
                .collect(),
            delay_mean_ms: scale(&series.delay_mean_ms),
            delay_max_ms: scale(&series.delay_max_ms),
        };
        series.groups.insert(name.clone(), part);
    }
    if fixture.viewers {
        let names = fixture.groups.iter().zip(viewers(&series));
        series.flows = names.map(|(name, flow)| (name.clone(), flow)).collect();
    }
    if fixture.connections {
        for (index, name) in fixture.groups.iter().enumerate() {
            let connection = Some(connection(&series, index));
            series.flows.insert(name.clone(), FlowSeries { connection, ..FlowSeries::default() });
        }
    }
    let measures = Measures {
        throughput_mbps: throughput,
        utilization: throughput / offered,
        capacity_mbps: Some(offered),
        queue_delay_ms: delay,
        sojourn_ms: delay,
        one_way_delay_ms: delay,
        jitter_ms: delay.mean / 9.0,
        power: Some(throughput / delay.p99),
        drops,
        drops_by_reason: BTreeMap::from([("tail_limit".to_string(), drops)]),
        marks: 0,
        marks_by_reason: BTreeMap::new(),
        packets_forwarded: 40_000,
        jain: 1.0,
        backlog_max_packets: 100,
        backlog_max_bytes: 150_000,
        probe_ms: None,
        probe_sent: None,
        probe_lost: None,
        flows: fixture
            .groups
            .iter()
            .enumerate()
            .map(|(index, name)| FlowFigures {
                name: name.clone(),
                group: name.clone(),
                transport: if fixture.calls && index == 0 { "voip:20ms" } else { "cubic" }.to_string(),
                video: (fixture.viewers && index == 0).then(|| VideoFigures {
                    freeze_share: 0.125,
                    freezes: 3.0,
                    ..VideoFigures::default()
                }),
                stream: (fixture.viewers && index == 1)
                    .then(|| StreamFigures { stalls: at[1] as f64, ..StreamFigures::default() }),
                web: (fixture.viewers && index == 2).then(WebFigures::default),
                ..FlowFigures::default()
            })
            .collect(),
        responsiveness: None,
        outages: None,
        nodes: BTreeMap::new(),
        codepoints: if fixture.coloured { codepoints() } else { BTreeMap::new() },
        uplink: None,
        hops: if fixture.coloured { hops() } else { BTreeMap::new() },
        cell: fixture.cell.then(|| CellFigures {
            stages: stages(1.0),
            within_tti: Some(0.25),
            slices: slices(fixture.slices),
            by_ue: ues(fixture.ues)
                .map(|(name, factor)| {
                    let part = TrafficFigures {
                        flows: 2,
                        throughput_mbps: throughput / 2.0,
                        queue_delay_ms: delays(&samples, factor),
                        budget_ms: Some(100.0),
                        within_budget: Some(1.0 / factor),
                        ..TrafficFigures::default()
                    };
                    (name, part)
                })
                .collect(),
            ..CellFigures::default()
        }),
        groups,
    };
    CaseSummary {
        schema_version: SCHEMA_VERSION,
        id: id.to_string(),
        labels,
        measures,
        trustworthy: None,
        changes: 0,
        delay_cdf: Some(cdf(&samples, 1.0)),
        group_delay_cdf: Some(
            fixture
                .groups
                .iter()
                .enumerate()
                .map(|(index, name)| (name.clone(), cdf(&samples, if index == 0 { 1.0 } else { 0.25 })))
                .collect(),
        ),
        codepoint_delay_cdf: None,
        group_stage_cdf: fixture.cell.then(|| {
            let stages = |factor| {
                let stage = |(name, share): (&str, f64)| (name.to_string(), cdf(&samples, factor * share));
                [("sdap", 0.6), ("rlc", 0.4)].into_iter().map(stage).collect()
            };
            let factor = |index| if index == 0 { 1.0 } else { 0.25 };
            fixture
                .groups
                .iter()
                .enumerate()
                .map(|(index, name)| (name.clone(), stages(factor(index))))
                .collect()
        }),
        group_round_trip_cdf: None,
        group_arrival_cdf: None,
        part_delay_cdf: (fixture.ues > 0).then(|| {
            let few = |factor: f64| {
                let percent = vec![0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 100.0];
                Cdf {
                    ms: percent.iter().map(|&percent| at_percent(&samples, percent) * factor).collect(),
                    percent,
                }
            };
            let curves = ues(fixture.ues).map(|(name, factor)| (name, few(factor))).collect();
            [("ue".to_string(), curves)].into()
        }),
        series: Some(series),
    }
}

/// The names of UEs, and by which factor each is slower than the first.
fn ues(count: usize) -> impl Iterator<Item = (String, f64)> {
    (0..count).map(|number| (format!("ue-{}", number + 1), f64::from(1_u32 << (number % 8))))
}

fn at_percent(samples: &[f64], percent: f64) -> f64 {
    samples[((samples.len() - 1) as f64 * percent / 100.0).round() as usize]
}

fn delays(samples: &[f64], factor: f64) -> DelaySummary {
    let at = |percent| at_percent(samples, percent) * factor;
    let mean = factor * samples.iter().sum::<f64>() / samples.len() as f64;
    DelaySummary {
        count: samples.len() as u64,
        mean,
        p50: at(50.0),
        p95: at(95.0),
        p99: at(99.0),
        p999: at(99.9),
        max: at(100.0),
    }
}

fn cdf(samples: &[f64], factor: f64) -> Cdf {
    let percent: Vec<f64> =
        (0..=198).map(|half| f64::from(half) / 2.0).chain([99.5, 99.9, 99.99, 100.0]).collect();
    Cdf { ms: percent.iter().map(|&percent| at_percent(samples, percent) * factor).collect(), percent }
}
