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
  Throughput of one group of flows, as bars with 95% intervals over seeds:
    qdelay plot mine --figure bars --measure throughput --flows video
  A slide:
    qdelay plot mine --figure time --size 5x2.8in --out delay.png

Axes and labels are named as on the page of 'qdelay report' and in its address.
docs/plot.md shows each figure and names the measures.")]
pub struct Plot {
    /// Result folders of 'qdelay run' or 'qdelay link --out'; several are laid side by side
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Figure: cdf (share of packets over delay), plane (throughput and delay), time, bars, or box (quartiles of delays)
    #[arg(long, value_name = "cdf|plane|time|bars|box", value_parser = kind)]
    pub figure: Kind,
    /// Plot only the cases with these labels on this axis: path.qdisc=codel,bode; repeat for more axes
    #[arg(long, value_name = "AXIS=LABELS")]
    pub select: Vec<String>,
    /// Measure to draw [default: queue for cdf and box, p99 for plane and bars, delay for time]
    #[arg(long, value_name = "MEASURE")]
    pub measure: Option<String>,
    /// Plot only these [[flow]] entries, side by side: video,web [default: all flows together]
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub flows: Vec<String>,
    /// Axes to average over within each seed, with equal weights: path.trace
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub over: Vec<String>,
    /// Width and height, in in, cm, mm or pt
    #[arg(long, value_name = "SIZE", default_value = COLUMN, value_parser = Size::parse, allow_hyphen_values = true)]
    pub size: Size,
    /// Format: svg, pdf, pgf or png [default: by the extension of --out, or svg]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,
    /// Use a logarithmic axis for the measure
    #[arg(long)]
    pub log: bool,
    /// Heading of the figure [default: none, as papers have captions]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// File to write [default: FIGURE.FORMAT in the folder, or in the current one for several]; the data are written beside it as CSV
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
