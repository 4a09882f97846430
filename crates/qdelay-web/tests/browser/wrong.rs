//! Wrong input: each error has a helpful sentence, and the page continues.

use super::{assert_quiet, browser, built, notice, open};
use serde_json::json;

#[test(Browser)]
fn addresses_with_nonsense() {
    let (_scratch, mut page) = browser("nonsense");
    for (address, part) in [
        ("#nothing=1", "“nothing” means nothing here; expected lesson, a, b, link"),
        ("#z=AAAA", "is damaged"),
        ("#z=%F0%9F", "is damaged"),
        ("#speed=fast", "“fast”"),
        ("#lesson=none-such", "no lesson “none-such”; expected bufferbloat, falling-rate"),
        ("#a=codle", "codel"),
        ("#link=10mbt", "10mbt"),
        ("#link=my-own.trace", "there is no my-own.trace; give the page the file"),
        ("#flows=cubik", "cubic"),
        ("#rtt=forty", "rtt"),
        ("#limit=-5", "limit"),
        ("#limit=many", "“many”: expected a whole number of packets"),
        ("#seed=x", "“x”: expected a whole number"),
        ("#apps=ping,pong", "“pong”: expected some of ping, call, page, game"),
        ("#flows=cubic*900", "expected 1 to 500"),
        ("#speed=3", "“3”: expected one of 0.1"),
        ("#view=large", "“large”: expected lecture"),
        ("#lesson=bode&view=large", "“large”"),
        ("#duration=0s", "duration"),
        ("#link=steps:5s@1mbit", "steps"),
        ("#a=%3Cimg%20src%3Dx%20onerror%3D%22hurt%3D1%22%3E", "img"),
    ] {
        open(&mut page, address);
        let said = notice(&mut page);
        assert!(said.contains(part) && said.contains("begins with a lesson instead"), "{address}: {said}");
        assert_eq!(page.eval("qdelayPlayground.state.lesson"), json!("bufferbloat"), "{address}");
        // The address becomes that of the played state.
        page.wait("location.hash === '#lesson=bufferbloat&link=10mbit&flows=cubic@5s&apps=ping,call,game'");
        // The run has been playing for a while.
        let passed = page.eval("(() => { const { now } = qdelayPlayground; qdelayPlayground.advance(now + 500, Infinity); return [qdelayPlayground.now - now, typeof hurt]; })()");
        assert!((passed[0].as_f64().unwrap() - 500.0).abs() < 1e-6, "{address}: {passed}");
        assert_eq!(passed[1], json!("undefined"), "{address}");
    }
    assert_quiet(&page);
}

#[test(Browser)]
fn broken_traces_and_whole_ones() {
    let (_scratch, mut page) = browser("traces");
    open(&mut page, "#lesson=bufferbloat");
    let drop = |name: &str, contents: &str| {
        format!(
            "(async () => {{ const data = new DataTransfer(); data.items.add(new File([{contents}], '{name}'));
                dispatchEvent(new DragEvent('dragover', {{ dataTransfer: data, cancelable: true }}));
                const isShown = !document.getElementById('drop').hidden;
                dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }}));
                await new Promise((done) => setTimeout(done, 100));
                return isShown && document.getElementById('drop').hidden; }})()"
        )
    };
    for (name, contents, part) in [
        ("broken.down", "'0\\n4\\nseven\\n'", "broken.down: line 3: expected a whole number of milliseconds"),
        ("backwards.down", "'9\\n4\\n'", "backwards.down: line 2"),
        ("empty.down", "''", "empty.down"),
        ("picture.png", "new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0])", "picture.png: line 1"),
        (
            "letter.txt",
            "'Good day\\n'",
            "letter.txt: line 1: expected a whole number of milliseconds (0 or more, digits only, as in mahimahi), found 'Good day'",
        ),
        ("table.csv", "'time,rate\\n0,1000\\n'", "table.csv: line 1: expected numbers, found 'time,rate'"),
    ] {
        assert_eq!(page.eval(&drop(name, contents)), json!(true));
        let said = notice(&mut page);
        assert!(said.contains("The trace cannot be used") && said.contains(part), "{name}: {said}");
        assert!(
            said.contains("such as the lines “0”, “0”, “5”, “12”")
                && said.contains("lines of seconds and Mbit/s"),
            "{said}"
        );
        // Only the text of a scenario has such a key.
        assert_eq!(said.contains("trace_format"), name == "table.csv", "{said}");
        assert_eq!(page.eval("qdelayPlayground.state.link"), json!("10mbit"));
    }
    // 1 Mbit/s: a packet of 1504 bytes each 12 ms.
    page.eval(&drop(
        "my trace.down",
        "Array.from({ length: 100 }, (_, at) => `${12 * at + 12}\\n`).join('')",
    ));
    assert_eq!(notice(&mut page), "");
    assert_eq!(page.eval("qdelayPlayground.state.link"), json!("my_trace.down"));
    page.eval("qdelayPlayground.play(false); qdelayPlayground.advance(4000, Infinity)");
    let rate = page
        .eval("qdelayPlayground.engine.call({ op: 'progress' }).sides[0].capacity_mbps")
        .as_f64()
        .unwrap();
    assert!((rate - 1.0).abs() < 0.02, "{rate}");
    assert_quiet(&page);
}

/// Returns the state of the message: hidden or shown, in both places.
fn is_quiet(page: &mut super::Page) -> bool {
    let shown =
        page.eval("['notice-box', 'notice', 'text-notice'].map((id) => document.getElementById(id).hidden)");
    assert_eq!(shown[0], shown[1]);
    shown[0] == json!(true) && shown[2] == json!(true)
}

#[test(Browser)]
fn a_message_goes_with_its_cause_or_when_it_is_dismissed() {
    let (_scratch, mut page) = browser("dismiss");
    open(&mut page, "#speed=fast");
    assert!(!is_quiet(&mut page));
    page.eval("document.getElementById('link-picture').focus()");
    page.key("ArrowUp");
    page.wait("document.getElementById('notice').hidden");
    for (ends, way) in [
        ("document.getElementById('dismiss').click()", "its button"),
        (
            "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))",
            "a key",
        ),
        ("qdelayPlayground.changed('qdisc', { a: 'pie' })", "another discipline"),
        ("qdelayPlayground.changed('start', { rtt: '20ms' })", "another setting"),
        (
            "(() => { const speed = document.getElementById('speed'); speed.value = '2'; speed.dispatchEvent(new Event('change')); })()",
            "another speed",
        ),
        ("document.getElementById('restart').click()", "a restart"),
        ("qdelayPlayground.takeFile(new File(['0\\n5\\n'], 'mine'))", "a trace"),
    ] {
        page.eval("qdelayPlayground.changed('start', { rtt: 'forty' })");
        assert!(notice(&mut page).contains("rtt") && !is_quiet(&mut page));
        page.eval(ends);
        assert!(is_quiet(&mut page), "{way}");
    }
    assert_quiet(&page);
}

#[test(Browser)]
fn scenarios_with_mistakes_name_the_line() {
    let (_scratch, mut page) = browser("mistakes");
    open(&mut page, "#lesson=bufferbloat");
    page.eval("qdelayPlayground.advance(700, Infinity)");
    let apply = |text: &str| {
        format!(
            "document.getElementById('text').value = {}; document.getElementById('apply').click()",
            json!(text)
        )
    };
    for (text, part) in [
        ("[path]\nlink = '10mbit'\nrt = '1ms'\n", "line 3"),
        ("[path\n", "line 1"),
        ("[path]\ntrace = 'far/away'\n[[flow]]\n", "no trace 'far/away'"),
        ("[path]\nlink = '10mbit'\n[[flow]]\ntransport = 'quic'\n", "quic"),
    ] {
        page.eval(&apply(text));
        let said = notice(&mut page);
        assert!(said.contains(part), "{text}: {said}");
        assert_eq!(page.eval("document.getElementById('text-notice').textContent"), json!(said));
        // The lesson starts again from its beginning.
        assert_eq!(page.eval("qdelayPlayground.said[0].qdisc"), json!("taildrop"), "{text}");
    }
    page.eval(&apply("[path]\nlink = '10mbit'\n[[flow]]\n"));
    assert_eq!(notice(&mut page), "");
    assert_quiet(&page);
}

/// Trap of the module, as a panic causes one.
#[test(Browser)]
fn a_fault_of_the_program_is_told() {
    let (_scratch, mut page) = browser("fault");
    open(&mut page, "#lesson=bufferbloat");
    page.eval(
        "(() => {
            const { engine } = qdelayPlayground;
            engine.code = { ...engine.code, advance() { throw new WebAssembly.RuntimeError('unreachable'); } };
            qdelayPlayground.play(true);
        })()",
    );
    page.wait("!document.getElementById('notice').hidden");
    let said = notice(&mut page);
    assert!(said.contains("a fault of the program") && said.contains("Reload the page"), "{said}");
    assert_eq!(
        page.eval("[qdelayPlayground.isPlaying, document.getElementById('play').textContent]"),
        json!([false, "Play"])
    );
    assert_quiet(&page);
}

#[test(Browser)]
fn browsers_that_cannot() {
    let (_scratch, mut page) = browser("cannot");
    for (lack, part) in [
        ("delete window.WebAssembly", "no WebAssembly"),
        ("delete window.DecompressionStream", "DecompressionStream"),
    ] {
        let script = page.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": lack }));
        page.go("/dev/null");
        page.go(&built().display().to_string());
        page.wait("document.getElementById('notice')?.hidden === false");
        let said = notice(&mut page);
        assert!(said.contains(part) && said.contains("qdelay run"), "{said}");
        page.call("Page.removeScriptToEvaluateOnNewDocument", json!({ "identifier": script["identifier"] }));
    }
    page.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
    page.go("/dev/null");
    page.go(&built().display().to_string());
    // Without scripts there are no promises to wait for.
    let text = json!({ "expression": "document.readyState === 'complete' && document.querySelector('noscript').innerText", "returnByValue": true });
    let mut shown = json!(false);
    for _ in 0..200 {
        shown = page.call("Runtime.evaluate", text.clone())["result"]["value"].clone();
        if shown.is_string() {
            break;
        }
        // A picture can be taken after the page's layout.
        page.screenshot(false);
    }
    assert!(shown.as_str().is_some_and(|text| text.contains("JavaScript is off")), "{shown}");
}
