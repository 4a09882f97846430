//! The plots for print: plane, distribution, and delay and rate over time of each case.
//!
//! Colours, shapes and the average over seeds are those of the page.

use super::Options;
use super::chart::{
    self, Curve, Frame, Key, Mark, Picture, Rectangle, Scale, Sign, beside, colour, number_text, text_width,
};
use super::model::{Placed, Point, Study};
use qdelay_study::confidence;
use qdelay_study::results::{CaseSummary, Cdf, Series};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
/// The position of packets without delay on a logarithmic axis; milliseconds.
const LEAST_MS: f64 = 0.01;
const RADIUS: f64 = 6.0;
const NAME: f64 = 12.0;

pub(super) fn pictures(study: &Study, options: &Options) -> Vec<(String, String)> {
    let points = study.points();
    let title = super::document::title(study, options);
    let mut pictures = vec![
        ("plane.svg".to_string(), plane(study, &points, &title)),
        ("cdf.svg".to_string(), distribution(study, &points, &title)),
    ];
    for placed in &study.cases {
        let Some(series) = &study.figures(placed).series else { continue };
        pictures.push((series_name(study, placed), over_time(study, placed, series)));
    }
    pictures
}

fn series_name(study: &Study, placed: &Placed) -> String {
    let id = &study.figures(placed).id;
    if study.folders.len() > 1 {
        format!("series-{}-{id}.svg", study.folders[placed.folder].name)
    } else {
        format!("series-{id}.svg")
    }
}

/// The legend of colours, then of shapes or dashes.
fn keys(study: &Study, class: &str, sign: fn(Mark) -> Sign) -> Vec<Key> {
    let labels = |axis: usize| study.axes[axis].labels.iter().enumerate();
    let colours = study.colour_axis().into_iter().flat_map(labels);
    let shapes = study.shape_axis().into_iter().flat_map(labels);
    let colours =
        colours.map(|(at, label)| Key::new(sign(Mark::Circle), format!("{class} {}", colour(at)), label));
    let shapes = shapes.map(|(at, label)| Key::new(sign(Mark::of(at)), format!("{class} neutral"), label));
    colours.chain(shapes).collect()
}

/// A picture with its title and key, and where its axes are.
fn begin(label: &str, title: &str, key: &[Key]) -> (Picture, Frame) {
    let mut picture = Picture::new(WIDTH, HEIGHT, label);
    let top = picture.head(title, key);
    (picture, Frame::of(WIDTH, top + 6.0, HEIGHT))
}

// ---- delay and throughput

/// The mean over the runs of a point, and the ends of its 95% interval; they are the mean of a single run.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let half = confidence::half_width(values).unwrap_or(0.0);
        Spread { mean, low: mean - half, high: mean + half }
    }

    fn ends(self) -> [f64; 2] {
        [self.low, self.high]
    }
}

fn plane(study: &Study, points: &[Point], title: &str) -> String {
    let spread = |point: &Point, figure: fn(&CaseSummary) -> f64| {
        let figures = point.cases.iter().map(|&case| figure(study.figures(&study.cases[case])));
        Spread::of(&figures.collect::<Vec<f64>>())
    };
    let places: Vec<(&Point, Spread, Spread)> = points
        .iter()
        .map(|point| {
            let mut delay = spread(point, |case| case.queue_delay_ms.p99.max(LEAST_MS));
            delay.low = delay.low.max(LEAST_MS);
            (point, delay, spread(point, |case| case.throughput_mbps))
        })
        .collect();
    let x = Scale::around(places.iter().flat_map(|(_, delay, _)| delay.ends()), true, 0.06);
    let mut y = Scale::around(places.iter().flat_map(|(_, _, rate)| rate.ends()), false, 0.12);
    y.low = y.low.max(0.0);
    let (mut picture, frame) = begin("Throughput and delay", title, &keys(study, "mark", Sign::Mark));
    let titles = ["Queue delay, 99th percentile (ms)", "Throughput (Mbit/s)"];
    let (x, y) = picture.axes(frame, (x, titles[0]), (y, titles[1]));
    for (point, delay, rate) in &places {
        let class = format!("spread {}", colour(point.colour));
        let (at, up) = (x.at(delay.mean), y.at(rate.mean));
        picture.line((x.at(delay.low), up), (x.at(delay.high), up), &class);
        picture.line((at, y.at(rate.low)), (at, y.at(rate.high)), &class);
    }
    let middles: Vec<(f64, f64)> =
        places.iter().map(|(_, delay, rate)| (x.at(delay.mean), y.at(rate.mean))).collect();
    let hint = |at: usize| {
        let (_, delay, rate) = &places[at];
        format!("{} Mbit/s, {} ms", number_text(rate.mean), number_text(delay.mean))
    };
    let inside = [x.from, y.to, x.to, y.from];
    marks(&mut picture, study, points, &middles, hint, inside);
    picture.of_print()
}

/// The marks of points; those that lie in one pile as rings around each other, with their names.
fn marks(
    picture: &mut Picture,
    study: &Study,
    points: &[Point],
    middles: &[(f64, f64)],
    hint: impl Fn(usize) -> String,
    inside: Rectangle,
) {
    let piles = chart::piles(middles);
    for pile in &piles {
        // From below.
        for (depth, &at) in pile.iter().enumerate().rev() {
            let (radius, point) = (RADIUS + chart::ring(depth, pile.len()), &points[at]);
            let class = format!("mark {}", colour(point.colour));
            picture.mark(Mark::of(point.shape), middles[at], radius, &class, &hint(at));
        }
    }
    let mut taken: Vec<Rectangle> =
        middles.iter().map(|(x, y)| [x - 8.0, y - 8.0, x + 8.0, y + 8.0]).collect();
    for pile in piles.iter().filter(|pile| pile.len() > 1) {
        let labels = study.labels_apart(&pile.iter().map(|&at| &points[at]).collect::<Vec<_>>());
        let name = chart::cut(&chart::name(&labels), NAME, (inside[2] - inside[0]) / 2.0);
        let size = (text_width(&name, NAME), NAME + 2.0);
        let radius = 10.0 + chart::ring(pile.len() - 1, pile.len());
        let (left, top) = beside(middles[pile[0]], radius, size, inside, &taken);
        taken.push([left, top, left + size.0, top + size.1]);
        picture.text((left, top + NAME - 1.0), "start", "value", &name);
    }
}

// ---- distribution

fn distribution(study: &Study, points: &[Point], title: &str) -> String {
    let curves: Vec<(&Point, Vec<(f64, f64)>)> =
        points.iter().filter_map(|point| Some((point, curve(study, point)?))).collect();
    // A logarithmic axis begins where curves rise, not at single early packets.
    let rising = curves.iter().flat_map(|(_, curve)| curve.iter().filter(|(_, percent)| *percent >= 0.5));
    let x = Scale::around(rising.map(|(delay, _)| *delay), true, 0.03);
    let key = keys(study, "curve", |mark| Sign::Line(mark.dash()));
    let (mut picture, frame) = begin("Distribution of delays", title, &key);
    let y = Scale::new(0.0, 100.0, false);
    let (x, y) = picture.axes(frame, (x, "Queue delay (ms)"), (y, "Packets (%)"));
    let lines = curves.iter().map(|(point, curve)| Curve {
        points: curve
            .iter()
            .filter(|(delay, _)| *delay >= x.low)
            .map(|(delay, percent)| (x.at(*delay), y.at(*percent)))
            .collect(),
        class: format!("curve {}", colour(point.colour)),
        mark: Mark::of(point.shape),
    });
    picture.curves(&lines.collect::<Vec<Curve>>(), false);
    picture.of_print()
}

/// Delay and percent; the mean delay of the seeds at each percent.
fn curve(study: &Study, point: &Point) -> Option<Vec<(f64, f64)>> {
    let mut curves =
        point.cases.iter().filter_map(|&case| study.figures(&study.cases[case]).delay_cdf.as_ref());
    let first = curves.next()?;
    let alike: Vec<&Cdf> =
        std::iter::once(first).chain(curves.filter(|cdf| cdf.percent == first.percent)).collect();
    let delay = |at: usize| alike.iter().map(|cdf| cdf.ms[at]).sum::<f64>() / alike.len() as f64;
    Some(first.percent.iter().enumerate().map(|(at, &percent)| (delay(at).max(LEAST_MS), percent)).collect())
}

// ---- over time

fn over_time(study: &Study, placed: &Placed, series: &Series) -> String {
    let colour = colour(study.colour_axis().map_or(0, |axis| placed.at[axis]));
    let labels: Vec<&str> = study
        .axes
        .iter()
        .zip(&placed.at)
        .filter(|(axis, _)| axis.labels.len() > 1)
        .map(|(axis, &at)| axis.labels[at].as_str())
        .collect();
    let title = if labels.is_empty() { study.figures(placed).id.clone() } else { labels.join(" · ") };
    of_series(&title, &colour, series)
}

/// Delay and rate over time, with lines of this class.
pub(super) fn of_series(title: &str, colour: &str, series: &Series) -> String {
    let [mean, most] = [format!("curve {colour}"), format!("thin faint {colour}")];
    let mut key = vec![
        Key::new(Sign::Line(&[]), &mean, "mean delay, throughput"),
        Key::new(Sign::Line(&[]), &most, "largest delay"),
    ];
    if series.capacity_mbps.iter().any(Option::is_some) {
        key.push(Key::new(Sign::Area, "area", "what the link offered"));
    }
    let (mut picture, frame) = begin("Delay and rate over time", title, &key);
    let end_s = series.bin_s * series.throughput_mbps.len().max(1) as f64;
    let x = Scale::new(0.0, end_s, false);
    let delays = Scale::from_zero(series.delay_max_ms.iter().flatten().copied());
    let offered = series.capacity_mbps.iter().flatten();
    let rates = Scale::from_zero(offered.chain(&series.throughput_mbps).copied());
    let middle = (frame.top + frame.bottom) / 2.0;
    let [upper, lower] = [Frame { bottom: middle - 18.0, ..frame }, Frame { top: middle + 14.0, ..frame }];
    let left = upper.beside(&delays).left.max(lower.beside(&rates).left);
    let [upper, lower] = [Frame { left, ..upper }, Frame { left, ..lower }];
    let (at, up) = picture.axes(upper, (x, ""), (delays, "Queue delay (ms)"));
    let start = |bin: usize| at.at(bin as f64 * series.bin_s);
    let line = |values: &[Option<f64>]| -> Vec<Option<(f64, f64)>> {
        values.iter().enumerate().map(|(bin, value)| value.map(|value| (start(bin), up.at(value)))).collect()
    };
    picture.polyline(&line(&series.delay_max_ms), &most, &[], false);
    picture.polyline(&line(&series.delay_mean_ms), &mean, &[], false);
    let up = rates.between(lower.bottom, lower.top);
    // A rate lasts until the end of its bin.
    let steps = |bins: &[(usize, f64)]| -> Vec<(f64, f64)> {
        let last = bins.last().map(|(bin, rate)| (bin + 1, *rate));
        bins.iter().copied().chain(last).map(|(bin, rate)| (start(bin), up.at(rate))).collect()
    };
    let offered: Vec<(usize, f64)> = numbered(series.capacity_mbps.iter().copied());
    for run in offered.chunk_by(|(bin, _), (next, _)| bin + 1 == *next) {
        picture.area(&steps(run), lower.bottom, "area");
    }
    picture.axes(lower, (x, "Time (s)"), (rates, "Rate (Mbit/s)"));
    let sent = steps(&numbered(series.throughput_mbps.iter().copied().map(Some)));
    picture.polyline(&sent.into_iter().map(Some).collect::<Vec<_>>(), &mean, &[], true);
    picture.of_print()
}

/// The bins that have a value.
fn numbered(values: impl Iterator<Item = Option<f64>>) -> Vec<(usize, f64)> {
    values.enumerate().filter_map(|(bin, value)| Some((bin, value?))).collect()
}
