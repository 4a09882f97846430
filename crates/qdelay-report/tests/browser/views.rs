//! Intervals and differences over seeds, the view in the address, names beside the data, and pages of thousands of cases.

use super::fixture::{self, Fixture, texts};
use super::{PAINTED, assert_quiet, open, report_of, screenshot, start};
use serde_json::{Value, json};
use std::fs;

/// Mean and half of the 95% interval of four figures, by hand: Student's t with three degrees of freedom is 3.182446.
fn interval_of_four(figures: &[f64; 4]) -> (f64, f64) {
    let mean = figures.iter().sum::<f64>() / 4.0;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    (mean, 3.182_446 * (squares / 3.0 / 4.0).sqrt())
}

#[test(Browser)]
fn several_seeds_have_intervals_and_differences() {
    let (scratch, mut page) = start("intervals");
    open(&scratch, &mut page, &Fixture { seeds: 4, transports: texts(&["cubic"]), ..Fixture::default() });
    let summary: Value =
        serde_json::from_slice(&fs::read(scratch.0.join("study/summary.json")).unwrap()).unwrap();
    let rates: Vec<f64> =
        (0..4).map(|seed| summary["cases"][seed]["throughput_mbps"].as_f64().unwrap()).collect();
    let (mean, half) = interval_of_four(rates.as_slice().try_into().unwrap());
    let shown = page.eval("qdelayReport.figures()[0]");
    assert_eq!(shown["runs"], 4);
    for (name, wanted) in [("mean", mean), ("half", half)] {
        let ours = shown["throughput"][name].as_f64().unwrap();
        // The page has six digits of each figure.
        assert!((ours - wanted).abs() < 1e-3 * wanted, "{name}: {ours}, {wanted} by hand");
    }
    let cell = page.eval("document.querySelector('tr[data-key] td.figure').textContent");
    assert!(cell.as_str().unwrap().contains(" ±"), "{cell}");
    assert_eq!(
        page.eval(
            "document.querySelector('#cases .note').textContent.includes('interval of the mean over 4 runs')"
        ),
        json!(true)
    );
    // Three disciplines beside the first.
    assert_eq!(page.eval("document.querySelectorAll('#differences tbody tr').length"), json!(3));
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] input[value=\"1\"]').click()");
    assert_eq!(page.eval("document.querySelectorAll('#differences tbody tr').length"), json!(2));
    screenshot(&mut page, "intervals");
    page.eval("document.querySelector('input[name=each]').click()");
    assert_eq!(
        page.eval("document.querySelector('tr[data-key] td.figure').textContent.includes('±')"),
        json!(false)
    );
    assert_quiet(&page);
}

#[test(Browser)]
fn seeds_of_one_run_count_once() {
    let (scratch, mut page) = start("same-runs");
    open(&scratch, &mut page, &Fixture { seeds: 3, same_seeds: true, ..Fixture::default() });
    let shown = page.eval("qdelayReport.figures()[0]");
    assert_eq!((&shown["runs"], &shown["throughput"]["half"]), (&json!(1), &Value::Null));
    assert_eq!(page.eval("document.querySelectorAll('#differences').length"), json!(1));
    assert_quiet(&page);
}

#[test(Browser)]
fn the_view_stands_in_the_address() {
    let (scratch, mut page) = start("address");
    let fixture = Fixture { seeds: 2, ..Fixture::default() };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    let file = report_of(&scratch.0, &[folder]);
    page.navigate(&file);
    page.wait("qdelayReport.plots().length >= 2");
    assert_eq!(page.eval("location.hash"), json!(""), "nothing was changed");
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] input[value=\"3\"]').click()");
    page.eval("(() => { const measure = document.querySelector('select[name=measure]'); measure.value = 'p95'; measure.dispatchEvent(new Event('change')); })()");
    page.eval("document.querySelector('input[name=delayLog]').click()");
    page.eval("(() => { const find = document.querySelector('input[type=search]'); find.value = 'pie & \"codel\"'; find.dispatchEvent(new Event('input')); })()");
    page.wait("location.hash.includes('measure=p95') && location.hash.includes('find=')");
    let view = "[qdelayReport.points(), document.querySelector('select[name=measure]').value, \
                document.querySelector('input[name=delayLog]').checked, document.querySelector('input[type=search]').value, qdelayReport.address()]";
    let (before, hash) = (page.eval(view), page.eval("location.hash"));
    assert_eq!(before[0].as_array().unwrap().len(), 6);
    // The same address in a page of its own.
    page.call("Page.navigate", json!({ "url": "about:blank" }));
    page.call(
        "Page.navigate",
        json!({ "url": format!("file://{}{}", file.display(), hash.as_str().unwrap()) }),
    );
    page.wait("window.qdelayReport && qdelayReport.plots().length >= 2");
    assert_eq!(page.eval(view), before);
    // A link to a section keeps the view, and names that the page does not have are no harm.
    page.eval("document.querySelector('nav a[href=\"#cases\"]').click()");
    page.wait("location.hash.startsWith('#cases?') && location.hash.includes('measure=p95')");
    page.eval("location.hash = '#cases?measure=nothing&only.path.qdisc=codel&only.other=x&colour=%3Cb%3E&sort=__proto__&time=9..3'");
    page.wait("qdelayReport.points().length === 2");
    assert_eq!(page.eval("document.querySelector('select[name=measure]').value"), json!("p99"));
    assert_quiet(&page);
}

#[test(Browser)]
fn an_axis_that_does_not_begin_at_zero_says_so() {
    let (scratch, mut page) = start("axes");
    open(&scratch, &mut page, &Fixture::default());
    let label =
        |at: usize| format!("qdelayReport.plots().find(({{ kind }}) => kind === 'plane')?.axes[{at}]");
    assert_eq!(page.eval(&format!("{}.includes('axis from')", label(1))), json!(true));
    assert_eq!(page.eval(&format!("{}.includes('axis from')", label(0))), json!(false), "it is logarithmic");
    page.eval("document.querySelector('input[name=fromZero]').click()");
    page.wait(&format!("{}?.includes('axis from') === false", label(1)));
    page.wait(PAINTED);
    assert_quiet(&page);
}

#[test(Browser)]
fn many_points_of_any_axis_get_panels() {
    let (scratch, mut page) = start("panels");
    let fixture = Fixture { traces: texts(&["10ms", "50ms", "200ms"]), ..Fixture::default() };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    // The same along another axis than traces.
    let mut files = vec![folder.join("summary.json")];
    for case in fs::read_dir(folder.join("cases")).unwrap() {
        files.extend(["run.json", "summary.json"].map(|file| case.as_ref().unwrap().path().join(file)));
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("\"path.trace\"", "\"path.rtt\"")).unwrap();
    }
    page.navigate(&report_of(&scratch.0, &[folder]));
    page.wait("qdelayReport.plots().length >= 2");
    let titles = "[...document.querySelectorAll('.panel h3')].map((title) => title.textContent)";
    assert_eq!(page.eval(titles), json!(["10ms", "50ms", "200ms"]), "24 points");
    page.eval("document.querySelectorAll('[data-axis=\"path.rtt\"] input')[0].click()");
    page.wait(&format!("{titles}.length === 2"));
    open(&scratch, &mut page, &Fixture::default());
    page.wait(&format!("{titles}.length === 0"));
    assert_quiet(&page);
}

#[test(Browser)]
fn thousands_of_cases_are_a_small_page() {
    let (scratch, mut page) = start("thousands");
    let traces: Vec<String> = (0..100).map(|number| format!("trace-{number}")).collect();
    let qdiscs = ["taildrop", "codel", "pie", "bode:target=20ms", "fq_codel", "red", "a", "b", "c", "d"];
    let fixture = Fixture {
        traces,
        qdiscs: texts(&qdiscs),
        transports: texts(&["cubic", "bbr", "reno", "vegas"]),
        bins: 20,
        ..Fixture::default()
    };
    let folder = fixture::write(&scratch.0, "study", &fixture);
    let file = report_of(&scratch.0, &[folder]);
    let bytes = fs::metadata(&file).unwrap().len();
    page.navigate(&file);
    page.wait("qdelayReport.plots().length >= 2");
    let opened = page.eval("performance.now()");
    page.call("HeapProfiler.collectGarbage", json!({}));
    let heap = page.call("Runtime.getHeapUsage", json!({}));
    let used = heap["usedSize"].as_f64().unwrap() / 1e6;
    eprintln!("4000 cases: {bytes} bytes, open after {opened} ms, {used:.1} MB of heap");
    assert!(bytes < 3_000_000, "{bytes}");
    assert!(used < 100.0, "{used} MB");
    // All of them in one panel.
    page.eval("(() => { const panels = document.querySelector('select[name=panels]'); panels.value = '-1'; panels.dispatchEvent(new Event('change')); })()");
    page.wait("qdelayReport.plots()[0]?.series === 4000");
    assert_eq!(page.eval("document.querySelectorAll('tr[data-key]').length"), json!(300));
    page.call("HeapProfiler.collectGarbage", json!({}));
    let used = page.call("Runtime.getHeapUsage", json!({}))["usedSize"].as_f64().unwrap() / 1e6;
    eprintln!("in one panel: {used:.1} MB of heap");
    assert!(used < 100.0, "{used} MB");
    screenshot(&mut page, "thousands");
    assert_quiet(&page);
}
