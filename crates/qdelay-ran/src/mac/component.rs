//! How users name schedulers.

use super::Scheduler;
use crate::cell::partition::{LIMIT, limit_rbs};
use alloc::format;
use alloc::string::ToString;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Parameter, Unit};

static ROUND_ROBIN: Component = Component {
    kind: Kind::Scheduler,
    name: "round_robin",
    about: "As many resource block groups to each UE, up to what it wants.",
    source: "OpenAirInterface, ns-3 lte",
    parameters: &[],
    positional: None,
};
static PROPORTIONAL_FAIR: Component = Component {
    kind: Kind::Scheduler,
    name: "proportional_fair",
    about: "Resource blocks to the UE with the highest rate for what it got lately.",
    source: "Jalali, Padovani and Pankaj, VTC 2000",
    parameters: &[Parameter {
        name: "window",
        unit: Unit::Span,
        default: "100ms",
        min: "125us",
        max: "1000s",
        about: "Over how long the throughput is averaged; at least a TTI.",
        source: "ns-3 lte: 99 TTIs of 1 ms",
    }],
    positional: None,
};
static MAX_THROUGHPUT: Component = Component {
    kind: Kind::Scheduler,
    name: "max_throughput",
    about: "Resource blocks to the UE with the highest rate; the others may starve.",
    source: "ns-3 lte (maximum throughput)",
    parameters: &[],
    positional: None,
};
static EQP: Component = Component {
    kind: Kind::Scheduler,
    name: "eqp",
    about: "Elastic quantum partition: as many whole packets as fit; over time the same to each UE. Not of a slice.",
    source: "5G QoS thesis, sections 4.4 and 4.6",
    parameters: &[LIMIT],
    positional: None,
};

/// The schedulers that text can name.
pub const COMPONENTS: &[&Component] = &[&ROUND_ROBIN, &PROPORTIONAL_FAIR, &MAX_THROUGHPUT, &EQP];

impl Scheduler {
    /// The scheduler that `arguments` describe.
    ///
    /// # Errors
    /// A component that is no scheduler.
    pub fn build(arguments: &Arguments) -> Result<Scheduler, ComponentError> {
        Ok(match arguments.component().name {
            "round_robin" => Scheduler::RoundRobin,
            "proportional_fair" => Scheduler::ProportionalFair {
                window: arguments.span("window").unwrap_or(Span::from_millis(100)),
            },
            "max_throughput" => Scheduler::MaxThroughput,
            "eqp" => Scheduler::Eqp { limit_rbs: limit_rbs(arguments) },
            other => {
                return Err(ComponentError {
                    typed: arguments.typed().to_string(),
                    message: format!("'{other}' is not a scheduler"),
                });
            }
        })
    }

    /// The scheduler that `text` describes, such as `proportional_fair:window=50ms`.
    ///
    /// # Errors
    /// As [`Arguments::parse`].
    pub fn parse(text: &str) -> Result<Scheduler, ComponentError> {
        Scheduler::build(&Arguments::parse(COMPONENTS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(Scheduler::parse("round_robin"), Ok(Scheduler::RoundRobin));
        assert_eq!(Scheduler::parse("max_throughput"), Ok(Scheduler::MaxThroughput));
        let window = Span::from_millis(100);
        assert_eq!(Scheduler::parse("proportional_fair"), Ok(Scheduler::ProportionalFair { window }));
        let window = Span::from_secs(1);
        assert_eq!(
            Scheduler::parse("proportional_fair:window=1s"),
            Ok(Scheduler::ProportionalFair { window })
        );
        assert_eq!(Scheduler::parse("eqp:limit=50"), Ok(Scheduler::Eqp { limit_rbs: 50 }));
        let message = Scheduler::parse("fifo").unwrap_err().to_string();
        assert!(message.contains(
            "unknown scheduler 'fifo'; known: round_robin, proportional_fair, max_throughput, eqp"
        ));
        for component in COMPONENTS {
            assert_eq!(component.kind, Kind::Scheduler);
            assert!(Scheduler::build(&Arguments::defaults(component)).is_ok());
        }
    }
}
