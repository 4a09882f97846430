//! Linux's own disciplines: the `tc` arguments (tc(8), iproute2) that make the kernel's counterpart of a
//! component.
//!
//! | component | kernel | keys without a counterpart |
//! | --- | --- | --- |
//! | `taildrop` | `pfifo` | `limit_bytes` |
//! | `codel` | `codel` | `limit_bytes`, variants of other programs |
//! | `pie` | `pie` | `max_burst`, `ecn_threshold`, `estimator`, `derandomize`, `hz`, `limit_bytes`, variants of other programs |
//! | `fq_codel` | `fq_codel` | |
//! | `sfq` | `sfq` | |
//! | `red` | `red` | `mode=packets`, `gentle`, `wait=off`, `ageing` (below HTB); weights that are no power of two |
//! | `drr` | `drr`, with a class and a `pfifo` of `depth` for each flow | `by`, and a `limit` of all flows together |
//!
//! The kernel counts frames, with their Ethernet headers, where components count IP packets: a `quantum` has
//! the header in both; RED's bytes grow in the proportion of a full packet.

use super::flow_hash::FLOWS;
use super::flow_queues::{OVERHEAD, QUANTUM};
use super::limits::{LIMIT, LIMIT_BYTES, MTU};
use super::{codel, drr, fq_codel, pie, red, sfq};
use crate::component::Arguments;
use crate::units::Span;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Bytes of an Ethernet header, which the kernel counts.
const ETHERNET: u32 = 14;

/// A discipline of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQdisc {
    /// Arguments after `tc qdisc add ...`: name and parameters.
    pub words: Vec<String>,
    /// Arguments after `tc class add ...` for each flow, and those of its queue, for disciplines that have
    /// classes; `None` for others.
    pub class: Option<(Vec<String>, Vec<String>)>,
    /// True if the discipline drops packets when it dequeues, and not only arrivals.
    pub drops_departures: bool,
}

/// The kernel's counterpart of the discipline that `arguments` describe.
///
/// # Errors
/// The kernel has no such discipline, or no such parameter; the message says which, and what was expected.
pub fn kernel_qdisc(arguments: &Arguments) -> Result<KernelQdisc, String> {
    let name = arguments.component().name;
    let plain = |words: Words, drops_departures: bool| {
        Ok(KernelQdisc { words: words.0, class: None, drops_departures })
    };
    match name {
        "taildrop" => plain(fifo(arguments)?, false),
        "codel" => plain(codel_words(arguments)?, true),
        "pie" => plain(pie_words(arguments)?, false),
        "fq_codel" => plain(fq_codel_words(arguments), true),
        "sfq" => plain(sfq_words(arguments), false),
        "red" => plain(red_words(arguments)?, false),
        "drr" => drr_words(arguments),
        _ => Err(format!(
            "the kernel has no discipline like '{name}'; expected taildrop, codel, pie, fq_codel, sfq, red or drr"
        )),
    }
}

/// Words of a command.
struct Words(Vec<String>);

impl Words {
    fn new(name: &str) -> Words {
        Words(Vec::from([name.to_string()]))
    }
    fn and(mut self, key: &str, value: impl ToString) -> Words {
        self.0.push(key.to_string());
        self.0.push(value.to_string());
        self
    }
    fn time(self, key: &str, span: Span) -> Words {
        let value = format!("{}us", span.as_nanos().div_ceil(1000));
        self.and(key, value)
    }
    fn switch(mut self, is_on: bool, on: &str, off: &str) -> Words {
        let word = if is_on { on } else { off };
        if !word.is_empty() {
            self.0.push(word.to_string());
        }
        self
    }
}

fn refuse(arguments: &Arguments, what: &str, expected: &str) -> String {
    format!(
        "'{}': the kernel's {} has no {what}; expected {expected}",
        arguments.typed(),
        arguments.component().name
    )
}

/// Refuses a limit in bytes.
fn packets_only(arguments: &Arguments) -> Result<(), String> {
    if arguments.get(&LIMIT_BYTES) == 0 {
        return Ok(());
    }
    Err(refuse(arguments, LIMIT_BYTES.name(), "a limit in packets"))
}

/// Refuses the variants of programs other than the kernel.
fn of_the_kernel(arguments: &Arguments, variant: &str) -> Result<(), String> {
    if matches!(variant, "rfc" | "linux") {
        return Ok(());
    }
    Err(refuse(arguments, "such variant", "rfc or linux, for both of which the kernel runs its own"))
}

fn fifo(arguments: &Arguments) -> Result<Words, String> {
    packets_only(arguments)?;
    Ok(Words::new("pfifo").and("limit", arguments.get(&LIMIT)))
}

/// Adds CoDel's parameters, which `fq_codel` has as well.
fn codel_parameters(words: Words, arguments: &Arguments) -> Words {
    let words = words
        .time("target", arguments.get(&codel::TARGET))
        .time("interval", arguments.get(&codel::INTERVAL))
        .switch(arguments.get(&codel::ECN), "ecn", "noecn");
    match arguments.get(&codel::CE_THRESHOLD) {
        Some(threshold) => words.time("ce_threshold", threshold),
        None => words,
    }
}

fn codel_words(arguments: &Arguments) -> Result<Words, String> {
    packets_only(arguments)?;
    of_the_kernel(arguments, arguments.get(&codel::VARIANT))?;
    Ok(codel_parameters(Words::new("codel").and("limit", arguments.get(&LIMIT)), arguments))
}

fn fq_codel_words(arguments: &Arguments) -> Words {
    let memory = match arguments.get(&fq_codel::MEMORY) {
        0 => u64::from(u32::MAX),
        bytes => bytes.min(u64::from(u32::MAX)),
    };
    let words = Words::new("fq_codel")
        .and("limit", arguments.get(&LIMIT))
        .and("flows", arguments.get(&FLOWS))
        .and("quantum", quantum(arguments))
        .and("memory_limit", memory)
        .and("drop_batch", arguments.get(&fq_codel::DROP_BATCH));
    codel_parameters(words, arguments)
}

/// The kernel's quantum: the same number of full packets where packets count with another overhead here.
fn quantum(arguments: &Arguments) -> u32 {
    (arguments.get(&QUANTUM) + ETHERNET).saturating_sub(arguments.get(&OVERHEAD)).max(1)
}

fn pie_words(arguments: &Arguments) -> Result<Words, String> {
    packets_only(arguments)?;
    of_the_kernel(arguments, arguments.get(&pie::VARIANT))?;
    let fixed = [
        pie::MAX_BURST.name(),
        pie::ESTIMATOR.name(),
        pie::ECN_THRESHOLD.name(),
        pie::DERANDOMIZE.name(),
        MTU.name(),
    ];
    if let Some(key) = arguments.first_given(&fixed) {
        return Err(refuse(arguments, &format!("key for {key}"), "no such key"));
    }
    let sixteenths = |value: f64, key: &str| {
        let scaled = value * 16.0;
        if scaled == f64::from(scaled as u32) && scaled <= 32.0 {
            return Ok(scaled as u32);
        }
        Err(refuse(arguments, &format!("{key} of {value}"), "a multiple of 1/16 up to 2"))
    };
    Ok(Words::new("pie")
        .and("limit", arguments.get(&LIMIT))
        .time("target", arguments.get(&pie::TARGET))
        .time("tupdate", arguments.get(&pie::TUPDATE))
        .and("alpha", sixteenths(arguments.get(&pie::ALPHA), pie::ALPHA.name())?)
        .and("beta", sixteenths(arguments.get(&pie::BETA), pie::BETA.name())?)
        .switch(arguments.get(&pie::ECN), "ecn", "noecn")
        .switch(arguments.get(&pie::BYTEMODE), "bytemode", "nobytemode"))
}

fn sfq_words(arguments: &Arguments) -> Words {
    let perturb = arguments.get(&sfq::PERTURB).as_nanos().div_ceil(1_000_000_000);
    Words::new("sfq")
        .and("limit", arguments.get(&LIMIT))
        .and("depth", arguments.get(&sfq::DEPTH))
        .and("divisor", arguments.get(&FLOWS).next_power_of_two())
        .and("quantum", quantum(arguments))
        .and("perturb", perturb)
        .switch(arguments.get(&sfq::HEADDROP), "headdrop", "")
}

fn red_words(arguments: &Arguments) -> Result<Words, String> {
    if arguments.get(&red::MODE) != "bytes" {
        return Err(refuse(arguments, "mode of packets", "mode=bytes"));
    }
    if arguments.get(&red::GENTLE) || !arguments.get(&red::WAIT) {
        return Err(refuse(arguments, "gentle=on and wait=off", "gentle=off:wait=on"));
    }
    if arguments.get(&red::DRAW) != "drop" {
        return Err(refuse(arguments, "draw=arrival", "draw=drop"));
    }
    if arguments.get(&red::AGEING) {
        return Err(refuse(arguments, "ageing below HTB", "ageing=off"));
    }
    // The kernel counts frames: bytes grow by the header in the proportion of a full packet.
    let packet = arguments.get(&MTU);
    let average = packet + u64::from(ETHERNET);
    let framed = |bytes: f64| libm::round(bytes * average as f64 / packet as f64);
    let law = red::parameters(arguments);
    let (min, max) = (framed(law.min), framed(law.max));
    let limit = match arguments.get(&LIMIT_BYTES) {
        0 => arguments.get(&LIMIT) * average,
        bytes => framed(bytes as f64) as u64,
    };
    let weight = arguments.get(&red::WEIGHT);
    let wanted = libm::round(-libm::log2(weight)) as u32;
    let burst = burst_of(wanted, min, average as f64).ok_or_else(|| {
        refuse(arguments, &format!("weight of {weight} for this min"), "another weight or min")
    })?;
    Ok(Words::new("red")
        .and("limit", limit)
        .and("min", min as u64)
        .and("max", max as u64)
        .and("avpkt", average)
        .and("burst", burst)
        .and("probability", arguments.get(&red::PROBABILITY))
        .and("bandwidth", format!("{}bit", arguments.get(&red::RATE).as_bps()))
        .switch(arguments.get(&red::ECN), "ecn", ""))
}

/// The `burst` from which `tc` computes the weight 2^-`wanted` (iproute2, `tc_red_eval_ewma`).
fn burst_of(wanted: u32, min: f64, average: f64) -> Option<u32> {
    let weight_of = |burst: u32| {
        let a = f64::from(burst) + 1.0 - min / average;
        if a < 1.0 {
            return None;
        }
        let mut weight = 0.5;
        for log in 1..32 {
            if a <= (1.0 - libm::pow(1.0 - weight, f64::from(burst))) / weight {
                return Some(log);
            }
            weight *= 0.5;
        }
        None
    };
    (1..100_000).find(|burst| weight_of(*burst) == Some(wanted))
}

fn drr_words(arguments: &Arguments) -> Result<KernelQdisc, String> {
    if arguments.get(&drr::BY) != "flow" {
        return Err(refuse(arguments, "turns other than by flow", "by=flow"));
    }
    let depth = match arguments.get(&drr::DEPTH) {
        0 => return Err(refuse(arguments, "limit of all flows together", "depth, the limit of each")),
        depth => depth,
    };
    Ok(KernelQdisc {
        words: Words::new("drr").0,
        class: Some((
            Words::new("drr").and("quantum", quantum(arguments)).0,
            Words::new("pfifo").and("limit", depth).0,
        )),
        drops_departures: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::COMPONENTS;
    use super::*;

    fn words(text: &str) -> Result<String, String> {
        kernel_qdisc(&Arguments::parse(COMPONENTS, text).unwrap()).map(|qdisc| qdisc.words.join(" "))
    }

    #[test]
    fn components_become_tc_arguments() {
        for (text, expected) in [
            ("taildrop:limit=200", "pfifo limit 200"),
            ("codel", "codel limit 1000 target 5000us interval 100000us noecn"),
            (
                "codel:ecn=on:ce_threshold=1ms",
                "codel limit 1000 target 5000us interval 100000us ecn ce_threshold 1000us",
            ),
            ("pie", "pie limit 1000 target 15000us tupdate 15000us alpha 2 beta 20 noecn nobytemode"),
            (
                "fq_codel",
                "fq_codel limit 10240 flows 1024 quantum 1514 memory_limit 32000000 drop_batch 64 target 5000us interval 100000us ecn",
            ),
            ("sfq:headdrop=on", "sfq limit 127 depth 127 divisor 1024 quantum 1514 perturb 0 headdrop"),
            (
                "red:mode=bytes:gentle=off:draw=drop:ageing=off",
                "red limit 1514000 min 7570 max 22710 avpkt 1514 burst 48 probability 0.1 bandwidth 10000000bit",
            ),
        ] {
            assert_eq!(words(text).as_deref(), Ok(expected), "{text}");
        }
        let drr =
            kernel_qdisc(&Arguments::parse(COMPONENTS, "drr:depth=100:overhead=0:quantum=1500b").unwrap())
                .unwrap();
        let (class, queue) = drr.class.unwrap();
        assert_eq!((class.join(" "), queue.join(" ")), ("drr quantum 1514".into(), "pfifo limit 100".into()));
        for is_drop_on_departure in ["codel", "fq_codel"] {
            assert!(
                kernel_qdisc(&Arguments::parse(COMPONENTS, is_drop_on_departure).unwrap())
                    .unwrap()
                    .drops_departures
            );
        }
    }

    #[test]
    fn keys_without_a_kernel_counterpart_are_refused() {
        for (text, expected) in [
            ("bode", "the kernel has no discipline like 'bode'; expected taildrop, codel"),
            (
                "taildrop:limit_bytes=10kb",
                "the kernel's taildrop has no limit_bytes; expected a limit in packets",
            ),
            ("codel:variant=mahimahi", "has no such variant; expected rfc or linux"),
            ("pie:max_burst=0", "has no key for max_burst; expected no such key"),
            ("pie:alpha=0.13", "has no alpha of 0.13; expected a multiple of 1/16 up to 2"),
            ("red", "has no mode of packets; expected mode=bytes"),
            ("red:mode=bytes:gentle=off", "has no draw=arrival; expected draw=drop"),
            ("red:mode=bytes:gentle=off:draw=drop", "has no ageing below HTB; expected ageing=off"),
            ("drr", "has no limit of all flows together; expected depth"),
        ] {
            let refused = words(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
