//! Layout and accessibility of the page: widths, light and dark, paper, an audit by axe-core.

use super::{Page, assert_quiet, browser, crate_folder, open, screenshot};
use qdelay_testing::{Need, skip};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// axe-core from the npm registry, kept below `target`. Skips the test if it cannot be downloaded.
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

#[test(Browser)]
fn an_audit_finds_nothing() {
    let (_scratch, mut page) = browser("audit");
    let axe = fs::read_to_string(axe()).unwrap();
    for (address, width, dark) in [
        ("#lesson=bufferbloat", 1280, false),
        ("#lesson=lying", 1280, true),
        ("#lesson=fair-queueing", 400, true),
        ("#lesson=pacers", 400, false),
        ("#lesson=bufferbloat&view=lecture", 1280, false),
        ("#lesson=lying&view=lecture", 1280, true),
        ("#lesson=bode&view=lecture", 400, false),
    ] {
        page.resize(width, 900);
        page.dark(dark);
        open(&mut page, address);
        play_to(&mut page, 12_000);
        page.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
        page.eval(&format!("{axe}; 0"));
        page.eval("qdelayPlayground.readLesson(Boolean(qdelayPlayground.state.view))");
        let found = page.eval(
            "axe.run().then(({ violations }) => violations.map(({ id, impact, nodes }) => [id, impact, nodes.map(({ html }) => html.slice(0, 200))]))",
        );
        assert_eq!(found, json!([]), "{address}");
    }
    assert_quiet(&page);
}

#[test(Browser)]
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

/// Elements of the lecture view outside the screen, covered or cut, and the smallest font size: elements with their own
/// text, or charts.
const SEEN: &str = "(() => {
    const faults = [];
    let smallest = Infinity;
    for (const one of document.querySelectorAll('body *')) {
        const box = one.getBoundingClientRect();
        const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()) || one.tagName === 'SELECT';
        if (!hasText && one.tagName !== 'CANVAS' || one.closest('option, optgroup, .told, .skip, h1') || box.width === 0 || getComputedStyle(one).fontSize === '0px') continue;
        const name = `${one.tagName} ${one.id || one.textContent.slice(0, 20)}`;
        smallest = Math.min(smallest, parseFloat(getComputedStyle(one).fontSize));
        // Long contents scroll in their own area.
        if (one.closest('#lesson, #flows')) continue;
        if (box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight) faults.push(`${name} is outside`);
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        if (!top || !(one.contains(top) || top.contains(one)) && top.id !== 'ring') faults.push(`${name} is behind ${top?.tagName} ${top?.id}`);
        if (one.tagName !== 'SELECT' && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !one.matches('.plot-unit, .rest')) faults.push(`${name} is cut`);
    }
    for (const one of document.querySelectorAll('.felt, #feelings, .key, .transport')) if (one.scrollHeight > one.clientHeight + 2) faults.push(`${one.className} has no room`);
    if (document.documentElement.scrollHeight > innerHeight || document.documentElement.scrollWidth > innerWidth) faults.push('the page scrolls');
    return { faults, smallest };
})()";

#[test(Browser)]
fn a_lecture_fits_a_projector() {
    let (_scratch, mut page) = browser("lecture");
    // The second size is the first without the bars of a window.
    for (width, height) in [(1280, 720), (1280, 600), (1920, 1080), (1024, 768)] {
        for dark in [false, true] {
            page.dark(dark);
            page.resize(width, height);
            open(&mut page, "#lesson=bode&view=lecture");
            for (lesson, seconds) in [
                ("bufferbloat", 21),
                ("falling-rate", 21),
                ("bode", 30),
                ("fair-queueing", 25),
                ("pacers", 12),
                ("lying", 25),
            ] {
                let name = format!("{lesson} at {width}x{height}");
                page.eval(&format!(
                    "qdelayPlayground.takeLesson('{lesson}', {{}}, false); qdelayPlayground.readLesson(false)"
                ));
                play_to(&mut page, seconds * 1000);
                let is_of_shares = page
                    .eval("document.getElementById('stage').classList.contains('of-shares')")
                    == json!(true);
                let shown = |page: &mut Page, ids: &[&str]| {
                    page.eval(&format!(
                        "{}.filter((id) => document.getElementById(id).getClientRects().length > 0)",
                        json!(ids)
                    ))
                };
                let third = if is_of_shares { "shares" } else { "queue-picture" };
                let wanted = [
                    "link-picture",
                    "delay-picture",
                    third,
                    "key",
                    "feel",
                    "play",
                    "speed",
                    "lesson-choice",
                    "read-lesson",
                    "leave-lecture",
                ];
                assert_eq!(shown(&mut page, &wanted), json!(wanted), "{name}");
                assert_eq!(
                    shown(&mut page, &["form", "figures", "cdf-picture", "lesson", "step", "share"]),
                    json!([]),
                    "{name}"
                );
                let values = page
                    .eval("parseFloat(getComputedStyle(document.querySelector('.felt-side b')).fontSize)")
                    .as_f64()
                    .unwrap();
                for reading in [false, true] {
                    page.eval(&format!("qdelayPlayground.readLesson({reading})"));
                    let seen = page.eval(SEEN);
                    assert_eq!(seen["faults"], json!([]), "{name}, reading: {reading}");
                    // Font size relative to the height of a screen of these proportions: the limit for the back row.
                    let high = f64::from(height.min(width * 9 / 16));
                    assert!(
                        seen["smallest"].as_f64().unwrap() >= 0.024 * high && values >= 0.045 * high,
                        "{name}: {seen}, {values}"
                    );
                    let small = page.eval("[...document.querySelectorAll('canvas')].filter(({ clientWidth: width, clientHeight: height }) => width > 0 && (width < innerWidth * 0.4 || height < innerHeight * 0.12)).length");
                    assert_eq!(small, json!(0), "{name}");
                    assert_eq!(
                        shown(&mut page, &["lesson", "feel"]),
                        json!([if reading { "lesson" } else { "feel" }]),
                        "{name}"
                    );
                    if [720, 1080].contains(&height) {
                        let kind = if dark { "dark" } else { "light" };
                        super::screenshot_of(
                            &mut page,
                            &format!("lecture-{lesson}-{width}-{kind}{}", if reading { "-text" } else { "" }),
                            false,
                        );
                    }
                }
            }
        }
    }
    assert_quiet(&page);
}

/// Long parameters and several transports are cut, and everything else keeps its place.
#[test(Browser)]
fn a_lecture_fits_with_long_parameters() {
    let (_scratch, mut page) = browser("lecture-long");
    for (width, height) in [(1280, 720), (1024, 768)] {
        page.resize(width, height);
        open(
            &mut page,
            "#a=priority:ef@[taildrop:limit_bytes=60kb]%2Brest@[codel]&b=fq_codel:flows=1024:target=10ms:limit=5000&flows=cubic:ecn=on*3,bbr,reno,scream&view=lecture",
        );
        play_to(&mut page, 8000);
        assert_eq!(page.eval(SEEN)["faults"], json!([]), "{width}x{height}");
        for id in ["pick-a", "pick-b", "pick-transport"] {
            let wide = page.eval(&format!("document.getElementById('{id}').clientWidth")).as_f64().unwrap();
            assert!(wide > 100.0, "{id} is {wide} wide");
        }
    }
    assert_quiet(&page);
}

#[test(Browser)]
fn a_lecture_is_held_by_keys_and_by_hand() {
    let (_scratch, mut page) = browser("lecture-keys");
    page.resize(1280, 720);
    open(&mut page, "#lesson=bufferbloat");
    let view = "document.documentElement.dataset.view";
    page.key("v");
    page.wait(&format!("{view} === 'lecture' && location.hash.includes('view=lecture')"));
    // Nothing else changes the state.
    assert_eq!(page.eval("document.getElementById('lesson-departure').textContent"), json!(""));
    page.key("l");
    assert_eq!(page.eval("[qdelayPlayground.isReading, document.activeElement.id, document.getElementById('read-lesson').ariaExpanded]"), json!([true, "lesson", "true"]));
    page.key("Escape");
    assert_eq!(
        page.eval(&format!("[qdelayPlayground.isReading, document.activeElement.id, {view}]")),
        json!([false, "read-lesson", "lecture"])
    );
    page.eval("document.activeElement.blur()");
    page.key(" ");
    page.wait("qdelayPlayground.isPlaying && qdelayPlayground.now > 200");
    page.key(" ");
    page.wait("!qdelayPlayground.isPlaying");
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowDown");
    page.wait("document.getElementById('rate-said').textContent === '8.7 Mbit/s'");
    // The ring is dragged by a pointer.
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let at = page.eval(
        "(({ left, top }) => [left + qdelayPlayground.charts.ring[0], top + qdelayPlayground.charts.ring[1]])(document.getElementById('link-picture').getBoundingClientRect())",
    );
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    page.mouse("mouseMoved", x, y, 0, false);
    page.mouse("mousePressed", x, y, 1, true);
    page.mouse("mouseMoved", x, y + 50.0, 0, true);
    page.mouse("mouseReleased", x, y + 50.0, 1, false);
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.at(-1)[1] < 6000");
    // Another lesson and a message appear too.
    page.eval("(() => { const field = document.getElementById('lesson-choice'); field.value = 'bode'; field.dispatchEvent(new Event('change')); })()");
    assert_eq!(page.eval(&format!("[qdelayPlayground.state.lesson, {view}]")), json!(["bode", "lecture"]));
    page.eval("qdelayPlayground.changed('start', { rtt: 'forty' })");
    let message = page.eval(
        "(({ top, bottom }) => [top, bottom])(document.getElementById('notice').getBoundingClientRect())",
    );
    assert!(message[0].as_f64().unwrap() > 0.0 && message[1].as_f64().unwrap() < 720.0, "{message}");
    page.key("Escape");
    assert_eq!(
        page.eval(&format!("[document.getElementById('notice').hidden, {view}]")),
        json!([true, "lecture"])
    );
    page.key("Escape");
    page.wait(&format!("{view} === '' && !location.hash.includes('view')"));
    page.eval("document.getElementById('lecture').focus(); document.getElementById('lecture').click()");
    assert_eq!(
        page.eval(&format!("[{view}, document.activeElement.id]")),
        json!(["lecture", "leave-lecture"])
    );
    page.eval("document.getElementById('leave-lecture').click()");
    assert_eq!(page.eval(&format!("[{view}, document.activeElement.id]")), json!(["", "lecture"]));
    assert_quiet(&page);
}

/// A printed run looks the same from any view and in any colours.
#[test(Browser)]
fn paper_has_the_usual_page() {
    let (_scratch, mut page) = browser("paper");
    let mut seen = Vec::new();
    for (address, dark) in
        [("#lesson=bode", false), ("#lesson=bode&view=lecture", false), ("#lesson=bode&view=lecture", true)]
    {
        page.dark(dark);
        open(&mut page, address);
        play_to(&mut page, 5000);
        page.eval("dispatchEvent(new Event('beforeprint'))");
        let text = page.eval("document.body.innerText").as_str().unwrap().to_string();
        let pictures = page.eval("[...document.querySelectorAll('canvas')].map((one) => one.toDataURL())");
        seen.push((text, pictures));
        page.eval("dispatchEvent(new Event('afterprint'))");
        let after = if address.contains("view") { "lecture" } else { "" };
        assert_eq!(page.eval("document.documentElement.dataset.view"), json!(after));
    }
    for (text, pictures) in &seen[1..] {
        assert_eq!(*text, seen[0].0);
        assert!(*pictures == seen[0].1, "pictures differ");
    }
    // Controls of the lecture view are not printed, even without a print event.
    page.paper(Some(704));
    let shown = page.eval("['.of-lecture', '#leave-lecture', '#lesson-choice', '.ring', '#figures', '#cdf-picture'].map((one) => document.querySelector(one).getClientRects().length > 0)");
    assert_eq!(shown, json!([false, false, false, false, true, true]));
    assert!(page.pdf().len() > 20_000);
    assert_quiet(&page);
}

#[test(Browser)]
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
