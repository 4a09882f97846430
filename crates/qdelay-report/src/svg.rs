//! The plots for print: plane, distribution, and delay and rate over time of each case.
//!
//! Colours, shapes and the average over seeds are those of the page. Numbers are laid out without a font at hand, so
//! that a picture has the same bytes on every machine.

use super::Options;
use super::model::{Placed, Point, Study};
use super::signs::{Area, Drawn, dashes, draw_mark, pattern};
use super::together;
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use qdelay_study::InputError;
use qdelay_study::results::{Cdf, Series};
use std::ops::Range;

const SIZE: (u32, u32) = (760, 480);
/// What was not delayed stands here on a logarithmic axis; milliseconds.
const LEAST_MS: f64 = 0.01;
const KEY_LINE: u32 = 18;
const TEXT: RGBColor = RGBColor(27, 29, 32);
const SOFT: RGBColor = RGBColor(99, 103, 110);
const GRID: RGBColor = RGBColor(232, 232, 229);
const CAPACITY: RGBColor = RGBColor(222, 225, 229);

/// Okabe and Ito's colours, darker where they would be faint on white.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(192, 106, 160),
    RGBColor(217, 144, 0),
    RGBColor(74, 165, 220),
    RGBColor(107, 76, 154),
    RGBColor(122, 122, 122),
];

pub(super) fn pictures(study: &Study, options: &Options) -> Result<Vec<(String, String)>, InputError> {
    let points = study.points();
    let title = super::document::title(study, options);
    let mut pictures = vec![
        ("plane.svg".to_string(), picture("plane.svg", SIZE, |area| plane(area, study, &points, &title))?),
        ("cdf.svg".to_string(), picture("cdf.svg", SIZE, |area| distribution(area, study, &points, &title))?),
    ];
    for placed in &study.cases {
        let Some(series) = &study.figures(placed).series else { continue };
        let name = format!("{}.svg", series_name(study, placed));
        let content = picture(&name, SIZE, |area| over_time(area, study, placed, series))?;
        pictures.push((name, content));
    }
    Ok(pictures)
}

fn series_name(study: &Study, placed: &Placed) -> String {
    let id = &study.figures(placed).id;
    if study.folders.len() > 1 {
        format!("series-{}-{id}", study.folders[placed.folder].name)
    } else {
        format!("series-{id}")
    }
}

/// Drawing into memory fails only where a figure cannot be drawn at all.
fn picture(name: &str, size: (u32, u32), draw: impl FnOnce(&Area) -> Drawn) -> Result<String, InputError> {
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        let whole = area.fill(&WHITE).map_err(|error| error.to_string().into());
        let drawn = whole.and_then(|()| draw(&area)).and_then(|()| area.present().map_err(Into::into));
        drawn
            .map_err(|error| InputError::new(name, format!("{error}; expected figures that can be drawn")))?;
    }
    Ok(text)
}

/// A control character would make the picture no XML.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

fn colour(index: usize) -> RGBColor {
    PALETTE[index % PALETTE.len()]
}

fn text_style(size: i32, colour: &'static RGBColor) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", size)).color(colour)
}

// ---- delay and throughput

struct Place<'a> {
    point: &'a Point,
    delay: Spread,
    rate: Spread,
}

/// Of the seeds of a point.
#[derive(Clone, Copy)]
struct Spread {
    mean: f64,
    low: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Spread {
        let (sum, count) = values.clone().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
        let low = values.clone().fold(f64::INFINITY, f64::min);
        Spread { mean: sum / count, low, high: values.fold(f64::NEG_INFINITY, f64::max) }
    }
}

fn plane(area: &Area, study: &Study, points: &[Point], title: &str) -> Drawn {
    let places: Vec<Place> = points
        .iter()
        .map(|point| {
            let figures = || point.cases.iter().map(|&case| study.figures(&study.cases[case]));
            let delay = Spread::of(figures().map(|case| case.queue_delay_ms.p99.max(LEAST_MS)));
            Place { point, delay, rate: Spread::of(figures().map(|case| case.throughput_mbps)) }
        })
        .collect();
    let delays = log_range(places.iter().flat_map(|place| [place.delay.low, place.delay.high]));
    let rates = linear_range(places.iter().flat_map(|place| [place.rate.low, place.rate.high]));
    let body = heading_and_key(area, title, &keys(study, Sign::Mark))?;
    let mut chart = ChartBuilder::on(&body)
        .margin(8)
        .margin_right(20)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(delays.log_scale(), rates)?;
    mesh(&mut chart, "Queue delay, 99th percentile (ms)", "Throughput (Mbit/s)", true)?;
    for Place { point, delay, rate } in &places {
        let colour = colour(point.colour);
        let bars = [
            vec![(delay.low, rate.mean), (delay.high, rate.mean)],
            vec![(delay.mean, rate.low), (delay.mean, rate.high)],
        ];
        chart.draw_series(bars.map(|bar| PathElement::new(bar, colour.mix(0.6).stroke_width(2))))?;
    }
    let middles: Vec<(i32, i32)> =
        places.iter().map(|place| chart.backend_coord(&(place.delay.mean, place.rate.mean))).collect();
    let points: Vec<&Point> = places.iter().map(|place| place.point).collect();
    let (xs, ys) = chart.plotting_area().get_pixel_range();
    marks(area, study, &points, &middles, [xs.start, ys.start, xs.end, ys.end])
}

/// The marks of points; those that lie in one pile as rings around each other, with their names.
fn marks(area: &Area, study: &Study, points: &[&Point], middles: &[(i32, i32)], inside: [i32; 4]) -> Drawn {
    let piles = together::piles(middles);
    for pile in &piles {
        // From below.
        for (depth, &at) in pile.iter().enumerate().rev() {
            let ring = together::ring(depth, pile.len());
            if pile.len() > 1 {
                draw_mark(area, middles[at], points[at].shape, WHITE, ring + 1.5)?;
            }
            draw_mark(area, middles[at], points[at].shape, colour(points[at].colour), ring)?;
        }
    }
    let mut taken: Vec<[i32; 4]> = middles.iter().map(|(x, y)| [x - 8, y - 8, x + 8, y + 8]).collect();
    for pile in piles.iter().filter(|pile| pile.len() > 1) {
        let labels = study.labels_apart(&pile.iter().map(|&at| points[at]).collect::<Vec<_>>());
        let name = clean(&together::name(&labels));
        let size = (i32::try_from(name.chars().count()).unwrap_or(100) * 13 / 2, 14);
        let distance = 10 + together::ring(pile.len() - 1, pile.len()) as i32;
        let at = together::beside(middles[pile[0]], distance, size, inside, &taken);
        taken.push([at.0, at.1, at.0 + size.0, at.1 + size.1]);
        area.draw(&Text::new(name, (at.0, at.1 + 1), text_style(12, &TEXT)))?;
    }
    Ok(())
}

// ---- distribution

fn distribution(area: &Area, study: &Study, points: &[Point], title: &str) -> Drawn {
    let curves: Vec<(&Point, Vec<(f64, f64)>)> =
        points.iter().filter_map(|point| Some((point, curve(study, point)?))).collect();
    // A logarithmic axis begins where curves rise, not at single early packets.
    let rising = curves.iter().flat_map(|(_, curve)| curve.iter().filter(|(_, percent)| *percent >= 0.5));
    let delays = log_range(rising.map(|(delay, _)| *delay));
    let body = heading_and_key(area, title, &keys(study, Sign::Line))?;
    let mut chart = ChartBuilder::on(&body)
        .margin(8)
        .margin_right(20)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(delays.clone().log_scale(), 0.0..100.0)?;
    mesh(&mut chart, "Queue delay (ms)", "Packets (%)", true)?;
    let lines: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|(_, curve)| {
            let inside = curve.iter().filter(|(delay, _)| *delay >= delays.start);
            inside.map(|at| chart.backend_coord(at)).map(|(x, y)| (f64::from(x), f64::from(y))).collect()
        })
        .collect();
    let alike = together::alike(&lines);
    for (((point, _), line), alike) in curves.iter().zip(&lines).zip(alike) {
        for dash in dashes(line, &together::shared(pattern(point.shape), alike)) {
            let dash: Vec<(i32, i32)> =
                dash.into_iter().map(|(x, y)| (x.round() as i32, y.round() as i32)).collect();
            area.draw(&PathElement::new(dash, colour(point.colour).stroke_width(2)))?;
        }
    }
    Ok(())
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

fn over_time(area: &Area, study: &Study, placed: &Placed, series: &Series) -> Drawn {
    let colour = colour(study.colour_axis().map_or(0, |axis| placed.at[axis]));
    let labels: Vec<&str> = study
        .axes
        .iter()
        .zip(&placed.at)
        .filter(|(axis, _)| axis.labels.len() > 1)
        .map(|(axis, &at)| axis.labels[at].as_str())
        .collect();
    let title = if labels.is_empty() { study.figures(placed).id.clone() } else { labels.join(" · ") };
    area.draw(&Text::new(clean(&title), (16, 14), text_style(16, &TEXT)))?;
    let (upper, lower) = area.margin(38, 6, 0, 0).split_vertically(218);
    let end = series.bin_s * series.throughput_mbps.len().max(1) as f64;
    delays_over_time(&upper, series, end, colour)?;
    rates_over_time(&lower, series, end, colour)
}

fn delays_over_time(area: &Area, series: &Series, end: f64, colour: RGBColor) -> Drawn {
    let top = series.delay_max_ms.iter().flatten().fold(1.0, |top: f64, &delay| top.max(delay)) * 1.06;
    let mut chart = ChartBuilder::on(area)
        .margin(4)
        .margin_right(20)
        .x_label_area_size(24)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    mesh(&mut chart, "", "Queue delay (ms)", false)?;
    for (values, style) in [
        (&series.delay_max_ms, colour.mix(0.4).stroke_width(1)),
        (&series.delay_mean_ms, colour.stroke_width(2)),
    ] {
        for run in runs(values, series.bin_s) {
            chart.draw_series(LineSeries::new(run, style))?;
        }
    }
    Ok(())
}

fn rates_over_time(area: &Area, series: &Series, end: f64, colour: RGBColor) -> Drawn {
    let all = series.capacity_mbps.iter().flatten().chain(&series.throughput_mbps);
    let top = all.fold(0.1, |top: f64, &rate| top.max(rate)) * 1.06;
    let mut chart = ChartBuilder::on(area)
        .margin(4)
        .margin_right(20)
        .x_label_area_size(42)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..end, 0.0..top)?;
    mesh(&mut chart, "Time (s); grey: what the link offered", "Rate (Mbit/s)", false)?;
    for run in runs(&series.capacity_mbps, series.bin_s) {
        let mut outline = steps(&run, series.bin_s);
        if let (Some(&(from, _)), Some(&(to, _))) = (outline.first(), outline.last()) {
            outline.extend([(to, 0.0), (from, 0.0)]);
            chart.draw_series([Polygon::new(outline, CAPACITY.filled())])?;
        }
    }
    let rates: Vec<Option<f64>> = series.throughput_mbps.iter().map(|&rate| Some(rate)).collect();
    for run in runs(&rates, series.bin_s) {
        chart.draw_series(LineSeries::new(steps(&run, series.bin_s), colour.stroke_width(2)))?;
    }
    Ok(())
}

/// The stretches of bins that have a value, as time and value.
fn runs(values: &[Option<f64>], bin_s: f64) -> Vec<Vec<(f64, f64)>> {
    let mut runs = vec![Vec::new()];
    for (bin, value) in values.iter().enumerate() {
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) => run.push((bin as f64 * bin_s, *value)),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// A value holds until the next bin.
fn steps(run: &[(f64, f64)], bin_s: f64) -> Vec<(f64, f64)> {
    run.iter().flat_map(|&(start, value)| [(start, value), (start + bin_s, value)]).collect()
}

// ---- what all have in common

/// Draws title and key, and returns what is left below.
fn heading_and_key<'a>(
    area: &Area<'a>,
    title: &str,
    keys: &[Key],
) -> Result<Area<'a>, Box<dyn std::error::Error>> {
    area.draw(&Text::new(clean(title), (16, 14), text_style(18, &TEXT)))?;
    let mut line = 0;
    let mut left = 16;
    for key in keys {
        // About what a sans-serif font of 13 pixels needs; nothing here knows the font that will be used.
        let width = 44 + 7 * i32::try_from(key.label.chars().count()).unwrap_or(100).min(100);
        if left > 16 && left + width > SIZE.0 as i32 - 16 {
            (left, line) = (16, line + 1);
        }
        let middle = 50 + line * KEY_LINE as i32;
        let sign = match key.sign {
            Sign::Mark(shape) => {
                draw_mark(area, (left + 6, middle), shape, key.colour, 0.0)?;
                18
            }
            Sign::Line(shape) => {
                for dash in dashes(
                    &[(left as f64, middle as f64), (left as f64 + 26.0, middle as f64)],
                    pattern(shape),
                ) {
                    let dash: Vec<(i32, i32)> = dash.into_iter().map(|(x, y)| (x as i32, y as i32)).collect();
                    area.draw(&PathElement::new(dash, key.colour.stroke_width(2)))?;
                }
                32
            }
        };
        area.draw(&Text::new(key.label.clone(), (left + sign, middle - 6), text_style(13, &TEXT)))?;
        left += width;
    }
    let lines = if keys.is_empty() { 0 } else { line as u32 + 1 };
    Ok(area.margin(44 + lines * KEY_LINE, 0, 0, 0))
}

struct Key {
    label: String,
    colour: RGBColor,
    sign: Sign,
}

#[derive(Clone, Copy)]
enum Sign {
    Mark(usize),
    Line(usize),
}

/// What colours stand for, then what shapes or dashes do.
fn keys(study: &Study, sign: fn(usize) -> Sign) -> Vec<Key> {
    let labels = |axis: usize| study.axes[axis].labels.iter().map(|label| clean(label)).enumerate();
    let colours = study.colour_axis().into_iter().flat_map(labels);
    let shapes = study.shape_axis().into_iter().flat_map(labels);
    let colours = colours.map(|(index, label)| Key { label, colour: colour(index), sign: sign(0) });
    colours.chain(shapes.map(|(index, label)| Key { label, colour: SOFT, sign: sign(index) })).collect()
}

fn mesh<X, Y>(chart: &mut ChartContext<SVGBackend, Cartesian2d<X, Y>>, x: &str, y: &str, log: bool) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(SOFT)
        .label_style(text_style(12, &SOFT))
        .axis_desc_style(text_style(13, &TEXT))
        .x_label_formatter(&|value| if log && !is_round(*value) { String::new() } else { short(*value) })
        .y_label_formatter(&|value| short(*value))
        .x_desc(x)
        .y_desc(y)
        .draw()?;
    Ok(())
}

/// 1, 2 or 5 with zeros: the others would stand in each other's way.
fn is_round(value: f64) -> bool {
    matches!(format!("{value:e}").as_bytes().first(), Some(b'1' | b'2' | b'5'))
}

/// Without the digits that come of adding up steps.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A range around values for equal ratios; it is never empty.
fn log_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = ends(values, (1.0, 100.0));
    let low = low.max(LEAST_MS);
    low / 1.25..high.max(low) * 1.25
}

/// A range around values, not below 0; it is never empty.
fn linear_range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = ends(values, (0.0, 1.0));
    let room = if high > low { (high - low) * 0.12 } else { high.abs().max(1.0) * 0.12 };
    (low - room).max(0.0)..high + room
}

fn ends(values: impl Iterator<Item = f64>, none: (f64, f64)) -> (f64, f64) {
    let ends = values.filter(|value| value.is_finite()).fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    });
    ends.unwrap_or(none)
}
