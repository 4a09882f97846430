//! QoS classes: the QCI of a bearer (LTE) and the 5QI of a QoS flow (NR), the values derived from them, and their checks.

use super::cell_tables::{Bearer, Cell, QosFlow};
use super::declare::{self, Settings};
use qdelay_config::{Fault, Setting};
use qdelay_ran::mac::Service;
use qdelay_ran::tables::qos::{self, FIVE_QIS, QCIS, QosClass};

impl Cell {
    /// Checks that each class is standardized for the cell's technology, and that either all bearers of a UE have one or none
    /// has.
    ///
    /// # Errors
    /// The first key that violates this.
    pub(super) fn check_classes(&self) -> Result<(), Fault> {
        for bearer in self.ues.iter().flat_map(|ue| &ue.bearers) {
            if self.is_nr() {
                refuse(&bearer.keys.qci, "the cell is NR; expected five_qi instead")?;
            } else {
                const MESSAGE: &str = "the cell is LTE; expected the qci of a bearer instead";
                refuse(&bearer.keys.five_qi, MESSAGE)?;
                bearer.qos_flows.iter().try_for_each(|flow| refuse(&flow.keys.five_qi, MESSAGE))?;
            }
        }
        for ue in &self.ues {
            // Finds whether any QoS flow has a class, and the first one without.
            let (mut with, mut without) = (false, None);
            for bearer in &ue.bearers {
                for flow in &bearer.qos_flows {
                    match self.class(bearer, flow)? {
                        Some(_) => with = true,
                        None => without = without.or(Some((bearer, flow.qfi))),
                    }
                }
            }
            let (true, Some((bearer, qfi))) = (with, without) else { continue };
            let (name, of) = (&bearer.name, &ue.name);
            let fault = |table: &str, message: String| Fault::new(bearer.line, table, message);
            return Err(if self.is_nr() {
                let message = format!(
                    "is missing: QoS flow {qfi} of bearer '{name}' has no 5QI, while others of UE '{of}' have one; expected one of {}",
                    numbers(&FIVE_QIS)
                );
                fault(&format!("{}.five_qi", declare::QosFlow::TABLE.name), message)
            } else {
                let message = format!(
                    "is missing: bearer '{name}' has no QCI, while others of UE '{of}' have one; expected one of {}",
                    numbers(&QCIS)
                );
                fault(&format!("{}.qci", declare::Bearer::TABLE.name), message)
            });
        }
        Ok(())
    }

    /// The class of a QoS flow: the bearer's in LTE; `None` without one.
    ///
    /// # Errors
    /// The number is not a standardized class.
    pub(super) fn class(&self, bearer: &Bearer, flow: &QosFlow) -> Result<Option<&'static QosClass>, Fault> {
        let is_nr = self.is_nr();
        let setting = if is_nr { flow.keys.five_qi.or(&bearer.keys.five_qi) } else { &bearer.keys.qci };
        let Some(number) = setting.get() else { return Ok(None) };
        let found = if is_nr { qos::five_qi(number) } else { qos::qci(number) };
        found.map(Some).ok_or_else(|| {
            let known = numbers(if is_nr { &FIVE_QIS } else { &QCIS });
            setting.fault(format!("{number}: not standardized; expected one of {known}"))
        })
    }

    /// Priority of the bearer: its own key, otherwise the highest priority among its classes, otherwise 1.
    ///
    /// # Errors
    /// Errors of [`Cell::class`].
    pub(super) fn priority(&self, bearer: &Bearer) -> Result<u8, Fault> {
        let priority = &bearer.keys.priority;
        let mut of_classes: Option<u8> = None;
        for flow in &bearer.qos_flows {
            if let Some(class) = self.class(bearer, flow)? {
                of_classes = Some(of_classes.map_or(class.priority, |least| least.min(class.priority)));
            }
        }
        Ok(of_classes.filter(|_| !priority.is_given()).unwrap_or(priority.get()))
    }

    /// Service of the bearer: priority, guaranteed bit rate, and the shortest delay budget among its classes with the loss rate
    /// of that class.
    ///
    /// # Errors
    /// Errors of [`Cell::class`].
    pub(super) fn service(&self, bearer: &Bearer) -> Result<Service, Fault> {
        let mut tightest: Option<&QosClass> = None;
        for flow in &bearer.qos_flows {
            let class = self.class(bearer, flow)?;
            tightest = tightest.into_iter().chain(class).min_by_key(|class| class.budget_ms);
        }
        let usual = Service { guaranteed: bearer.keys.gbr.get(), ..Service::usual(self.priority(bearer)?) };
        Ok(tightest.map_or(usual, |class| Service {
            budget: class.budget(),
            loss_exponent: class.loss_exponent,
            ..usual
        }))
    }
}

/// Refuses a key that belongs to the other technology.
fn refuse(setting: &Setting<Option<u8>>, message: &str) -> Result<(), Fault> {
    if setting.is_set() { Err(setting.fault(message)) } else { Ok(()) }
}

fn numbers(table: &[QosClass]) -> String {
    table.iter().map(|class| class.number.to_string()).collect::<Vec<String>>().join(", ")
}
