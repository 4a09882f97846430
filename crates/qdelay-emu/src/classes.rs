//! Classes of packets: rules over protocol, ports and codepoint, which the classifiers of a path use.
//!
//! Rules are tried in order; the first that matches decides. Ports belong to transports that begin with two port numbers; a
//! rule matches a port at either end, because a rule describes a conversation, whichever end opened it. Fragments have no ports
//! and match no rule that requires one.

use crate::frame::Frame;
use std::ops::RangeInclusive;

/// One rule. A field that is `None` matches every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassRule {
    /// The IP protocol: 6 is TCP, 17 UDP.
    pub protocol: Option<u8>,
    /// Range that contains the source or the destination port.
    pub ports: Option<RangeInclusive<u16>>,
    /// The differentiated services codepoint, 0 to 63.
    pub dscp: Option<u8>,
    /// The class of matching packets.
    pub class: u16,
}

/// Ordered rules with a default class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// Rules in the order in which they are tried.
    pub rules: Vec<ClassRule>,
    /// The class of packets that match no rule.
    pub otherwise: u16,
}

impl ClassRule {
    #[inline]
    fn fits(&self, frame: &Frame) -> bool {
        let has_port = |range: &RangeInclusive<u16>| {
            frame.ports.is_some_and(|ports| ports.iter().any(|port| range.contains(port)))
        };
        self.protocol.is_none_or(|protocol| protocol == frame.protocol)
            && self.dscp.is_none_or(|dscp| dscp == frame.dscp)
            && self.ports.as_ref().is_none_or(has_port)
    }
}

impl Classes {
    /// The class of a packet.
    #[inline]
    pub fn class_of(&self, frame: &Frame) -> u16 {
        self.rules.iter().find(|rule| rule.fits(frame)).map_or(self.otherwise, |rule| rule.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame;

    fn frame(protocol: u8, ports: [u16; 2], dscp: u8) -> Frame {
        let mut packet =
            vec![0x45, dscp << 2, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        packet.extend([0; 4]);
        frame::parse(&packet).unwrap()
    }

    #[test]
    fn first_matching_rule_decides() {
        let rule = |protocol, ports, dscp, class| ClassRule { protocol, ports, dscp, class };
        let classes = Classes {
            rules: vec![
                rule(None, None, Some(46), 1),
                rule(Some(17), Some(5000..=5999), None, 2),
                rule(None, Some(443..=443), None, 3),
                rule(Some(6), None, None, 4),
            ],
            otherwise: 9,
        };
        let of = |protocol, ports, dscp| classes.class_of(&frame(protocol, ports, dscp));
        assert_eq!(of(6, [5000, 443], 46), 1);
        assert_eq!((of(17, [5000, 1], 0), of(17, [1, 5999], 0), of(17, [1, 6000], 0)), (2, 2, 9));
        assert_eq!((of(17, [443, 1], 0), of(6, [1, 443], 0)), (3, 3));
        assert_eq!((of(6, [5000, 1], 0), of(1, [443, 443], 0)), (4, 9), "ICMP has no ports");
        assert_eq!(Classes::default().class_of(&frame(6, [1, 2], 3)), 0);
    }
}
