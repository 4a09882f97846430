//! Quality of service of a bearer: the priority, delay budget and loss rate of its class, and a guaranteed
//! bit rate.

use qdelay_core::{Rate, Span};

/// The quality of service of a bearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// Priority: bearers of a UE with a lower number are served first.
    pub priority: u8,
    /// The packet delay budget, above 0.
    pub budget: Span,
    /// Exponent of the packet error loss rate: the rate is ten to the power of minus this.
    pub loss_exponent: u8,
    /// Guaranteed bit rate, in bytes of packets; `None` without a guarantee.
    pub guaranteed: Option<Rate>,
}

impl Service {
    /// The service of the default bearer, QCI or 5QI 9, with this priority.
    pub const fn usual(priority: u8) -> Service {
        Service { priority, budget: Span::from_millis(300), loss_exponent: 6, guaranteed: None }
    }

    /// The factor `-log10(loss) / budget`, 1/s, by which M-LWDF and EXP/PF weigh a waiting time.
    fn weight(&self) -> f64 {
        f64::from(self.loss_exponent) / self.budget.as_secs_f64()
    }
}

/// The urgency that a scheduler by delay computes from the time that the packet at the head of a bearer has
/// waited, or from its deadline. The urgency of a UE is the highest of its bearers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Waiting time times the weight of the bearer's class.
    Weighted,
    /// Waiting time less the bearer's budget, in seconds: above 0 after the deadline.
    Deadline,
    /// Time since the deadline of the packet itself: that of its PDU set, or its arrival plus the budget of its QoS flow.
    OwnDeadline,
}

impl Urgency {
    /// Urgency of a packet that has waited for `waited` seconds.
    pub fn evaluate(self, service: &Service, waited: f64) -> f64 {
        match self {
            Urgency::Weighted => service.weight() * waited,
            Urgency::Deadline => waited - service.budget.as_secs_f64(),
            // The waiting time is since the deadline.
            Urgency::OwnDeadline => waited,
        }
    }
}
