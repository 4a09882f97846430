//! A case as a data file of flent (`.flent.gz`, its data format 4), whose plots and summaries then are of our runs.
//!
//! Source: flent 2.3, `resultset.py` (the format) and the tests' definitions in `tests/` (the names of series). The test is chosen by the
//! entries of `[[flow]]` that are TCP:
//!
//! | entries | flent's test | series |
//! | --- | --- | --- |
//! | both directions, with the codepoints be, cs1, cs5 and ef | `rrul` | `TCP download BE`, `TCP upload EF`..., `Ping (ms) UDP EF` |
//! | both directions | `rrul_be_nflows` | `TCP download BE::1`, `TCP upload BE::1`... |
//! | downloads, or uploads | `tcp_ndown`, `tcp_nup` | `TCP download::1`... |
//! | none | `ping` | `Ping (ms) ICMP` |
//!
//! | field | what |
//! | --- | --- |
//! | `x_values` | the ends of the bins of the series, in seconds |
//! | `TCP ...` | the rate at which IP bytes of an entry left the queue, Mbit/s; several flows of one entry are one series |
//! | `Ping (ms) ICMP` | `path.rtt` and the mean queue delay of the bin, of the bottleneck and, where there are uploads, of the uplink: what a ping would have taken |
//! | `Ping (ms) UDP ...` | the same of the entry of datagrams with that codepoint; of `be` for `rrul_be_nflows` |
//!
//! `raw_values`, without which flent does not plot and of which its distributions are, are the same values with the same times.
//!
//! Differences from flent's own files: `TIME` and `T0` are the beginning of 1970, because results have no time of day; a ping is a mean
//! over a bin; rates are of IP packets at the queue, not of what netperf's application received.

use super::load::{Folder, LoadedCase};
use qdelay_core::units::parse_span;
use qdelay_study::results::{GroupSeries, Series, round};
use serde_json::{Map, Value, json};

/// Results have no time of day.
const BEGAN: &str = "1970-01-01T00:00:00.000000Z";
/// Codepoints of flent's `rrul`, as scenarios name them and as its series do.
const CLASSES: [(&str, &str); 4] = [("be", "BE"), ("cs1", "BK"), ("cs5", "CS5"), ("ef", "EF")];

/// An entry of `[[flow]]`.
struct Entry<'a> {
    is_tcp: bool,
    is_upload: bool,
    dscp: String,
    series: &'a GroupSeries,
}

/// The file of each case that has time series: its name, and its bytes. Cases without a series have none.
pub fn files(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let with_series = folder.cases.iter().filter_map(|case| Some((case, case.summary.series.as_ref()?)));
    with_series
        .map(|(case, series)| {
            let text = document(folder, case, series).to_string();
            (format!("{}.flent.gz", case.summary.id), gzip(text.as_bytes()))
        })
        .collect()
}

fn document(folder: &Folder, case: &LoadedCase, series: &Series) -> Value {
    let entries = entries(case, series);
    let rtt_ms = setting_ms(&case.run.settings["path"]["rtt"]);
    let tcp = |is_upload: bool| {
        entries.iter().filter(move |entry| entry.is_tcp && entry.is_upload == is_upload).collect::<Vec<_>>()
    };
    let (downloads, uploads) = (tcp(false), tcp(true));
    let has_classes = |of: &[&Entry]| {
        of.len() == CLASSES.len()
            && CLASSES.iter().all(|(dscp, _)| of.iter().any(|entry| entry.dscp == *dscp))
    };
    let mut results = Map::new();
    let mut put = |name: String, values: Vec<Value>| drop(results.insert(name, Value::Array(values)));
    let rates = |entry: &Entry| entry.series.throughput_mbps.iter().map(|rate| json!(rate)).collect();
    let numbered = |of: &[&Entry], name: &str, put: &mut dyn FnMut(String, Vec<Value>)| {
        of.iter().zip(1..).for_each(|(entry, number)| put(format!("{name}::{number}"), rates(entry)));
    };
    let name = match (downloads.is_empty(), uploads.is_empty()) {
        (false, false) if has_classes(&downloads) && has_classes(&uploads) => {
            for (dscp, class) in CLASSES {
                for (of, way) in [(&downloads, "download"), (&uploads, "upload")] {
                    of.iter()
                        .filter(|entry| entry.dscp == dscp)
                        .for_each(|entry| put(format!("TCP {way} {class}"), rates(entry)));
                }
            }
            "rrul"
        }
        (false, false) => {
            numbered(&downloads, "TCP download BE", &mut put);
            numbered(&uploads, "TCP upload BE", &mut put);
            "rrul_be_nflows"
        }
        (false, true) => {
            numbered(&downloads, "TCP download", &mut put);
            "tcp_ndown"
        }
        (true, false) => {
            numbered(&uploads, "TCP upload", &mut put);
            "tcp_nup"
        }
        (true, true) => "ping",
    };
    let uplink = |dscp: Option<&str>| -> Vec<&GroupSeries> {
        let is_meant = |entry: &&Entry| entry.is_upload && dscp.is_none_or(|dscp| entry.dscp == dscp);
        entries.iter().filter(is_meant).map(|entry| entry.series).collect()
    };
    let ping = |down: &[Option<f64>], up: &[&GroupSeries]| -> Vec<Value> {
        let of_bin = |(bin, delay): (usize, &Option<f64>)| {
            let ways: Vec<f64> = up.iter().filter_map(|group| *group.delay_mean_ms.get(bin)?).collect();
            let back = if ways.is_empty() { 0.0 } else { ways.iter().sum::<f64>() / ways.len() as f64 };
            delay.map_or(Value::Null, |delay| json!(round(rtt_ms + delay + back)))
        };
        down.iter().enumerate().map(of_bin).collect()
    };
    put("Ping (ms) ICMP".to_string(), ping(&series.delay_mean_ms, &uplink(None)));
    if name.starts_with("rrul") {
        let pings = entries.iter().filter(|entry| !entry.is_tcp && !entry.is_upload);
        for entry in pings {
            let class = CLASSES.iter().find(|(dscp, _)| *dscp == entry.dscp).map(|(_, class)| *class);
            // Flent's rrul has no UDP ping with CS5.
            if let Some(class @ ("BE" | "BK" | "EF")) = class {
                let values = ping(&entry.series.delay_mean_ms, &uplink(Some(&entry.dscp)));
                put(format!("Ping (ms) UDP {class}"), values);
            }
        }
    }
    let bins = series.throughput_mbps.len();
    let length = round(bins as f64 * series.bin_s);
    let ends: Vec<f64> = (1..=bins).map(|bin| round(bin as f64 * series.bin_s)).collect();
    let raw = |(name, values): (&String, &Value)| {
        let values = values.as_array().into_iter().flatten().zip(&ends).filter(|(value, _)| !value.is_null());
        (name.clone(), values.map(|(value, end)| json!({ "t": end, "val": value })).collect())
    };
    let raw: Map<String, Value> = results.iter().map(raw).collect();
    let labels: Vec<String> = case.run.labels.iter().map(|(axis, label)| format!("{axis}={label}")).collect();
    json!({
        "version": 4,
        "metadata": {
            "NAME": name,
            "TITLE": format!("{} {}", folder.summary.scenario, labels.join(" ")),
            "NOTE": format!("qdelay {}, case {}", case.run.qdelay, case.summary.id),
            "TIME": BEGAN,
            "T0": BEGAN,
            "LENGTH": length,
            "TOTAL_LENGTH": length,
            "STEP_SIZE": series.bin_s,
            "IP_VERSION": 4,
            "HOST": "qdelay",
            "HOSTS": ["qdelay"],
            "LOCAL_HOST": "qdelay",
            "DATA_FILENAME": format!("{}.flent.gz", case.summary.id),
            "TEST_PARAMETERS": {
                "download_streams": downloads.len().to_string(), "upload_streams": uploads.len().to_string(),
            },
        },
        "x_values": ends,
        "results": results,
        "raw_values": raw,
    })
}

/// The entries of `[[flow]]` in their order, as the case ran them.
fn entries<'a>(case: &LoadedCase, series: &'a Series) -> Vec<Entry<'a>> {
    let flows = case.run.settings["flow"].as_array();
    let entry = |flow: &Value| {
        let text = |key: &str| flow[key].as_str().unwrap_or_default().to_string();
        let name = text("name");
        Some(Entry {
            // Only TCP delivers in order.
            is_tcp: case.summary.groups.get(&name)?.in_order_ms.is_some(),
            is_upload: text("direction") == "up",
            dscp: text("dscp"),
            series: series.groups.get(&name)?,
        })
    };
    flows.into_iter().flatten().filter_map(entry).collect()
}

/// A time of the settings, such as `40ms`.
fn setting_ms(value: &Value) -> f64 {
    let span = value.as_str().and_then(|text| parse_span(text).ok());
    span.map_or(0.0, |span| span.as_secs_f64() * 1e3)
}

/// A gzip file (RFC 1952) of blocks that are stored as they are (RFC 1951, 3.2.4): a few files are not worth a compressor.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 0xffff;
    // No name and no time, so that equal results are equal files; 255: of an unknown system.
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = bytes.len().div_ceil(BLOCK).max(1);
    for number in 0..blocks {
        let block = &bytes[number * BLOCK..bytes.len().min((number + 1) * BLOCK)];
        let length = block.len() as u16;
        out.push(u8::from(number + 1 == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out.extend(crc32(bytes).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

/// The check of gzip: reflected polynomial 0xEDB88320.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: u32| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the catalogue of CRCs, of "123456789".
    #[test]
    fn checks() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let file = gzip(&[7; 70_000]);
        assert_eq!(file.len(), 10 + 70_000 + 2 * 5 + 8);
        assert_eq!(gzip(b"")[10..15], [1, 0, 0, 0xff, 0xff]);
    }
}
