//! Figures for papers: every kind in every format, what is in them, and what is refused.

use crate::browser::fixture::{self, Fixture, Scratch, texts};
use qdelay_report::plot::{COLUMN, Format, Kind, Plot, Request, Size, plot};
use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn request(kind: Kind, format: Format) -> Request {
    Request {
        kind,
        select: Vec::new(),
        measure: None,
        flows: Vec::new(),
        over: Vec::new(),
        size: Size::parse(COLUMN).unwrap(),
        format,
        log: false,
        title: None,
    }
}

fn drawn(folder: &Path, request: &Request) -> Plot {
    plot(&[folder.to_path_buf()], request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
}

fn refused(folder: &Path, request: &Request) -> String {
    let error = plot(&[folder.to_path_buf()], request).expect_err("must be refused").to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// Rows of a table without quotes, by the names of its columns.
fn rows(csv: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect()
}

fn three_seeds(scratch: &Scratch) -> PathBuf {
    let fixture = Fixture { seeds: 3, groups: texts(&["bulk", "video"]), ..Fixture::default() };
    fixture::write(&scratch.0, "study", &fixture)
}

#[test]
fn every_figure_in_every_format() {
    let scratch = Scratch::new("plots");
    let folder = three_seeds(&scratch);
    for (name, kind) in Kind::ALL {
        let mut data = Vec::new();
        for (ending, format) in Format::ALL {
            for log in [false, true] {
                let request = Request { log, ..request(kind, format) };
                let one = drawn(&folder, &request);
                if log {
                    assert_eq!(one, drawn(&folder, &request), "{name}.{ending}: equal bytes");
                }
                assert_eq!((one.entries, one.left_out, one.runs), (8, 0, 3), "{name}");
                data.push(one.csv);
                let begin: &[u8] = match format {
                    Format::Svg => b"<svg xmlns",
                    Format::Pdf => b"%PDF-",
                    Format::Pgf => b"% ",
                    Format::Png => b"\x89PNG",
                };
                assert!(one.picture.starts_with(begin), "{name}.{ending}");
                if let Some(keep) = std::env::var_os("QDELAY_SCREENSHOTS") {
                    let file = format!("{name}{}.{ending}", if log { "-log" } else { "" });
                    fs::write(PathBuf::from(keep).join(file), &one.picture).unwrap();
                }
            }
        }
        assert!(
            data.windows(2).all(|pair| pair[0] == pair[1]),
            "{name}: the data do not depend on the format"
        );
    }
}

/// From the files themselves: mean and Student's t over three seeds.
#[test]
fn bars_are_means_with_their_intervals() {
    let scratch = Scratch::new("plot-means");
    let folder = three_seeds(&scratch);
    let mut figures: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    for case in summary["cases"].as_array().unwrap() {
        let label = |axis: &str| case["labels"][axis].as_str().unwrap().to_string();
        let figure = case["queue_delay_ms"]["p95"].as_f64().unwrap();
        figures.entry((label("path.qdisc"), label("flow.transport"))).or_default().push(figure);
    }
    let request = Request { measure: Some("p95".to_string()), ..request(Kind::Bars, Format::Svg) };
    let csv = drawn(&folder, &request).csv;
    let rows = rows(&csv);
    assert_eq!(rows.len(), figures.len());
    for row in rows {
        let values = &figures[&(row["path.qdisc"].to_string(), row["flow.transport"].to_string())];
        let mean = values.iter().sum::<f64>() / 3.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0;
        // The quantile of Student's t for two degrees of freedom, from a table.
        let half = 4.302_653 * (variance / 3.0).sqrt();
        let told = |name: &str| row[name].parse::<f64>().unwrap();
        assert!((told("p95") - mean).abs() < 1e-5 * mean, "{row:?}");
        assert!((told("half_of_95_interval") - half).abs() < 1e-4 * half.max(0.01), "{row:?}: {half}");
        assert_eq!(row["runs"], "3");
    }
}

/// From the files themselves: within each seed the mean over the transports, then mean and Student's t over three seeds.
#[test]
fn means_over_an_axis() {
    let scratch = Scratch::new("plot-over");
    let folder = three_seeds(&scratch);
    let mut figures: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap();
    for case in summary["cases"].as_array().unwrap() {
        let label = |axis: &str| case["labels"][axis].as_str().unwrap().to_string();
        let figure = case["queue_delay_ms"]["p95"].as_f64().unwrap();
        figures.entry((label("path.qdisc"), label("seed"))).or_default().push(figure);
    }
    let over = || vec!["flow.transport".to_string()];
    let request =
        Request { measure: Some("p95".to_string()), over: over(), ..request(Kind::Bars, Format::Svg) };
    let plot = drawn(&folder, &request);
    let rows = rows(&plot.csv);
    assert_eq!((rows.len(), plot.entries, plot.runs), (figures.len() / 3, figures.len() / 3, 3));
    for row in rows {
        assert!(!row.contains_key("flow.transport"), "{row:?}");
        let of = |seed: &str| {
            let places = &figures[&(row["path.qdisc"].to_string(), seed.to_string())];
            assert_eq!(places.len(), 2);
            (places[0] + places[1]) / 2.0
        };
        let values = ["1", "2", "3"].map(of);
        let mean = values.iter().sum::<f64>() / 3.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0;
        let half = 4.302_653 * (variance / 3.0).sqrt();
        let told = |name: &str| row[name].parse::<f64>().unwrap();
        assert!((told("p95") - mean).abs() < 1e-5 * mean, "{row:?}");
        assert!((told("half_of_95_interval") - half).abs() < 1e-4 * half.max(0.01), "{row:?}: {half}");
    }
    for kind in [Kind::Cdf, Kind::Plane, Kind::Time, Kind::Box] {
        assert_eq!(
            drawn(&folder, &Request { kind, measure: None, ..request.clone() }).entries,
            4,
            "{kind:?}"
        );
    }
    for (over, expected) in [
        ("seed", "--over: means are over the seeds anyway"),
        ("path.road", "--over: no axis 'path.road'; expected one of path.trace, path.qdisc, flow.transport"),
    ] {
        let error = refused(&folder, &Request { over: vec![over.to_string()], ..request.clone() });
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn files_are_shown_without_their_folders() {
    let shown = |labels: &[&str]| qdelay_report::plot::shown(&texts(labels));
    assert_eq!(
        shown(&["/data/bus.up", "/data/metro.up", "synth-subway"]),
        ["bus.up", "metro.up", "synth-subway"]
    );
    // What would be alike, and components, stay as they are.
    assert_eq!(shown(&["/a/bus.up", "/b/bus.up"]), ["/a/bus.up", "/b/bus.up"]);
    assert_eq!(shown(&["./my.so:target=5ms", "codel"]), ["./my.so:target=5ms", "codel"]);
}

#[test]
fn a_selection_and_flows() {
    let scratch = Scratch::new("plot-select");
    let folder = three_seeds(&scratch);
    let select = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<String>>();
    let some = Request {
        select: select(&["path.qdisc=codel,pie", "path.qdisc=bode:target=20ms", "flow.transport=bbr"]),
        flows: select(&["video"]),
        ..request(Kind::Cdf, Format::Svg)
    };
    let one = drawn(&folder, &some);
    assert_eq!((one.entries, one.runs), (3, 3));
    assert!(
        rows(&one.csv).iter().all(|row| row["flow.transport"] == "bbr" && row["path.qdisc"] != "taildrop")
    );
    // Video waits a quarter as long as bulk, in this made-up study.
    let both = Request { flows: select(&["bulk", "video"]), ..some.clone() };
    let both = drawn(&folder, &both);
    assert_eq!(both.entries, 6);
    let at = |flow: &str| {
        let rows = rows(&both.csv);
        let is_it = |row: &&BTreeMap<&str, &str>| row["flows"] == flow && row["percent"] == "50";
        rows.iter().find(is_it).map(|row| row["delay_ms"].parse::<f64>().unwrap()).unwrap()
    };
    assert!((at("bulk") / at("video") - 4.0).abs() < 0.01);
    // A single seed has no interval.
    let first = Request { select: select(&["seed=1"]), ..request(Kind::Plane, Format::Svg) };
    let first = drawn(&folder, &first);
    assert_eq!(first.runs, 1);
    assert!(rows(&first.csv).iter().all(|row| row["half_of_95_interval"].is_empty()));
}

/// A seed that gave the same run as another one is no second observation, also where the other is not selected.
#[test]
fn equal_runs_count_once() {
    let scratch = Scratch::new("plot-same");
    let fixture = Fixture { seeds: 3, same_seeds: true, ..Fixture::default() };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    let all = request(Kind::Bars, Format::Svg);
    assert_eq!(drawn(&folder, &all).runs, 1);
    let last = Request { select: vec!["seed=3".to_string()], ..all };
    let last = drawn(&folder, &last);
    assert_eq!((last.entries, last.runs), (8, 1));
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let scratch = Scratch::new("plot-refused");
    let folder = three_seeds(&scratch);
    let of = |kind, change: &dyn Fn(&mut Request)| {
        let mut request = request(kind, Format::Svg);
        change(&mut request);
        refused(&folder, &request)
    };
    let error = of(Kind::Bars, &|one| one.measure = Some("speed".to_string()));
    assert!(
        error.starts_with("--measure: 'speed' is no figure of these cases; expected one of mean, p50,"),
        "{error}"
    );
    assert!(error.contains("one_way_delay_ms.p99") && error.contains("groups.video.loss_ratio"), "{error}");
    let error = of(Kind::Bars, &|one| one.measure = Some("video.loss".to_string()));
    assert!(error.contains("groups.video.loss_ratio") && !error.contains("one_way_delay_ms.p99"), "{error}");
    let error = of(Kind::Bars, &|one| {
        one.measure = Some("utilization".to_string());
        one.flows = vec!["video".to_string()];
    });
    assert!(
        error.contains("paths") && error.contains("loss_ratio") && !error.contains("groups.video"),
        "{error}"
    );
    let error = of(Kind::Cdf, &|one| one.measure = Some("p99".to_string()));
    assert!(
        error.contains("'p99' has no distribution; expected one of queue, sdap, rlc, round_trip"),
        "{error}"
    );
    let error = of(Kind::Cdf, &|one| one.measure = Some("sdap".to_string()));
    assert!(error.contains("expected one of queue"), "{error}");
    let error = of(Kind::Time, &|one| one.measure = Some("p99".to_string()));
    assert!(error.contains("expected one of delay, max, throughput, backlog"), "{error}");
    let error = of(Kind::Cdf, &|one| one.select = vec!["qdisc=codel".to_string()]);
    assert!(
        error.contains("no axis 'qdisc'; expected one of path.trace, path.qdisc, flow.transport, seed"),
        "{error}"
    );
    let error = of(Kind::Cdf, &|one| one.select = vec!["path.qdisc=red".to_string()]);
    assert!(
        error.contains("no label 'red' on it; expected one of taildrop, codel, pie, bode:target=20ms"),
        "{error}"
    );
    let error = of(Kind::Cdf, &|one| one.select = vec!["path.qdisc".to_string()]);
    assert!(error.contains("expected AXIS=LABEL"), "{error}");
    let error = of(Kind::Cdf, &|one| one.flows = vec!["web".to_string()]);
    assert!(error.contains("no flows 'web'; expected one of bulk, video"), "{error}");
    let error = of(Kind::Cdf, &|one| one.size = Size::parse("1x1in").unwrap());
    assert!(error.starts_with("--size: 1.0 x 1.0 in leaves"), "{error}");
    let error = of(Kind::Cdf, &|one| one.title = Some("\u{6f22}".to_string()));
    assert!(error.contains("the font of figures has no '\u{6f22}'"), "{error}");
}

#[test]
fn an_svg_needs_no_font_and_no_text_of_a_user_becomes_markup() {
    let scratch = Scratch::new("plot-svg");
    let fixture = Fixture { qdiscs: texts(&["<b> & \"x\"", "codel"]), ..Fixture::default() };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    for (_, kind) in Kind::ALL {
        let title = Some("</svg><script>\u{1}".to_string());
        let svg = drawn(&folder, &Request { title, ..request(kind, Format::Svg) }).picture;
        let svg = String::from_utf8(svg).unwrap();
        for wrong in ["<text", "font", "<b>", "<script", "NaN", "inf", "\u{1}", "href", "url("] {
            assert!(!svg.contains(wrong), "{kind:?}: {wrong}");
        }
        assert!(svg.contains("width=\"252pt\" height=\"158.4pt\"") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("&lt;b&gt; &amp; &quot;x&quot;"), "what is written stands beside its outline");
    }
}

#[test]
fn a_png_has_300_pixels_to_the_inch() {
    let scratch = Scratch::new("plot-png");
    let folder = three_seeds(&scratch);
    let bytes = drawn(&folder, &request(Kind::Bars, Format::Png)).picture;
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((frame.width, frame.height), (1050, 660));
    assert_eq!(reader.info().pixel_dims.map(|dims| (dims.xppu, dims.unit)), Some((11811, png::Unit::Meter)));
    let inked = pixels.chunks_exact(3).filter(|pixel| pixel.iter().any(|part| *part < 128)).count();
    assert!((1050 * 660 / 50..1050 * 660 / 2).contains(&inked), "{inked} dark pixels");
}

#[test]
fn pgf_is_balanced_and_escaped() {
    let scratch = Scratch::new("plot-pgf");
    let fixture = Fixture { qdiscs: texts(&["50%_{a}", "a#b$c&d~e^f\\g"]), ..Fixture::default() };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    let pgf = String::from_utf8(drawn(&folder, &request(Kind::Cdf, Format::Pgf)).picture).unwrap();
    let plain = pgf.replace("\\{", "").replace("\\}", "");
    assert_eq!(plain.matches('{').count(), plain.matches('}').count());
    for kind in ["pgfpicture", "pgfscope"] {
        assert_eq!(
            pgf.matches(&format!("\\begin{{{kind}}}")).count(),
            pgf.matches(&format!("\\end{{{kind}}}")).count()
        );
    }
    assert!(pgf.contains("50\\%\\_\\{a\\}"), "{pgf}");
    assert!(pgf.contains("a\\#b\\$c\\&d\\textasciitilde{}e\\textasciicircum{}f\\textbackslash{}g"));
}

#[test(Browser)]
fn a_pdf_has_its_font_and_its_text_in_it() {
    let scratch = Scratch::new("plot-pdf");
    let folder = three_seeds(&scratch);
    let file = scratch.0.join("cdf.pdf");
    fs::write(&file, drawn(&folder, &request(Kind::Cdf, Format::Pdf)).picture).unwrap();
    let ask = |program: &str| {
        let mut command = Command::new(program);
        command.arg(&file).args((program == "pdftotext").then_some("-"));
        match command.output() {
            Ok(output) => {
                let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success() && complaint.is_empty(), "{program}: {complaint}");
                String::from_utf8(output.stdout).unwrap()
            }
            Err(_) => skip(Need::Tools, format!("no {program} (poppler-utils)")),
        }
    };
    let fonts = ask("pdffonts");
    let line = fonts.lines().nth(2).unwrap_or_else(|| panic!("a font in {fonts}"));
    // Name, type, encoding, embedded, subset, with Unicode.
    assert!(
        line.contains("NotoSans") && line.contains("Identity-H") && line.contains("yes yes yes"),
        "{fonts}"
    );
    assert_eq!(fonts.lines().count(), 3, "{fonts}");
    let text = ask("pdftotext");
    for part in ["Queue delay (ms)", "Packets (%)", "bode:target=20ms", "cubic", "100"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let info = ask("pdfinfo");
    assert!(info.contains("252 x 158.4 pts") && !info.contains("CreationDate"), "{info}");
}
