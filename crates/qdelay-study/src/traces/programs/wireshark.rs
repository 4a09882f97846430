//! Rates of packets that Wireshark exports as CSV (File, Export Packet Dissections): the bytes of rows over bins.

use super::{Program, Reading};
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, Kind, Typed};
use qdelay_trace::format::guess::Guess;

const WHERE: Typed<Option<&str>> = Typed::new(
    "where",
    "",
    "packets of one direction, as in where=Destination=10.0.0.2, an address with colons in brackets; where=all reads every packet; required",
);
const BIN: Typed<Span> = Typed::new("bin", "100ms", "bin width of the rate").within("1us", "1h");

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "wireshark",
        "rates of packets in Wireshark's CSV export: the sum of Length over bins, link headers included",
    )
    .source("Wireshark's default columns No., Time, Source, Destination, Protocol, Length and Info")
    .with(&[WHERE.parameter(), BIN.parameter()]),
    usage: "wireshark:where=Destination=ADDRESS",
    is_begun_by: |bytes| {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let names = b"\"No.\",\"Time\",\"Source\",\"Destination\"";
        header.starts_with(names)
    },
    guess,
    reading: Reading::Text(words),
};

fn words(arguments: &Arguments) -> Result<String, String> {
    let direction = match arguments.get(&WHERE) {
        None => {
            return Err("no where, so that both directions would be one rate; expected wireshark:where=Destination=ADDRESS, \
                        or where=all for every packet"
                .to_string());
        }
        Some("all") => String::new(),
        Some(direction) => format!(":where={direction}"),
    };
    let bin = arguments.get(&BIN);
    Ok(format!("csv:column=Length:unit=bytes_per_row:time=Time:bin={bin}{direction}"))
}

/// The destination that most bytes of the beginning go to.
fn guess(bytes: &[u8]) -> Guess {
    let text = String::from_utf8_lossy(bytes);
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split("\",\"").skip(3);
        let (Some(to), Some(length)) = (fields.next(), fields.nth(1)) else { continue };
        let length = length.parse::<u32>().unwrap_or(0).into();
        match sums.iter().position(|(known, _)| *known == to) {
            Some(place) => sums[place].1 += length,
            None => sums.push((to, length)),
        }
    }
    let most = sums.iter().max_by_key(|(_, sum)| *sum).map_or("ADDRESS", |(to, _)| *to);
    let address = if most.contains(':') { format!("[{most}]") } else { most.to_string() };
    Guess {
        format: format!("wireshark:where=Destination={address}"),
        assumed: vec![
            "packets exported by Wireshark; lengths include link headers".to_string(),
            format!("the direction to {most}, which has most of the first bytes; bin=100ms, another by bin="),
        ],
    }
}
