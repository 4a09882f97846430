//! How the page looks and reads: widths, light and dark, paper, an audit by axe-core.

use super::{Page, assert_quiet, browser, crate_folder, open, screenshot};
use qdelay_testing::{Need, skip};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// axe-core, from the registry of npm, below `target`, where it stays for the next time. Skips the test where it cannot be had.
fn axe() -> PathBuf {
    let source = crate_folder().join("tests/browser/axe");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("axe");
    let program = folder.join("node_modules/axe-core/axe.min.js");
    let lock = fs::read_to_string(source.join("package-lock.json")).unwrap();
    let installed = folder.join("installed-lock.json");
    if program.is_file() && fs::read_to_string(&installed).is_ok_and(|old| old == lock) {
        return program;
    }
    fs::create_dir_all(&folder).unwrap();
    for name in ["package.json", "package-lock.json"] {
        fs::copy(source.join(name), folder.join(name)).unwrap();
    }
    let output = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--fetch-timeout=30000", "--fetch-retries=1"])
        .current_dir(&folder)
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            skip(Need::Stream, format_args!("npm ci: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => skip(Need::Stream, format_args!("no npm in PATH: {error}")),
    }
    fs::write(installed, lock).unwrap();
    program
}

fn play_to(page: &mut Page, ms: u32) {
    page.eval(&format!("qdelayPlayground.advance({ms}, Infinity); qdelayPlayground.wake()"));
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
}

#[test]
fn an_audit_finds_nothing() {
    let (_scratch, mut page) = browser("audit");
    let axe = fs::read_to_string(axe()).unwrap();
    for (address, width, dark) in [
        ("#lesson=bufferbloat", 1280, false),
        ("#lesson=lying", 1280, true),
        ("#lesson=fair-queueing", 400, true),
        ("#lesson=pacers", 400, false),
    ] {
        page.resize(width, 900);
        page.dark(dark);
        open(&mut page, address);
        play_to(&mut page, 12_000);
        page.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
        page.eval(&format!("{axe}; 0"));
        let found = page.eval(
            "axe.run().then(({ violations }) => violations.map(({ id, impact, nodes }) => [id, impact, nodes.map(({ html }) => html.slice(0, 200))]))",
        );
        assert_eq!(found, json!([]), "{address}");
    }
    assert_quiet(&page);
}

#[test]
fn it_fits_phones_screens_and_paper() {
    let (_scratch, mut page) = browser("widths");
    for (name, address, seconds) in [
        ("bufferbloat", "#lesson=bufferbloat", 21),
        ("lying", "#lesson=lying", 25),
        ("bode", "#lesson=bode", 30),
    ] {
        for (width, dark) in [(1280, false), (1280, true), (400, false), (400, true)] {
            page.resize(width, 900);
            page.dark(dark);
            open(&mut page, address);
            play_to(&mut page, seconds * 1000);
            let wide = page.eval("document.documentElement.scrollWidth").as_f64().unwrap();
            assert!(wide <= f64::from(width), "{name} is {wide} wide at {width}");
            let small = page.eval(
                "[...document.querySelectorAll('canvas')].filter(({ clientWidth, clientHeight }) => clientWidth < 250 || clientHeight < 100).length",
            );
            assert_eq!(small, json!(0));
            screenshot(&mut page, &format!("{name}-{width}-{}", if dark { "dark" } else { "light" }));
        }
    }
    page.dark(false);
    page.paper(Some(704));
    play_to(&mut page, 31_000);
    let shown = page.eval("['.transport', '#form', '#link-picture', '#figures'].map((one) => document.querySelector(one).offsetParent !== null)");
    assert_eq!(shown, json!([false, false, true, true]));
    screenshot(&mut page, "paper");
    assert!(page.pdf().len() > 20_000);
    page.paper(None);
    assert_quiet(&page);
}

#[test]
fn it_stands_still_where_that_is_wanted() {
    let (_scratch, mut page) = browser("calm");
    page.call(
        "Emulation.setEmulatedMedia",
        json!({ "features": [{ "name": "prefers-reduced-motion", "value": "reduce" }] }),
    );
    page.go(&super::built().display().to_string());
    page.wait("'qdelayPlayground' in window");
    assert_eq!(page.eval("[qdelayPlayground.isPlaying, qdelayPlayground.now]"), json!([false, 0]));
    let drawn = page.eval(
        "(async () => {
            let drawn = 0;
            const { charts } = qdelayPlayground, moving = charts.moving.bind(charts);
            charts.moving = (view) => { drawn += 1; moving(view); };
            document.getElementById('play').click();
            await new Promise((done) => setTimeout(done, 1600));
            return drawn;
        })()",
    );
    assert!((1..=4).contains(&drawn.as_u64().unwrap()), "{drawn} pictures in 1.6 s");
    assert_quiet(&page);
}
