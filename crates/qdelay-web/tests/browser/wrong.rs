//! Bad input: each has a sentence that helps, and the page goes on.

use super::{assert_quiet, browser, built, notice, open};
use serde_json::json;

#[test]
fn addresses_with_nonsense() {
    let (_scratch, mut page) = browser("nonsense");
    for (address, part) in [
        ("#nothing=1", "“nothing” in this address means nothing here; expected lesson, a, b, link"),
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
        ("#duration=0s", "duration"),
        ("#link=steps:5s@1mbit", "steps"),
        ("#a=%3Cimg%20src%3Dx%20onerror%3D%22hurt%3D1%22%3E", "img"),
    ] {
        open(&mut page, address);
        let said = notice(&mut page);
        assert!(said.contains(part) && said.contains("begins with a lesson instead"), "{address}: {said}");
        assert_eq!(page.eval("qdelayPlayground.state.lesson"), json!("bufferbloat"), "{address}");
        page.eval("qdelayPlayground.advance(500, Infinity)");
        assert_eq!(page.eval("[qdelayPlayground.now, typeof hurt]"), json!([500, "undefined"]), "{address}");
    }
    assert_quiet(&page);
}

#[test]
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
        ("broken.down", "'0\\n4\\nseven\\n'", "broken.down: line 3"),
        ("backwards.down", "'9\\n4\\n'", "backwards.down: line 2"),
        ("empty.down", "''", "empty.down"),
        ("picture.png", "new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 0])", "picture.png"),
        ("table.csv", "'time,rate\\n0,1000\\n'", "table.csv"),
    ] {
        assert_eq!(page.eval(&drop(name, contents)), json!(true));
        let said = notice(&mut page);
        assert!(said.contains("The trace cannot be used") && said.contains(part), "{name}: {said}");
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

#[test]
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
        // The lesson that was played is played, from its beginning.
        assert_eq!(page.eval("qdelayPlayground.said[0].qdisc"), json!("taildrop"), "{text}");
    }
    page.eval(&apply("[path]\nlink = '10mbit'\n[[flow]]\n"));
    assert_eq!(notice(&mut page), "");
    assert_quiet(&page);
}

/// A trap of the module, as a panic in it is one.
#[test]
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

#[test]
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
    // Without scripts there are no promises to wait for either.
    let text = json!({ "expression": "document.readyState === 'complete' && document.querySelector('noscript').innerText", "returnByValue": true });
    let mut shown = json!(false);
    for _ in 0..200 {
        shown = page.call("Runtime.evaluate", text.clone())["result"]["value"].clone();
        if shown.is_string() {
            break;
        }
        // A picture is there when the page has been laid out.
        page.screenshot(false);
    }
    assert!(shown.as_str().is_some_and(|text| text.contains("JavaScript is off")), "{shown}");
}
