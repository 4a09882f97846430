//! Disciplines, links and transports as users write them, under arbitrary and mutated text: no panic, and errors that name
//! what was typed. A failure prints a seed, which `ARBTEST_SEED=0x... cargo test -p qdelay-sim --test main fuzz::NAME` replays.

use arbtest::arbitrary::{Result, Unstructured};
use arbtest::arbtest;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_path::AnyLink;
use qdelay_testing::effort;
use qdelay_traffic::transport::TransportConfig;

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

/// Reads and builds components of `registry` from arbitrary text: what is refused is refused by an error that names what was
/// typed.
fn judge<T>(
    registry: &'static [&'static Component],
    parse: impl Fn(&str) -> core::result::Result<Arguments, ComponentError>,
    build: impl Fn(&Arguments) -> core::result::Result<T, ComponentError>,
) {
    arbtest(|u| {
        let text = component_text(u, registry)?;
        let built = parse(&text).and_then(|arguments| {
            assert_eq!(arguments.typed(), text);
            build(&arguments)
        });
        if let Err(error) = built {
            assert_eq!(error.typed, text);
            assert!(!error.message.is_empty());
        }
        Ok(())
    })
    .budget(effort::duration(2.0))
    .run();
}

#[test]
fn disciplines() {
    let registry = qdelay_core::qdisc::COMPONENTS;
    judge(registry, |text| Arguments::parse(registry, text), AnyQdisc::build);
}

#[test]
fn links() {
    judge(qdelay_path::LINKS, qdelay_path::parse_link, AnyLink::build);
}

#[test]
fn transports() {
    let registry = qdelay_traffic::transport::COMPONENTS;
    judge(registry, |text| Arguments::parse(registry, text), TransportConfig::build);
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
    .budget(effort::duration(2.0))
    .run();
}
