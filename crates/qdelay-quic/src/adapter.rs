//! Runs a control of `qdelay-traffic` as a control of the stack.
//!
//! The stack reports to a control which packets were sent, acknowledged and lost, and reads a congestion window from it. The interface
//! [`Controller`](qdelay_traffic::control::Controller) is that of Linux: a control is also given delivery rates and the state of loss recovery,
//! and returns a pacing rate. [`Adapter`] translates between the two. It keeps a record of each packet in flight and uses the estimators of the
//! TCP sender: delivery rate ([`RateSampler`]) and round trips ([`RttEstimator`]). The stack cannot pace at a given rate: [`Gate`] holds the
//! time at which the next packet may leave, and the peer does not call the stack for packets before that time.
//!
//! Controls that set window and rate themselves at each acknowledgement ([`Own::owns_window`]) can run here; BBR is
//! offered. Other controls leave the window to TCP's recovery (proportional rate reduction, undo of spurious reductions), which the stack lacks;
//! for those the stack has Cubic and NewReno of its own.
//!
//! | constant | value | source |
//! | --- | --- | --- |
//! | initial window | 10 packets, at most 14,720 bytes | RFC 9002 section 7.2 |
//! | unpaced packets at the beginning | 10 | Linux |
//! | burst size | 2^-10 s of the pacing rate, at least a packet | Linux `tcp_tso_autosize` |
//!
//! Differences from the same control over TCP:
//! * A segment is a QUIC packet; its size is that of the UDP payload.
//! * Losses are detected as in RFC 9002 section 6. The stack reports the losses that an acknowledgement reveals after the acknowledgement, so
//!   the control receives them with the next acknowledgement.
//! * Recovery ends with the first acknowledged packet that was sent after recovery began (RFC 9002 section 7.3.2), and reductions are not undone.
//!   A probe timeout has no effect on the control; persistent congestion (section 7.6) takes the place of TCP's retransmission timeout.
//! * A sender that waits for the receiver's flow-control window counts as application-limited: the stack does not distinguish the two.
//! * The stack's own pacer stays active: at most 1.25 windows per smoothed round trip, after a burst of ten packets. It is seldom slower than
//!   BBR's pacing rate, because BBR's window is two bandwidth-delay products.
//!
//! Copa is not offered: behind a buffer of one bandwidth-delay product (20 Mbit/s, 100 ms, 170 packets) Copa has 15.9 Mbit/s and a mean queue
//! delay of 25 ms over QUIC, against 20.0 Mbit/s and 2.3 ms over TCP. The cause is unknown.

use crate::clock;
use crate::in_flight::InFlight;
use crate::tap::Tap;
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_traffic::control::{
    AckSample, AnyController, Connection, Controller as Own, Event, Recovery, Window,
};
use qdelay_traffic::tcp::{Profile, RateSampler, Record, RttEstimator, Sample};
use quinn_proto::RttEstimator as StackRtt;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Largest initial window, packets.
const INITIAL_PACKETS: u32 = 10;
/// Largest initial window, bytes.
const INITIAL_BYTES: u32 = 14_720;
/// Number of packets at the beginning of a connection that are not paced.
const UNPACED: u64 = 10;
/// Burst that may leave without pacing, as time at the pacing rate: 2^-10 s.
const BURST: Span = Span::from_nanos(1_000_000_000 >> 10);

/// The time at which the next packet may leave: the adapter sets it, the peer reads it. Clones share the time.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<AtomicU64>);

impl Gate {
    /// Time before which no packet may leave.
    pub fn opens(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Relaxed))
    }
    fn set(&self, at: Time) {
        self.0.store(at.as_nanos(), Ordering::Relaxed);
    }
}

/// Factory of one connection's control.
pub struct Factory {
    /// The control in its initial state.
    pub controller: AnyController,
    /// Random stream of the control.
    pub random: Random,
    /// The tap on the connection's packets.
    pub tap: Tap,
    /// The gate of the sending peer.
    pub gate: Gate,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, _: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Adapter::new(&self, current_mtu))
    }
}

/// Packets delivered by the acknowledgement that the stack is reporting.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    sample: Sample,
    packets: u32,
    prior_in_flight: u32,
    /// Number and send time of the newest packet.
    newest: (u64, Time),
}

/// Initial window, packets. `packet`: packet size, bytes.
fn initial_window_packets(packet: u32) -> u32 {
    (INITIAL_BYTES / packet).clamp(2, INITIAL_PACKETS)
}

/// The control of one connection, as the stack calls it.
#[derive(Clone)]
pub struct Adapter {
    controller: AnyController,
    window: Window,
    random: Random,
    tap: Tap,
    gate: Gate,
    /// UDP payload of a full packet, bytes.
    packet: u32,
    /// Whether the controller is initialized: from the first round-trip sample on.
    has_begun: bool,
    rtt: RttEstimator,
    rate: RateSampler,
    in_flight: InFlight,
    packets_sent: u64,
    /// Bytes sent: the sequence number of the next byte.
    next: u64,
    last_sent: Time,
    /// Time at which the pacing rate lets the next packet leave.
    departure: Time,
    batch: Batch,
    /// Highest packet number acknowledged before the current acknowledgement.
    largest: Option<u64>,
    recovery: Recovery,
    /// Start of the latest recovery. A loss of a packet sent by then does not begin another recovery.
    recovery_start: Option<Time>,
    /// Packets lost since the connection began.
    lost: u64,
    /// Send times of lost packets that are not yet reported to the controller.
    losses: Vec<Time>,
}

impl Adapter {
    fn new(factory: &Factory, packet: u16) -> Adapter {
        let packet = u32::from(packet.max(1));
        Adapter {
            controller: factory.controller.clone(),
            window: Window {
                cwnd: initial_window_packets(packet),
                ssthresh: u32::MAX,
                cwnd_count: 0,
                clamp: u32::MAX,
            },
            random: factory.random.clone(),
            tap: factory.tap.clone(),
            gate: factory.gate.clone(),
            packet,
            has_begun: false,
            rtt: RttEstimator::new(&Profile::linux()),
            // One packet counts as delivered, like TCP's SYN: 0 delivered marks a sampler without any delivery.
            rate: RateSampler { delivered: 1, ..RateSampler::default() },
            in_flight: InFlight::default(),
            packets_sent: 0,
            next: 0,
            last_sent: Time::ZERO,
            departure: Time::ZERO,
            batch: Batch::default(),
            largest: None,
            recovery: Recovery::Open,
            recovery_start: None,
            lost: 0,
            losses: Vec::new(),
        }
    }

    fn connection(&self, now: Time) -> Connection {
        Connection {
            now,
            recovery: self.recovery,
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            in_flight: self.in_flight.count(),
            delivered: self.rate.delivered,
            delivered_time: self.rate.delivered_time,
            lost: self.lost,
            una: self.first_byte(),
            nxt: self.next,
            mss: self.packet,
            app_limited: self.rate.app_limited != 0,
            window_limited: self.rate.app_limited == 0,
            last_sent: self.last_sent,
            next_departure: self.departure,
        }
    }

    /// Sets the time at which the next packet may leave. The gap is the time of `bytes` bytes at the pacing rate; a packet that left late
    /// shortens the gap by its delay, at most by half (Linux `tcp_update_skb_after_send`).
    fn pace(&mut self, now: Time, bytes: u64) {
        let rate = self.controller.pacing_rate().unwrap_or(Rate::ZERO);
        let late = now.since(self.departure);
        self.departure = self.departure.max(now);
        if self.packets_sent > UNPACED && self.has_begun && rate > Rate::ZERO {
            let span = rate.time_for(bytes);
            self.departure += span.saturating_sub(late.min(span / 2));
            let ahead = BURST.saturating_sub(span);
            self.gate.set(Time::from_nanos(self.departure.as_nanos().saturating_sub(ahead.as_nanos())));
        }
    }

    /// Marks deliveries up to the packets now in flight as application-limited.
    fn mark_app_limited(&mut self) {
        self.rate.app_limited = (self.rate.delivered + u64::from(self.in_flight.count())).max(1);
    }

    /// Sequence number of the first byte that is neither acknowledged nor lost.
    fn first_byte(&self) -> u64 {
        self.in_flight.first_byte().unwrap_or(self.next)
    }

    /// Changes the state of loss recovery. A higher state than before sets ssthresh; a timeout sets the window to one packet above those in
    /// flight.
    fn enter(&mut self, now: Time, to: Recovery) {
        if to > Recovery::Open {
            self.recovery_start = Some(now);
        }
        if to == self.recovery {
            return;
        }
        if to > self.recovery {
            self.window.ssthresh = self.controller.ssthresh(&self.connection(now), &self.window);
        }
        if to == Recovery::Loss {
            self.controller.event(&self.connection(now), &mut self.window, Event::Timeout);
            self.window.cwnd = self.in_flight.count() + 1;
        }
        self.controller.set_recovery(&self.connection(now), &mut self.window, to);
        self.recovery = to;
    }

    /// Records the acknowledgement of a packet of `bytes` bytes sent at `sent`.
    fn deliver(&mut self, sent: Time, bytes: u64) {
        let prior_in_flight = self.in_flight.count();
        let Some((number, record)) = self.in_flight.deliver(sent, bytes) else { return };
        if self.batch.packets == 0 {
            self.batch.prior_in_flight = prior_in_flight;
        }
        self.rate.delivered += 1;
        debug_assert!(record.sent == sent, "{record:?} for a packet sent at {sent:?}");
        self.rate.deliver(&mut self.batch.sample, &record);
        self.batch.packets += 1;
        self.batch.newest = self.batch.newest.max((number, record.sent));
    }

    /// Passes the acknowledgement, and the losses reported since the one before, to the controller.
    fn control(&mut self, now: Time, batch: &Batch, rtt: Option<Span>) {
        let (delivered, interval) = self.rate.finish(now, &batch.sample, true, self.rtt.min());
        let sample = AckSample {
            acked_sacked: batch.packets,
            acked: batch.packets,
            losses: self.losses.len() as u32,
            prior_delivered: batch.sample.prior_delivered,
            delivered,
            interval,
            prior_in_flight: batch.prior_in_flight,
            rtt,
            is_app_limited: batch.sample.is_app_limited,
            is_ack_delayed: false,
        };
        let connection = self.connection(now);
        self.controller.delivered(&connection, &mut self.window, &sample);
        for sent in self.losses.drain(..) {
            self.controller.lost(sent);
        }
        self.controller.control(&connection, &mut self.window, &sample, &mut self.random);
        if self.controller.marks_app_limited() {
            self.mark_app_limited();
        }
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        if !self.tap.is_ack_eliciting() {
            return;
        }
        let now = clock::time(now);
        if self.in_flight.count() == 0 && self.has_begun {
            self.controller.event(&self.connection(now), &mut self.window, Event::TransmitStart);
        }
        let mut record = Record { seq: self.next, len: bytes as u32, sent: now, ..Record::default() };
        self.rate.stamp(&mut record, self.in_flight.count() == 0);
        self.in_flight.push(last_packet_number, record);
        self.packets_sent += 1;
        self.next += bytes;
        self.last_sent = now;
        self.pace(now, bytes);
    }

    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, _: bool, _: &StackRtt) {
        self.deliver(clock::time(sent), bytes);
    }

    fn on_end_acks(&mut self, now: Instant, _: u64, app_limited: bool, largest: Option<u64>) {
        let batch = std::mem::take(&mut self.batch);
        if batch.packets == 0 {
            return;
        }
        let now = clock::time(now);
        self.in_flight.forget(self.largest);
        self.largest = largest;
        // A round trip is sampled only if the newest packet is the largest acknowledged (RFC 9002 section 5.1): a later acknowledgement of an
        // older packet includes a reordering delay.
        let rtt = (largest == Some(batch.newest.0)).then(|| now.since(batch.newest.1));
        if let Some(rtt) = rtt {
            self.rtt.sample_min(now, rtt);
            self.rtt.sample(rtt, self.first_byte(), self.next);
        }
        if app_limited {
            self.mark_app_limited();
        }
        if self.recovery_start.is_some_and(|start| batch.newest.1 > start) {
            self.enter(now, Recovery::Open);
        }
        if self.has_begun {
            self.control(now, &batch, rtt);
        } else if rtt.is_some() {
            self.has_begun = true;
            self.rate.finish(now, &batch.sample, true, self.rtt.min());
            self.losses.clear();
            self.controller.init(&self.connection(now), &mut self.window, &mut self.random);
        }
        self.window.cwnd = self.window.cwnd.clamp(1, self.window.clamp);
        debug_assert!(self.first_byte() <= self.next, "the first byte in flight is not sent");
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let (now, sent) = (clock::time(now), clock::time(sent));
        let (lost, losses) = (&mut self.lost, &mut self.losses);
        self.in_flight.lose(sent, lost_bytes, |sent| {
            *lost += 1;
            losses.push(sent);
        });
        let is_new = self.recovery_start.is_none_or(|start| sent > start);
        if !self.has_begun {
            return;
        }
        if is_persistent {
            self.enter(now, Recovery::Loss);
        } else if lost_bytes == 0 && is_new && self.recovery == Recovery::Open {
            self.enter(now, Recovery::Cwr);
        } else if lost_bytes > 0 && (is_new || self.recovery < Recovery::Fast) {
            self.enter(now, self.recovery.max(Recovery::Fast));
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.packet = u32::from(new_mtu.max(1));
    }

    /// Congestion window in bytes plus one: the stack sends a packet if the bytes in flight, that packet included, are less than the window.
    fn window(&self) -> u64 {
        u64::from(self.window.cwnd) * u64::from(self.packet) + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.pacing_rate = self.controller.pacing_rate().map(|rate| rate.as_bps());
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        u64::from(initial_window_packets(self.packet)) * u64::from(self.packet)
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_traffic::control::CustomController;
    use std::sync::Mutex;

    /// A controller that records each call as a line of text.
    #[derive(Clone, Debug, Default)]
    struct Diary(Arc<Mutex<Vec<String>>>);

    impl Diary {
        fn note(&self, entry: String) {
            self.0.lock().unwrap().push(entry);
        }
        fn drain(&self) -> Vec<String> {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    impl Own for Diary {
        fn init(&mut self, connection: &Connection, window: &mut Window, _: &mut Random) {
            self.note(format!("begins {} {}", connection.srtt.as_millis_f64(), window.cwnd));
        }
        fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
            window.cwnd / 2
        }
        fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}
        fn owns_window(&self) -> bool {
            true
        }
        fn control(&mut self, connection: &Connection, _: &mut Window, sample: &AckSample, _: &mut Random) {
            let AckSample { acked_sacked, losses, delivered, prior_in_flight, .. } = sample;
            let interval = sample.interval.map_or(0.0, Span::as_millis_f64);
            let rtt = sample.rtt.map_or(0.0, Span::as_millis_f64);
            let Connection { in_flight, recovery, .. } = connection;
            self.note(format!(
                "{acked_sacked} acked, {losses} lost, {delivered} in {interval} ms, {rtt} ms, {prior_in_flight} to {in_flight}, {recovery:?}"
            ));
        }
        fn lost(&mut self, sent: Time) {
            self.note(format!("lost {}", sent.as_nanos() / 1_000_000));
        }
        fn set_recovery(&mut self, _: &Connection, window: &mut Window, to: Recovery) {
            self.note(format!("{to:?} {}", window.ssthresh));
        }
        fn event(&mut self, _: &Connection, _: &mut Window, event: Event) {
            self.note(format!("{event:?}"));
        }
        fn pacing_rate(&self) -> Option<Rate> {
            Some(Rate::from_mbps(8.0))
        }
        fn in_kernel(&self) -> Option<&'static str> {
            None
        }
    }

    const PACKET: u64 = 1_000;

    fn instant_ms(ms: u64) -> Instant {
        clock::instant(Time::ZERO + Span::from_millis(ms))
    }

    fn adapter(diary: &Diary) -> Adapter {
        let controller = AnyController::Custom(CustomController::new(diary.clone()));
        let random = Random::derive(1, "test", "control");
        let (tap, gate) = (Tap::default(), Gate::default());
        Adapter::new(&Factory { controller, random, tap, gate }, PACKET as u16)
    }

    /// Acknowledges packets of the send times `sent`, ms, at `now`, ms; `largest` is the number of the last one.
    fn acknowledge(adapter: &mut Adapter, now: u64, sent: &[u64], largest: u64) {
        for ms in sent {
            adapter.deliver(clock::time(instant_ms(*ms)), PACKET);
        }
        adapter.on_end_acks(instant_ms(now), 0, false, Some(largest));
    }

    /// One packet per millisecond and round trips of 20 ms; the expected rates, losses and recovery states are calculated by hand.
    #[test]
    fn a_controller_receives_rates_losses_and_recovery_of_the_packets() {
        let diary = Diary::default();
        let mut adapter = adapter(&diary);
        assert_eq!((adapter.window(), adapter.initial_window()), (10_001, 10_000));
        adapter.on_sent(instant_ms(0), PACKET, 0);
        acknowledge(&mut adapter, 20, &[0], 0);
        assert_eq!(diary.drain(), ["begins 20 10"]);
        for number in 1..=10 {
            adapter.on_sent(instant_ms(20 + number), PACKET, number);
        }
        assert_eq!(diary.drain(), ["TransmitStart"]);
        // The packet of 21 ms has a rate of one packet in 20 ms, because nothing was in flight when it was sent.
        acknowledge(&mut adapter, 41, &[21], 1);
        assert_eq!(diary.drain(), ["1 acked, 0 lost, 1 in 20 ms, 20 ms, 10 to 9, Open"]);
        // The packets of 22 to 24 ms are missing.
        acknowledge(&mut adapter, 47, &[25, 26, 27], 7);
        assert_eq!(diary.drain(), ["3 acked, 0 lost, 4 in 26 ms, 20 ms, 9 to 6, Open"]);
        adapter.on_congestion_event(instant_ms(47), instant_ms(24), false, 3 * PACKET);
        assert_eq!(
            (diary.drain(), adapter.in_flight.count(), adapter.lost),
            (vec!["Fast 5".to_string()], 3, 3)
        );
        // Another loss of the same window begins no second recovery.
        acknowledge(&mut adapter, 49, &[29], 9);
        adapter.on_congestion_event(instant_ms(49), instant_ms(28), false, PACKET);
        let calls = ["lost 22", "lost 23", "lost 24", "1 acked, 3 lost, 5 in 28 ms, 20 ms, 3 to 2, Fast"];
        assert_eq!((diary.drain(), adapter.in_flight.count()), (calls.map(String::from).to_vec(), 1));
        // A packet sent after recovery began ends recovery; a packet acknowledged out of order gives no round trip.
        adapter.on_sent(instant_ms(50), PACKET, 11);
        acknowledge(&mut adapter, 70, &[50], 11);
        acknowledge(&mut adapter, 71, &[30], 11);
        let calls = [
            "Open 5",
            "lost 28",
            "1 acked, 1 lost, 1 in 21 ms, 20 ms, 2 to 1, Open",
            "1 acked, 0 lost, 7 in 50 ms, 0 ms, 1 to 0, Open",
        ];
        assert_eq!(diary.drain(), calls);
        adapter.on_sent(instant_ms(80), PACKET, 12);
        adapter.on_congestion_event(instant_ms(300), instant_ms(80), true, PACKET);
        assert_eq!(diary.drain(), ["TransmitStart", "Timeout", "Loss 5"]);
        assert_eq!(adapter.window(), 1_001, "packets in flight and one more");
    }

    #[test]
    fn the_lost_bytes_decide_how_many_packets_of_one_burst_are_lost() {
        let diary = Diary::default();
        let mut adapter = adapter(&diary);
        for number in 0..6 {
            adapter.on_sent(instant_ms(0), PACKET, number);
        }
        acknowledge(&mut adapter, 10, &[0], 5);
        adapter.on_congestion_event(instant_ms(10), instant_ms(0), false, 2 * PACKET);
        assert_eq!((adapter.in_flight.count(), adapter.lost), (3, 2));
        // Packets with numbers far below the newest are removed: the keys to acknowledge them are discarded.
        adapter.on_sent(instant_ms(20), PACKET, 20);
        acknowledge(&mut adapter, 30, &[20], 20);
        adapter.on_sent(instant_ms(31), PACKET, 21);
        acknowledge(&mut adapter, 41, &[31], 21);
        assert_eq!((adapter.in_flight.count(), adapter.in_flight.records()), (0, 0));
    }

    /// 8 Mbit/s is one packet of 1000 bytes per millisecond; the first ten packets are not paced.
    #[test]
    fn packets_are_spaced_by_the_pacing_rate() {
        let mut adapter = adapter(&Diary::default());
        adapter.on_sent(instant_ms(0), PACKET, 0);
        acknowledge(&mut adapter, 20, &[0], 0);
        for number in 1..=9 {
            adapter.on_sent(instant_ms(20), PACKET, number);
            assert!(adapter.gate.opens() <= Time::ZERO + Span::from_millis(20));
        }
        for (now, opens) in [(20, 21), (21, 22), (22, 23)] {
            adapter.on_sent(instant_ms(now), PACKET, now);
            assert_eq!(adapter.gate.opens(), Time::ZERO + Span::from_millis(opens));
        }
        // A late packet shortens the next gap by half a packet's time.
        adapter.on_sent(instant_ms(40), PACKET, 30);
        assert_eq!(adapter.gate.opens(), Time::ZERO + Span::from_micros(40_500));
    }
}
