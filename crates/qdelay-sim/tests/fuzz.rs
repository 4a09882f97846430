//! Disciplines, links and transports as users write them, under arbitrary and mutated text: no panic, and errors that name
//! what was typed. A failure prints a seed, which `ARBTEST_SEED=0x... cargo test -p qdelay-sim --test fuzz NAME` replays.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use qdelay_core::component::{Arguments, Component};
use std::time::Duration;

/// 2 s a target, or `QDELAY_FUZZ_SECONDS`.
fn budget() -> Duration {
    let seconds = std::env::var("QDELAY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(2.0))
}

/// Pieces of values that mean something somewhere, or nearly.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "1e9",
    "nan",
    "inf",
    "on",
    "off",
    "5ms",
    "20ms",
    "0s",
    "10mbit",
    "infinite",
    "1500b",
    "64kb",
    "",
    "=",
    ":",
    ",",
    "+",
    "@",
    "0s@6mbit",
    "0s@6mbit+10s@0",
    "18446744073709551615",
    "99999999999999999999",
    "0.5",
    "1.5s",
    "5parsec",
    "\u{7f}",
    "\u{e9}",
    "mahimahi",
    "rfc",
    "linux",
    "ns3",
    "rack",
    "always",
    "1000",
    "584y",
];

/// A component's text: mostly its own keys, with values that fit now and then.
fn component_text(u: &mut Unstructured<'_>, registry: &[&'static Component]) -> Result<String> {
    let component = *u.choose(registry)?;
    let mut text = if u.ratio(9, 10)? { component.name.to_string() } else { u.arbitrary()? };
    for _ in 0..u.int_in_range(0..=5)? {
        text.push(':');
        if u.ratio(9, 10)? && !component.parameters.is_empty() {
            let parameter = u.choose(component.parameters)?;
            text.push_str(parameter.name);
            text.push('=');
            let value = if u.ratio(1, 3)? { parameter.default } else { *u.choose(VALUES)? };
            text.push_str(value);
        } else {
            text.push_str(u.choose(VALUES)?);
        }
    }
    Ok(text)
}

/// What must hold of an error: one line that names what was typed.
fn explains(typed: &str, error: &qdelay_core::component::ComponentError) {
    assert_eq!(error.typed, typed);
    assert!(!error.message.is_empty());
}

#[test]
fn disciplines() {
    arbtest(|u| {
        let registry = qdelay_core::qdisc::COMPONENTS;
        let text = component_text(u, registry)?;
        match Arguments::parse(registry, &text) {
            Ok(arguments) => {
                assert_eq!(arguments.typed(), text);
                if let Err(error) = qdelay_core::qdisc::AnyQdisc::build(&arguments) {
                    explains(&text, &error);
                }
            }
            Err(error) => explains(&text, &error),
        }
        Ok(())
    })
    .budget(budget())
    .run();
}

#[test]
fn links() {
    arbtest(|u| {
        let text = component_text(u, qdelay_path::LINKS)?;
        match qdelay_path::parse_link(&text) {
            Ok(arguments) => {
                if let Err(error) = qdelay_path::AnyLink::build(&arguments) {
                    explains(&text, &error);
                }
            }
            Err(error) => explains(&text, &error),
        }
        Ok(())
    })
    .budget(budget())
    .run();
}

#[test]
fn spans_rates_and_sizes() {
    arbtest(|u| {
        let text: String = if u.ratio(1, 2)? { u.arbitrary()? } else { u.choose(VALUES)?.to_string() };
        let _ = qdelay_core::units::parse_span(&text);
        let _ = qdelay_core::units::parse_rate(&text);
        let _ = qdelay_core::units::parse_bytes(&text);
        Ok(())
    })
    .budget(budget())
    .run();
}

#[test]
fn transports() {
    arbtest(|u| {
        let registry = qdelay_traffic::transport::COMPONENTS;
        let text = component_text(u, registry)?;
        match Arguments::parse(registry, &text) {
            Ok(arguments) => {
                assert_eq!(arguments.typed(), text);
                if let Err(error) = qdelay_traffic::transport::TransportConfig::build(&arguments) {
                    explains(&text, &error);
                }
            }
            Err(error) => explains(&text, &error),
        }
        Ok(())
    })
    .budget(budget())
    .run();
}
