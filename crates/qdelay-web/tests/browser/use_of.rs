//! Use of the page: steering, settings, the address, lessons, the keyboard.

use super::{assert_quiet, browser, notice, open};
use crate::session::summary;
use serde_json::json;

/// Position as the page returns it.
fn pair(at: &serde_json::Value) -> (f64, f64) {
    (at[0].as_f64().unwrap(), at[1].as_f64().unwrap())
}

/// Position of a time (ms) and a rate (kbit/s) on the chart of the link.
fn place(page: &mut super::Page, ms: f64, kbit: f64) -> (f64, f64) {
    let at = page.eval(&format!(
        "(() => {{ const box = document.getElementById('link-picture').getBoundingClientRect(), {{ link }} = qdelayPlayground.charts;
            return [box.left + link.atX({ms} / 1000), box.top + link.atY({kbit} / 1000)]; }})()"
    ));
    pair(&at)
}

#[test(Browser)]
fn the_link_is_dragged_and_drawn() {
    let (_scratch, mut page) = browser("drag");
    open(&mut page, "#link=20mbit&flows=cubic&a=taildrop&b=codel");
    page.eval("qdelayPlayground.advance(4000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('4.0 s')");
    page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    // The current rate: the link can still be continued.
    page.eval("qdelayPlayground.hand.set(20_000); qdelayPlayground.applySteering()");
    let (x, y) = place(&mut page, 4000.0, 20_000.0);
    let (_, low) = place(&mut page, 4000.0, 4000.0);
    page.mouse("mouseMoved", x, y, 0, false);
    page.mouse("mousePressed", x, y, 1, true);
    page.mouse("mouseMoved", x, low, 0, true);
    page.mouse("mouseReleased", x, low, 1, false);
    // The page handles a movement at its next frame, possibly after the browser has accepted it.
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length === 2 && qdelayPlayground.points[1][1] < 10_000");
    let rate = page.eval("qdelayPlayground.points.at(-1)[1]").as_f64().unwrap();
    assert!((3500.0..4500.0).contains(&rate), "{rate}");
    // Future rates: two seconds of another rate, from 6 s on.
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
    // The scenario has the drawn rates, and a run of it has that link.
    let text = page.eval("document.getElementById('text').value");
    assert!(text.as_str().unwrap().contains("link = \"steps:0s@20mbit+4s@"), "{text}");
    let text = text.as_str().unwrap();
    let played = page.eval("qdelayPlayground.engine.call({ op: 'finish', side: 0 }).text");
    assert!(played == json!(summary(text, 0)), "what was drawn while it ran is what the scenario has");
    assert_eq!(page.eval("qdelayPlayground.figures()"), played);
    assert_quiet(&page);
}

/// Browser of a phone: narrow, with touch.
fn phone(name: &str) -> (super::Scratch, super::Page) {
    let (scratch, mut page) = browser(name);
    page.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": true }));
    page.resize(400, 850);
    (scratch, page)
}

/// Touch that begins at the first position, moves through the others and ends; each position lasts a frame, as scrolling needs.
fn finger(page: &mut super::Page, places: &[(f64, f64)]) {
    let touch = |page: &mut super::Page, kind: &str, points: serde_json::Value| {
        page.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
        page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    };
    for (at, (x, y)) in places.iter().enumerate() {
        touch(page, if at == 0 { "touchStart" } else { "touchMove" }, json!([{ "x": x, "y": y }]));
    }
    touch(page, "touchEnd", json!([]));
}

/// Centre of an element, which must be reachable by touch or pointer.
fn middle(page: &mut super::Page, id: &str) -> (f64, f64) {
    let at = page.eval(&format!(
        "(() => {{ const one = document.getElementById('{id}'); one.scrollIntoView({{ block: 'center' }});
            const {{ left, top, width, height }} = one.getBoundingClientRect(), at = [left + width / 2, top + height / 2];
            return one.contains(document.elementFromPoint(...at)) ? at : null; }})()"
    ));
    assert!(!at.is_null(), "{id} is covered");
    pair(&at)
}

#[test(Browser)]
fn a_finger_beside_the_ring_scrolls_or_draws() {
    let (_scratch, mut page) = phone("beside");
    open(&mut page, "#link=20mbit&flows=cubic&apps=&b=");
    page.eval("qdelayPlayground.advance(4000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('4.0 s')");
    page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    // Upward swipes scroll everywhere but on the ring.
    for ms in [2000.0, 12_000.0] {
        let (x, y) = place(&mut page, ms, 8000.0);
        let before = page.eval("scrollY").as_f64().unwrap();
        let places: Vec<(f64, f64)> = (0..10).map(|step| (x, y - 10.0 * f64::from(step))).collect();
        finger(&mut page, &places);
        page.wait(&format!("scrollY > {before} + 60"));
        assert_eq!(page.eval("qdelayPlayground.points"), json!([[0, 20_000]]));
        page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    }
    // Sideways swipes draw future rates; a tap does nothing.
    let ((from, y), (to, low)) = (place(&mut page, 6000.0, 9000.0), place(&mut page, 9000.0, 5000.0));
    finger(&mut page, &[(from, y)]);
    let before = page.eval("scrollY");
    finger(&mut page, &[(from, y), (from + 14.0, y), ((from + to) / 2.0, y), (to, low)]);
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length > 3");
    assert_eq!(page.eval("[qdelayPlayground.points[0], scrollY]"), json!([[0, 20_000], before]));
    let first = page.eval("qdelayPlayground.points[1]");
    assert!((5500.0..6500.0).contains(&first[0].as_f64().unwrap()), "{first}");
    assert!((8000.0..10_000.0).contains(&first[1].as_f64().unwrap()), "{first}");
    assert_quiet(&page);
}

#[test(Browser)]
fn a_phone_has_what_is_needed_beside_the_picture() {
    let (_scratch, mut page) = phone("needed");
    open(&mut page, "#link=20mbit&flows=cubic*2,reno@3s&apps=ping&b=");
    let height = page.eval("innerHeight").as_f64().unwrap();
    page.eval("document.querySelector('.transport').scrollIntoView()");
    for id in ["play", "speed", "pick-a", "pick-b", "pick-transport", "link-picture"] {
        let seen = page.eval(&format!(
            "(({{ top, bottom, width, height }}) => [top, bottom, width, height])(document.getElementById('{id}').getBoundingClientRect())"
        ));
        let of = |at: usize| seen[at].as_f64().unwrap();
        assert!(of(0) >= 0.0 && of(1) <= height, "{id}: {seen}");
        // The element is reachable by touch.
        assert!(of(2) >= 36.0 && of(3) >= 36.0, "{id}: {seen}");
    }
    let choose = |id: &str, value: &str| {
        format!(
            "(() => {{ const field = document.getElementById('{id}'); field.focus(); field.value = '{value}'; field.dispatchEvent(new Event('change', {{ bubbles: true }})); return document.activeElement.id; }})()"
        )
    };
    page.eval("qdelayPlayground.advance(3000, Infinity)");
    // Two disciplines side by side, by touch: lists of choices are the system's.
    for (id, value) in [("pick-a", "fq_codel"), ("pick-b", "bode")] {
        let at = middle(&mut page, id);
        page.eval("document.activeElement.blur()");
        finger(&mut page, &[at]);
        page.wait(&format!("document.activeElement.id === '{id}'"));
        page.key("Escape");
        assert_eq!(page.eval(&choose(id, value)), json!(id), "who was in a field stays in it");
    }
    assert_eq!(page.eval("qdelayPlayground.said.map(({ qdisc }) => qdisc)"), json!(["fq_codel", "bode"]));
    assert_eq!(
        page.eval("['qdisc-a', 'qdisc-b'].map((id) => document.getElementById(id).value)"),
        json!(["fq_codel", "bode"])
    );
    page.eval("document.activeElement.blur()");
    let play = middle(&mut page, "play");
    finger(&mut page, &[play]);
    page.wait("qdelayPlayground.isPlaying && qdelayPlayground.now > 200");
    finger(&mut page, &[play]);
    page.wait("!qdelayPlayground.isPlaying");
    assert_eq!(
        page.eval("document.getElementById('pick-transport').selectedOptions[0].text"),
        json!("cubic, reno")
    );
    page.eval(&choose("pick-transport", "bbr"));
    assert_eq!(page.eval("qdelayPlayground.state.flows"), json!("bbr*2,bbr@3s"));
    page.eval(&choose("pick-b", ""));
    assert_eq!(page.eval("qdelayPlayground.said.length"), json!(1));
    // Cases of a scenario's text are selected there too.
    page.eval("qdelayPlayground.takeLesson('lying', {}, false)");
    page.eval(&choose("pick-case-1", "5"));
    assert_eq!(
        page.eval("[qdelayPlayground.state.cases, qdelayPlayground.said[1].labels['flow.actor.dscp']]"),
        json!(["0,5", "lies"])
    );
    // Beside wide settings each setting has a single field.
    page.resize(1280, 900);
    assert_eq!(page.eval("document.getElementById('pick-case-1').getClientRects().length"), json!(0));
    assert_quiet(&page);
}

#[test(Browser)]
fn two_disciplines_side_by_side_by_keys_alone() {
    let (_scratch, mut page) = browser("side-by-side");
    open(&mut page, "");
    let go_to = |page: &mut super::Page, id: &str| {
        for _ in 0..80 {
            if page.eval("document.activeElement.id") == json!(id) {
                return;
            }
            tab(page);
        }
        panic!("{id} is not reached");
    };
    for (link, field) in [("to-settings", "qdisc-a"), ("lecture", "pick-a")] {
        open(&mut page, "#lesson=bufferbloat");
        page.eval("qdelayPlayground.advance(3000, Infinity)");
        go_to(&mut page, link);
        press_enter(&mut page);
        if link == "lecture" {
            page.wait("document.activeElement.id === 'leave-lecture'");
        }
        go_to(&mut page, field);
        page.key("f");
        page.wait("qdelayPlayground.said[0].qdisc === 'fq_codel'");
        go_to(&mut page, &field.replace("-a", "-b"));
        page.key("b");
        page.wait("qdelayPlayground.said[1].qdisc === 'bode'");
        assert_eq!(
            page.eval("[qdelayPlayground.now, document.activeElement.id]"),
            json!([3000, field.replace("-a", "-b")])
        );
        assert_eq!(
            page.eval("document.getElementById('lesson-departure').textContent"),
            json!(
                "No longer as the lesson begins: the discipline of side A and the discipline of side B were changed. The text describes the lesson as it begins."
            )
        );
    }
    assert_quiet(&page);
}

#[test(Browser)]
fn the_link_is_named_as_it_is() {
    let (_scratch, mut page) = browser("link-name");
    open(&mut page, "#lesson=bufferbloat");
    page.eval("qdelayPlayground.begin(qdelayPlayground.state, { play: false })");
    let said = "document.getElementById('link-choice').selectedOptions[0].text";
    assert_eq!(page.eval(said), json!("Constant, 10 Mbit/s"));
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowUp");
    page.wait(&format!("{said} === 'Constant, 11.5 Mbit/s'"));
    page.eval("qdelayPlayground.advance(2000, Infinity)");
    page.key("ArrowDown");
    page.wait(&format!("{said} === 'As drawn'"));
    // An outage is a rate of the link as well.
    page.eval(
        "qdelayPlayground.begin(qdelayPlayground.state, { play: false }); qdelayPlayground.hand.set(0)",
    );
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.state.link === 'steps:0s@0kbit'");
    assert_eq!(notice(&mut page), "");
    assert_eq!(
        page.eval("document.getElementById('link-choice').value"),
        page.eval("qdelayPlayground.state.link")
    );
    page.eval("qdelayPlayground.takeLesson('falling-rate', {}, false)");
    assert_eq!(page.eval(said), json!("20 and 2 Mbit/s, 15 s each"));
    assert_quiet(&page);
}

/// The text of a lesson describes its initial state; the page says so if the run differs.
#[test(Browser)]
fn a_lesson_that_was_changed_says_so() {
    let (_scratch, mut page) = browser("departure");
    for lesson in ["bufferbloat", "lying", "pacers"] {
        open(&mut page, &format!("#lesson={lesson}"));
        assert_eq!(
            page.eval("document.getElementById('lesson-departure').textContent"),
            json!(""),
            "{lesson}"
        );
    }
    let says = |page: &mut super::Page, what: &str| {
        let text = if what.is_empty() {
            String::new()
        } else {
            format!(
                "No longer as the lesson begins: {what} changed. The text describes the lesson as it begins."
            )
        };
        page.wait(&format!("document.getElementById('lesson-departure').textContent === {}", json!(text)));
    };
    page.eval("qdelayPlayground.changed('cases', { cases: '1,5' })");
    says(&mut page, "the cases were");
    page.eval("qdelayPlayground.takeLesson('bufferbloat', {}, false)");
    says(&mut page, "");
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowDown");
    says(&mut page, "the link was");
    page.eval("qdelayPlayground.changed('qdisc', { b: 'pie' })");
    says(&mut page, "the discipline of side B and the link were");
    // An address restores the same state.
    let own = page.eval("qdelayPlayground.writeAddress().then(() => location.hash)");
    open(&mut page, own.as_str().unwrap());
    says(&mut page, "the discipline of side B and the link were");
    page.eval("[...document.querySelectorAll('.try')].find(({ textContent }) => textContent === 'As the lesson begins').click()");
    says(&mut page, "");
    page.eval("[...document.querySelectorAll('.try')].find(({ textContent }) => textContent === 'Ten downloads').click()");
    says(&mut page, "the transfers were");
    assert_quiet(&page);
}

#[test(Browser)]
fn figures_are_written_in_words() {
    let (_scratch, mut page) = browser("words");
    open(&mut page, "#lesson=bufferbloat");
    page.eval("qdelayPlayground.advance(12_000, Infinity); document.getElementById('tell').click()");
    page.wait("document.getElementById('told').textContent.startsWith('At 12.0 seconds. A, taildrop: ')");
    let height = "document.getElementById('told').getBoundingClientRect().height";
    assert!(page.eval(height).as_f64().unwrap() > 20.0);
    page.eval("document.getElementById('untell').click()");
    assert_eq!(
        page.eval(&format!(
            "[document.getElementById('told').textContent, {height}, document.activeElement.id]"
        )),
        json!(["", 0, "tell"])
    );
    // The controls are visible at any scroll position.
    page.eval("scrollTo(0, 900)");
    page.key("t");
    page.wait("document.getElementById('told').textContent.startsWith('At 12.0 seconds. ')");
    let top = page.eval("document.getElementById('told').getBoundingClientRect().top").as_f64().unwrap();
    assert!((0.0..400.0).contains(&top), "{top}");
    page.key("Escape");
    page.wait("document.getElementById('told').textContent === ''");
    assert_quiet(&page);
}

#[test(Browser)]
fn a_finger_drags_it_on_a_phone() {
    let (_scratch, mut page) = phone("finger");
    open(&mut page, "#link=20mbit&flows=cubic&apps=&b=");
    page.eval("qdelayPlayground.advance(4000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('4.0 s')");
    page.eval("document.getElementById('link-picture').scrollIntoView({ block: 'center' })");
    let (x, y) = place(&mut page, 4000.0, 20_000.0);
    let (_, low) = place(&mut page, 4000.0, 2000.0);
    let scrolled = page.eval("scrollY");
    finger(&mut page, &[(x, y), (x, (y + low) / 2.0), (x, low)]);
    page.wait("!qdelayPlayground.isSteered && qdelayPlayground.points.length === 2");
    let rate = page.eval("qdelayPlayground.points.at(-1)[1]").as_f64().unwrap();
    assert!((1500.0..2600.0).contains(&rate), "{rate}");
    assert_eq!(page.eval("scrollY"), scrolled, "the page does not scroll under the finger");
    assert_quiet(&page);
}

#[test(Browser)]
fn settings_change_what_is_played() {
    let (_scratch, mut page) = browser("settings");
    open(&mut page, "");
    let choose = |id: &str, value: &str| {
        format!(
            "(() => {{ const field = document.getElementById('{id}'); field.value = '{value}'; field.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
        )
    };
    page.eval("qdelayPlayground.advance(3000, Infinity)");
    // The discipline is exchanged during the run.
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
    // Both sides get the same discipline, and then different ones again.
    page.eval(&choose("qdisc-b", "bode"));
    page.eval(&choose("qdisc-a", "bode"));
    assert_eq!(page.eval("qdelayPlayground.said.map(({ qdisc }) => qdisc)"), json!(["bode", "bode"]));
    page.eval(&choose("qdisc-a", "pie"));
    assert_eq!(
        page.eval("[qdelayPlayground.now, ...qdelayPlayground.said.map(({ qdisc }) => qdisc)]"),
        json!([3000, "pie", "bode"])
    );
    // Any other change restarts the run.
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
    // A trace can be continued by hand from its past rates.
    page.eval("qdelayPlayground.advance(2000, Infinity); qdelayPlayground.wake()");
    page.wait("document.getElementById('clock').textContent.startsWith('2.0 s')");
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowUp");
    page.wait(
        "qdelayPlayground.state.link.startsWith('steps:') && qdelayPlayground.points.at(-1)[0] === 2000",
    );
    // A scenario entered as text.
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

#[test(Browser)]
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
    // The address includes a scenario entered as text.
    page.eval("document.getElementById('text').value += '\\n# by hand: äöü\\n'; document.getElementById('apply').click()");
    let own = page.eval("qdelayPlayground.writeAddress().then(() => location.hash)");
    assert!(own.as_str().unwrap().len() < 1500, "{own}");
    open(&mut page, own.as_str().unwrap());
    let by_hand = page.eval("document.getElementById('text').value");
    assert_eq!(by_hand.as_str().unwrap(), format!("{}\n# by hand: äöü\n", text.as_str().unwrap()));
    assert_quiet(&page);
}

/// Repeated runs do not take more memory each time: a run keeps more than eight pages of 64 kB, and the heap may still grow by a
/// few because its gaps differ.
#[test(Browser)]
fn finished_runs_free_their_memory() {
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

#[test(Browser)]
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

fn tab(page: &mut super::Page) {
    for kind in ["rawKeyDown", "keyUp"] {
        page.call(
            "Input.dispatchKeyEvent",
            json!({ "type": kind, "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9 }),
        );
    }
}
fn press_enter(page: &mut super::Page) {
    for (kind, text) in [("keyDown", "\r"), ("keyUp", "")] {
        page.call(
            "Input.dispatchKeyEvent",
            json!({ "type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": text }),
        );
    }
}

#[test(Browser)]
fn everything_is_reached_by_keys() {
    let (_scratch, mut page) = browser("keys");
    open(&mut page, "#lesson=bufferbloat");
    let mut reached = Vec::new();
    for _ in 0..80 {
        tab(&mut page);
        reached
            .push(page.eval("document.activeElement.id || document.activeElement.textContent.slice(0, 30)"));
    }
    let mut from = 0;
    for wanted in [
        "To the pictures",
        "lecture",
        "share",
        "Bufferbloat",
        "A buffer of 100 packets",
        "play",
        "step",
        "speed",
        "tell",
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
        // The skip link and the first buttons have their own names.
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
