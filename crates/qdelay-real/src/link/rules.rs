//! Assignment of a command's packets to the QoS flows of a cell.
//!
//! The command is at the first UE. The QoS flow of a packet, in both directions, is decided by the first match of: the rules of
//! `--qos`, in their order; the codepoints of the scenario's flows to that UE; and otherwise the last QoS flow, which has the lowest
//! priority.
//!
//! | rule | packets |
//! | --- | --- |
//! | `dscp:ef=1` | packets with this DSCP, by name or number |
//! | `tcp=2`, `udp=1` | packets of this protocol |
//! | `udp:5000-5999=1`, `tcp:443=2` | packets of this protocol, with a port in this range, or this port, at either end |
//! | `port:443=2` | packets of any protocol with this port |

use crate::path::dumbbell;
use qdelay_core::dscp;
use qdelay_emu::classes::{ClassRule, Classes};
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_path::stack::FlowWay;
use qdelay_sim::{CellScenario, Scenario, UeSpec};
use qdelay_terminal::error::Failure;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Plan of the path of `scenario`, whose bottleneck is `cell`, for one command.
///
/// # Errors
/// A rule cannot be parsed, or names a QoS flow that does not exist.
pub(super) fn plan(
    scenario: &Scenario,
    cell: &CellScenario,
    rules: &[String],
) -> Result<DumbbellPlan, Failure> {
    let qfis: Vec<u8> = cell.ues.first().map(qfis).unwrap_or_default();
    let class = |qfi: u8| qfis.iter().position(|known| *known == qfi).map(|place| place as u16);
    let mut classes = Classes { rules: Vec::new(), otherwise: qfis.len().saturating_sub(1) as u16 };
    for text in rules {
        let refuse = |message: String| Failure::input("--qos", format!("'{text}': {message}"));
        let (rule, qfi) = read(text).map_err(refuse)?;
        let class = qfi.parse().ok().and_then(class).ok_or_else(|| {
            let known: Vec<String> = qfis.iter().map(u8::to_string).collect();
            refuse(format!(
                "there is no QoS flow '{qfi}'; expected one of the first UE's: {}",
                known.join(", ")
            ))
        })?;
        classes.rules.push(ClassRule { class, ..rule });
    }
    // Codepoints of the scenario's flows follow the rules of the command line, which therefore take precedence.
    let of_ue = scenario.flows.iter().filter(|flow| flow.ue == 0 && flow.dscp != 0);
    classes.rules.extend(of_ue.filter_map(|flow| {
        Some(ClassRule { dscp: Some(flow.dscp), class: class(flow.qfi)?, ..ClassRule::default() })
    }));
    let ways = qfis.iter().map(|qfi| FlowWay { qfi: *qfi, ..FlowWay::default() }).collect();
    Ok(dumbbell(scenario, ways, classes))
}

fn qfis(ue: &UeSpec) -> Vec<u8> {
    ue.bearers.iter().flat_map(|bearer| &bearer.qos_flows).map(|qos_flow| qos_flow.qfi).collect()
}

/// Parses a rule; returns the packets that match, and the text of the QFI.
fn read(text: &str) -> Result<(ClassRule, &str), String> {
    const EXPECTED: &str = "expected a rule such as dscp:ef=1, udp:5000-5999=1, tcp=2 or port:443=2";
    let (of, qfi) = text.rsplit_once('=').ok_or(EXPECTED)?;
    let (kind, value) = match of.split_once(':') {
        Some((kind, value)) => (kind, Some(value)),
        None => (of, None),
    };
    let protocol = match kind {
        "tcp" => Some(TCP),
        "udp" => Some(UDP),
        _ => None,
    };
    let rule = match (kind, value) {
        ("dscp", Some(value)) => {
            let dscp = dscp::parse(value)
                .ok_or_else(|| format!("'{value}' is not a DSCP; expected a name such as ef, or 0 to 63"))?;
            ClassRule { dscp: Some(dscp), ..ClassRule::default() }
        }
        ("tcp" | "udp", None) => ClassRule { protocol, ..ClassRule::default() },
        ("tcp" | "udp" | "port", Some(value)) => {
            // A single port is a range of one.
            let (first, last) = value.split_once('-').unwrap_or((value, value));
            let ports = first.parse::<u16>().ok().zip(last.parse::<u16>().ok());
            let (first, last) = ports.filter(|(first, last)| first <= last).ok_or_else(|| {
                format!("'{value}' is not a port; expected 0 to 65535, or a range such as 5000-5999")
            })?;
            ClassRule { protocol, ports: Some(first..=last), ..ClassRule::default() }
        }
        _ => return Err(EXPECTED.to_string()),
    };
    Ok((rule, qfi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_parsed_as_typed() {
        let rule = |text: &str| read(text).map(|(rule, qfi)| (rule, qfi.to_string()));
        let is = |protocol, ports, dscp| ClassRule { protocol, ports, dscp, class: 0 };
        assert_eq!(rule("dscp:ef=1"), Ok((is(None, None, Some(46)), "1".into())));
        assert_eq!(rule("dscp:8=9"), Ok((is(None, None, Some(8)), "9".into())));
        assert_eq!(rule("tcp=2"), Ok((is(Some(6), None, None), "2".into())));
        assert_eq!(rule("udp:5000-5999=1"), Ok((is(Some(17), Some(5000..=5999), None), "1".into())));
        assert_eq!(rule("port:443=x"), Ok((is(None, Some(443..=443), None), "x".into())));
        for wrong in ["", "tcp", "dscp=1", "port=1", "udp:9-8=1", "udp:70000=1", "dscp:64=1", "icmp=1"] {
            assert!(rule(wrong).is_err_and(|message| message.contains("expected")), "{wrong}");
        }
    }
}
