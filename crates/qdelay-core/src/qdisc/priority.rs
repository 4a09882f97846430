//! Priority: one discipline for each class of codepoints; the first non-empty class is served.
//!
//! Source: RFC 2474 (the codepoint in each packet), RFC 2475 (classes at a node, told apart by it), RFC 4594
//! section 1.4.1.1 (priority queuing), Linux `prio`; the BoDe paper section VII-C, where the classes with a
//! bound on their delay have a BoDe each and the rest a TailDrop:
//! `priority:ef@[bode:target=50ms]+af41@[bode:target=100ms]+rest@taildrop`.
//!
//! Parameters:
//! * `classes`: the classes, joined by `+`, in the order of service. Each is `CODEPOINTS@DISCIPLINE`.
//!   Codepoints are names ([`dscp`]), numbers from 0 to 63 or ranges (`8-15`), joined by `/`; exactly one
//!   class has `rest`, all codepoints that no other class has. A discipline with parameters is written in
//!   square brackets, and may be another priority, at most four deep.
//! * `limit`: packets that each class holds if its own discipline has no `limit`; without it, the default of
//!   each.
//!
//! The discipline itself stores no packet: limits, drops, marks and timers are those of the classes.
//!
//! Differences from the reference:
//! * An empty class is not called at a dequeue, so its discipline is not notified that it is empty; Linux
//!   (`prio_dequeue`) calls every band in turn.
//! * Linux's default bands follow the four bits of the old type of service (RFC 1349), through `priomap`.

use super::limits::LIMIT;
use super::{AnyQdisc, Backlog, COMPONENTS, Qdisc};
use crate::component::{
    Arguments, Component, ComponentError, Kind, Typed, find_outside_brackets, split_outside_brackets,
};
use crate::{Context, DropReason, MarkReason, Packet, Sink, Time, dscp};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// Most classes of one priority.
const CLASSES_MAX: usize = 16;
/// Most nested priorities, the outermost included.
const DEPTH_MAX: usize = 4;
/// The keyword for all codepoints that no class names.
const REST: &str = "rest";

const CLASSES: Typed<str> = Typed::new(
    "classes",
    "ef/va@taildrop+rest@taildrop",
    "CODEPOINTS@DISCIPLINE for each class, joined by +, first served first; codepoints are names, \
                    numbers, ranges (8-15) or rest, joined by /; a discipline with keys stands in [ ]",
)
.source("RFC 4594 section 2.3 (telephony first)");

const CLASS_LIMIT: Typed<Option<u64>> = LIMIT
    .optional()
    .about(
        "most packets queued in each class whose discipline has no limit key; default: the default of that discipline",
    )
    .source("");

/// Declaration of `priority` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Qdisc,
    "priority",
    "strict priority: a discipline for each class of codepoints; the first non-empty class is served",
)
.source("RFC 2474, RFC 2475; BoDe paper section VII-C; Linux prio")
.classifies("codepoint")
.with(&[CLASSES.parameter(), CLASS_LIMIT.parameter()])
.positional("classes");

/// Drop reasons of this discipline besides those of its classes.
pub(super) const DROPS: &[DropReason] = &[];
/// Mark reasons of this discipline besides those of its classes.
pub(super) const MARKS: &[MarkReason] = &[];

/// The priority discipline.
#[derive(Clone, Debug)]
pub struct Priority {
    /// Disciplines of the classes, in the order of service.
    classes: Vec<AnyQdisc>,
    /// Index of the class of each codepoint.
    class_of: [u8; dscp::CODEPOINTS],
}

impl Priority {
    /// The queues that `arguments` describe.
    ///
    /// # Errors
    /// Invalid classes; a codepoint in two classes; not exactly one class for the rest; a class whose discipline cannot be
    /// built; too many classes, or priorities nested too deeply.
    pub fn build(arguments: &Arguments) -> Result<Priority, ComponentError> {
        build(arguments, 1).map_err(|message| arguments.fail(message))
    }
}

/// Builds the `depth`th priority, counted from the outermost.
fn build(arguments: &Arguments, depth: usize) -> Result<Priority, String> {
    if depth > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} nested priorities"));
    }
    let text = arguments.get(&CLASSES);
    let texts = split_outside_brackets(text, '+')?;
    if texts.len() > CLASSES_MAX {
        return Err(format!("{} classes; expected at most {CLASSES_MAX}", texts.len()));
    }
    let mut owners = Owners::default();
    let mut classes = Vec::with_capacity(texts.len());
    for (number, text) in texts.into_iter().enumerate() {
        let (codepoints, discipline) = halves(text)?;
        // The number of classes is at most CLASSES_MAX, so it fits into 8 bits.
        owners.claim(codepoints, number as u8).map_err(|message| format!("class '{text}': {message}"))?;
        let class = child(discipline, arguments, depth);
        classes.push(class.map_err(|message| format!("class '{codepoints}': {message}"))?);
    }
    Ok(Priority { classes, class_of: owners.all()? })
}

/// The two parts of `CODEPOINTS@DISCIPLINE`, the discipline without its brackets.
fn halves(class: &str) -> Result<(&str, &str), String> {
    let Some(at) = find_outside_brackets(class, '@') else {
        return Err(format!("class '{class}': expected CODEPOINTS@DISCIPLINE, such as ef@bode"));
    };
    let (codepoints, discipline) = (&class[..at], &class[at + 1..]);
    let bare = discipline.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    Ok((codepoints, bare.unwrap_or(discipline)))
}

/// The discipline `text` of a class of `priority`.
fn child(text: &str, priority: &Arguments, depth: usize) -> Result<AnyQdisc, String> {
    let mut arguments = priority.registry().parse(COMPONENTS, text).map_err(|error| error.to_string())?;
    if let Some(limit) = priority.get(&CLASS_LIMIT) {
        arguments.default_to(&LIMIT, limit);
    }
    if arguments.component().name == COMPONENT.name {
        return build(&arguments, depth + 1).map(|priority| AnyQdisc::Priority(priority.into()));
    }
    AnyQdisc::build(&arguments).map_err(|error| error.to_string())
}

/// Class of each codepoint while the classes are parsed.
struct Owners {
    named: [Option<u8>; dscp::CODEPOINTS],
    rest: Option<u8>,
}

impl Default for Owners {
    fn default() -> Owners {
        Owners { named: [None; dscp::CODEPOINTS], rest: None }
    }
}

impl Owners {
    /// Assigns all of `codepoints` to `class`.
    fn claim(&mut self, codepoints: &str, class: u8) -> Result<(), String> {
        for item in codepoints.split('/') {
            if item == REST {
                if self.rest.replace(class).is_some() {
                    return Err(format!("'{REST}' is given twice; expected it in one class"));
                }
                continue;
            }
            let (first, last) = range(item)?;
            for codepoint in first..=last {
                if self.named[usize::from(codepoint)].replace(class).is_some() {
                    let name = dscp::name(codepoint).map_or(String::new(), |name| format!(" ({name})"));
                    return Err(format!(
                        "codepoint {codepoint}{name} is given twice; expected it in one class"
                    ));
                }
            }
        }
        Ok(())
    }

    fn all(&self) -> Result<[u8; dscp::CODEPOINTS], String> {
        let rest = self.rest.ok_or_else(|| {
            format!(
                "no class has the remaining codepoints; expected a class '{REST}', such as +{REST}@taildrop"
            )
        })?;
        Ok(self.named.map(|class| class.unwrap_or(rest)))
    }
}

/// The first and last codepoint of `ef`, `46` or `8-15`, both within 0 to 63.
fn range(text: &str) -> Result<(u8, u8), String> {
    let read = |text| {
        dscp::parse(text).ok_or_else(|| {
            format!(
                "unknown codepoint '{text}'; expected 0 to 63, a range (8-15), {REST}, or be, le, llt, cs0 to cs7, \
                 af11 to af43, va, nqb, ef"
            )
        })
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (read(first)?, read(last)?),
        None => (read(text)?, read(text)?),
    };
    if first > last {
        return Err(format!("{text} is empty; expected the smaller codepoint first"));
    }
    Ok((first, last))
}

impl Qdisc for Priority {
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        // The codepoint is masked to six bits; `class_of` holds only valid indices of `classes`.
        let class = self.class_of[usize::from(packet.dscp) % dscp::CODEPOINTS];
        self.classes[usize::from(class)].enqueue(context, packet);
    }
    /// A class may drop all its packets when it is called; then the next class is called.
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.classes.iter_mut().find_map(|class| class.dequeue_if_queued(context))
    }
    /// The default would call the discipline too: [`Qdisc::dequeue`] does not call empty classes either.
    fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        self.dequeue(context)
    }
    fn head(&self) -> Option<&Packet> {
        self.classes.iter().find_map(AnyQdisc::head)
    }
    fn backlog(&self) -> Backlog {
        self.classes.iter().map(AnyQdisc::backlog).fold(Backlog::default(), |sum, class| Backlog {
            packets: sum.packets + class.packets,
            bytes: sum.bytes + class.bytes,
        })
    }
    fn next_deadline(&self) -> Time {
        self.classes.iter().map(AnyQdisc::next_deadline).min().unwrap_or(Time::NEVER)
    }
    fn has_timer(&self) -> bool {
        self.classes.iter().any(AnyQdisc::has_timer)
    }
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        self.classes.iter_mut().for_each(|class| class.poll(context));
    }
    fn green_bias(&self) -> Option<f64> {
        self.classes.iter().find_map(AnyQdisc::green_bias)
    }
    fn fault(&self) -> Option<String> {
        self.classes.iter().find_map(AnyQdisc::fault)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, at, error};
    use super::*;

    const BODE: &str = "priority:ef@[bode:target=50ms]+af41@[bode:target=100ms]+rest@taildrop";

    /// A queue with one packet of each codepoint; the handle is the codepoint.
    fn all_codepoints(text: &str) -> Bench {
        let mut bench = Bench::new(text);
        for codepoint in 0..64 {
            bench.dscp = codepoint;
            bench.enqueue(0, 100);
        }
        bench
    }
    fn order(bench: &mut Bench) -> Vec<u64> {
        core::iter::from_fn(|| bench.dequeue(0)).collect()
    }
    fn limits(text: &str) -> Vec<usize> {
        let mut bench = Bench::new(text);
        let mut held = Vec::new();
        for codepoint in [46, 34, 0] {
            let before = bench.qdisc.backlog().packets;
            bench.dscp = codepoint;
            (0..20_000).for_each(|_| bench.enqueue(0, 100));
            held.push((bench.qdisc.backlog().packets - before) as usize);
        }
        held
    }

    #[test]
    fn classes_are_served_in_the_order_they_are_given() {
        let mut bench = all_codepoints(BODE);
        assert_eq!(bench.qdisc.backlog(), Backlog { packets: 64, bytes: 6400 });
        assert_eq!(bench.qdisc.head().map(|packet| packet.handle), Some(46));
        let order = order(&mut bench);
        assert_eq!(order[..3], [46, 34, 0]);
        assert!(order[2..].is_sorted() && order.len() == 64);
        assert_eq!(bench.qdisc.backlog(), Backlog::default());
        assert!(bench.qdisc.head().is_none());
    }

    #[test]
    fn a_later_packet_of_a_higher_class_is_served_first() {
        let mut bench = Bench::new("priority");
        bench.enqueue(0, 100);
        bench.enqueue(0, 100);
        assert_eq!(bench.dequeue(1), Some(0));
        bench.dscp = 44;
        bench.enqueue(2, 100);
        assert_eq!([bench.dequeue(3), bench.dequeue(3), bench.dequeue(3)], [Some(2), Some(1), None]);
    }

    #[test]
    fn codepoints_are_names_numbers_and_ranges() {
        let mut bench = all_codepoints("priority:rest@taildrop+63/EF/8-10/cs6-cs7@taildrop");
        assert!(
            order(&mut bench)[64 - 14..].iter().eq(&[8, 9, 10, 46, 48, 49, 50, 51, 52, 53, 54, 55, 56, 63])
        );
        let mut bench = all_codepoints("priority:0-63@taildrop+rest@taildrop");
        assert!(order(&mut bench).into_iter().eq(0..64));
        let mut bench = all_codepoints("priority:rest@taildrop");
        assert!(order(&mut bench).into_iter().eq(0..64));
    }

    #[test]
    fn each_class_keeps_its_own_bound_and_limit() {
        let mut bench = Bench::new(BODE);
        for codepoint in [46, 34, 0] {
            bench.dscp = codepoint;
            (0..10).for_each(|_| bench.enqueue(0, 100));
        }
        assert_eq!(bench.dequeue(60), Some(7), "the first seven are beyond 50 ms, the last three are spared");
        assert_eq!([bench.dequeue(60), bench.dequeue(60)], [Some(8), Some(9)]);
        assert_eq!(bench.dequeue(100), Some(10), "within 100 ms");
        assert_eq!(bench.drops(crate::aqm::Bode::SOJOURN_BOUND), 7);
        assert_eq!(limits("priority:ef@[taildrop:limit=3]+rest@[taildrop:limit=5]"), [3, 5, 0]);
    }

    #[test]
    fn the_limit_applies_to_classes_without_their_own() {
        assert_eq!(limits("priority:ef@taildrop+af41@bode+rest@taildrop"), [1000, 1000, 1000]);
        let text = "priority:ef@[taildrop:limit=3]+af41@bode+rest@[priority:rest@taildrop]:limit=7";
        assert_eq!(limits(text), [3, 7, 7]);
        let text = "priority:ef@taildrop+rest@[priority:be@taildrop+rest@taildrop:limit=2]:limit=7";
        assert_eq!(limits(text), [7, 2, 2]);
    }

    #[test]
    fn an_empty_class_is_skipped() {
        let mut bench = Bench::new("priority:ef@codel+va@pie+rest@taildrop");
        assert_eq!(bench.dequeue(0), None);
        bench.enqueue(0, 100);
        assert_eq!(bench.dequeue(1), Some(0));
    }

    #[test]
    fn timers_are_those_of_the_classes() {
        let has_timer = |text| Bench::new(text).qdisc.has_timer();
        assert!(!has_timer(BODE));
        assert!(has_timer("priority:ef@bode+rest@pie"));
        let mut bench = Bench::new("priority:ef@[pie:tupdate=20ms]+rest@[pie:tupdate=30ms]");
        assert_eq!(bench.qdisc.next_deadline(), Time::NEVER, "both laws are at rest");
        bench.enqueue(1, 1500);
        assert_eq!(bench.qdisc.next_deadline(), at(30));
        bench.dscp = 46;
        bench.enqueue(2, 1500);
        assert_eq!(bench.qdisc.next_deadline(), at(20));
        bench.poll(20);
        assert_eq!(bench.qdisc.next_deadline(), at(30));
        bench.poll(30);
        assert_eq!(bench.qdisc.next_deadline(), at(40));
    }

    #[test]
    fn every_packet_ends_in_one_place() {
        let mut bench = Bench::new("priority:ef@[pie:limit=50]+rest@[priority:be@red+rest@codel]");
        let left = bench.overload(2000, 2);
        assert!(left > 1950 && bench.drops(crate::aqm::Red::EARLY) > 500, "{left}");
    }

    #[test]
    fn invalid_classes_are_refused_with_a_reason() {
        let refused = |text: &str, expected: &str| {
            let error = error(text);
            assert!(error.starts_with(&format!("'{text}': ")) && error.contains(expected), "{error}");
        };
        refused("priority:ef", "class 'ef': expected CODEPOINTS@DISCIPLINE, such as ef@bode");
        refused("priority:ef@bode", "no class has the remaining codepoints; expected a class 'rest'");
        refused("priority:rest@bode+rest@bode", "class 'rest@bode': 'rest' is given twice");
        refused("priority:ef@bode+46/rest@bode", "class '46/rest@bode': codepoint 46 (ef) is given twice");
        refused("priority:2@bode+0-7@bode", "codepoint 2 is given twice");
        refused("priority:ff@bode+rest@bode", "unknown codepoint 'ff'; expected 0 to 63, a range (8-15)");
        refused("priority:64@bode+rest@bode", "unknown codepoint '64'");
        refused("priority:@bode", "unknown codepoint ''");
        refused("priority:9-8@bode+rest@bode", "9-8 is empty; expected the smaller codepoint first");
        refused(
            "priority:rest@boode",
            "class 'rest': 'boode': unknown qdisc 'boode'; known: taildrop, headdrop",
        );
        refused("priority:rest@[bode:target=5]", "'bode:target=5': target=5: expected a number with a unit");
        refused("priority:rest@[codel:target=1s]", "'codel:target=1s': target 1s is longer than interval");
        refused(
            "priority:ef@bode:target=5ms+rest@bode",
            "priority has no key 'target'; known: classes, limit",
        );
        refused("priority:rest@[bode", "'[' without its ']'");
        refused("priority:ef@[bode]+", "class '': expected CODEPOINTS@DISCIPLINE");
        let classes: Vec<String> = (0..17).map(|n| format!("{n}@bode")).collect();
        refused(&format!("priority:{}", classes.join("+")), "17 classes; expected at most 16");
    }

    #[test]
    fn priorities_nest_four_deep_at_most() {
        let nested =
            |depth| (0..depth).fold("taildrop".to_string(), |inner, _| format!("priority:rest@[{inner}]"));
        Bench::new(&nested(4)).enqueue(0, 100);
        assert!(error(&nested(5)).contains("more than 4 nested priorities"));
        assert!(error(&nested(500)).contains("more than 4 nested priorities"));
        Bench::new("priority:rest@priority").enqueue(0, 100);
    }
}
