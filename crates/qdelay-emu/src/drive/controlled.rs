//! A driver under the control of other threads.

use super::Driver;
use crate::clock::Clock;
use crate::control::Controlled;
use crate::device::{Device, Port};
use crate::emulator::{Replaced, Tap};
use crate::metrics::HasMetrics;
use crate::snapshot::{HostSample, LinkSettings, PortSample, Sample};
use qdelay_core::Time;
use qdelay_path::stack::{Adjustment, Plan};
use qdelay_record::Recorder;
use std::sync::Arc;

impl<C, D, R, T> Controlled for Driver<C, D, R, T>
where
    C: Clock,
    D: Device,
    R: Recorder,
    T: Tap + HasMetrics,
{
    fn sample(&mut self, settings: Arc<LinkSettings>, reloads: u64) -> Sample {
        let time = self.clock.now();
        let host = HostSample::from(&*self.audit());
        let usage = Port::ALL.map(|port| self.emulator.link_usage(port, time));
        let metrics = self.emulator.tap().metrics();
        let ports = Port::ALL.map(|port| PortSample::new(port, metrics, usage[port.index()]));
        Sample { time, ports, host, settings, reloads }
    }
    fn replace(&mut self, plan: Plan) -> Result<Replaced, String> {
        Driver::replace(self, plan).map_err(|error| error.to_string())
    }
    fn adjust(&mut self, adjustment: &Adjustment) -> Result<Time, String> {
        Driver::adjust(self, adjustment).map(|(time, _)| time)
    }
    fn reset(&mut self, port: Option<u16>) -> (Time, usize) {
        Driver::reset(self, port)
    }
}
