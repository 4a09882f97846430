//! What can be done with the page: steering, settings, the address, lessons, the keyboard.

use super::{assert_quiet, browser, notice, open};
use crate::session::summary;
use serde_json::json;

/// Where a time (ms) and a rate (kbit/s) are on the picture of the link.
fn place(page: &mut super::Page, ms: f64, kbit: f64) -> (f64, f64) {
    let at = page.eval(&format!(
        "(() => {{ const box = document.getElementById('link-picture').getBoundingClientRect(), {{ link }} = qdelayPlayground.charts;
            return [box.left + link.atX({ms} / 1000), box.top + link.atY({kbit} / 1000)]; }})()"
    ));
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

#[test]
fn the_link_is_dragged_and_drawn() {
    let (_scratch, mut page) = browser("drag");
    open(&mut page, "#link=20mbit&flows=cubic&a=taildrop&b=codel");
    page.eval("qdelayPlayground.advance(4000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('4.0 s')");
    page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    let (x, y) = place(&mut page, 4000.0, 20_000.0);
    let (_, low) = place(&mut page, 4000.0, 4000.0);
    page.mouse("mouseMoved", x, y, 0, false);
    page.mouse("mousePressed", x, y, 1, true);
    page.mouse("mouseMoved", x, low, 0, true);
    page.mouse("mouseReleased", x, low, 1, false);
    // The page is told of a movement at its next frame, which may be after the browser has taken it.
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length === 2 && qdelayPlayground.points[1][1] < 10_000");
    let rate = page.eval("qdelayPlayground.points.at(-1)[1]").as_f64().unwrap();
    assert!((3500.0..4500.0).contains(&rate), "{rate}");
    // What comes: two seconds of another rate, from 6 s on.
    let (from, high) = place(&mut page, 6000.0, 12_000.0);
    let (to, _) = place(&mut page, 8000.0, 12_000.0);
    page.mouse("mouseMoved", from, high, 0, false);
    page.mouse("mousePressed", from, high, 1, true);
    page.mouse("mouseMoved", (from + to) / 2.0, high, 0, true);
    page.mouse("mouseMoved", to, high, 0, true);
    page.mouse("mouseReleased", to, high, 1, false);
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length >= 4 && qdelayPlayground.points.at(-1)[0] >= 7900");
    page.eval("qdelayPlayground.advance(10_000, Infinity)");
    let seen =
        page.eval("[1, 5, 7, 9].map((second) => qdelayPlayground.engine.column(0, 0)[second * 20 + 5])");
    let at = |index: usize| seen[index].as_f64().unwrap();
    assert_eq!(at(0), 20.0);
    assert!((at(1) * 1000.0 - rate).abs() < 100.0 && (at(3) * 1000.0 - rate).abs() < 100.0, "{seen}");
    assert!((11.0..13.0).contains(&at(2)), "{seen}");
    // The text has what was drawn, and a run of it has that link.
    let text = page.eval("document.getElementById('text').value");
    assert!(text.as_str().unwrap().contains("link = \"steps:0s@20mbit+4s@"), "{text}");
    let text = text.as_str().unwrap();
    let played = page.eval("qdelayPlayground.engine.call({ op: 'finish', side: 0 }).text");
    assert!(played == json!(summary(text, 0)), "what was drawn while it ran is what the scenario has");
    assert_eq!(page.eval("qdelayPlayground.figures()"), played);
    assert_quiet(&page);
}

#[test]
fn a_finger_drags_it_on_a_phone() {
    let (_scratch, mut page) = browser("finger");
    page.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": true }));
    page.resize(400, 850);
    open(&mut page, "#link=20mbit&flows=cubic&apps=&b=");
    page.eval("qdelayPlayground.advance(4000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('4.0 s')");
    page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    let (x, y) = place(&mut page, 4000.0, 20_000.0);
    let (_, low) = place(&mut page, 4000.0, 2000.0);
    let scrolled = page.eval("scrollY");
    for (kind, points) in [
        ("touchStart", json!([{ "x": x, "y": y }])),
        ("touchMove", json!([{ "x": x, "y": (y + low) / 2.0 }])),
        ("touchMove", json!([{ "x": x, "y": low }])),
        ("touchEnd", json!([])),
    ] {
        page.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
    }
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length === 2");
    let rate = page.eval("qdelayPlayground.points.at(-1)[1]").as_f64().unwrap();
    assert!((1500.0..2600.0).contains(&rate), "{rate}");
    assert_eq!(page.eval("scrollY"), scrolled, "the page does not scroll under the finger");
    assert_quiet(&page);
}

#[test]
fn settings_change_what_is_played() {
    let (_scratch, mut page) = browser("settings");
    open(&mut page, "");
    let choose = |id: &str, value: &str| {
        format!(
            "(() => {{ const field = document.getElementById('{id}'); field.value = '{value}'; field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        )
    };
    page.eval("qdelayPlayground.advance(3000, Infinity)");
    // A discipline is exchanged while the run lasts.
    page.eval(&choose("qdisc-a", "bode"));
    assert_eq!(page.eval("[qdelayPlayground.now, qdelayPlayground.said[0].qdisc]"), json!([3000, "bode"]));
    page.eval("document.getElementById('parameters-a').open = true");
    page.eval(&choose("parameter-a-target", "10ms"));
    assert_eq!(page.eval("qdelayPlayground.said[0].qdisc"), json!("bode:target=10ms"));
    page.eval(&choose("parameter-a-target", "ten"));
    assert!(notice(&mut page).contains("target"), "{}", notice(&mut page));
    assert_eq!(
        page.eval("[qdelayPlayground.now, qdelayPlayground.said[0].qdisc]"),
        json!([3000, "bode:target=10ms"])
    );
    // Both sides with one discipline, and apart again.
    page.eval(&choose("qdisc-b", "bode"));
    page.eval(&choose("qdisc-a", "bode"));
    assert_eq!(page.eval("qdelayPlayground.said.map(({ qdisc }) => qdisc)"), json!(["bode", "bode"]));
    page.eval(&choose("qdisc-a", "pie"));
    assert_eq!(
        page.eval("[qdelayPlayground.now, ...qdelayPlayground.said.map(({ qdisc }) => qdisc)]"),
        json!([3000, "pie", "bode"])
    );
    // All else begins again.
    page.eval(&choose("flow-transport-0", "bbr"));
    assert_eq!(
        page.eval("[qdelayPlayground.now, qdelayPlayground.said[0].flows[0].transport]"),
        json!([0, "bbr"])
    );
    page.eval(&choose("flow-transport-0", "cubic"));
    page.eval("document.getElementById('parameters-flow-0').open = true");
    page.eval(&choose("parameter-flow-0-ecn", "on"));
    assert_eq!(page.eval("[qdelayPlayground.state.flows, qdelayPlayground.said[0].flows[0].transport, document.getElementById('parameters-flow-0').open]"), json!(["cubic:ecn=on@5s", "cubic:ecn=on", true]));
    page.eval("document.getElementById('log').click()");
    page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(page.eval("qdelayPlayground.charts.delay.y.log"), json!(true));
    page.eval(&choose("qdisc-b", ""));
    assert_eq!(page.eval("qdelayPlayground.said.length"), json!(1));
    page.eval(&choose("link-choice", "synth-lte-driving"));
    assert_eq!(notice(&mut page), "");
    // A trace is taken over by hand as it was until then.
    page.eval("qdelayPlayground.advance(2000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('2.0 s')");
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowUp");
    page.wait(
        "qdelayPlayground.state.link.startsWith('steps:') && qdelayPlayground.points.at(-1)[0] === 2000",
    );
    // A scenario by hand.
    page.eval(&choose("shipped", "demo/first"));
    assert_eq!(
        page.eval("qdelayPlayground.said.map(({ labels }) => labels['path.qdisc'])"),
        json!(["taildrop", "taildrop"])
    );
    page.eval("(() => { const axis = document.getElementById('axis-1-0'); axis.selectedIndex = 3; axis.dispatchEvent(new Event('change')); })()");
    assert_eq!(page.eval("qdelayPlayground.said[1].labels['path.qdisc']"), json!("fq_codel"));
    assert_eq!(page.eval("qdelayPlayground.isOurs"), json!(false));
    assert!(
        page.eval("document.getElementById('python').textContent")
            .as_str()
            .unwrap()
            .contains("qdelay.Scenario")
    );
    assert_eq!(notice(&mut page), "");
    assert_quiet(&page);
}

#[test]
fn the_address_has_the_whole_state() {
    let (_scratch, mut page) = browser("address");
    let address = "#a=bode:target=15ms&b=pie&link=steps:0s@5mbit%2B3s@700kbit&flows=cubic*2@1s,bbr&apps=ping&rtt=80ms&limit=200&duration=30s&seed=7&speed=2";
    open(&mut page, address);
    let text = page.eval("document.getElementById('text').value");
    for part in [
        "link = \"steps:0s@5mbit+3s@700kbit\"",
        "rtt = \"80ms\"",
        "limit = 200",
        "count = 2",
        "seeds = 7",
        "path.qdisc = [\"bode:target=15ms\", \"pie\"]",
    ] {
        assert!(text.as_str().unwrap().contains(part), "{part}: {text}");
    }
    let own = page.eval("qdelayPlayground.writeAddress().then(() => location.hash)");
    open(&mut page, own.as_str().unwrap());
    assert_eq!(page.eval("document.getElementById('text').value"), text);
    assert_eq!(page.eval("document.getElementById('speed').value"), json!("2"));
    // A scenario by hand is in it as well.
    page.eval("document.getElementById('text').value += '\\n# by hand: äöü\\n'; document.getElementById('apply').click()");
    let own = page.eval("qdelayPlayground.writeAddress().then(() => location.hash)");
    assert!(own.as_str().unwrap().len() < 1500, "{own}");
    open(&mut page, own.as_str().unwrap());
    let by_hand = page.eval("document.getElementById('text').value");
    assert_eq!(by_hand.as_str().unwrap(), format!("{}\n# by hand: äöü\n", text.as_str().unwrap()));
    assert_quiet(&page);
}

/// What is played again and again takes no more memory each time: a run keeps more than eight pages of 64 kB, and the heap may still grow by a
/// few because its gaps differ.
#[test]
fn what_was_played_is_freed() {
    let (_scratch, mut page) = browser("memory");
    open(&mut page, "#lesson=bufferbloat");
    let pages = page.eval(
        "Array.from({ length: 12 }, () => {
            qdelayPlayground.takeLesson('bufferbloat', {}, false);
            qdelayPlayground.advance(20_000, Infinity);
            return qdelayPlayground.engine.code.memory.buffer.byteLength / 65536;
        })",
    );
    let grown = pages[11].as_u64().unwrap() - pages[3].as_u64().unwrap();
    assert!(grown <= 4, "{pages}");
    assert_quiet(&page);
}

#[test]
fn lessons_are_true() {
    let (_scratch, mut page) = browser("lessons");
    open(&mut page, "");
    let broken = page.eval(
        "(() => {
            const broken = [], page = qdelayPlayground;
            for (const { id, claims, tries } of page.lessons) {
                for (const { at, cases, text, holds } of claims) {
                    page.takeLesson(id, cases ? { cases } : {}, false);
                    page.advance(at * 1000, Infinity);
                    if (!holds(page.engine.call({ op: 'progress' }).sides)) broken.push(`${id}: ${text}`);
                }
                for (const [text, values] of tries) {
                    page.takeLesson(id, values, false);
                    if (!document.getElementById('notice').hidden) broken.push(`${id}: ${text}: ${document.getElementById('notice').textContent}`);
                    page.advance(1000, Infinity);
                }
            }
            return broken;
        })()",
    );
    assert_eq!(broken, json!([]));
    assert_eq!(page.eval("qdelayPlayground.lessons.length"), json!(6));
    assert_quiet(&page);
}

#[test]
fn everything_is_reached_by_keys() {
    let (_scratch, mut page) = browser("keys");
    open(&mut page, "#lesson=bufferbloat");
    let tab = |page: &mut super::Page| {
        for kind in ["rawKeyDown", "keyUp"] {
            page.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 }),
            );
        }
    };
    let mut reached = Vec::new();
    for _ in 0..80 {
        tab(&mut page);
        reached
            .push(page.eval("document.activeElement.id || document.activeElement.textContent.slice(0, 30)"));
    }
    let mut from = 0;
    for wanted in [
        "To the pictures",
        "share",
        "Bufferbloat",
        "A buffer of 100 packets",
        "play",
        "step",
        "speed",
        "link-picture",
        "rate",
        "group",
        "forget",
        "qdisc-a",
        "link-choice",
        "flow-count-0",
        "app-ping",
        "run-rtt",
        "text",
        "apply",
        "download",
        "shipped",
    ] {
        // The skip link and the first buttons have names of their own.
        let found = reached[from..].iter().position(|name| {
            name.as_str()
                .is_some_and(|name| name == wanted || (wanted == "To the pictures" && name == "to-stage"))
        });
        from += found.unwrap_or_else(|| panic!("{wanted} is not reached after {from}: {reached:?}"));
    }
    page.eval(
        "document.activeElement.blur(); qdelayPlayground.begin(qdelayPlayground.state, { play: false })",
    );
    page.key(".");
    page.wait("document.getElementById('clock').textContent.startsWith('0.1 s')");
    page.key(" ");
    page.wait("qdelayPlayground.isPlaying && qdelayPlayground.now > 300");
    page.key(" ");
    page.wait("!qdelayPlayground.isPlaying");
    let before = page.eval("qdelayPlayground.points.at(-1)[1]").as_f64().unwrap();
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowDown");
    page.wait(&format!("qdelayPlayground.points.at(-1)[1] < {before}"));
    page.wait("document.getElementById('link-picture').getAttribute('aria-valuetext') === '8.7 Mbit/s'");
    page.key("t");
    page.wait("document.getElementById('told').textContent.includes('megabits per second')");
    page.key("r");
    page.wait("qdelayPlayground.isPlaying && qdelayPlayground.now < 2000");
    assert_quiet(&page);
}
