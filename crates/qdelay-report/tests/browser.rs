//! The report in a real browser: what is drawn, what can be done with it, and that it asks nobody for anything.
//!
//! Skipped without a Chromium in `PATH` (or `QDELAY_BROWSER`). `QDELAY_SCREENSHOTS=DIR` leaves pictures of what was looked at.

mod by;
mod coinciding;
mod devtools;
pub mod fixture;
mod paper;
mod viewers;
mod views;

use devtools::Page;
use fixture::{Fixture, Scratch, expect, texts};
use qdelay_report as report;
use qdelay_testing::{Need, skip};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The browser, a folder for everything, and a page of 1400 by 1000 pixels. Skips the test where there is no browser.
fn start(name: &str) -> (Scratch, Page) {
    let Some(program) = devtools::find() else {
        skip(Need::Browser, "no Chromium in PATH, and QDELAY_BROWSER names none");
    };
    let scratch = Scratch::new(name);
    let page = Page::open(&program, &scratch.0.join("profile"), 1400, 1000);
    (scratch, page)
}

fn report_of(scratch: &Path, folders: &[PathBuf]) -> PathBuf {
    let file = scratch.join("report.html");
    fs::write(&file, report::html(folders, &report::Options::default()).unwrap()).unwrap();
    file
}

fn open(scratch: &Scratch, page: &mut Page, fixture: &Fixture) {
    let folder = fixture::write(&scratch.0, "study", fixture);
    page.navigate(&report_of(&scratch.0, &[folder]));
    page.wait("qdelayReport.plots().length >= 2");
}

fn assert_quiet(page: &Page) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    let others: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|url| !["file:", "blob:", "data:"].iter().any(|own| url.starts_with(own)))
        .collect();
    assert_eq!(others, Vec::<String>::new());
}

fn screenshot(page: &mut Page, name: &str) {
    let Some(folder) = env::var_os("QDELAY_SCREENSHOTS") else { return };
    fs::create_dir_all(&folder).unwrap();
    page.eval("new Promise((done) => setTimeout(done, 250))");
    for (suffix, whole) in [("", false), ("-whole", true)] {
        let picture = page.screenshot(whole);
        fs::write(Path::new(&folder).join(format!("{name}{suffix}.png.base64")), picture).unwrap();
    }
}

/// More colours than a background and its axes have.
const PAINTED: &str = "qdelayReport.plots().every(({ canvas }) => {
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) colours.add(`${data[at]} ${data[at + 1]} ${data[at + 2]}`);
    return colours.size > 8; })";

/// The middle of the plot area of the n-th time plot of a kind.
fn middle(page: &mut Page, selector: &str) -> (f64, f64, f64) {
    let place = page.eval(&format!(
        "(() => {{ const box = {selector}.getBoundingClientRect(); return [box.left, box.top + box.height / 2, box.width]; }})()"
    ));
    let at = |index: usize| place[index].as_f64().unwrap();
    (at(0), at(1), at(2))
}

#[test(Browser)]
fn every_plot_is_drawn_with_a_series_for_each_case() {
    let (scratch, mut page) = start("drawn");
    open(&scratch, &mut page, &Fixture::default());
    let plots = page.eval("qdelayReport.plots().map(({ kind, series }) => [kind, series])");
    assert_eq!(plots[0], json!(["plane", 8]));
    assert_eq!(plots[1], json!(["cdf", 8]));
    page.wait(PAINTED);
    assert_eq!(page.eval("document.querySelectorAll('tr[data-key]').length"), json!(8));
    assert_eq!(page.eval("qdelayReport.frames().filter(({ kind }) => kind === 'delay').length"), json!(8));
    page.eval("document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'backlog')");
    page.wait(PAINTED);
    let picture = page.eval("qdelayReport.picture(qdelayReport.plots()[0].name)");
    assert!(picture.as_str().is_some_and(|text| text.starts_with("data:image/png") && text.len() > 2000));
    assert_quiet(&page);
}

#[test(Browser)]
fn seeds_are_one_point_with_a_range_until_each_is_wanted() {
    let (scratch, mut page) = start("seeds");
    open(&scratch, &mut page, &Fixture { seeds: 3, ..Fixture::default() });
    assert_eq!(page.eval("qdelayReport.plots()[1].series"), json!(8));
    page.eval("document.querySelector('input[name=each]').click()");
    page.wait("qdelayReport.plots()[1]?.series === 24");
    assert_eq!(page.eval("document.querySelectorAll('tr[data-key]').length"), json!(24));
    assert_quiet(&page);
}

#[test(Browser)]
fn filters_and_toggles_change_every_part() {
    let (scratch, mut page) = start("filters");
    open(&scratch, &mut page, &Fixture { groups: texts(&["video", "file"]), ..Fixture::default() });
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] input').click()");
    page.wait("qdelayReport.plots().length >= 2 && qdelayReport.plots()[0].series === 6");
    assert_eq!(page.eval("document.querySelectorAll('tr[data-key]').length"), json!(6));
    assert_eq!(page.eval("qdelayReport.points().some((label) => label.includes('taildrop'))"), json!(false));

    page.eval(
        "document.querySelectorAll('[data-axis=flows] input').forEach((box) => box.checked || box.click())",
    );
    page.wait("qdelayReport.plots()[0]?.series === 18");

    page.eval("document.querySelector('input[name=tail]').click()");
    page.eval("document.querySelector('select[name=measure]').value = 'p95'; document.querySelector('select[name=measure]').dispatchEvent(new Event('change'))");
    page.wait("qdelayReport.plots().some(({ name }) => name.startsWith('plane p95'))");
    page.eval("document.querySelector('input[name=overlay]').click(); document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind, name, series }) => kind === 'delay' && name === 'delay overlaid' && series === 12)");

    screenshot(&mut page, "overlay");
    page.eval("document.querySelector('.cases th:nth-child(4) button').click()");
    let sorted = "(() => { const cells = [...document.querySelectorAll('tr[data-key] td:nth-child(4)')].map((cell) => parseFloat(cell.textContent)); \
                  return cells.every((value, at) => at === 0 || cells[at - 1] <= value); })()";
    assert_eq!(page.eval(sorted), json!(true));
    page.eval("(() => { const find = document.querySelector('input[type=search]'); find.value = 'pie video'; find.dispatchEvent(new Event('input')); })()");
    assert_eq!(page.eval("document.querySelectorAll('tr[data-key]').length"), json!(2));
    page.wait(PAINTED);

    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] .quiet').click()"); // all
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] .quiet').click()"); // none
    page.wait("qdelayReport.plots().length === 0");
    assert_quiet(&page);
}

#[test(Browser)]
fn pointing_at_one_time_plot_points_at_all() {
    let (scratch, mut page) = start("hover");
    open(&scratch, &mut page, &Fixture::default());
    page.eval("document.querySelector('.plot-delay').scrollIntoView()");
    page.wait("qdelayReport.plots().filter(({ kind }) => kind === 'rate').length >= 2");
    let (left, top, width) = middle(&mut page, "document.querySelector('.plot-delay .u-over')");
    page.mouse("mouseMoved", left + width / 3.0, top, 0, false);
    page.mouse("mouseMoved", left + width / 2.0, top, 0, false);
    page.wait("(() => { const times = qdelayReport.plots().filter(({ kind }) => ['delay', 'rate', 'backlog'].includes(kind)); \
               return times.length > 3 && times.every(({ cursor }) => cursor !== null && Math.abs(cursor - 60) <= 1); })()");
    let values = page.eval(
        "[...document.querySelectorAll('.plot-rate .u-value')].slice(0, 3).map((cell) => cell.textContent)",
    );
    assert!(
        values[0].as_str().unwrap().ends_with('s') && values[2].as_str().unwrap().parse::<f64>().is_ok(),
        "{values}"
    );
    screenshot(&mut page, "hover");
    assert_quiet(&page);
}

#[test(Browser)]
fn dragging_zooms_all_time_plots_and_a_double_click_shows_everything() {
    let (scratch, mut page) = start("zoom");
    open(&scratch, &mut page, &Fixture::default());
    page.eval("document.querySelector('.plot-delay').scrollIntoView()");
    page.wait("qdelayReport.plots().filter(({ kind }) => kind === 'rate').length >= 2");
    let (left, top, width) = middle(&mut page, "document.querySelector('.plot-rate .u-over')");
    drag(&mut page, left + width * 0.25, left + width * 0.5, top);
    let near = "(x) => Math.abs(x[0] - 15) < 1 && Math.abs(x[1] - 30) < 1";
    page.wait(&format!("qdelayReport.timeRange() !== null && ({near})(qdelayReport.timeRange())"));
    page.wait(&format!(
        "qdelayReport.plots().filter(({{ kind }}) => kind === 'delay').every(({{ x }}) => ({near})(x))"
    ));
    // Those that were out of view have the same range when they come.
    page.eval("[...document.querySelectorAll('.plot-delay')].at(-1).scrollIntoView()");
    page.wait(&format!("qdelayReport.plots().some(({{ kind, name, x }}) => kind === 'delay' && name.includes('007') && ({near})(x))"));
    page.eval("document.querySelector('.plot-rate').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind, name }) => kind === 'rate' && name.includes('000'))");
    let (left, top, width) = middle(&mut page, "document.querySelector('.plot-rate .u-over')");
    for clicks in [1, 2] {
        page.mouse("mousePressed", left + width / 2.0, top, clicks, true);
        page.mouse("mouseReleased", left + width / 2.0, top, clicks, false);
    }
    page.wait("qdelayReport.timeRange() === null");

    page.eval("document.querySelector('.plot-cdf').scrollIntoView({ block: 'center' }); document.querySelector('.plot-cdf').focus()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'cdf')");
    let before = x_range(&mut page, "cdf");
    page.key("+");
    page.wait(&format!(
        "qdelayReport.plots().find(({{ kind }}) => kind === 'cdf').x[0] > {}",
        before.0 * 1.01
    ));
    page.key("0");
    page.wait(&format!(
        "Math.abs(qdelayReport.plots().find(({{ kind }}) => kind === 'cdf').x[0] - {}) < 1e-6",
        before.0
    ));
    assert_quiet(&page);
}

#[test(Browser)]
fn pointing_at_a_point_or_a_curve_says_what_it_is() {
    let (scratch, mut page) = start("hint");
    open(&scratch, &mut page, &Fixture { seeds: 3, ..Fixture::default() });
    // Across the middle of the curves, until one is met.
    let (left, top, width) = middle(&mut page, "document.querySelector('.plot-cdf .u-over')");
    for step in 1..40 {
        page.mouse("mouseMoved", left + width * f64::from(step) / 40.0, top, 0, false);
        if page.eval("!document.querySelector('.hint').hidden") == json!(true) {
            break;
        }
    }
    page.wait("document.querySelector('.hint').textContent.includes('At most')");
    page.wait("document.querySelectorAll('tr.pointed').length === 1");
    screenshot(&mut page, "hint");
    page.mouse("mouseMoved", 5.0, 5.0, 0, false);
    page.wait(
        "document.querySelector('.hint').hidden && document.querySelectorAll('tr.pointed').length === 0",
    );
    assert_quiet(&page);
}

fn drag(page: &mut Page, from: f64, to: f64, y: f64) {
    page.mouse("mouseMoved", from, y, 0, false);
    page.mouse("mousePressed", from, y, 1, true);
    page.mouse("mouseMoved", (from + to) / 2.0, y, 0, true);
    page.mouse("mouseMoved", to, y, 0, true);
    page.mouse("mouseReleased", to, y, 1, false);
}

fn x_range(page: &mut Page, kind: &str) -> (f64, f64) {
    let range = page.eval(&format!("qdelayReport.plots().find((plot) => plot.kind === '{kind}').x"));
    (range[0].as_f64().unwrap(), range[1].as_f64().unwrap())
}

#[test(Browser)]
fn a_hundred_cases_scroll() {
    let (scratch, mut page) = start("scroll");
    let fixture = Fixture { traces: texts(&["a", "b", "c", "d", "e"]), seeds: 1, bins: 500, ..hundred() };
    open(&scratch, &mut page, &fixture);
    screenshot(&mut page, "hundred");
    let seen = page.eval(
        "(async () => {
            const frame = () => new Promise(requestAnimationFrame);
            const seen = new Set(), times = [];
            let most = 0, last = performance.now();
            for (let y = 0; y < document.documentElement.scrollHeight; y += 300) {
                scrollTo(0, y);
                await frame();
                await frame();
                const now = performance.now();
                times.push((now - last) / 2);
                last = now;
                const plots = qdelayReport.plots();
                plots.forEach(({ name }) => seen.add(name));
                most = Math.max(most, plots.length, document.querySelectorAll('canvas').length);
            }
            times.sort((a, b) => a - b);
            return { seen: seen.size, frames: qdelayReport.frames().length, most, median: times[times.length >> 1], worst: times.at(-1) };
        })()",
    );
    eprintln!(
        "100 cases: {} ms a frame, worst {} ms, at most {} plots alive of {}",
        seen["median"], seen["worst"], seen["most"], seen["frames"]
    );
    assert!(seen["frames"].as_u64().unwrap() >= 300, "{seen}");
    assert_eq!(seen["seen"], seen["frames"]);
    assert!(seen["most"].as_u64().unwrap() <= 40, "{seen}");
    assert_quiet(&page);
}

fn hundred() -> Fixture {
    let qdiscs = ["taildrop", "codel", "pie", "bode:target=20ms", "fq_codel"];
    Fixture {
        qdiscs: texts(&qdiscs),
        transports: texts(&["cubic", "bbr", "reno", "bbr:a=1"]),
        ..Fixture::default()
    }
}

#[test(Browser)]
fn texts_of_users_do_nothing() {
    let (scratch, mut page) = start("texts");
    let evil = "<img src=x onerror=\"window.hurt=1\">";
    let end = "</script><script>window.hurt=2</script><!--";
    let fixture = Fixture {
        title: format!("{end} {evil}"),
        about: format!("{evil}\n\n{end}"),
        qdiscs: texts(&[evil, end, "__proto__", "a\u{2028}b"]),
        transports: texts(&["'\"&amp;", "constructor"]),
        groups: vec![evil.to_string(), "__proto__".to_string()],
        expects: vec![expect(&format!("{evil}{end}"), 1.0, 2.0)],
        substitute_for: Some(evil.to_string()),
        ..Fixture::default()
    };
    open(&scratch, &mut page, &fixture);
    page.eval(
        "document.querySelectorAll('[data-axis=flows] input').forEach((box) => box.checked || box.click())",
    );
    page.eval("document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'rate')");
    page.eval("document.querySelector('.plot-plane').scrollIntoView()");
    assert_eq!(page.eval("typeof window.hurt"), json!("undefined"));
    assert_eq!(page.eval("document.querySelectorAll('img').length"), json!(0));
    assert_eq!(page.eval("document.title.includes('</script>') && document.querySelector('h1').textContent.includes('<img')"), json!(true));
    assert_eq!(page.eval("[...document.querySelectorAll('.cases td.text')].some((cell) => cell.textContent.includes('onerror'))"), json!(true));
    assert_eq!(page.eval("qdelayReport.plots().every(({ series }) => series > 0)"), json!(true));
    assert_quiet(&page);
}

#[test(Browser)]
fn folders_stand_side_by_side_also_in_the_dark_and_on_a_phone() {
    let (scratch, mut page) = start("folders");
    let before = fixture::write(&scratch.0, "before", &rich());
    let after = fixture::write(
        &scratch.0,
        "after",
        &Fixture { qdiscs: texts(&["taildrop", "fq_codel"]), ..Fixture::default() },
    );
    page.navigate(&report_of(&scratch.0, &[before, after]));
    page.wait("qdelayReport.plots().length >= 2");
    assert_eq!(page.eval("document.querySelectorAll('.panel').length"), json!(3)); // both, and each
    assert_eq!(page.eval("document.querySelectorAll('[data-axis=folder] input').length"), json!(2));
    assert_eq!(page.eval("document.querySelectorAll('.run').length"), json!(2));
    screenshot(&mut page, "folders");
    page.dark(true);
    page.wait("qdelayReport.plots().length >= 2");
    page.wait(PAINTED);
    assert_eq!(page.eval("getComputedStyle(document.body).backgroundColor"), json!("rgb(20, 22, 26)"));
    page.resize(420, 900);
    page.eval("scrollTo(0, 0)");
    page.wait("qdelayReport.plots().length >= 1");
    // Nothing but tables, which scroll by themselves, is wider than the page.
    page.wait("document.documentElement.scrollWidth <= 420");
    assert_quiet(&page);
}

#[test(Browser)]
fn a_cell_has_a_bar_by_stage_for_each_case() {
    let (scratch, mut page) = start("stages");
    open(
        &scratch,
        &mut page,
        &Fixture { cell: true, groups: texts(&["call", "file"]), ..Fixture::default() },
    );
    assert_eq!(page.eval("document.querySelectorAll('tr[data-stages]').length"), json!(8));
    page.eval("document.querySelectorAll('[data-axis=flows] input')[1].click()");
    page.wait("document.querySelectorAll('tr[data-stages]').length === 16");
    let heads = page.eval("[...document.querySelectorAll('.stages th')].map((head) => head.textContent)");
    assert_eq!(
        heads,
        json!(["", "Mean delay", "Sum (ms)", "SDAP", "RLC", "Air", "Reassembly", "In TTI (%)", "R"])
    );
    let widths = "[...document.querySelectorAll('.stage-bar')][0].querySelectorAll('.stage')";
    let widths = page.eval(&format!("[...{widths}].map((part) => part.style.width)"));
    assert_eq!(widths, json!(["66.67%", "22.22%", "8.89%", "2.22%"]));
    page.eval("document.querySelector('input[name=stageShare]').click()");
    let full = "[...document.querySelectorAll('.stage-bar div')].every((bar) => {
        const parts = [...bar.children].map((part) => part.getBoundingClientRect().width);
        return Math.abs(parts.reduce((a, b) => a + b, 0) - bar.getBoundingClientRect().width) < 1.5; })";
    page.wait(full);
    page.eval("document.getElementById('stages').scrollIntoView()");
    screenshot(&mut page, "stages");
    assert_quiet(&page);
    open(&scratch, &mut page, &Fixture::default());
    assert_eq!(page.eval("document.querySelector('#stages')"), json!(null));
}

#[test(Browser)]
fn slices_have_a_row_each_and_a_box_for_their_quantum() {
    let (scratch, mut page) = start("slices");
    let fixture = Fixture { cell: true, slices: 3, groups: texts(&["call", "file"]), ..Fixture::default() };
    open(&scratch, &mut page, &fixture);
    let rows = "document.querySelectorAll('tr[data-slice]').length";
    assert_eq!(page.eval(rows), json!(24), "three for each of eight points");
    page.eval("document.querySelectorAll('[data-axis=flows] input')[1].click()");
    page.wait("document.querySelectorAll('tr[data-stages]').length === 16");
    assert_eq!(page.eval(rows), json!(24), "once for all flows");
    let heads = page.eval("[...document.querySelectorAll('.slices th')].map((head) => head.textContent)");
    let expected = [
        "",
        "Slice",
        "Share (%)",
        "Throughput (Mbit/s)",
        "Used (%)",
        "Lent (%)",
        "Wasted (%)",
        "Quantum (RBs)",
        "Median",
    ];
    assert_eq!(heads, json!(expected), "nothing is unfit");
    let row = "[...document.querySelectorAll('tr[data-slice]')].slice(1, 3).map((row) => [...row.children].map((cell) => cell.textContent))";
    let figures = |name, median| json!(["", name, "25.0", "3.50", "90.0", "4.00", "6.00", "", median]);
    assert_eq!(page.eval(row), json!([figures("slice-1", "-10.0"), figures("slice-2", "-20.0")]));
    assert_eq!(page.eval("document.querySelectorAll('.quantum-box').length"), json!(16));
    // From -80 to 20: the box of the second is from -40 to 10.
    let box_style = "document.querySelectorAll('.quantum-box')[1].querySelector('.quartiles').style";
    let place = page.eval(&format!("[{box_style}.left, {box_style}.width]"));
    assert_eq!(place, json!(["40%", "50%"]));
    page.eval("document.getElementById('slices').scrollIntoView()");
    screenshot(&mut page, "slices");
    assert_quiet(&page);
    open(&scratch, &mut page, &Fixture { cell: true, ..Fixture::default() });
    assert_eq!(page.eval("document.querySelector('#slices')"), json!(null));
}

#[test(Browser)]
fn codepoints_and_hops_have_a_row_each() {
    let (scratch, mut page) = start("parts");
    let fixture = Fixture { coloured: true, groups: texts(&["call", "file"]), ..Fixture::default() };
    open(&scratch, &mut page, &fixture);
    let rows = |id: &str| format!("document.querySelectorAll('#{id} tr[data-part]').length");
    assert_eq!((page.eval(&rows("codepoints")), page.eval(&rows("hops"))), (json!(16), json!(16)));
    page.eval("document.querySelectorAll('[data-axis=flows] input')[1].click()");
    page.wait("document.querySelectorAll('table.cases tbody tr').length === 16");
    assert_eq!(page.eval(&rows("codepoints")), json!(16), "once for all flows");
    let table = |id: &str, part: &str| {
        format!(
            "[...document.querySelectorAll('#{id} tr')].{part}.map((row) => [...row.children].map((cell) => cell.textContent))"
        )
    };
    let delays = ["Mean (ms)", "p50 (ms)", "p95 (ms)", "p99 (ms)", "Max (ms)"];
    let counts = ["Arrived", "Dropped"];
    let heads = [&["", "Codepoint", "Throughput (Mbit/s)", "Loss (%)"][..], &delays, &counts].concat();
    assert_eq!(page.eval(&table("codepoints", "slice(0, 1)")), json!([heads]), "nothing is marked");
    let ef = ["", "ef", "3.50", "5.00", "8.00", "8.00", "8.00", "8.00", "8.00", "2\u{202f}000", "100"];
    assert_eq!(page.eval(&table("codepoints", "slice(2, 3)")), json!([ef]));
    let heads =
        [&["", "Hop", "Throughput (Mbit/s)", "Util. (%)", "Loss (%)"][..], &delays, &counts, &["Marked"]]
            .concat();
    assert_eq!(page.eval(&table("hops", "slice(0, 1)")), json!([heads]));
    let core = [
        "",
        "core",
        "7.25",
        "75.0",
        "0.25",
        "1.00",
        "1.00",
        "1.00",
        "1.00",
        "1.00",
        "4\u{202f}000",
        "10",
        "1",
    ];
    assert_eq!(page.eval(&table("hops", "slice(2, 3)")), json!([core]), "the second on the way");
    assert_eq!(page.eval("qdelayReport.frames().filter(({ kind }) => kind === 'bias').length"), json!(8));
    page.eval("document.getElementById('codepoints').scrollIntoView()");
    screenshot(&mut page, "codepoints");
    page.eval("document.querySelector('input[name=overlay]').click()");
    page.wait("qdelayReport.frames().filter(({ kind }) => kind === 'bias').length === 1");
    page.eval("document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'bias')");
    screenshot(&mut page, "green-bias");
    assert_quiet(&page);
    open(&scratch, &mut page, &Fixture::default());
    let absent = "['codepoints', 'hops'].map((id) => document.getElementById(id))";
    assert_eq!(page.eval(absent), json!([null, null]));
}

#[test(Browser)]
fn a_cell_has_its_queue_blocks_and_mcs_over_time_and_more_distributions() {
    let (scratch, mut page) = start("cell");
    let fixture = Fixture { cell: true, groups: texts(&["call", "file"]), ..Fixture::default() };
    open(&scratch, &mut page, &fixture);
    for kind in ["rlc", "used", "mcs"] {
        let of_kind = format!("qdelayReport.frames().filter(({{ kind }}) => kind === '{kind}').length");
        assert_eq!(page.eval(&of_kind), json!(8), "{kind}");
    }
    let choices = "[...document.querySelectorAll('select[name=cdfOf] option')].map((option) => option.value)";
    assert_eq!(page.eval(choices), json!(["queue", "sdap", "rlc"]));
    let choose =
        "(() => { const select = document.querySelector('select[name=cdfOf]'); select.value = 'sdap';
        select.dispatchEvent(new Event('change')); })()";
    page.eval(choose);
    // Stages are known of single flows only: nothing is drawn until one is ticked.
    page.wait("document.querySelector('.plot-cdf .plot-unit')?.textContent.includes('tick')");
    page.eval("document.querySelectorAll('[data-axis=flows] input')[1].click()");
    page.wait("qdelayReport.plots().find(({ kind }) => kind === 'cdf')?.series === 8");
    page.eval("document.querySelector('input[name=overlay]').click()");
    page.wait("qdelayReport.frames().filter(({ kind }) => kind === 'rlc').length === 1");
    page.eval("document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'rlc')");
    page.wait(PAINTED);
    screenshot(&mut page, "cell");
    assert_quiet(&page);
}

/// Each flow is a line, also where all flows count together; of one flow what stands behind its window is drawn too.
#[test(Browser)]
fn connections_have_their_window_round_trip_and_rate_over_time() {
    let (scratch, mut page) = start("connections");
    let fixture = Fixture {
        connections: true,
        groups: texts(&["cubic", "bbr"]),
        qdiscs: texts(&["taildrop", "codel"]),
        transports: texts(&["cubic"]),
        ..Fixture::default()
    };
    open(&scratch, &mut page, &fixture);
    for kind in ["cwnd", "rtt", "pacing"] {
        let of_kind = format!("qdelayReport.frames().filter(({{ kind }}) => kind === '{kind}').length");
        assert_eq!(page.eval(&of_kind), json!(2), "{kind}");
    }
    page.eval("document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind }) => kind === 'cwnd')");
    let lines = |kind: &str| format!("qdelayReport.plots().find((plot) => plot.kind === '{kind}')?.series");
    assert_eq!((page.eval(&lines("cwnd")), page.eval(&lines("rtt"))), (json!(2), json!(2)));
    page.wait(&format!("{} === 2", lines("pacing")));
    page.wait(PAINTED);
    screenshot(&mut page, "connections");
    // Only the first entry of [[flow]]: its window, with threshold and bytes in flight behind it.
    page.eval("document.querySelectorAll('[data-axis=flows] input')[1].click(); document.querySelectorAll('[data-axis=flows] input')[0].click()");
    page.wait(&format!("{} === 3", lines("cwnd")));
    page.eval("document.querySelector('input[name=overlay]').click()");
    page.wait("qdelayReport.frames().filter(({ kind }) => kind === 'cwnd').length === 1");
    page.wait(&format!("{} === 2", lines("cwnd")));
    assert_quiet(&page);
}

fn rich() -> Fixture {
    Fixture {
        seeds: 3,
        groups: texts(&["video", "file"]),
        expects: vec![
            expect("BoDe's 99th percentile is at most a fifth of TailDrop's", 0.043, 0.2),
            expect("CoDel keeps nine tenths of the throughput", 1.4, 1.1),
        ],
        substitute_for: Some("mahimahi/ATT-LTE-driving.down".to_string()),
        ..Fixture::default()
    }
}

#[test(Browser)]
fn prints_every_plot_and_pictures_of_all() {
    let (scratch, mut page) = start("print");
    open(&scratch, &mut page, &rich());
    page.eval("dispatchEvent(new Event('beforeprint'))");
    page.wait("qdelayReport.frames().every(({ live }) => live)");
    page.eval("dispatchEvent(new Event('afterprint'))");
    page.wait("qdelayReport.frames().filter(({ live }) => live).length < 12");
    assert_quiet(&page);
    for (name, width, dark) in [
        ("wide-light", 1400, false),
        ("wide-dark", 1400, true),
        ("narrow-light", 420, false),
        ("narrow-dark", 420, true),
    ] {
        page.resize(width, 1000);
        page.dark(dark);
        page.eval("scrollTo(0, 0)");
        page.wait("qdelayReport.plots().some(({ kind }) => kind === 'plane')");
        screenshot(&mut page, name);
        page.eval("document.getElementById('time').scrollIntoView()");
        page.wait("qdelayReport.plots().some(({ kind }) => kind === 'rate')");
        screenshot(&mut page, &format!("{name}-time"));
    }
    let _: Value = page.eval("null");
}
