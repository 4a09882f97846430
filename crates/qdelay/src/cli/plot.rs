//! Figures for papers: `qdelay plot`.

use clap::Args;
use qdelay_report::plot::{COLUMN, Format, Kind, Size};
use std::path::PathBuf;

/// `qdelay plot`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Delays of two disciplines, for one column of a paper, and cdf.csv beside it:
    qdelay plot qdelay-results/demo/first --figure cdf --log --out cdf.pdf \\
      --select 'path.qdisc=codel,BoDe 20 ms'
  Throughput and 95th percentile of the delay:
    qdelay plot mine --figure plane --measure p95 --log --out plane.pdf
  What a flow of the scenario got, as bars with 95% intervals over seeds:
    qdelay plot mine --figure bars --measure throughput --flows video
  A slide:
    qdelay plot mine --figure time --size 5x2.8in --out delay.png

Axes and labels are those of the page ('qdelay report') and of its address.
docs/plot.md shows each figure and names the measures.")]
pub struct Plot {
    /// Result folders of 'qdelay run'; several are laid side by side
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// cdf (share of packets over delay), plane (throughput and delay), time, bars, or box (quartiles of delays)
    #[arg(long, value_name = "FIGURE", value_parser = kind)]
    pub figure: Kind,
    /// Only the cases with these labels on this axis: path.qdisc=codel,bode; repeat for more axes
    #[arg(long, value_name = "AXIS=LABELS")]
    pub select: Vec<String>,
    /// What is drawn [default: queue for cdf and box, p99 for plane and bars, delay for time]
    #[arg(long, value_name = "MEASURE")]
    pub measure: Option<String>,
    /// Of this entry of [[flow]]; of several, side by side: video,web [default: all flows together]
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub flows: Vec<String>,
    /// Axes to average over within each seed, each place counting the same: path.trace
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub over: Vec<String>,
    /// Width and height, in in, cm, mm or pt
    #[arg(long, value_name = "SIZE", default_value = COLUMN, value_parser = Size::parse, allow_hyphen_values = true)]
    pub size: Size,
    /// svg, pdf, pgf or png [default: as the ending of --out, or svg]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,
    /// A logarithmic axis for the measure
    #[arg(long)]
    pub log: bool,
    /// A heading [default: none: papers have captions]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The file [default: FIGURE.FORMAT in the folder, or in the current one for several]; the data stand beside it as CSV
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

fn kind(text: &str) -> Result<Kind, String> {
    named(&Kind::ALL, text)
}

fn format(text: &str) -> Result<Format, String> {
    named(&Format::ALL, text)
}

fn named<T: Copy>(all: &[(&str, T)], text: &str) -> Result<T, String> {
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    let found = all.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| format!("not known; expected one of {}", names.join(", ")))
}
