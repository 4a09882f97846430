//! Quality of service by number: the QCIs of LTE (TS 23.203 tables 6.1.7-A and 6.1.7-B) and the 5QIs of 5G
//! (TS 23.501 table 5.7.4-1, all rows of release 18; 5QI 75 is reserved there), and the characteristics of each.
//!
//! The packet delay budget applies between the UE and the far end of the operator's network (the PCEF, the
//! UPF at N6), in one direction; part of it, 2 to 20 ms by the notes of the tables, is for the path from
//! there to the base station. The loss rate is that of packets lost on the radio, not by congestion.
//!
//! # Differences from the reference
//! * Priority levels are on the scale of 5G, ten times that of LTE: QCI 65 has 0.7 in LTE and 7 here, QCI 9
//!   has 9 in LTE and 90 here. The two tables are thus comparable, and all levels are whole numbers.
//! * The rows of 5QIs 83 to 90 were not compared with a published copy of the table of release 18.
//! * The averaging windows of the tables are left out: all are 2000 ms, the window of guaranteed bit rates
//!   here.

use qdelay_core::Span;

/// The resource type of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceType {
    /// A guaranteed bit rate.
    Guaranteed,
    /// A guaranteed bit rate; a packet that arrives later than its budget counts as lost.
    DelayCritical,
    /// No guarantee.
    NotGuaranteed,
}

/// A standardized class of quality of service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QosClass {
    /// The QCI or 5QI.
    pub number: u8,
    /// Resource type of the class.
    pub resource: ResourceType,
    /// Priority level of the class, 1 to 127: lower ones are served first.
    pub priority: u8,
    /// The packet delay budget, in milliseconds.
    pub budget_ms: u16,
    /// Exponent of the packet error loss rate: the rate is ten to the power of minus this.
    pub loss_exponent: u8,
    /// Most bytes to arrive within a budget (maximum data burst volume); `None` except for delay-critical
    /// classes.
    pub burst_bytes: Option<u32>,
    /// The intended services.
    pub services: &'static str,
}

impl QosClass {
    /// The packet delay budget.
    pub const fn budget(&self) -> Span {
        Span::from_millis(self.budget_ms as u64)
    }
    /// The packet error loss rate, 0 to 1.
    pub fn loss(&self) -> f64 {
        1.0 / libm::pow(10.0, f64::from(self.loss_exponent))
    }
}

use ResourceType::{DelayCritical, Guaranteed, NotGuaranteed};

const fn class(
    number: u8,
    resource: ResourceType,
    (priority, budget_ms, loss_exponent): (u8, u16, u8),
    services: &'static str,
) -> QosClass {
    QosClass { number, resource, priority, budget_ms, loss_exponent, burst_bytes: None, services }
}

const fn critical(number: u8, numbers: (u8, u16, u8), burst_bytes: u32, services: &'static str) -> QosClass {
    QosClass { burst_bytes: Some(burst_bytes), ..class(number, DelayCritical, numbers, services) }
}

const BUFFERED: &str = "buffered video, web, mail, downloads";
const LIVE_UPLINK: &str = "live streams from the UE";

/// The standardized QCIs, in the order of their numbers (TS 23.203 table 6.1.7-A, and 82 to 85 of table 6.1.7-B).
pub const QCIS: [QosClass; 27] = [
    class(1, Guaranteed, (20, 100, 2), "calls"),
    class(2, Guaranteed, (40, 150, 3), "video calls, live video"),
    class(3, Guaranteed, (30, 50, 3), "games, vehicles, process monitoring"),
    class(4, Guaranteed, (50, 300, 6), "buffered video"),
    class(5, NotGuaranteed, (10, 100, 6), "signalling of IMS"),
    class(6, NotGuaranteed, (60, 300, 6), BUFFERED),
    class(7, NotGuaranteed, (70, 100, 3), "voice, live video, games"),
    class(8, NotGuaranteed, (80, 300, 6), BUFFERED),
    class(9, NotGuaranteed, (90, 300, 6), BUFFERED),
    class(10, NotGuaranteed, (90, 1100, 6), "buffered video, web, mail, downloads over satellites"),
    class(65, Guaranteed, (7, 75, 2), "push to talk, mission critical"),
    class(66, Guaranteed, (20, 100, 2), "push to talk"),
    class(67, Guaranteed, (15, 100, 3), "video, mission critical"),
    class(69, NotGuaranteed, (5, 60, 6), "signalling, mission critical"),
    class(70, NotGuaranteed, (55, 200, 6), "data, mission critical"),
    class(71, Guaranteed, (56, 150, 6), LIVE_UPLINK),
    class(72, Guaranteed, (56, 300, 4), LIVE_UPLINK),
    class(73, Guaranteed, (56, 300, 8), LIVE_UPLINK),
    class(74, Guaranteed, (56, 500, 8), LIVE_UPLINK),
    class(75, Guaranteed, (25, 50, 2), "vehicles"),
    class(76, Guaranteed, (56, 500, 4), LIVE_UPLINK),
    class(79, NotGuaranteed, (65, 50, 2), "vehicles"),
    class(80, NotGuaranteed, (68, 10, 6), "low-latency broadband, augmented reality"),
    critical(82, (19, 10, 4), 255, "automation in small steps"),
    critical(83, (22, 10, 4), 1354, "automation in larger steps"),
    critical(84, (24, 30, 5), 1354, "intelligent transport"),
    critical(85, (21, 5, 5), 255, "electricity distribution, high voltage"),
];

/// The standardized 5QIs, in the order of their numbers (TS 23.501 table 5.7.4-1).
pub const FIVE_QIS: [QosClass; 31] = [
    class(1, Guaranteed, (20, 100, 2), "calls"),
    class(2, Guaranteed, (40, 150, 3), "video calls, live video"),
    class(3, Guaranteed, (30, 50, 3), "games, vehicles, process monitoring"),
    class(4, Guaranteed, (50, 300, 6), "buffered video"),
    class(5, NotGuaranteed, (10, 100, 6), "signalling of IMS"),
    class(6, NotGuaranteed, (60, 300, 6), BUFFERED),
    class(7, NotGuaranteed, (70, 100, 3), "voice, live video, games"),
    class(8, NotGuaranteed, (80, 300, 6), BUFFERED),
    class(9, NotGuaranteed, (90, 300, 6), BUFFERED),
    class(10, NotGuaranteed, (90, 1100, 6), "buffered video, web, mail, downloads over satellites"),
    class(65, Guaranteed, (7, 75, 2), "push to talk, mission critical"),
    class(66, Guaranteed, (20, 100, 2), "push to talk"),
    class(67, Guaranteed, (15, 100, 3), "video, mission critical"),
    class(69, NotGuaranteed, (5, 60, 6), "signalling, mission critical"),
    class(70, NotGuaranteed, (55, 200, 6), "data, mission critical"),
    class(71, Guaranteed, (56, 150, 6), LIVE_UPLINK),
    class(72, Guaranteed, (56, 300, 4), LIVE_UPLINK),
    class(73, Guaranteed, (56, 300, 8), LIVE_UPLINK),
    class(74, Guaranteed, (56, 500, 8), LIVE_UPLINK),
    class(76, Guaranteed, (56, 500, 4), LIVE_UPLINK),
    class(79, NotGuaranteed, (65, 50, 2), "vehicles"),
    class(80, NotGuaranteed, (68, 10, 6), "low-latency broadband, augmented reality"),
    critical(82, (19, 10, 4), 255, "automation in small steps"),
    critical(83, (22, 10, 4), 1354, "automation in larger steps, vehicles"),
    critical(84, (24, 30, 5), 1354, "intelligent transport"),
    critical(85, (21, 5, 5), 255, "electricity distribution, vehicles"),
    critical(86, (18, 5, 4), 1354, "vehicles, collision avoidance"),
    critical(87, (25, 5, 3), 500, "motion tracking of interactive services"),
    critical(88, (25, 10, 3), 1125, "motion tracking of interactive services"),
    critical(89, (25, 15, 4), 17_000, "pictures of interactive services"),
    critical(90, (25, 20, 4), 63_000, "pictures of interactive services"),
];

/// The QCI of this number, if it is standardized.
pub fn qci(number: u8) -> Option<&'static QosClass> {
    find(&QCIS, number)
}

/// The 5QI of this number, if it is standardized.
pub fn five_qi(number: u8) -> Option<&'static QosClass> {
    find(&FIVE_QIS, number)
}

fn find(table: &'static [QosClass], number: u8) -> Option<&'static QosClass> {
    table.iter().find(|class| class.number == number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn row(class: &QosClass) -> (ResourceType, u8, u16, u8) {
        (class.resource, class.priority, class.budget_ms, class.loss_exponent)
    }

    #[test]
    fn well_known_rows_have_their_values() {
        for (number, wanted) in [
            (1, (Guaranteed, 20, 100, 2)),
            (2, (Guaranteed, 40, 150, 3)),
            (3, (Guaranteed, 30, 50, 3)),
            (4, (Guaranteed, 50, 300, 6)),
            (5, (NotGuaranteed, 10, 100, 6)),
            (7, (NotGuaranteed, 70, 100, 3)),
            (9, (NotGuaranteed, 90, 300, 6)),
            (65, (Guaranteed, 7, 75, 2)),
            (69, (NotGuaranteed, 5, 60, 6)),
            (80, (NotGuaranteed, 68, 10, 6)),
            (84, (DelayCritical, 24, 30, 5)),
        ] {
            assert_eq!(qci(number).map(row), Some(wanted), "QCI {number}");
            assert_eq!(five_qi(number).map(row), Some(wanted), "5QI {number}");
        }
        assert_eq!((qci(75).map(row), five_qi(75)), (Some((Guaranteed, 25, 50, 2)), None));
        assert_eq!((qci(86), five_qi(86).map(row)), (None, Some((DelayCritical, 18, 5, 4))));
        assert_eq!(five_qi(90).map(|class| class.burst_bytes), Some(Some(63_000)));
        assert_eq!(qci(7).map(|class| class.budget().as_millis()), Some(100));
        assert_eq!(qci(7).map(QosClass::loss), Some(1e-3));
        for number in [0, 11, 64, 68, 77, 78, 81, 91, 255] {
            assert_eq!((qci(number), five_qi(number)), (None, None), "{number}");
        }
    }

    /// Every row of table 5.7.4-1 of releases 17 and 18 as the table prints it: number, resource type, priority level, budget in ms, error rate
    /// and default maximum data burst volume in bytes (0: not applicable).
    #[test]
    fn every_5qi_of_release_18_has_its_row() {
        let printed = "
            1 GBR 20 100 1e-2 0
            2 GBR 40 150 1e-3 0
            3 GBR 30 50 1e-3 0
            4 GBR 50 300 1e-6 0
            65 GBR 7 75 1e-2 0
            66 GBR 20 100 1e-2 0
            67 GBR 15 100 1e-3 0
            71 GBR 56 150 1e-6 0
            72 GBR 56 300 1e-4 0
            73 GBR 56 300 1e-8 0
            74 GBR 56 500 1e-8 0
            76 GBR 56 500 1e-4 0
            5 non-GBR 10 100 1e-6 0
            6 non-GBR 60 300 1e-6 0
            7 non-GBR 70 100 1e-3 0
            8 non-GBR 80 300 1e-6 0
            9 non-GBR 90 300 1e-6 0
            10 non-GBR 90 1100 1e-6 0
            69 non-GBR 5 60 1e-6 0
            70 non-GBR 55 200 1e-6 0
            79 non-GBR 65 50 1e-2 0
            80 non-GBR 68 10 1e-6 0
            82 critical 19 10 1e-4 255
            83 critical 22 10 1e-4 1354
            84 critical 24 30 1e-5 1354
            85 critical 21 5 1e-5 255
            86 critical 18 5 1e-4 1354
            87 critical 25 5 1e-3 500
            88 critical 25 10 1e-3 1125
            89 critical 25 15 1e-4 17000
            90 critical 25 20 1e-4 63000";
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|row: &Vec<&str>| !row.is_empty())
            .collect();
        for row in &rows {
            let whole = |place: usize| row[place].parse::<u32>().unwrap();
            let class = five_qi(whole(0) as u8).unwrap_or_else(|| panic!("5QI {}", row[0]));
            let resource = match row[1] {
                "GBR" => Guaranteed,
                "critical" => DelayCritical,
                _ => NotGuaranteed,
            };
            assert_eq!(class.resource, resource, "{row:?}");
            assert_eq!(
                (u32::from(class.priority), u32::from(class.budget_ms)),
                (whole(2), whole(3)),
                "{row:?}"
            );
            assert!((class.loss() / row[4].parse::<f64>().unwrap() - 1.0).abs() < 1e-9, "{row:?}");
            assert_eq!(class.burst_bytes.unwrap_or(0), whole(5), "{row:?}");
        }
        assert_eq!(rows.len(), FIVE_QIS.len(), "no 5QI that the table does not print");
    }

    /// Invariants of the tables: numbers ascend, a number means the same in both, only delay-critical classes have bursts,
    /// and all values occur in the standards.
    #[test]
    fn the_tables_are_regular() {
        for table in [&QCIS[..], &FIVE_QIS[..]] {
            assert!(table.windows(2).all(|pair| pair[0].number < pair[1].number));
            for class in table {
                assert!((1..=127).contains(&class.priority) && (5..=1100).contains(&class.budget_ms));
                assert!((2..=8).contains(&class.loss_exponent) && !class.services.is_empty());
                assert_eq!(class.burst_bytes.is_some(), class.resource == DelayCritical, "{}", class.number);
                assert!((class.loss() * libm::pow(10.0, f64::from(class.loss_exponent)) - 1.0).abs() < 1e-12);
            }
        }
        let both: Vec<u8> =
            QCIS.iter().filter(|class| five_qi(class.number).is_some()).map(|class| class.number).collect();
        assert_eq!(both.len(), QCIS.len() - 1, "all but 75");
        for number in both {
            let (lte, nr) = (qci(number), five_qi(number));
            assert_eq!(lte.map(row), nr.map(row), "{number}");
            assert_eq!(lte.map(|class| class.burst_bytes), nr.map(|class| class.burst_bytes), "{number}");
        }
    }
}
