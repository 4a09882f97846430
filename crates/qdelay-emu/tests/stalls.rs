//! Stalls of the loop: they are detected, and packets that they may have delayed are counted, unless the device has time
//! stamps.

use crate::common::{Make, packet, plan, script, us};
use qdelay_core::{Span, Time};
use qdelay_emu::audit::Audit;
use qdelay_emu::clock::FakeClock;
use qdelay_emu::device::Port;
use qdelay_emu::device::fake::FakeDevice;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, EventLog, Tap};
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{WaitOptions, Waiter};

const LIMITS: [Span; 2] = [Span::from_micros(100); 2];

type Fake<T = ()> = Driver<FakeClock, FakeDevice, (), T>;
type Script = Vec<(Time, Vec<u8>)>;

fn driver<T: Tap>(scripts: [Script; 2], stamps: Option<i64>, delay_ms: u64, tap: T) -> Fake<T> {
    let clock = FakeClock::new();
    let devices = scripts.map(|script| {
        let mut device = FakeDevice::new(&clock, script);
        device.stamps = stamps;
        device
    });
    let plan = plan("codel", "line:20mbit", delay_ms);
    let emulator = Emulator::tapped(plan, Pool::new(1500, 4096), (), tap).unwrap();
    Driver::new(clock, devices, emulator, LIMITS)
}

/// A packet every 5 ms for 7.5 s.
fn echo() -> Script {
    let make = |number| Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes: 100, number };
    (0..1500).map(|number| (us(u64::from(number) * 5000), packet(make(number)))).collect()
}

/// Runs `driver` for 8 s; its loop reads the clock every 90 us, but stalls for `away_ms` at 2 s.
fn run<T: Tap>(driver: &mut Fake<T>, away_ms: u64) -> Audit {
    let clock = driver.clock().clone();
    let mut waiter = Waiter::new(WaitOptions::default(), None);
    let mut is_over = false;
    let step = || {
        let mut next = clock.peek() + Span::from_micros(90);
        if !is_over && next >= us(2_000_000) {
            is_over = true;
            next += Span::from_millis(away_ms);
        }
        clock.set(next);
        next >= us(8_000_000)
    };
    driver.run(&mut waiter, step).unwrap();
    assert_eq!(driver.emulator().audit(), Ok(()));
    driver.audit().clone()
}

/// Packets that arrive during a stall are read late and released on time, so lateness alone does not reveal the stall.
#[test]
fn a_stall_voids_the_verdict() {
    let mut still = driver([echo(), echo()], None, 0, ());
    let audit = run(&mut still, 800);
    let stalls = audit.stalls;
    assert_eq!((stalls.read, audit.lateness.count(), audit.late), (3000, 3000, 0));
    // 160 packets arrived on each side during the stall; the next one may have arrived during it.
    assert!((320..=324).contains(&stalls.unseen), "{stalls:?}");
    assert_eq!((stalls.count, stalls.worst().len()), (1, 1));
    let stall = stalls.worst()[0];
    assert!(us(1_999_000) < stall.begin && stall.begin < us(2_011_000), "{stall:?}");
    // The stall within the sleep is not detected.
    assert!(stall.length <= Span::from_millis(800) && stall.length >= Span::from_millis(790), "{stall:?}");
    assert_eq!((stalls.total, stalls.longest_gap), (stall.length, stall.length));
    let verdict = audit.verdict();
    assert!(!verdict.trustworthy && verdict.reasons.len() == 1, "{verdict:?}");
    assert!(verdict.reasons[0].contains("of 3000 packets") && verdict.reasons[0].contains("unread"));
}

#[test]
fn a_loop_that_sleeps_is_on_time() {
    let audit = run(&mut driver([echo(), echo()], None, 3, ()), 0);
    assert_eq!((audit.stalls.count, audit.stalls.unseen, audit.stalls.read), (0, 0, 3000));
    assert!(audit.verdict().trustworthy, "{:?}", audit.verdict());
    // A sleep ends even if no event is due.
    let mut idle = driver([vec![], vec![]], None, 0, ());
    let stalls = run(&mut idle, 50).stalls;
    assert_eq!((stalls.count, stalls.unseen), (1, 0));
    assert!(stalls.total >= Span::from_millis(50) - Waiter::LONGEST && stalls.total <= Span::from_millis(50));
}

/// The loop continues after a pause, as after a stopped process, and many packets wait at both sides.
#[test]
fn packets_after_a_stall_count_until_a_device_is_empty() {
    let burst = |count: u32| {
        let make = |number| packet(Make { version: 4, flow: 1, dscp: 0, ecn: 0, bytes: 100, number });
        let late = (0..count).map(move |number| (us(50_000), make(number)));
        late.chain([(us(60_100), make(count))]).collect::<Script>()
    };
    let mut driver = driver([burst(200), burst(3)], None, 0, ());
    driver.clock().set(us(60_000));
    driver.devices()[0].drops = 7;
    // Packets read before the stall do not count as unseen.
    let mut turn = driver.turn([false; 2]).unwrap();
    assert!(turn.is_behind);
    while turn.is_behind {
        turn = driver.turn([true; 2]).unwrap();
    }
    driver.clock().set(us(60_100));
    driver.devices()[0].drops = 9;
    driver.turn([true; 2]).unwrap();
    let stalls = driver.audit().stalls;
    assert_eq!((stalls.read, stalls.unseen, stalls.count, stalls.dropped), (205, 203, 1, 7));
    assert_eq!(driver.audit().kernel_drops, 9);
}

/// All events on the path, under a loop that stalls repeatedly for up to a second.
fn events(stamps: Option<i64>, standstills: &[(u64, u64)]) -> (EventLog, Audit) {
    let scripts = ["inside", "outside"].map(|name| script(5, name, 3000));
    let mut driver = driver(scripts, stamps, 4, EventLog::default());
    let mut standstills = standstills.iter();
    let mut next_stall = standstills.next();
    while driver.clock().peek() < us(5_000_000) {
        while driver.turn([true; 2]).unwrap().has_read {}
        assert_eq!(driver.emulator().audit(), Ok(()));
        let mut step = Span::from_micros(50);
        if let Some((at, length)) = next_stall
            && driver.clock().peek() >= us(*at)
        {
            step = Span::from_micros(*length);
            next_stall = standstills.next();
        }
        let next = driver.clock().peek() + step;
        driver.clock().set(next);
    }
    let audit = driver.audit().clone();
    (std::mem::take(driver.emulator().tap()), audit)
}

#[test]
fn stamped_packets_arrive_at_their_time_stamp() {
    let away = [(300_000, 800_000), (1_500_000, 3_000), (2_000_000, 1_000_000), (3_010_000, 400)];
    let (undisturbed, audit) = events(Some(0), &[]);
    assert_eq!((audit.stalls.count, audit.stalls.unseen, audit.stalls.doubted), (0, 0, 0));
    assert!(undisturbed.events.len() > 1000 && audit.stalls.read > 500, "{}", audit.stalls.read);
    let (stamped, audit) = events(Some(0), &away);
    assert_eq!((audit.stalls.count, audit.stalls.unseen, audit.stalls.doubted), (4, 0, 0));
    assert!(stamped.events == undisturbed.events, "the same decisions at the same times");
    // All packets are released late, so the verdict of such a run is negative.
    assert!(audit.late > 100 && !audit.verdict().trustworthy);
    let (unstamped, audit) = events(None, &away);
    assert!(unstamped.events != undisturbed.events && audit.stalls.unseen > 100);
}

/// A device that stamps only the first packet after it was read empty: that packet is on time, however late the loop woke, and those after
/// it may have waited as long.
#[test]
fn the_first_packet_arrives_at_its_time_stamp() {
    let run_echo = |stamps, only_first, away_ms| {
        let mut driver = driver([echo(), echo()], stamps, 3, EventLog::default());
        driver.devices().iter_mut().for_each(|device| device.only_first = only_first);
        let audit = run(&mut driver, away_ms);
        (std::mem::take(driver.emulator().tap()).events, audit)
    };
    let (exact, _) = run_echo(Some(0), false, 0);
    let (first, audit) = run_echo(Some(0), true, 0);
    assert!(first == exact && audit.stalls.unseen == 0, "{:?}", audit.stalls);
    assert!(run_echo(None, false, 0).0 != exact, "without time stamps packets arrive when they are read");
    let (_, audit) = run_echo(Some(0), true, 800);
    // Of 160 packets on each side all but the first.
    assert!((316..=322).contains(&audit.stalls.unseen), "{:?}", audit.stalls);
    let longest = audit.stalls.longest_wait;
    assert!((790..=800).contains(&longest.as_millis()), "{longest}");
}

/// After the wall clock was set, packets arrive when they are read, and the loop is judged as without time stamps.
#[test]
fn implausible_time_stamps_are_ignored() {
    // A time stamp of two seconds ago is possible only if the device has not been read since.
    for (ahead, doubted) in [(3_600_000_000_000, 802), (-2_000_000_000, 1)] {
        let mut driver = driver([echo(), vec![]], Some(ahead), 0, ());
        driver.clock().set(us(4_000_050));
        while driver.turn([true; 2]).unwrap().has_read {}
        driver.clock().set(us(4_005_000));
        driver.turn([true; 2]).unwrap();
        let stalls = driver.audit().stalls;
        assert_eq!((stalls.read, stalls.doubted, stalls.unseen), (802, doubted, doubted), "{ahead}");
        assert_eq!(driver.emulator().measures(Port::Inside).arrived.packets, 802);
    }
}
