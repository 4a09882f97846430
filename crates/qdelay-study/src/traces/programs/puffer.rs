//! Delivery rates of Puffer's daily data (`video_sent_*.csv`), of one session.

use super::{Program, Reading};
use qdelay_core::component::{Arguments, Component, Kind, Typed, without_brackets};
use qdelay_trace::format::guess::Guess;

const SESSION: Typed<Option<&str>> =
    Typed::new("session", "", "value of session_id, in brackets if it has a colon; required");
const INDEX: Typed<Option<u64>> =
    Typed::new("index", "", "only the stream with this index within the session; default: all of them");
const HEADER: &[u8] = b"time (ns GMT),session_id,index,";

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "puffer",
        "delivery rates (TCP's estimate when a chunk is sent) of a session in Puffer's video_sent_*.csv",
    )
    .source("puffer-statistics, influx_to_csv.cc and analyzeutil.hh")
    .with(&[SESSION.parameter(), INDEX.parameter()])
    .positional("session"),
    usage: "puffer:session=ID",
    is_begun_by: |bytes| bytes.starts_with(HEADER) && super::has(bytes, "delivery_rate"),
    guess: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let session = text.lines().nth(1).and_then(|line| line.split(',').nth(1)).unwrap_or("ID");
        Guess {
            format: format!("puffer:session=[{session}]"),
            assumed: vec![
                "chunks that Puffer sent; delivery_rate is TCP's estimate in bytes per second, of the interval before".to_string(),
                "the session of the first row; session= reads another, index= one stream of it".to_string(),
            ],
        }
    },
    reading: Reading::Text(words),
};

fn words(arguments: &Arguments) -> Result<String, String> {
    let session = arguments.get(&SESSION).ok_or("no session; expected puffer:session=ID")?;
    let session = without_brackets(session);
    // The words below are brackets of their own.
    if session.contains(['[', ']']) {
        return Err(format!("session '{}' has brackets; expected a session_id", session.escape_debug()));
    }
    let index = arguments.get(&INDEX).map_or(String::new(), |index| format!("+index={index}"));
    Ok(format!(
        "csv:column=delivery_rate:unit=byte:time=[time (ns GMT)]:time_unit=ns:sample=before:where=session_id=[{session}]{index}"
    ))
}
