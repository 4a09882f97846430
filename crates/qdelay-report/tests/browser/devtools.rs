//! A headless Chromium, spoken to through two pipes: JSON messages that end with a zero byte.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, thread};

/// A started browser answers within this, on a machine that does something else as well.
const PATIENCE: Duration = Duration::from_secs(60);

/// The first of the usual names that is there; `QDELAY_BROWSER` names another.
pub fn find() -> Option<PathBuf> {
    if let Some(given) = env::var_os("QDELAY_BROWSER") {
        return Some(PathBuf::from(given));
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}

/// A browser with one page.
pub struct Page {
    browser: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    next_id: u64,
    /// What the page told since it was opened, oldest first.
    pub events: Vec<Value>,
}

impl Page {
    /// Starts `program` with its profile in `profile`, and a page of this size.
    pub fn open(program: &Path, profile: &Path, width: u32, height: u32) -> Page {
        // The protocol is spoken on descriptors 3 and 4, which a shell can make of the usual ones.
        let mut browser = Command::new("sh")
            .arg("-c")
            .arg("exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null")
            .arg(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let input = browser.stdin.take().unwrap();
        let mut output = BufReader::new(browser.stdout.take().unwrap());
        let (send, messages) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 1) {
                message.pop();
                let parsed = serde_json::from_slice(&message).expect("a message of the browser");
                if send.send(parsed).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut page = Page { browser, input, messages, session: None, next_id: 1, events: Vec::new() };
        page.attach(width, height);
        page
    }

    fn attach(&mut self, width: u32, height: u32) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }));
        self.session = Some(attached["sessionId"].as_str().unwrap().to_string());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.resize(width, height);
    }

    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Returns when the page has been told.
    pub fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        self.eval(&format!(
            "void (window.toldOfColours = new Promise((done) => {{
                const query = matchMedia('(prefers-color-scheme: {value})');
                if (query.matches) done();
                else query.addEventListener('change', () => done(), {{ once: true }});
            }}))"
        ));
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] }),
        );
        self.eval("window.toldOfColours");
    }

    /// Asks, and waits for the answer; what else comes is kept in `events`.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.input
            .write_all(format!("{message}\0").as_bytes())
            .and_then(|()| self.input.flush())
            .expect("the browser listens");
        loop {
            let message = self.receive(method);
            if message["id"] == json!(id) {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&mut self, during: &str) -> Value {
        match self.messages.recv_timeout(PATIENCE) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => panic!("{during}: no answer of the browser in {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => {
                panic!("{during}: the browser has ended: {:?}", self.browser.try_wait())
            }
        }
    }

    /// Opens an address, after `file://`.
    pub fn go(&mut self, file: &str) {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({ "url": format!("file://{file}") }));
        assert!(answer.get("errorText").is_none(), "{answer}");
    }

    /// Opens a file with a report and waits until it is loaded.
    pub fn navigate(&mut self, file: &Path) {
        self.go(&file.display().to_string());
        self.wait("document.readyState === 'complete' && 'qdelayReport' in window");
    }

    /// The value of an expression; a promise is waited for.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub fn wait(&mut self, expression: &str) {
        for _ in 0..600 {
            if self.eval(expression) == json!(true) {
                return;
            }
            // Two frames, because plots are made between them; a timer where there are none.
            self.eval("new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); setTimeout(done, 100); })");
        }
        panic!("never became true: {expression}");
    }

    pub fn mouse(&mut self, kind: &str, x: f64, y: f64, clicks: u32, held: bool) {
        let button = if kind == "mouseMoved" && !held { "none" } else { "left" };
        let params = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": u32::from(held), "clickCount": clicks });
        self.call("Input.dispatchMouseEvent", params);
    }

    pub fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if key.len() == 1 && kind == "keyDown" { key } else { "" };
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// A picture of the page as base64 of PNG.
    pub fn screenshot(&mut self, whole: bool) -> String {
        let answer =
            self.call("Page.captureScreenshot", json!({ "format": "png", "captureBeyondViewport": whole }));
        answer["data"].as_str().unwrap().to_string()
    }

    /// As if the page were looked at on paper, of this width in pixels; or on a screen again.
    pub fn paper(&mut self, width: Option<u32>) {
        let media = if width.is_some() { "print" } else { "screen" };
        self.call("Emulation.setEmulatedMedia", json!({ "media": media }));
        self.resize(width.unwrap_or(1400), 1000);
    }

    /// The page as PDF, with the browser's own defaults.
    pub fn pdf(&mut self) -> Vec<u8> {
        let answer = self.call("Page.printToPDF", json!({ "printBackground": true }));
        base64(answer["data"].as_str().unwrap())
    }

    /// What the page complained about: exceptions, errors and warnings of the console, the log of the browser.
    pub fn complaints(&self) -> Vec<String> {
        let bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Log.entryAdded") => true,
            Some("Runtime.consoleAPICalled") => {
                event["params"]["type"] == "error" || event["params"]["type"] == "warning"
            }
            _ => false,
        };
        self.events.iter().filter(bad).map(|event| event["params"].to_string()).collect()
    }

    /// What the page asked for.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.map(|event| event["params"]["request"]["url"].as_str().unwrap_or("?").to_string()).collect()
    }
}

/// The bytes of a text in base64.
pub fn base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("'{}' in base64", char::from(other)),
    };
    let letters: Vec<u8> = text.bytes().filter(|letter| *letter != b'=').map(value).collect();
    let group = |letters: &[u8]| {
        let bits = letters.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(*letter))
            << (6 * (4 - letters.len()));
        bits.to_be_bytes()[1..letters.len()].to_vec()
    };
    letters.chunks(4).flat_map(group).collect()
}

impl Drop for Page {
    fn drop(&mut self) {
        // Asked to, it ends with all its processes, and nobody writes to its profile any more.
        let asked = self
            .input
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0")
            .and_then(|()| self.input.flush());
        while asked.is_ok() && self.messages.recv_timeout(Duration::from_secs(5)).is_ok() {}
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
