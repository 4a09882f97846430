//! Links in series in front of the bottleneck, each with a queue of its own.
//!
//! ```text
//! [access-i] -> hop/a -> hop-link/a -> [hop-delay/a] -> hop/b -> hop-link/b -> ... -> bottleneck, or what is above a cell
//! ```
//!
//! All flows cross all of them in the data direction, the probe too. Nodes are called by what they are and the hop's name.

use super::{LinkSpec, Place, Stack, StackError};
use crate::{Curve, DelaySpec, NodeId, NodeSpec};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::AnyQdisc;

/// Most hops that scenarios may have.
pub const HOPS_MAX: usize = 16;

/// A queue and a link in front of the bottleneck.
#[derive(Clone, Debug)]
pub struct HopSpec {
    /// Name, unique among hops.
    pub name: String,
    /// Queue discipline.
    pub qdisc: Arguments,
    /// Link.
    pub link: LinkSpec,
    /// The one-way delay from its link to the next node.
    pub delay: Span,
    /// A one-way delay over time, in addition to `delay`.
    pub curve: Option<Curve>,
}

impl HopSpec {
    /// The name of its queue's node.
    pub fn queue_node(&self) -> String {
        format!("hop/{}", self.name)
    }
    /// The name of its link's node.
    pub fn link_node(&self) -> String {
        format!("hop-link/{}", self.name)
    }
    /// The name of its delay's node, which is there where it has a delay.
    pub fn delay_node(&self) -> String {
        format!("hop-delay/{}", self.name)
    }
    /// The time that all of `hops` together take without queue and transmission.
    pub fn propagation(hops: &[HopSpec]) -> Span {
        hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay)
    }
}

/// Adds `hops` in front of the node `behind`; returns the node that flows enter by, and queue and link of each hop.
pub(super) fn add(
    stack: &mut Stack,
    hops: &[HopSpec],
    behind: NodeId,
) -> Result<(NodeId, Vec<[NodeId; 2]>), StackError> {
    let mut entry = behind;
    let mut nodes = Vec::new();
    for hop in hops.iter().rev() {
        let (queue, link) = (hop.queue_node(), hop.link_node());
        if hop.delay > Span::ZERO || hop.curve.is_some() {
            let delay = hop.delay_node();
            let delayed =
                DelaySpec { curve: hop.curve.clone().map(Box::new), ..DelaySpec::constant(hop.delay) };
            stack.chain_to(&[&delay], entry);
            entry = stack.add(Place::Elsewhere, &delay, NodeSpec::Delay(delayed));
        }
        stack.chain_to(&[&queue, &link], entry);
        let queue = stack.add(Place::Hop, &queue, NodeSpec::Queue(AnyQdisc::build(&hop.qdisc)?));
        nodes.push([queue, stack.add(Place::HopLink, &link, NodeSpec::link(hop.link.0.clone()))]);
        entry = stack.add_light(&hop.link, &format!("hop-light/{}", hop.name), queue);
    }
    nodes.reverse();
    Ok((entry, nodes))
}
