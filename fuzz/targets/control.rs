//! The control protocol: a line as the server reads it, and as a client that is sent a snapshot, which is drawn.
#![no_main]

#[allow(dead_code)]
#[path = "../../crates/qdelay/src/control/protocol.rs"]
mod protocol;
#[allow(dead_code)]
#[path = "../../crates/qdelay/src/live"]
mod live {
    mod history;
    mod text;
    mod view;
    pub use history::History;
    pub use view::{panel, panel_rows, plain, report, screen};
}

use libfuzzer_sys::fuzz_target;
use qdelay_emu::snapshot::Snapshot;

fuzz_target!(|data: &[u8]| {
    let line = data.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if let Err(message) = protocol::Request::parse(&line[..line.len().min(protocol::LINE_BYTES)]) {
        assert!(!protocol::error(&message).contains('\n'));
    }
    let mut history = live::History::default();
    for line in data.split(|&byte| byte == b'\n') {
        let Ok(snapshot) = serde_json::from_slice::<Snapshot>(line) else { continue };
        history.push(&snapshot);
        for (width, rows) in [(0, 0), (20, 3), (80, 24), (300, 60)] {
            let _ = live::panel(&snapshot, &history, width, live::panel_rows(rows));
            let _ = live::screen(&snapshot, &history, "socket", width, rows.into());
            let _ = live::report(&snapshot, width);
        }
        let _ = live::plain(&snapshot);
        assert!(!protocol::line(&snapshot).contains('\n'));
    }
});
