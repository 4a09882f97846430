//! QCIs of bearers and 5QIs of QoS flows: what they give, and that a UE has one for all or for none.

use super::cell_case::{BearerView, CellView, effective};
use super::declare::{BEARER, QOS_FLOW};
use super::fault::Fault;
use super::point::Settings;
use qdelay_ran::tables::qos::{self, FIVE_QIS, QCIS, QosClass};

/// What a QCI or 5QI is asked of.
type Table = (&'static str, fn(u8) -> Option<&'static QosClass>, &'static [QosClass]);

const QCI: Table = ("qci", qos::qci, &QCIS);
const FIVE_QI: Table = ("five_qi", qos::five_qi, &FIVE_QIS);

impl<'a> CellView<'a> {
    /// Whether classes are those of the technology and standardized, and all of a UE have one where any has.
    ///
    /// # Errors
    /// The first key that is not so.
    pub(super) fn check_classes(&self) -> Result<(), Fault> {
        for bearer in self.ues.iter().flat_map(|ue| &ue.bearers) {
            self.check_key(&bearer.settings)?;
            for (_, flow) in &bearer.qos_flows {
                self.check_key(flow)?;
            }
        }
        for ue in &self.ues {
            // The first thing with a class, and the first without.
            let (mut with, mut without) = (false, None);
            for bearer in &ue.bearers {
                for (qfi, flow) in &bearer.qos_flows {
                    match self.class(bearer, flow)? {
                        Some(_) => with = true,
                        None => without = without.or(Some((bearer, *qfi))),
                    }
                }
            }
            let (true, Some((bearer, qfi))) = (with, without) else { continue };
            let (name, of) = (&bearer.bearer.name, &ue.ue.name);
            let fault = |table: &str, message: String| Fault::new(bearer.bearer.line, table, message);
            return Err(if self.is_nr() {
                let message = format!(
                    "is missing: QoS flow {qfi} of bearer '{name}' has no 5QI where others of UE '{of}' have one; expected one of {}",
                    numbers(&FIVE_QIS)
                );
                fault(&format!("{}.five_qi", QOS_FLOW.name), message)
            } else {
                let message = format!(
                    "is missing: bearer '{name}' has no QCI where others of UE '{of}' have one; expected one of {}",
                    numbers(&QCIS)
                );
                fault(&format!("{}.qci", BEARER.name), message)
            });
        }
        Ok(())
    }

    /// The keys of a bearer or QoS flow are those of the technology.
    fn check_key(&self, settings: &Settings<'_>) -> Result<(), Fault> {
        let (wrong, message) = if self.is_nr() {
            ("qci", "the cell is NR; expected five_qi in its place")
        } else {
            ("five_qi", "the cell is LTE; expected the qci of a bearer in its place")
        };
        let is_there = settings.table.position(wrong).is_some() && settings.get(wrong).is_set();
        if is_there { Err(settings.fault(wrong, message)) } else { Ok(()) }
    }

    /// The class of a QoS flow of a bearer: in LTE, the bearer's; `None` where it has none.
    ///
    /// # Errors
    /// It is not standardized.
    pub(super) fn class(
        &self,
        bearer: &BearerView<'a>,
        flow: &Settings<'a>,
    ) -> Result<Option<&'static QosClass>, Fault> {
        let (key, find, table) = if self.is_nr() { FIVE_QI } else { QCI };
        let (level, setting) = effective(&[flow, &bearer.settings], key);
        if !setting.is_set() {
            return Ok(None);
        }
        // The declared range keeps it within eight bits.
        find(setting.whole() as u8).map(Some).ok_or_else(|| {
            let message = format!("{}: not standardized; expected one of {}", setting.text, numbers(table));
            level.fault(key, message)
        })
    }

    /// In which order the bearer is served: as it says, as the most important of its classes does, or first.
    ///
    /// # Errors
    /// As [`CellView::class`].
    pub(super) fn priority(&self, bearer: &BearerView<'a>) -> Result<u8, Fault> {
        let priority = bearer.settings.get("priority");
        let mut of_classes: Option<u8> = None;
        for (_, flow) in &bearer.qos_flows {
            if let Some(class) = self.class(bearer, flow)? {
                of_classes = Some(of_classes.map_or(class.priority, |least| least.min(class.priority)));
            }
        }
        // The declared range keeps it within eight bits.
        Ok(of_classes.filter(|_| !priority.given).unwrap_or(priority.whole() as u8))
    }
}

fn numbers(table: &[QosClass]) -> String {
    table.iter().map(|class| class.number.to_string()).collect::<Vec<String>>().join(", ")
}
