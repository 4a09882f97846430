//! The pictures of `--svg`: plane and distribution of `plot` for the screen, and delay and rate over time of each case.

use super::Options;
use super::chart::{
    AREA, Below, Ink, Key, LINE, Medium, Scale, Sheet, Sign, Stroke, measure_head, measure_panel, paint_head,
    paint_panel, palette, svg,
};
use super::document::study_title;
use super::model::{Placed, Study};
use super::plot::{self, Format, Kind, Request, Size};
use qdelay_study::InputError;
use qdelay_study::results::Series;

/// The size without the key.
const SIZE: Size = Size::in_points(500.0, 300.0);

pub(super) fn pictures(study: &Study, options: &Options) -> Result<Vec<(String, String)>, InputError> {
    let title = study_title(study, options);
    let mut pictures = Vec::new();
    for (name, kind) in [("plane.svg", Kind::Plane), ("cdf.svg", Kind::Cdf)] {
        let request = Request {
            kind,
            select: Vec::new(),
            measure: None,
            flows: Vec::new(),
            over: Vec::new(),
            size: SIZE,
            format: Format::Svg,
            log: true,
            title: Some(title.clone()),
        };
        pictures.push((name.to_string(), svg(&plot::draw_for_screen(study, &request)?, "")));
    }
    for placed in &study.cases {
        let Some(series) = &study.figures(placed).series else { continue };
        pictures.push((series_name(study, placed), over_time(study, placed, series)));
    }
    Ok(pictures)
}

fn series_name(study: &Study, placed: &Placed) -> String {
    let id = &study.figures(placed).id;
    if study.folders.len() > 1 {
        format!("series-{}-{id}.svg", study.folders[placed.folder].name)
    } else {
        format!("series-{id}.svg")
    }
}

fn over_time(study: &Study, placed: &Placed, series: &Series) -> String {
    let ink = palette(study.colour_axis().map_or(0, |axis| placed.at[axis]));
    let labels: Vec<&str> = study
        .axes
        .iter()
        .zip(&placed.at)
        .filter(|(axis, _)| axis.labels.len() > 1)
        .map(|(axis, &at)| axis.labels[at].as_str())
        .collect();
    let title = if labels.is_empty() { study.figures(placed).id.clone() } else { labels.join(" · ") };
    series_picture(&title, ink, series)
}

/// Delay above rate over time, with lines of this colour.
pub(super) fn series_picture(title: &str, ink: Ink, series: &Series) -> String {
    let (mean, largest) = (Stroke::solid(ink, LINE), Stroke::solid(ink.tint(0.45), LINE * 0.6));
    let mut keys = vec![
        Key::new(Sign::Line(mean.clone(), None), "mean delay, throughput"),
        Key::new(Sign::Line(largest.clone(), None), "largest delay"),
    ];
    if series.capacity_mbps.iter().any(Option::is_some) {
        keys.push(Key::new(Sign::Area(AREA), "offered by the link"));
    }
    let mut sheet = Sheet::new(SIZE.points(), "Delay and rate over time", Medium::File);
    let head = measure_head(&sheet, title, &keys);
    let end_s = series.bin_s * series.throughput_mbps.len().max(1) as f64;
    let x = Scale::new(0.0, end_s, false);
    let delays = Scale::from_zero(series.delay_max_ms.iter().flatten().copied());
    let offered = series.capacity_mbps.iter().flatten();
    let rates = Scale::from_zero(offered.chain(&series.throughput_mbps).copied());
    let middle = (head.bottom + sheet.height) / 2.0 - 4.0;
    let mut upper =
        measure_panel(&sheet, (head.bottom, middle), Below::Scale(x, ""), (delays, "Queue delay (ms)"));
    let below = Below::Scale(x, "Time (s)");
    let mut lower = measure_panel(&sheet, (middle + 4.0, sheet.height), below, (rates, "Rate (Mbit/s)"));
    let left = upper.frame.left.max(lower.frame.left);
    (upper.frame.left, lower.frame.left) = (left, left);
    paint_head(&mut sheet, &head, &keys, upper.frame);
    let at = paint_panel(&mut sheet, &upper);
    let start = |bin: usize| at.x.at(bin as f64 * series.bin_s);
    let line = |values: &[Option<f64>]| -> Vec<Option<(f64, f64)>> {
        let place = |(bin, value): (usize, &Option<f64>)| value.map(|value| (start(bin), at.y.at(value)));
        values.iter().enumerate().map(place).collect()
    };
    sheet.polyline(&line(&series.delay_max_ms), false, largest);
    sheet.polyline(&line(&series.delay_mean_ms), false, mean.clone());
    let at = paint_panel(&mut sheet, &lower);
    sheet.area(&series.capacity_mbps, series.bin_s, (&at.x, &at.y), AREA);
    // A rate lasts until the end of its bin.
    let last = series.throughput_mbps.last();
    let rates = series.throughput_mbps.iter().chain(last).enumerate();
    let steps: Vec<_> = rates.map(|(bin, rate)| Some((start(bin), at.y.at(*rate)))).collect();
    sheet.polyline(&steps, true, mean);
    svg(&sheet, "")
}
