//! The page in a real browser: from a file, without a network.
//!
//! Skipped without a Chromium in `PATH` (or `QDELAY_BROWSER`), and without the target `wasm32-unknown-unknown`. `QDELAY_SCREENSHOTS=DIR`
//! saves screenshots.

#[allow(dead_code, reason = "shared with the tests of the report, which also print")]
mod devtools;
mod looks;
mod use_of;
mod wrong;

use crate::session::summary;
use devtools::Page;
use qdelay_core::component::Component;
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_testing::{Need, skip};
use qdelay_web::session::read;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

const TARGET: &str = "wasm32-unknown-unknown";
const COMPRESSED_BYTES_MAX: usize = 1_500_000;

fn crate_folder() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into()).into()
}

/// Page, built once. Skips the test if the Rust toolchain has no WebAssembly target.
fn built() -> &'static Path {
    static PAGE: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match PAGE.get_or_init(build) {
        Ok(file) => file,
        Err(lack) => skip(Need::Tools, lack),
    }
}

fn build() -> Result<PathBuf, String> {
    let folder = crate_folder();
    let library = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(&folder)
        .output();
    let is_there =
        |output: std::process::Output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).exists();
    if !library.is_ok_and(is_there) {
        return Err(format!("the target {TARGET} is not installed"));
    }
    // The folder of `make playground`, so that neither builds twice.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--offline", "--package", "qdelay-web", "--lib"])
        .args(["--profile", "playground", "--target", TARGET])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (module, page) = (
        target.join(TARGET).join("playground/qdelay_web.wasm"),
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("playground/index.html"),
    );
    let output = Command::new("sh").arg(folder.join("bundle")).args([&module, &page]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(page)
}

/// Folder of a test, removed at its end.
struct Scratch(PathBuf);
impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Browser of 1280 by 900 pixels without an open page. Skips the test if there is none.
fn browser(name: &str) -> (Scratch, Page) {
    let Some(program) = devtools::find() else {
        skip(Need::Browser, "no Chromium in PATH, and QDELAY_BROWSER names none");
    };
    built();
    let folder = env::temp_dir().join(format!("qdelay-web-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let page = Page::open(&program, &folder.join("profile"), 1280, 900);
    (Scratch(folder), page)
}

/// Opens the page with this fragment, waits until a run plays, and pauses it.
fn open(page: &mut Page, address: &str) {
    // A change of the fragment alone would not load the page again.
    page.go("/dev/null");
    page.go(&format!("{}{address}", built().display()));
    page.wait("'qdelayPlayground' in window");
    page.eval("qdelayPlayground.play(false)");
}

/// Asserts that the page logged no error, and requested nothing from the network.
fn assert_quiet(page: &Page) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    let others: Vec<String> = page
        .requests()
        .into_iter()
        .filter(|url| !["file:", "blob:", "data:"].iter().any(|own| url.starts_with(own)))
        .collect();
    assert_eq!(others, Vec::<String>::new());
}

/// Error message of the page; empty without one.
fn notice(page: &mut Page) -> String {
    page.eval("(({ hidden, textContent }) => (hidden ? '' : textContent))(document.getElementById('notice'))")
        .as_str()
        .unwrap()
        .to_string()
}

fn screenshot(page: &mut Page, name: &str) {
    screenshot_of(page, name, true);
}
fn screenshot_of(page: &mut Page, name: &str, whole: bool) {
    let Some(folder) = env::var_os("QDELAY_SCREENSHOTS") else { return };
    fs::create_dir_all(&folder).unwrap();
    page.eval("new Promise((done) => setTimeout(done, 300))");
    let picture = devtools::base64(&page.screenshot(whole));
    fs::write(Path::new(&folder).join(format!("{name}.png")), picture).unwrap();
}

#[test(Browser)]
fn figures_are_those_of_the_command_to_the_last_digit() {
    let (_scratch, mut page) = browser("figures");
    open(&mut page, "");
    // Heavy cases: a trace with TCP and a call; a cell with a fading radio channel; calls with video, whose controls compute most.
    for (name, index) in [("demo/first", 3), ("demo/first", 8), ("demo/cell", 5), ("rfc8867/variable-one", 0)]
    {
        let text = shipped::find(name).unwrap();
        let asked = |op: Value| format!("qdelayPlayground.engine.call({op})");
        page.eval(&asked(json!({ "op": "open", "text": text, "cases": [index], "bin_ms": 50 })));
        // Steps as on the page.
        page.eval("for (let at = 0; at < 400; at += 1) qdelayPlayground.engine.advance(at * 33.7)");
        let played = page.eval(&asked(json!({ "op": "finish", "side": 0 })));
        let native = summary(text, index);
        assert!(played["text"] == json!(native), "{name}, case {index}: {played}\n{native}");
    }
    assert_quiet(&page);
}

/// Flows of each transport over each discipline without required parameters, and the number of these disciplines.
fn everything() -> (String, u64) {
    let text = |qdiscs: &[&str], transports: &[&str]| {
        let flow = |name: &&str| format!("[[flow]]\nname = '{name}'\ntransport = '{name}'\n");
        let flows: String = transports.iter().map(flow).collect();
        let run = "[run]\nduration = '3s'\nseries = '100ms'\nprobe = true\n";
        format!(
            "[path]\nlink = '30mbit'\nuplink = '10mbit'\nlimit = 200\n{flows}{run}[matrix]\npath.qdisc = {qdiscs:?}\n"
        )
    };
    let is_read = |qdisc: &str, transport: &str| {
        read(&text(&[qdisc], &[transport])).is_ok_and(|study| study.case(0, &Library::new()).is_ok())
    };
    let names = |all: &[&'static Component]| all.iter().map(|one| one.name).collect::<Vec<_>>();
    let mut qdiscs = names(qdelay_core::qdisc::COMPONENTS);
    qdiscs.retain(|name| is_read(name, "cubic"));
    let mut transports = names(qdelay_traffic::transport::COMPONENTS);
    transports.retain(|name| is_read("taildrop", name));
    println!("{qdiscs:?} under {transports:?}");
    assert!(qdiscs.len() > 10 && transports.len() > 15, "{qdiscs:?} {transports:?}");
    (text(&qdiscs, &transports), qdiscs.len() as u64)
}

/// The page's machine has 32-bit words, and another compiler backend.
#[test(Browser)]
fn every_discipline_and_transport_has_the_figures_of_the_command() {
    let (_scratch, mut page) = browser("everything");
    open(&mut page, "");
    let (text, count) = everything();
    for index in 0..count {
        let asked = |op: Value| format!("qdelayPlayground.engine.call({op})");
        page.eval(&asked(json!({ "op": "open", "text": text, "cases": [index], "bin_ms": 50 })));
        page.eval("qdelayPlayground.engine.advance(1234.5)");
        let played = page.eval(&asked(json!({ "op": "finish", "side": 0 })));
        assert!(played["text"] == json!(summary(&text, index)), "case {index}: {played}");
    }
    assert_quiet(&page);
}

#[test(Browser)]
fn the_page_is_small_and_soon_there() {
    let (_scratch, mut page) = browser("size");
    let output = Command::new("gzip").args(["-9", "-n", "-c"]).arg(built()).output().unwrap();
    let bytes = output.stdout.len();
    println!("compressed: {bytes} bytes");
    assert!(bytes < COMPRESSED_BYTES_MAX, "{bytes}");
    open(&mut page, "#lesson=bufferbloat");
    let times = page.eval(
        "[...performance.getEntriesByType('paint'), ...performance.getEntriesByType('mark')].map(({ name, startTime }) => [name, Math.round(startTime)])",
    );
    println!("ms from the request: {times}");
    assert_quiet(&page);
}

/// CPU time of the page's thread, which is independent of other load; the frame rate is only printed.
#[test(Browser)]
fn twenty_flows_at_fifty_megabits() {
    let (_scratch, mut page) = browser("speed");
    open(&mut page, "#a=codel&b=&flows=cubic*20&link=50mbit&apps=");
    page.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    page.eval(
        "(() => { const page = qdelayPlayground, run = page.run.bind(page); globalThis.drawn = 0; page.run = (at) => { drawn += 1; run(at); }; })();
         qdelayPlayground.begin(qdelayPlayground.state, { play: true })",
    );
    page.wait("qdelayPlayground.now > 500");
    let mut stand = || {
        let metrics = page.call("Performance.getMetrics", json!({}));
        let busy = metrics["metrics"].as_array().unwrap().iter().find(|one| one["name"] == "TaskDuration");
        let seen = page.eval("[qdelayPlayground.now / 1000, performance.now() / 1000, drawn]");
        let of = |at: usize| seen[at].as_f64().unwrap();
        page.eval("new Promise((done) => setTimeout(done, 4000))");
        [busy.unwrap()["value"].as_f64().unwrap(), of(0), of(1), of(2)]
    };
    let (begun, ended) = (stand(), stand());
    let [busy, simulated, passed, frames] = std::array::from_fn(|at| ended[at] - begun[at]);
    println!(
        "20 flows at 50 Mbit/s: {:.2} s of CPU time of the page for a simulated second, {:.1} ms for a frame; {:.2} of real time at {:.0} \
         frames a second",
        busy / simulated,
        1000.0 * busy / frames,
        simulated / passed,
        frames / passed
    );
    assert!(busy < simulated, "{busy} s of CPU time for {simulated} s");
    assert_quiet(&page);
}
