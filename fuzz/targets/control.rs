//! The control protocol: a line as the server reads it, and as a client that is sent a snapshot, which is drawn.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_emu::snapshot::Snapshot;
use qdelay_terminal::live::control::protocol;
use qdelay_terminal::live::history::History;
use qdelay_terminal::live::view;

fuzz_target!(|data: &[u8]| {
    let line = data.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if let Err(message) = protocol::Request::parse(&line[..line.len().min(protocol::LINE_BYTES)]) {
        assert!(!protocol::error(&message).contains('\n'));
    }
    let mut history = History::default();
    for line in data.split(|&byte| byte == b'\n') {
        let Ok(snapshot) = serde_json::from_slice::<Snapshot>(line) else { continue };
        history.push(&snapshot);
        for (width, rows) in [(0, 0), (20, 3), (80, 24), (300, 60)] {
            let _ = view::panel(&snapshot, &history, width, view::panel_rows(rows));
            let _ = view::screen(&snapshot, &history, "socket", width, rows.into());
            let _ = view::report(&snapshot, width);
        }
        let _ = view::plain(&snapshot);
        assert!(!protocol::line(&snapshot).contains('\n'));
    }
});
