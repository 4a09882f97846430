//! Calls, streams and pages over time: two cases side by side on one scale, chosen by the reader.

use super::fixture::{Fixture, texts};
use super::{PAINTED, assert_quiet, open, screenshot, start};
use qdelay_testing::test;
use serde_json::json;

fn fixture() -> Fixture {
    Fixture {
        viewers: true,
        groups: texts(&["a call", "b player", "c browser"]),
        traces: texts(&["driving", "subway"]),
        transports: texts(&["webrtc"]),
        ..Fixture::default()
    }
}

/// Names of the two sides, and the kinds of plots of both.
const SIDES: &str = "[...document.querySelectorAll('.viewer-head')].map((head) => head.textContent)";
const KINDS: &str =
    "[...document.querySelectorAll('#viewers .plot-body')].map((body) => body.frame.spec.kind)";

fn choose(name: &str, value: &str) -> String {
    format!(
        "(() => {{ const select = document.querySelector('#viewers select[name=\"{name}\"]');
            select.focus(); select.value = [...select.options].find((option) => option.text === '{value}').value;
            select.dispatchEvent(new Event('change')); return document.activeElement.name; }})()"
    )
}

#[test(Browser)]
fn two_cases_stand_side_by_side_on_one_scale() {
    let (scratch, mut page) = start("viewers");
    open(&scratch, &mut page, &fixture());
    assert_eq!(
        page.eval("document.querySelector('#viewers h2').textContent"),
        json!("Calls, streams and pages")
    );
    assert_eq!(page.eval(SIDES), json!(["taildrop", "bode:target=20ms"]), "first and last");
    assert_eq!(page.eval(KINDS), json!(["rate", "rate", "frames", "frames", "picture", "picture"]));
    page.eval("document.querySelector('#viewers').scrollIntoView()");
    page.wait("qdelayReport.plots().filter(({ name }) => name.includes(' viewer ')).length === 6");
    page.wait(PAINTED);
    // Both plots of a row have the same scale.
    let alike = "['rate', 'frames', 'picture'].every((kind) => {
        const tops = [...live].filter(([frame]) => frame.spec.name.includes(' viewer ') && frame.spec.kind === kind).map(([, plot]) => plot.scales.y.max);
        return tops.length === 2 && tops[0] === tops[1]; })";
    assert_eq!(page.eval(alike), json!(true));
    // The shaded spans: every tenth bin of half a second is frozen.
    let shaded = "(() => { const { canvas } = qdelayReport.plots().find(({ kind }) => kind === 'picture');
        const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
        copy.drawImage(canvas, 0, 0);
        const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
        const columns = new Set();
        for (let at = 0; at < data.length; at += 4) if (data[at] === 192 && data[at + 1] === 20 && data[at + 2] === 60 && data[at + 3] === 255) columns.add(at / 4 % canvas.width);
        return columns.size / canvas.width; })()";
    let share = page.eval(shaded).as_f64().unwrap();
    assert!((0.06..0.13).contains(&share), "{share}");
    let label = page.eval("document.querySelector('.plot-picture').getAttribute('aria-label')");
    assert!(
        label.as_str().unwrap().starts_with("Picture over time, taildrop; picture frozen for 6.00 s"),
        "{label}"
    );
    assert_eq!(
        page.eval("[...document.querySelectorAll('[data-viewer]')].map((row) => row.cells[1].textContent)"),
        json!(["12.5", "12.5"])
    );
    screenshot(&mut page, "viewers");
    // On paper every plot is drawn, within its width.
    page.eval("dispatchEvent(new Event('beforeprint'))");
    page.paper(Some(718));
    let whole = "[...document.querySelectorAll('#viewers .plot-body')].every((body) => live.has(body.frame)
        && body.getBoundingClientRect().right <= document.documentElement.clientWidth)";
    assert_eq!(page.eval(whole), json!(true));
    page.eval("dispatchEvent(new Event('afterprint'))");
    page.paper(None);
    assert_quiet(&page);
}

/// What is shown is a run, and not a mean over runs.
#[test(Browser)]
fn one_seed_is_shown_and_can_be_chosen() {
    let (scratch, mut page) = start("viewers-seeds");
    open(&scratch, &mut page, &Fixture { seeds: 3, ..fixture() });
    let said = "document.querySelector('#viewers .tip').textContent.includes('no mean over seeds')";
    assert_eq!(page.eval(said), json!(true));
    let shown = "viewerSides().map(({ entry }) => labelOf(entry, SEED))";
    assert_eq!(page.eval(shown), json!(["1", "1"]));
    page.eval(&choose("held-3", "2"));
    assert_eq!(page.eval(shown), json!(["2", "2"]));
    open(&scratch, &mut page, &fixture());
    assert_eq!(page.eval(said), json!(false), "there is one seed");
    assert_quiet(&page);
}

#[test(Browser)]
fn the_reader_chooses_and_the_address_remembers() {
    let (scratch, mut page) = start("viewers-chosen");
    open(&scratch, &mut page, &fixture());
    assert_eq!(page.eval(&choose("right", "codel")), json!("right"), "the focus stays");
    page.eval(&choose("held-0", "subway"));
    page.eval(&choose("viewer", "b player"));
    assert_eq!(page.eval(SIDES), json!(["taildrop", "codel"]));
    assert_eq!(page.eval(KINDS), json!(["rate", "rate", "bitrate", "bitrate", "buffer", "buffer"]));
    assert_eq!(
        page.eval("[...document.querySelectorAll('[data-viewer]')].map((row) => row.cells[2].textContent)"),
        json!(["0", "1"])
    );
    page.wait("location.hash.includes('right=codel')");
    let hash = page.eval("location.hash");
    for part in ["right=codel", "held.path.trace=subway", "viewer=b+player"] {
        assert!(hash.as_str().unwrap().contains(part), "{hash}");
    }
    let file = scratch.0.join("report.html");
    page.call("Page.navigate", json!({ "url": "about:blank" }));
    page.call(
        "Page.navigate",
        json!({ "url": format!("file://{}{}", file.display(), hash.as_str().unwrap()) }),
    );
    page.wait("window.qdelayReport && document.querySelectorAll('.viewer-head').length === 2");
    assert_eq!(page.eval(SIDES), json!(["taildrop", "codel"]));
    assert_eq!(page.eval("document.querySelector('#viewers select[name=viewer]').value"), json!("b player"));
    // What is not selected is not compared.
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] input[value=\"1\"]').click()");
    assert_eq!(page.eval(SIDES), json!(["taildrop", "bode:target=20ms"]));
    page.eval(&choose("viewer", "c browser"));
    assert_eq!(page.eval(KINDS), json!(["rate", "rate", "loads", "loads"]));
    // Where there is no room, plots of one quantity stand below each other and say whose they are.
    page.resize(400, 900);
    page.wait("getComputedStyle(document.querySelector('.plot-side')).display !== 'none'");
    page.wait("document.documentElement.scrollWidth <= 400");
    screenshot(&mut page, "viewers-narrow");
    // Without any of them there is no such section.
    open(&scratch, &mut page, &Fixture::default());
    assert_eq!(page.eval("document.querySelectorAll('#viewers').length"), json!(0));
    assert_quiet(&page);
}
