//! A classifier: sends each packet to one of several nodes, by flow, by codepoint or by class.

use crate::NodeId;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use qdelay_core::Packet;

/// The field by which a classifier decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// [`Packet::flow`].
    Flow,
    /// [`Packet::dscp`].
    Dscp,
    /// [`Packet::class`], as an earlier classifier or the host has set it.
    Class,
}

/// One rule: where packets with these keys go.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) keys: RangeInclusive<u32>,
    pub(crate) to: String,
    pub(crate) class: Option<u16>,
}

/// The rules of a classifier. A packet without a matching rule goes to the default output, or without one is dropped
/// ([`qdelay_core::DropReason::UNROUTABLE`]).
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) key: Key,
    pub(crate) rules: Vec<Rule>,
    pub(crate) default: Option<(String, Option<u16>)>,
}

impl Rules {
    /// No rules yet, over this key.
    pub const fn by(key: Key) -> Rules {
        Rules { key, rules: Vec::new(), default: None }
    }
    /// Packets whose key is in `keys` go to the node `to`; where `class` is given they become of that class. Ranges may
    /// not overlap.
    #[must_use]
    pub fn route(mut self, keys: RangeInclusive<u32>, to: &str, class: Option<u16>) -> Rules {
        self.rules.push(Rule { keys, to: to.to_string(), class });
        self
    }
    /// All other packets go to the node `to`.
    #[must_use]
    pub fn otherwise(mut self, to: &str, class: Option<u16>) -> Rules {
        self.default = Some((to.to_string(), class));
        self
    }
}

/// The output of a packet, and its new class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) to: NodeId,
    pub(crate) class: Option<u16>,
}

/// Rules with their nodes found.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    key: Key,
    /// First key, last key and route, in order of keys.
    routes: Vec<(u32, u32, Route)>,
    default: Option<Route>,
}

impl Classifier {
    /// `routes` in any order; a range whose first key is above its last takes nothing.
    ///
    /// # Errors
    /// Two ranges (first and last key) that overlap.
    pub(crate) fn new(
        key: Key,
        mut routes: Vec<(u32, u32, Route)>,
        default: Option<Route>,
    ) -> Result<Classifier, [(u32, u32); 2]> {
        routes.retain(|(first, last, _)| first <= last);
        routes.sort_by_key(|&(first, _, _)| first);
        match routes.windows(2).find(|pair| pair[0].1 >= pair[1].0) {
            Some(pair) => Err([(pair[0].0, pair[0].1), (pair[1].0, pair[1].1)]),
            None => Ok(Classifier { key, routes, default }),
        }
    }

    /// Not inlined: the loop of a path would keep data in registers that is only used here.
    #[inline(never)]
    pub(crate) fn route(&self, packet: &Packet) -> Option<Route> {
        let key = match self.key {
            Key::Flow => packet.flow,
            Key::Dscp => u32::from(packet.dscp),
            Key::Class => u32::from(packet.class),
        };
        // Nearly always the routes are in the order of the keys: this position is tried first.
        let guess = key.wrapping_sub(self.routes.first().map_or(0, |route| route.0)) as usize;
        if let Some(&(first, last, route)) = self.routes.get(guess)
            && first <= key
            && key <= last
        {
            return Some(route);
        }
        self.search(key)
    }

    fn search(&self, key: u32) -> Option<Route> {
        let after = self.routes.partition_point(|&(first, _, _)| first <= key);
        match after.checked_sub(1).and_then(|index| self.routes.get(index)) {
            Some(&(_, last, route)) if key <= last => Some(route),
            _ => self.default,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn to(node: u32) -> Route {
        Route { to: NodeId(node), class: Some(node as u16) }
    }

    #[test]
    fn ranges_and_default() {
        let routes = vec![(10, 19, to(2)), (0, 3, to(1)), (u32::MAX, u32::MAX, to(3)), (5, 4, to(9))];
        let classifier = Classifier::new(Key::Flow, routes.clone(), Some(to(0))).unwrap();
        let node = |flow| classifier.route(&Packet { flow, ..Packet::default() }).map(|r| r.to.0);
        let found: Vec<_> = [0, 3, 4, 9, 10, 19, 20, u32::MAX].into_iter().map(node).collect();
        assert_eq!(found, [1, 1, 0, 0, 2, 2, 0, 3].map(Some));
        let strict = Classifier::new(Key::Flow, routes, None).unwrap();
        assert_eq!(strict.route(&Packet { flow: 4, ..Packet::default() }), None);
    }

    #[test]
    fn other_keys() {
        let packet = Packet { flow: 1, dscp: 46, class: 7, ..Packet::default() };
        let by = |key| Classifier::new(key, vec![(46, 46, to(1)), (7, 7, to(2))], None).unwrap();
        assert_eq!(by(Key::Dscp).route(&packet), Some(to(1)));
        assert_eq!(by(Key::Class).route(&packet), Some(to(2)));
        assert_eq!(by(Key::Flow).route(&packet), None);
    }

    #[test]
    fn overlap_is_refused() {
        let routes = vec![(0, 5, to(1)), (5, 6, to(2))];
        assert_eq!(Classifier::new(Key::Flow, routes, None).unwrap_err(), [(0, 5), (5, 6)]);
    }
}
