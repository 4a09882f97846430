//! A congestion control of a shared object: its state, its calls, and the window that they change.
#![allow(unsafe_code, reason = "calls of a shared object, with state that it fills in")]

use crate::abi::{Adjust, ControlCalls, RawConnection, RawWindow};
use crate::declaration::StaticComponent;
use crate::state::{self, State};
use crate::watch::{Context, Watch};
use core::fmt;
use qdelay_core::component::{Arguments, ComponentError, Custom};
use qdelay_core::{Random, Rate, Span};
use qdelay_traffic::control::{self, AckSample, Connection, Controller, Event, Recovery, Window};
use qdelay_traffic::tcp::KNOBS;

/// The smallest slow start threshold, in segments.
const SSTHRESH_MIN: u32 = 2;
/// Flags of `qdelay_connection`.
const WINDOW_LIMITED: u32 = 1;
const APP_LIMITED: u32 = 2;
const SAMPLE_APP_LIMITED: u32 = 4;
const ACK_DELAYED: u32 = 8;
/// Events of the header.
const TRANSMIT_START: u32 = 1;
const WINDOW_RESTART: u32 = 2;
const REDUCTION_COMPLETE: u32 = 3;
const TIMEOUT: u32 = 4;
const ENTERS: u32 = 16;

/// Checks the state.
pub fn check(calls: &ControlCalls) -> Result<(), String> {
    state::check(calls.state_size, calls.state_align)
}

/// The congestion control for a registry.
pub fn custom(leaked: StaticComponent, calls: ControlCalls, context: Context) -> Custom {
    control::custom(leaked.component, move |arguments| NativeControl::new(leaked, calls, context, arguments))
}

/// A congestion control of a shared object.
#[derive(Clone)]
struct NativeControl {
    calls: ControlCalls,
    state: State,
    name: &'static str,
    watch: Watch,
    /// bit/s; 0 where pacing is the profile's.
    pacing_rate: u64,
}

impl fmt::Debug for NativeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeControl({})", self.name)
    }
}

impl NativeControl {
    fn new(
        leaked: StaticComponent,
        calls: ControlCalls,
        context: Context,
        arguments: &Arguments,
    ) -> Result<NativeControl, ComponentError> {
        let name = leaked.component.name;
        let mut state = State::new(calls.state_size, calls.state_align);
        if let Some(init) = calls.init {
            let knobs = KNOBS.map(|knob| knob.name);
            state.init(init, arguments, &knobs)?;
        }
        Ok(NativeControl { calls, state, name, watch: Watch::new(name, context), pacing_rate: 0 })
    }

    fn window(&self, window: &Window) -> RawWindow {
        let Window { cwnd, ssthresh, cwnd_count, clamp } = *window;
        RawWindow { cwnd, ssthresh, count: cwnd_count, clamp, pacing_rate: self.pacing_rate }
    }

    /// A call that may change the window.
    #[inline]
    fn adjust(&mut self, adjust: Adjust, reported: &RawConnection, window: &mut Window) {
        self.change(window, |state, raw| {
            // SAFETY: a function of the header, with this control's state.
            unsafe { adjust(state.address(), &raw const *reported, &raw mut *raw) }
        });
    }

    #[inline]
    fn change(&mut self, window: &mut Window, call: impl FnOnce(&mut State, &mut RawWindow)) {
        let mut raw = self.window(window);
        self.watch.begin();
        call(&mut self.state, &mut raw);
        self.watch.end();
        window.cwnd = raw.cwnd.clamp(1, window.clamp.max(1));
        window.ssthresh = raw.ssthresh.max(SSTHRESH_MIN);
        window.cwnd_count = raw.count;
        self.pacing_rate = raw.pacing_rate;
    }

    fn happened(&mut self, connection: &Connection, window: &mut Window, number: u32) {
        let Some(event) = self.calls.event else { return };
        let reported = raw_connection(connection, None);
        self.change(window, |state, raw| {
            // SAFETY: as above.
            unsafe { event(state.address(), &raw const reported, &raw mut *raw, number) }
        });
    }

    fn random(&self, random: &mut Random) -> u64 {
        if self.calls.is_random { random.bits() } else { 0 }
    }
}

/// A connection as the header has it.
#[inline]
fn raw_connection(connection: &Connection, sample: Option<&AckSample>) -> RawConnection {
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let min_rtt = if connection.min_rtt == Span::MAX { 0 } else { connection.min_rtt.as_nanos() };
    let mut reported = RawConnection {
        now: connection.now.as_nanos(),
        srtt: connection.srtt.as_nanos(),
        min_rtt,
        delivered: connection.delivered,
        lost: connection.lost,
        una: connection.una,
        nxt: connection.nxt,
        in_flight: connection.in_flight,
        prior_in_flight: connection.in_flight,
        segment: connection.mss,
        recovery: connection.recovery.number(),
        flags: flag(connection.window_limited, WINDOW_LIMITED) | flag(connection.app_limited, APP_LIMITED),
        ..RawConnection::default()
    };
    if let Some(sample) = sample {
        reported.rtt = sample.rtt.map_or(0, Span::as_nanos);
        reported.prior_delivered = sample.prior_delivered;
        reported.interval = sample.interval.map_or(0, Span::as_nanos);
        reported.sample = sample.delivered;
        reported.acked = sample.acked_sacked;
        reported.newly_lost = sample.losses;
        reported.prior_in_flight = sample.prior_in_flight;
        reported.flags |=
            flag(sample.is_app_limited, SAMPLE_APP_LIMITED) | flag(sample.is_ack_delayed, ACK_DELAYED);
    }
    reported
}

impl Controller for NativeControl {
    fn init(&mut self, connection: &Connection, window: &mut Window, random: &mut Random) {
        if let Some(start) = self.calls.start {
            let reported = RawConnection { random: self.random(random), ..raw_connection(connection, None) };
            self.adjust(start, &reported, window);
        }
    }

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        let Some(ssthresh) = self.calls.ssthresh else { return (window.cwnd / 2).max(SSTHRESH_MIN) };
        let (reported, window) = (raw_connection(connection, None), self.window(window));
        self.watch.begin();
        // SAFETY: a function of the header, with this control's state.
        let segments = unsafe { ssthresh(self.state.address(), &raw const reported, &raw const window) };
        self.watch.end();
        segments.max(SSTHRESH_MIN)
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        self.adjust(self.calls.ack, &raw_connection(connection, Some(sample)), window);
    }

    fn owns_window(&self) -> bool {
        self.calls.owns_window
    }

    fn control(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
        random: &mut Random,
    ) {
        let reported =
            RawConnection { random: self.random(random), ..raw_connection(connection, Some(sample)) };
        self.adjust(self.calls.ack, &reported, window);
    }

    fn delivered(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if let Some(sampled) = self.calls.sampled {
            self.adjust(sampled, &raw_connection(connection, Some(sample)), window);
        }
    }

    fn set_recovery(&mut self, connection: &Connection, window: &mut Window, to: Recovery) {
        self.happened(connection, window, ENTERS + to.number());
    }

    fn event(&mut self, connection: &Connection, window: &mut Window, event: Event) {
        let number = match event {
            Event::TransmitStart => TRANSMIT_START,
            Event::WindowRestart => WINDOW_RESTART,
            Event::ReductionComplete => REDUCTION_COMPLETE,
            Event::Timeout => TIMEOUT,
        };
        self.happened(connection, window, number);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing_rate > 0).then(|| Rate::from_bps(self.pacing_rate))
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}
