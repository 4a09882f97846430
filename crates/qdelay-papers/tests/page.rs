//! The page of a paper, from what was run.

use qdelay_core::Span;
use qdelay_papers::{self as papers, page};
use qdelay_study::scenario::Overrides;
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use std::fs;
use std::path::PathBuf;

#[test]
fn a_page_of_a_paper_draws_what_was_run() {
    let folder = Folder::new("paper");
    let overrides = Overrides { duration: Some(Span::from_secs(7)), ..Overrides::default() };
    let paper = papers::find("5g").unwrap();
    let library = Library::new();
    let out = Some(folder.path().to_path_buf());
    let came = papers::reproduce_with(&paper, Some("3.23"), &library, 2, &(), out, &overrides).unwrap();
    assert!(page::is_of_paper(folder.path()));
    let page = page::from_folder(folder.path()).unwrap();
    for figure in ["3.19", "3.20", "3.21", "3.22", "3.23"] {
        assert!(page.contains(&format!("Fig. {figure}</span>")), "{figure}");
    }
    assert!(!page.contains("Fig. 3.29</span>"), "its scenario was not run");
    for row in &came.rows {
        assert!(page.contains(&row.claim), "{}", row.claim);
    }
    let judged = came.rows.iter().filter(|row| row.value.is_some() || row.paper.is_some()).count();
    assert_eq!(
        page.matches(" class=\"strip\">").count(),
        judged,
        "the paper's figure and ours in a picture of each"
    );
    assert!(page.contains("M. Irazabal \u{b7} Ph.D. thesis, Universitat Politècnica de Catalunya, May 2021"));
    assert!(
        page.find("class=\"verdicts\"").unwrap() < page.find("M. Irazabal").unwrap(),
        "the verdict comes first"
    );
    assert!(page.contains("<td class=\"of-figure\">3.23</td>") && page.contains("<th>Section</th>"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.matches("<figure class=\"chart\">").count() >= 16);
    for wrong in ["NaN", "inf\"", "<script", " src=", "url(", "@import", "<link"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert_eq!(page, page::from_folder(folder.path()).unwrap());
    if let Some(keep) = std::env::var_os("QDELAY_SCREENSHOTS") {
        fs::write(PathBuf::from(keep).join("paper.html"), page).unwrap();
    }
}

#[test]
fn a_folder_without_verdicts_is_refused() {
    let folder = Folder::new("none");
    let error = page::from_folder(folder.path()).unwrap_err().to_string();
    assert!(error.contains("reproduction.json") && error.contains("qdelay reproduce"), "{error}");
}

/// A case of each discipline of the BoDe paper over TailDrop's, from the scenario itself.
#[test]
fn figures_over_taildrop_are_of_the_same_trace_and_seed() {
    let folder = Folder::new("bode");
    let overrides =
        Overrides { duration: Some(Span::from_secs(3)), seeds: Some(vec![101]), ..Overrides::default() };
    let paper = papers::find("bode").unwrap();
    let out = Some(folder.path().to_path_buf());
    papers::reproduce_with(&paper, Some("7"), &Library::new(), 2, &(), out, &overrides).unwrap();
    let page = page::from_folder(folder.path()).unwrap();
    assert!(
        page.contains(
            "<a href=\"https://doi.org/10.48550/arXiv.1908.00953\">doi:10.48550/arXiv.1908.00953</a>"
        )
    );
    for figure in ["7", "8"] {
        assert!(page.contains(&format!("Fig. {figure}</span>")), "{figure}");
    }
    assert!(!page.contains("Fig. 10</span>"), "its scenario was not run");
    // TailDrop over itself, whatever the case, so that neither the bar nor its range is anything but 1.
    // The setting of a row of Fig. 7 runs Figs. 4 to 6 too, which stand before.
    let (_, from_7) = page.split_once("Fig. 7</span>").unwrap();
    let of_taildrop = from_7.matches("TailDrop</text>").count();
    assert_eq!(of_taildrop, 18, "panels of Figs. 7 and 8");
    assert!(from_7.matches(">1</text>").count() >= of_taildrop);
    assert!(!page.contains("NaN"));
}

/// A stream beside Fig. 6: two schemes on one scale, with the time before the first picture shaded.
#[test]
fn a_stream_over_time_stands_beside_its_figure() {
    let folder = Folder::new("bode-stream");
    let overrides = Overrides { duration: Some(Span::from_secs(20)), ..Overrides::default() };
    let paper = papers::find("bode").unwrap();
    let out = Some(folder.path().join("out"));
    // Claims of Fig. 6 are judged on recorded traces only; here are made-up ones of their names, of 4 Mbit/s with an outage.
    let traces = Folder::new("bode-traces");
    let milliseconds = (1..10_000).map(|number| 3 * number).filter(|ms| !(9000..12_000).contains(ms));
    let text: String = milliseconds.map(|ms| format!("{ms}\n")).collect();
    for name in [
        "mahimahi/ATT-LTE-driving.down",
        "mahimahi/Verizon-LTE-short.down",
        "mahimahi/Verizon-LTE-short.up",
        "nyc-2018/downlink-4g-with-cross-times",
        "nyc-2018/downlink-4g-with-cross-subway.pps",
    ] {
        let file = traces.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, &text).unwrap();
    }
    let library = Library::new().folder(traces.path());
    papers::reproduce_with(&paper, Some("6"), &library, 2, &(), out, &overrides).unwrap();
    let page = page::from_folder(&folder.path().join("out")).unwrap();
    if let Some(keep) = std::env::var_os("QDELAY_SCREENSHOTS") {
        fs::write(PathBuf::from(keep).join("bode-stream.html"), &page).unwrap();
    }
    let section = page.split("A stream of Fig. 6 over time</h2>").nth(1).unwrap();
    let section = section.split("</section>").next().unwrap();
    assert_eq!(section.matches(" style=\"max-width").count(), 6, "three quantities of two schemes");
    let shaded = section.matches("fill=\"var(--frozen)\" fill-opacity").count();
    assert!(shaded >= 4, "panels of two schemes: {shaded}");
    // The numbers beside the axes of two panels of one quantity are the same.
    let ticks = |title: &str| -> Vec<String> {
        let panel = section.split(&format!("<figcaption>{title}</figcaption>")).nth(1).unwrap();
        let panel = panel.split("</figure>").next().unwrap();
        let numbers = panel.split("text-anchor=\"end\" font-size=\"8\" fill=\"var(--text)\">").skip(1);
        let numbers = numbers.filter_map(|rest| rest.split('<').next());
        numbers.map(str::to_string).collect()
    };
    for quantity in ["rate", "bit rate on the screen", "buffer"] {
        let all = ticks(&format!("TailDrop: {quantity}"));
        assert!(all.len() > 4, "{quantity}: {all:?}");
        assert_eq!(all, ticks(&format!("BoDe: {quantity}")), "{quantity}");
    }
}

/// A reproduction of an earlier schema has the figures under other names, which would count as missing.
#[test]
fn a_reproduction_of_another_schema_is_refused() {
    let folder = Folder::new("paper-schema");
    let text = r#"{"schema_version": 1, "paper": "bode", "title": "t", "stand_ins": {}, "rows": []}"#;
    fs::write(folder.path().join("reproduction.json"), text).unwrap();
    let error = page::from_folder(folder.path()).unwrap_err().to_string();
    let expected = "reproduction.json: schema_version is 1; expected 2: an older qdelay wrote this";
    assert!(error.contains(expected), "{error}");
}
