//! Cases through the kernel's own queue: the bottleneck is an HTB class with one of Linux's disciplines, in a namespace of its own,
//! and netem delays packets by the round-trip time. The laboratory uses this module, because its kernel has both.
//!
//! ```text
//! outside  o0 --- a0  shaper  a1 --- b0  delay  b1 --- i0  inside
//!                     |        HTB, discipline    netem: half of the round trip each way
//!                     arrivals                  (uplink: HTB at i0)
//!                              departures
//! ```
//!
//! Packets are recorded when they arrive at the shaper and when they leave it, with the kernel's time stamps. Both recordings
//! together show the treatment of each packet by the discipline ([`fates`]), and are replayed through the scenario's own path
//! ([`replay`]), so that all measures equal those of every other clock.
//!
//! | module | what |
//! | --- | --- |
//! | `network` | namespaces, devices, and the commands of ip and tc |
//! | `capture` | packets at the shaper |
//! | `fates` | fate of each packet: left, dropped or queued at the end |
//! | `replay` | the recording as a queue and a link |

mod capture;
mod fates;
mod network;
mod replay;

pub(crate) use capture::Capture;
pub(crate) use network::{ENDS, Network};
pub(crate) use replay::{Replayed, replay};

use qdelay_core::qdisc::{KernelQdisc, kernel_qdisc};
use qdelay_core::{Rate, Span};
use qdelay_path::AnyLink;
use qdelay_path::link::OVERHEAD;
use qdelay_path::link::{AnyShaped, LinkModel};
use qdelay_sim::{FlowSpec, Scenario};

/// Bytes of an Ethernet header, which the kernel's HTB counts.
const ETHERNET: u32 = 14;

/// The bottleneck of a scenario, in the terms of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// The queue discipline.
    pub qdisc: KernelQdisc,
    /// The HTB class of the discipline.
    pub class: Class,
    /// The HTB class of the uplink, and the limit of its queue in packets.
    pub uplink: Option<(Class, u64)>,
    /// The round-trip time.
    pub rtt: Span,
}

/// An HTB class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    /// Rate of the class.
    pub rate: Rate,
    /// Burst in bytes.
    pub burst_bytes: u64,
}

/// Converts the bottleneck of `scenario` to the kernel's terms.
///
/// # Errors
/// A part that the kernel does not support, and what was expected.
pub(crate) fn express(scenario: &Scenario) -> Result<Kernel, String> {
    let refuse = |message: &str| Err(format!("{message} where the kernel is the bottleneck"));
    let Some((qdisc, link)) = scenario.bottleneck.as_link() else {
        return refuse("a cell: expected a queue and a link");
    };
    let AnyLink::Shaped(AnyShaped::Shaper(shaper)) = &link.0 else {
        return refuse("a link that is no HTB class: expected htb:RATE:overhead=14");
    };
    let rate = shaper.rate().unwrap_or(Rate::ZERO);
    if shaper.overhead_bytes() != ETHERNET || !is_for_tc(rate) {
        return Err(format!(
            "a link with {}={}: the kernel counts the {ETHERNET} bytes of Ethernet headers and has whole rates of at least 8 kbit/s; expected \
             {}={ETHERNET} where the kernel is the bottleneck",
            OVERHEAD.name(),
            shaper.overhead_bytes(),
            OVERHEAD.name()
        ));
    }
    // The kernel's setup has one bottleneck, and a constant delay behind it.
    if !scenario.hops.is_empty()
        || !scenario.jitter.is_none()
        || !scenario.uplink_jitter.is_none()
        || scenario.rtt_curve.is_some()
    {
        return refuse("hops, jitter or a round trip over time: expected none");
    }
    if !scenario.impairments.is_none() {
        return refuse("loss, reordering or duplication: expected none");
    }
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.is_upload) {
        return refuse(&format!("flow '{}' with direction = \"up\": expected down", flow.name));
    }
    let is_plain = |flow: &FlowSpec| flow.access.is_none() && !flow.has_extra_rtt();
    if let Some(flow) = scenario.flows.iter().find(|flow| !is_plain(flow)) {
        return refuse(&format!("flow '{}' with access_rate or extra_rtt: expected neither", flow.name));
    }
    let uplink = match &scenario.uplink {
        None => None,
        Some(uplink) if uplink.qdisc.is_some() => {
            return refuse("an uplink with a discipline of its own: expected none");
        }
        Some(uplink) => match uplink.link.0.rate().filter(|rate| is_for_tc(*rate)) {
            Some(rate) => Some((Class { rate, burst_bytes: shaper.burst_bytes() }, uplink.limit)),
            None => return refuse("an uplink without a constant rate: expected one"),
        },
    };
    Ok(Kernel {
        qdisc: kernel_qdisc(qdisc)?,
        class: Class { rate, burst_bytes: shaper.burst_bytes() },
        uplink,
        rtt: scenario.base_rtt,
    })
}

/// True if `tc` accepts the rate: a whole number of bytes per second, at least 1000.
fn is_for_tc(rate: Rate) -> bool {
    rate != Rate::INFINITE && rate.as_bps() >= 8000
}
