//! The path of a scenario as the emulator has it: what the simulator builds, in both directions.

use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span};
use qdelay_emu::plan::{Direction, Plan};
use qdelay_path::{AnyLink, Line};
use qdelay_sim::Scenario;

/// What cannot be real.
pub const ONLY_LINKS: &str =
    "a cell is for the simulator; expected a scenario with path.link or path.trace, not [cell]";

/// Data goes through the bottleneck, then takes half of the round trip and the jitter; acknowledgements go through the uplink,
/// then take the other half.
///
/// # Errors
/// A cell, or a discipline that cannot be built.
pub fn plan(scenario: &Scenario) -> Result<Plan, String> {
    let half = scenario.base_rtt / 2;
    let (limit, link) = match &scenario.uplink {
        Some(uplink) => (uplink.limit, uplink.link.0.clone()),
        None => (u64::from(u32::MAX), AnyLink::from(Line::new(Rate::INFINITE, 0))),
    };
    let tail_drop = Arguments::parse(qdisc::COMPONENTS, &format!("taildrop:limit={limit}"));
    let build = |arguments: &Arguments| AnyQdisc::build(arguments).map_err(|error| error.to_string());
    let (qdisc, bottleneck) = scenario.bottleneck.as_link().ok_or(ONLY_LINKS)?;
    Ok(Plan {
        down: Direction {
            qdisc: build(qdisc)?,
            link: bottleneck.0.clone(),
            delay: half,
            jitter: scenario.jitter,
            loss: 0.0,
        },
        up: Direction {
            qdisc: build(&tail_drop.map_err(|error| error.to_string())?)?,
            link,
            delay: scenario.base_rtt.saturating_sub(half),
            jitter: Span::ZERO,
            loss: 0.0,
        },
        seed: scenario.seed,
    })
}
