//! Reports from folders: what is in the files, and what is said of folders that cannot be used.

use crate::browser::fixture::{Fixture, Scratch, expect, texts};
use qdelay_report::{self as report, Options};
use qdelay_study::results::SCHEMA_VERSION;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn html(folders: &[PathBuf]) -> Result<String, String> {
    report::html(folders, &Options::default()).map_err(|error| error.to_string())
}

/// What the page is handed.
fn data(page: &str) -> Value {
    part(page, "data").expect("data")
}

fn part(page: &str, id: &str) -> Option<Value> {
    let (_, after) = page.split_once(&format!("<script type=\"application/json\" id=\"{id}\">"))?;
    serde_json::from_str(after.split_once("</script>")?.0).ok()
}

#[test]
fn a_report_is_one_file_that_names_no_other() {
    let scratch = Scratch::new("one-file");
    let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
    let page = html(&[folder]).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    for reference in ["src=\"", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("Content-Security-Policy") && page.contains("Copyright (c) 2022 Leon Sorokin"));
    let data = data(&page);
    assert_eq!(data["cases"].as_array().unwrap().len(), 8);
    assert_eq!(data["folders"][0]["settings"]["path.rtt"], "20ms");
    assert_eq!(data["folders"][0]["settings"].get("path.qdisc"), None, "it differs between the cases");
    let series = part(&page, "series-7").unwrap();
    assert_eq!(series["throughput"].as_array().unwrap().len(), 120);
    assert_eq!(series["capacity"], "capacity-0", "all are on one trace");
    assert_eq!(part(&page, "capacity-1"), None);
}

/// Components that a run was told to accept stand on the page of their folder, and of several folders.
#[test]
fn unverified_components_are_told() {
    let scratch = Scratch::new("unverified");
    let [one, other] =
        ["one", "other"].map(|name| crate::browser::fixture::write(&scratch.0, name, &Fixture::default()));
    assert_eq!(data(&html(std::slice::from_ref(&one)).unwrap())["folders"][0].get("unverified"), None);
    let path = one.join("summary.json");
    let mut summary: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let sentence =
        "The figures of 'reads' are not verified: 'Reads.__init__' cannot be compared (it reads io.open).";
    summary["unverified"] = serde_json::json!([sentence]);
    fs::write(&path, summary.to_string()).unwrap();
    let page = html(&[one.clone(), other.clone()]).unwrap();
    assert_eq!(data(&page)["folders"][0]["unverified"], serde_json::json!([sentence]));
    assert!(page.contains("folder.unverified"), "the page shows them");
    let together = report::together::summary(&[one, other]).unwrap();
    assert_eq!(together.unverified, [format!("one: {sentence}")]);
}

#[test]
fn equal_folders_make_equal_bytes() {
    let scratch = Scratch::new("equal");
    let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
    assert_eq!(html(std::slice::from_ref(&folder)), html(std::slice::from_ref(&folder)));
    assert_eq!(
        report::svg(std::slice::from_ref(&folder), &Options::default()),
        report::svg(std::slice::from_ref(&folder), &Options::default())
    );
    let elsewhere = crate::browser::fixture::write(&scratch.0, "elsewhere", &Fixture::default());
    assert!(html(&[folder]) == html(&[elsewhere]), "wherever they lie");
}

#[test]
fn no_text_of_a_user_becomes_markup() {
    let scratch = Scratch::new("markup");
    let evil = "</script><script>alert(1)</script><!-- <img onerror=x> \u{1}";
    let fixture = Fixture {
        title: evil.to_string(),
        about: evil.to_string(),
        qdiscs: texts(&[evil, "codel"]),
        groups: texts(&[evil]),
        expects: vec![expect(evil, 1.0, 2.0)],
        ..Fixture::default()
    };
    let folder = crate::browser::fixture::write(&scratch.0, "study", &fixture);
    let page = html(std::slice::from_ref(&folder)).unwrap();
    assert!(!page.contains("<script>") && !page.contains("<img") && !page.contains("<!-- "));
    assert_eq!(data(&page)["title"], evil);
    for (name, picture) in report::svg(&[folder], &Options::default()).unwrap() {
        assert!(!picture.contains("<script") && !picture.contains('\u{1}'), "{name}");
    }
}

#[test]
fn folders_share_axes_and_what_one_does_not_vary_is_its_setting() {
    let scratch = Scratch::new("axes");
    let many = crate::browser::fixture::write(&scratch.0, "many", &Fixture::default());
    let one = crate::browser::fixture::write(
        &scratch.0,
        "one",
        &Fixture { qdiscs: texts(&["red"]), ..Fixture::default() },
    );
    // As if the second had no axis of disciplines.
    edit(&one.join("summary.json"), |summary| {
        summary["axes"].as_array_mut().unwrap().retain(|axis| axis["name"] != "path.qdisc");
    });
    for case in ["000-case", "001-case"] {
        edit(&one.join("cases").join(case).join("summary.json"), |summary| {
            summary["labels"].as_object_mut().unwrap().remove("path.qdisc");
        });
    }
    let data = data(&html(&[many, one]).unwrap());
    let axes: Vec<&str> =
        data["axes"].as_array().unwrap().iter().filter_map(|axis| axis["name"].as_str()).collect();
    assert_eq!(axes, ["folder", "path.trace", "path.qdisc", "flow.transport", "seed"]);
    assert_eq!(data["axes"][0]["labels"], serde_json::json!(["many", "one"]));
    assert_eq!(
        data["axes"][2]["labels"],
        serde_json::json!(["taildrop", "codel", "pie", "bode:target=20ms", "red"])
    );
    assert_eq!(data["cases"][8]["at"], serde_json::json!([1, 0, 4, 0, 0]));
}

#[test]
fn too_many_bins_leave_the_first_seed_and_then_none() {
    let scratch = Scratch::new("bins");
    let folder =
        [crate::browser::fixture::write(&scratch.0, "study", &Fixture { seeds: 3, ..Fixture::default() })];
    let kept = |bins| {
        let page = report::html(&folder, &Options { series_bins: bins, ..Options::default() }).unwrap();
        let with = (0..24).filter(|case| part(&page, &format!("series-{case}")).is_some()).count();
        (data(&page)["series"].as_str().unwrap().to_string(), with)
    };
    assert_eq!(kept(24 * 120), ("all".to_string(), 24));
    assert_eq!(kept(24 * 120 - 1), ("first".to_string(), 8));
    assert_eq!(kept(8 * 120 - 1), ("none".to_string(), 0));
}

#[test]
fn svg_has_plane_distribution_and_each_case() {
    let scratch = Scratch::new("svg");
    let folders =
        ["a", "b"].map(|name| crate::browser::fixture::write(&scratch.0, name, &Fixture::default()));
    let pictures = report::svg(&folders, &Options::default()).unwrap();
    let names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 18);
    assert_eq!(names[..3], ["plane.svg", "cdf.svg", "series-a-000-case.svg"]);
    for (name, picture) in &pictures {
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"), "{name}");
        assert!(!picture.contains("NaN") && !picture.contains("inf"), "{name}");
        assert!(picture.matches("<text").count() > 8, "{name}");
    }
    // A mark has a hint.
    assert_eq!(pictures[0].1.matches(" ms</title></path>").count(), 16, "a mark for each point");
    if let Some(keep) = std::env::var_os("QDELAY_SCREENSHOTS") {
        for (name, picture) in &pictures[..3] {
            fs::write(Path::new(&keep).join(name), picture).unwrap();
        }
    }
}

/// The elements that contain all of these texts.
fn elements<'a>(picture: &'a str, parts: &[&str]) -> Vec<&'a str> {
    let has_all = |element: &&str| parts.iter().all(|part| element.contains(part));
    picture.split('<').filter(has_all).collect()
}

/// What an attribute of an element says.
fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element.split_once(&format!("{name}=\"")).unwrap().1.split_once('"').unwrap().0
}

#[test]
fn svg_shows_what_coincides() {
    let scratch = Scratch::new("svg-twins");
    let folder = crate::browser::fixture::write(
        &scratch.0,
        "study",
        &Fixture { twins: true, transports: texts(&["cubic"]), ..Fixture::default() },
    );
    let pictures = report::svg(&[folder], &Options::default()).unwrap();
    let (codel, pie) = ("#d55e00", "#009e73");
    let ends = |colour: &str| {
        // The left and the right end of a mark: M and L have both coordinates, H has the first one.
        let mark = elements(&pictures[0].1, &[&format!("path fill=\"{colour}\"")]).pop().unwrap();
        let commands = attribute(mark, "d").split_inclusive(|letter: char| letter.is_ascii_alphabetic());
        let commands: Vec<&str> = commands.collect();
        let across = commands.windows(2).filter(|pair| !pair[0].ends_with(['V', 'Z'])).map(|pair| {
            let first = pair[1].split([' ', 'L', 'H', 'V', 'Z']).next().unwrap();
            first.parse::<f64>().unwrap()
        });
        across.fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (codel_ends, pie_ends) = (ends(codel), ends(pie));
    assert!((codel_ends.0 + codel_ends.1 - pie_ends.0 - pie_ends.1).abs() < 0.1, "one place");
    assert!((codel_ends.0 - pie_ends.0).abs() >= 1.5, "rings: {codel_ends:?} {pie_ends:?}");
    assert!(pictures[0].1.contains("codel, pie"), "a name for both");
    // Both go the same way, and no stretch of one curve is one of the other.
    let line = |colour: &str| {
        let parts = [&format!("stroke=\"{colour}\""), "dasharray"];
        elements(&pictures[1].1, &parts).pop().unwrap()
    };
    assert_eq!(attribute(line(codel), "d"), attribute(line(pie), "d"));
    let drawn = |colour| {
        let lengths = attribute(line(colour), "stroke-dasharray").split(' ');
        let lengths = lengths.map(|length| (length.parse::<f64>().unwrap() * 2.0) as usize);
        lengths.enumerate().flat_map(|(at, length)| vec![at % 2 == 0; length]).collect::<Vec<bool>>()
    };
    let (codel, pie) = (drawn(codel), drawn(pie));
    assert_eq!((codel.len(), pie.len()), (44, 44), "half points");
    assert!(codel.iter().zip(&pie).all(|(one, other)| !(*one && *other)), "they take turns");
    assert!([&codel, &pie].iter().all(|line| line.iter().filter(|on| **on).count() > 6));
}

#[test]
fn pictures_are_whole_xml_whatever_the_names() {
    let scratch = Scratch::new("odd-names");
    let long = "a discipline of a very long name ".repeat(6);
    let odd = ["<b>&\"'\u{1}\u{7f}", "\u{1f4a5} über", &long, "]]> --"];
    let fixture = Fixture { title: long.repeat(3), qdiscs: texts(&odd), ..Fixture::default() };
    let folder = crate::browser::fixture::write(&scratch.0, "study", &fixture);
    for (name, picture) in report::svg(&[folder], &Options::default()).unwrap() {
        assert!(!picture.contains(|letter: char| letter.is_control() && letter != '\n'), "{name}");
        assert!(
            !picture
                .replace("&amp;", "")
                .replace("&lt;", "")
                .replace("&gt;", "")
                .replace("&quot;", "")
                .contains('&')
        );
        for text in picture.split("<text ").skip(1) {
            let (attributes, rest) = text.split_once('>').unwrap();
            let (content, _) = rest.split_once("</text>").unwrap();
            assert!(!content.contains('<') && content.chars().count() < 120, "{name}: {content}");
            assert!(attributes.contains("font-size="), "{name}");
        }
    }
}

#[test]
fn a_case_without_packets_is_drawn() {
    let scratch = Scratch::new("nothing");
    let folder = crate::browser::fixture::write(
        &scratch.0,
        "study",
        &Fixture { qdiscs: texts(&["codel"]), transports: texts(&["cubic"]), ..Fixture::default() },
    );
    edit(&folder.join("cases/000-case/summary.json"), |case| {
        for measure in ["mean", "p50", "p95", "p99", "p999", "max", "count"] {
            case["queue_delay_ms"][measure] = 0.into();
        }
        for field in ["throughput_mbps", "utilization"] {
            case[field] = 0.into();
        }
        case["power"] = Value::Null;
        case["delay_cdf"] = serde_json::json!({ "percent": [], "ms": [] });
        case.as_object_mut().unwrap().remove("series");
    });
    assert_eq!(data(&html(std::slice::from_ref(&folder)).unwrap())["cases"][0]["series"], false);
    assert_eq!(report::svg(&[folder], &Options::default()).unwrap().len(), 2);
}

fn edit(file: &Path, change: impl FnOnce(&mut Value)) {
    let mut value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    change(&mut value);
    fs::write(file, value.to_string()).unwrap();
}

/// One line that names a place and what was expected.
fn refused(folders: &[PathBuf], parts: &[&str]) {
    let error = html(folders).unwrap_err();
    for part in parts {
        assert!(error.contains(part), "{part:?} in {error:?}");
    }
    assert!(error.contains("expected"), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert_eq!(report::svg(folders, &Options::default()).unwrap_err().to_string(), error);
}

#[test]
fn folders_that_are_no_results_are_refused() {
    let scratch = Scratch::new("no-results");
    refused(&[], &["no folder"]);
    refused(&[scratch.0.join("absent")], &["absent", "no such folder"]);
    fs::write(scratch.0.join("file"), "").unwrap();
    refused(&[scratch.0.join("file")], &["file", "is no folder"]);
    let empty = scratch.0.join("empty");
    fs::create_dir(&empty).unwrap();
    refused(std::slice::from_ref(&empty), &["empty", "no summary.json", "no result folder"]);
    fs::write(empty.join("study.json"), "{}").unwrap();
    refused(std::slice::from_ref(&empty), &["not finished", "'qdelay run' again"]);
    for broken in ["", "{", "[]", "{\"schema_version\": 1}", "{\"schema_version\": \"x\"}"] {
        fs::write(empty.join("summary.json"), broken).unwrap();
        refused(std::slice::from_ref(&empty), &["summary.json"]);
    }
}

#[test]
fn files_of_another_schema_are_refused() {
    let scratch = Scratch::new("schema");
    let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
    for file in ["cases/003-case/run.json", "cases/003-case/summary.json", "summary.json"] {
        for (version, wording) in [(SCHEMA_VERSION + 1, "newer"), (SCHEMA_VERSION - 1, "older")] {
            edit(&folder.join(file), |value| value["schema_version"] = version.into());
            refused(
                std::slice::from_ref(&folder),
                &[
                    file,
                    &format!("schema_version is {version}"),
                    &format!("expected {SCHEMA_VERSION}"),
                    wording,
                ],
            );
        }
        edit(&folder.join(file), |value| value["schema_version"] = SCHEMA_VERSION.into());
    }
}

#[test]
fn half_a_folder_says_what_is_missing_and_how_to_complete_it() {
    let scratch = Scratch::new("half");
    let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
    fs::remove_file(folder.join("cases/002-case/run.json")).unwrap();
    fs::remove_dir_all(folder.join("cases/005-case")).unwrap();
    refused(
        std::slice::from_ref(&folder),
        &["cases/002-case/run.json", "2 of 8 cases", "'qdelay run' again completes it"],
    );
}

#[test]
fn two_folders_of_one_name_are_refused() {
    let scratch = Scratch::new("names");
    let folders = ["a", "b"]
        .map(|parent| crate::browser::fixture::write(&scratch.0.join(parent), "study", &Fixture::default()));
    refused(&folders, &["same name", "different names"]);
    refused(&[folders[0].clone(), folders[0].join(".")], &["same name"]);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let scratch = Scratch::new("fit");
    let case = |change: fn(&mut Value), parts: &[&str]| {
        let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
        edit(&folder.join("cases/004-case/summary.json"), change);
        refused(std::slice::from_ref(&folder), parts);
    };
    case(|case| case["id"] = "005-case".into(), &["004-case", "005-case"]);
    case(
        |case| case["labels"]["path.qdisc"] = "other".into(),
        &["labels.path.qdisc", "other", "a point of this axis"],
    );
    case(|case| drop(case["labels"].as_object_mut().unwrap().remove("seed")), &["labels.seed", "missing"]);
    case(
        |case| drop(case["series"]["drops"].as_array_mut().unwrap().pop()),
        &["series.drops has 119", "expected 120"],
    );
    case(|case| case["series"]["bin_s"] = 0.into(), &["bin_s"]);
    case(|case| drop(case["delay_cdf"]["ms"].as_array_mut().unwrap().pop()), &["delay_cdf.ms"]);
    let folder = crate::browser::fixture::write(&scratch.0, "study", &Fixture::default());
    edit(&folder.join("summary.json"), |summary| summary["cases"][0]["id"] = "../outside".into());
    refused(std::slice::from_ref(&folder), &["../outside", "name of a folder"]);
    edit(&folder.join("summary.json"), |summary| summary["cases"] = serde_json::json!([]));
    refused(&[folder], &["cases is empty"]);
}
