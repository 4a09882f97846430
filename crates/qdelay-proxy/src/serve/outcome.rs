//! Results of a proxy.

use super::tcp::Connections;
use super::udp::Flows;
use crate::engine::{Engine, EngineCounts};
use qdelay_core::{Span, Time};
use qdelay_emu::audit::{Audit, AuditFacts};
use qdelay_emu::control::Changed;
use qdelay_emu::device::Port;
use qdelay_emu::figures::{DirectionFigures, LinkUse};

/// Results of a proxy up to a time.
#[derive(Debug)]
pub struct Outcome {
    /// Figures of the audit, with its verdict.
    pub facts: AuditFacts,
    /// Time that the proxy ran.
    pub duration: Span,
    /// Figures of both directions: down, up.
    pub directions: [DirectionFigures; 2],
    /// Connections, resets, retransmissions.
    pub counts: EngineCounts,
    /// Connections that are open.
    pub open: usize,
    /// Clients that were turned away, and datagrams of clients without a flow.
    pub rejected: [u64; 2],
    /// Changes of the path, in the order of time.
    pub changes: Vec<Changed>,
}

impl Outcome {
    pub(super) fn collect(
        engine: &Engine,
        audit: &Audit,
        connections: &Connections,
        flows: &Flows,
        now: Time,
    ) -> Outcome {
        let direction = |port: Port| {
            let measures = engine.measures(port);
            let used = LinkUse::new(measures, engine.link_usage(port, now), now.since(Time::ZERO));
            DirectionFigures::new(measures, &engine.drops_by_reason(port), engine.marks(port), used)
        };
        Outcome {
            facts: audit.facts(),
            duration: now.since(Time::ZERO),
            directions: [direction(Port::Outside), direction(Port::Inside)],
            counts: engine.counts(),
            open: engine.open_connections(),
            rejected: [connections.rejected, flows.rejected],
            changes: Vec::new(),
        }
    }
}
