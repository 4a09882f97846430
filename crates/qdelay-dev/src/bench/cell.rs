//! `qdelay-dev bench cell`: simulated time of a busy cell per second of CPU time.
//!
//! UEs with four bearers each on an LTE carrier of 20 MHz: a download in one bearer, a call in another, two bearers idle; the
//! pacer e5G-BDP above every bearer; fading channels. The audit runs as in every run. CPU time covers the whole process
//! since its start.

use crate::bench::options::BenchCell;
use qdelay_core::component::Registry;
use qdelay_sim::Outcome;
use qdelay_study::cost::{self, Stopwatch};
use qdelay_study::engine::Simulator;
use qdelay_study::results::{DelaySummary, Entity, SCHEMA_VERSION, pretty, round};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use serde::Serialize;

/// Number of data radio bearers of a UE.
const BEARERS: usize = 4;

#[derive(Serialize)]
struct Report<'a> {
    schema_version: u32,
    simulated_per_cpu_second: f64,
    packets_per_cpu_second: f64,
    max_rss_mb: Option<f64>,
    packets_forwarded: u64,
    cpu_seconds: f64,
    wall_seconds: f64,
    duration_s: f64,
    ues: u64,
    bearers: u64,
    pacer: &'a str,
    channel: &'a str,
    /// Throughput of all uploads through the uplink of the cell together, Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    uplink_mbps: Option<f64>,
    throughput_mbps: f64,
    rbs_offered: u64,
    rbs_used: u64,
    queue_delay_ms: DelaySummary,
    drops: u64,
}

/// Runs the command.
///
/// # Errors
/// Bad input, or a run whose audit failed.
pub fn run(options: &BenchCell, registry: &Registry) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let library = Library::new();
    let overrides = Overrides { seeds: None, duration: Some(options.duration), ..Overrides::default() };
    let study = Study::parse_with("bench cell", &scenario(options), &overrides, registry)?;
    let ran = Simulator.run(&study.case(0, &library)?, None)?;
    let outcome = ran.outcome;
    let cpu_seconds = cost::process_cpu_seconds();
    let (rbs_offered, rbs_used) =
        outcome.cell.as_ref().map_or((0, 0), |cell| (cell.rbs_offered, cell.rbs_used));
    let report = Report {
        schema_version: SCHEMA_VERSION,
        simulated_per_cpu_second: round(options.duration.as_secs_f64() / cpu_seconds),
        packets_per_cpu_second: (outcome.packets_forwarded as f64 / cpu_seconds).round(),
        max_rss_mb: cost::max_rss_mb().map(round),
        packets_forwarded: outcome.packets_forwarded,
        cpu_seconds: round(cpu_seconds),
        wall_seconds: round(watch.seconds()),
        duration_s: options.duration.as_secs_f64(),
        ues: options.ues,
        bearers: options.ues * BEARERS as u64,
        pacer: &options.pacer,
        channel: &options.channel,
        uplink_mbps: outcome.uplink.as_ref().map(|uplink| round(uplink.throughput_mbps)),
        throughput_mbps: round(outcome.throughput_mbps),
        rbs_offered,
        rbs_used,
        queue_delay_ms: outcome.queue_delay_ms.rounded(),
        drops: outcome.drops,
    };
    output::print(&if options.json { pretty(&report) } else { text(&report, &outcome) })
}

/// Scenario of the cell. The user's values are TOML strings in the scenario, so that errors name the key.
fn scenario(options: &BenchCell) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let mut text = format!(
        "[path]\nrtt = \"20ms\"\n\
         [cell]\nprbs = 100\npdcp = \"ideal\"\npacer = {}\nchannel = {}\n{}\
         [[cell.ue]]\nname = \"ue\"\ncount = {}\n",
        quoted(&options.pacer),
        quoted(&options.channel),
        if options.uplink { "[cell.uplink]\n" } else { "" },
        options.ues
    );
    for bearer in 1..=BEARERS {
        text += &format!("[[cell.ue.bearer]]\npriority = {bearer}\n");
    }
    text + "[[flow]]\nname = \"call\"\ntransport = \"voip\"\nue = \"ue\"\nqfi = 1\nstart_spread = \"20ms\"\n\
        [[flow]]\nname = \"download\"\nue = \"ue\"\nqfi = 2\nstart_spread = \"20ms\"\n\
        [run]\nseries = \"off\"\n"
        + if options.uplink {
            "[[flow]]\nname = \"upload\"\ndirection = \"up\"\nue = \"ue\"\nqfi = 2\nstart_spread = \"20ms\"\n"
        } else {
            ""
        }
}

/// Table of one row; the columns of uploads appear only with an uplink.
fn text(report: &Report<'_>, outcome: &Outcome) -> String {
    let delay = outcome.queue_delay_ms;
    let memory = report.max_rss_mb.map_or("unknown".to_string(), |mb| format!("{mb:.1} MB"));
    format!(
        "{} UEs of {BEARERS} bearers for {} s on 100 PRBs with {}, a download and a call each.\n\n\
         simulated s per CPU-s   {:.1}\n\
         packets per CPU-second  {:.0}\n\
         packets forwarded       {}\n\
         CPU time                {:.3} s\n\
         most memory             {memory}\n\
         throughput              {:.2} Mbit/s, {} of {} resource blocks\n\
         delay at the node       mean {:.1}, p95 {:.1}, p99 {:.1} ms\n\
         drops                   {}\n",
        report.ues,
        report.duration_s,
        report.pacer,
        report.simulated_per_cpu_second,
        report.packets_per_cpu_second,
        report.packets_forwarded,
        report.cpu_seconds,
        report.throughput_mbps,
        report.rbs_used,
        report.rbs_offered,
        delay.mean,
        delay.p95,
        delay.p99,
        report.drops,
    )
}
