//! The engine in virtual time: costs of a connection, rates, windows, datagrams.

use crate::common::{at, direction, ms, plan, settings};
use qdelay_core::{Span, Time};
use qdelay_emu::device::Port;
use qdelay_path::LossModel;
use qdelay_path::stack::{Adjustment, DirectionAdjustment, Plan};
use qdelay_proxy::engine::{Action, Engine, Key};

/// Runs the engine until `end`; the target accepts at once, and both programs read all bytes. Returns bytes and the time of the last ones for
/// each port.
fn run(engine: &mut Engine, end: Time) -> [(usize, Time); 2] {
    let mut read = [(0, Time::ZERO); 2];
    let mut now = Time::ZERO;
    while now < end {
        now = engine.advance(engine.next_deadline().min(end));
        while let Some(action) = engine.next_action() {
            match action {
                Action::Connect(key) => engine.connected(now, key),
                Action::Write(key, port) => {
                    let count = engine.ready(key, port).concat().len();
                    engine.written(key, port, count);
                    if count > 0 {
                        read[port.index()] = (read[port.index()].0 + count, now);
                    }
                    if engine.is_ended(key, port) {
                        engine.finished(key, port);
                    }
                }
                Action::Reset(..) | Action::Done(_) => {}
            }
        }
        engine.audit().unwrap();
    }
    read
}

fn send(engine: &mut Engine, now: Time, key: Key, port: Port, bytes: usize) -> usize {
    let mut left = bytes;
    while left > 0 {
        let count = engine.room(key, port).len().min(left);
        if count == 0 {
            break;
        }
        engine.received(now, key, port, count);
        left -= count;
    }
    bytes - left
}

#[test]
fn connection_costs_a_round_trip_before_the_first_byte() {
    let mut engine = Engine::new(plan("infinite", 10, 0.0), settings(10_000)).unwrap();
    let key = engine.open(Time::ZERO).unwrap();
    assert_eq!(send(&mut engine, Time::ZERO, key, Port::Inside, 100), 100);
    let read = run(&mut engine, at(100));
    assert_eq!(read[Port::Outside.index()], (100, at(30)), "SYN, its answer, the data");
}

#[test]
fn bytes_leave_at_the_rate_of_the_link() {
    // 8 Mbit/s carry 1000 bytes in a millisecond.
    let mut engine = Engine::new(plan("8mbit", 5, 0.0), settings(4 << 20)).unwrap();
    let key = engine.open(Time::ZERO).unwrap();
    assert_eq!(send(&mut engine, Time::ZERO, key, Port::Inside, 2_000_000), 2_000_000);
    let (bytes, last) = run(&mut engine, at(10_000))[Port::Outside.index()];
    assert_eq!(bytes, 2_000_000);
    // 1448 of 1500 bytes are data; slow start takes some round trips of 10 ms.
    let alone = Span::from_micros(2_000_000 * 1500 / 1448);
    let took = last.since(Time::ZERO);
    assert!(took > alone && took < alone + ms(200), "{took}");
    // Acknowledgements use the other direction.
    assert!(engine.measures(Port::Outside).delivered.packets > 500);
}

#[test]
fn slow_reader_stops_its_sender_at_the_window() {
    let mut engine = Engine::new(plan("100mbit", 1, 0.0), settings(50_000)).unwrap();
    let key = engine.open(Time::ZERO).unwrap();
    let mut now = Time::ZERO;
    let mut sent = 0;
    for _ in 0..1000 {
        now += ms(1);
        engine.advance(now);
        while let Some(action) = engine.next_action() {
            if let Action::Connect(key) = action {
                engine.connected(now, key);
            }
        }
        sent += send(&mut engine, now, key, Port::Inside, 10_000);
    }
    assert_eq!((sent, engine.held_bytes(key, Port::Inside)), (50_000, 50_000));
    assert_eq!(engine.ready(key, Port::Outside).concat().len(), 50_000, "everything has crossed");
    engine.written(key, Port::Outside, 20_000);
    assert_eq!(send(&mut engine, now, key, Port::Inside, 50_000), 20_000);
}

#[test]
fn losses_delay_bytes_and_lose_none() {
    let mut engine = Engine::new(plan("10mbit", 20, 0.05), settings(1 << 20)).unwrap();
    let key = engine.open(Time::ZERO).unwrap();
    send(&mut engine, Time::ZERO, key, Port::Inside, 500_000);
    engine.closed(Time::ZERO, key, Port::Inside);
    let (bytes, _) = run(&mut engine, at(120_000))[Port::Outside.index()];
    assert_eq!(bytes, 500_000);
    let drops: u64 = engine.drops_by_reason(Port::Inside).iter().map(|(_, count)| count.packets).sum();
    assert!(drops > 5, "{drops}");
    assert!(engine.counts().retransmits[Port::Inside.index()] >= drops, "{drops}");
}

#[test]
fn refused_target_resets_the_client_one_way_later() {
    let mut engine = Engine::new(plan("infinite", 10, 0.0), settings(1000)).unwrap();
    let key = engine.open(Time::ZERO).unwrap();
    engine.advance(at(10));
    assert_eq!(engine.next_action(), Some(Action::Connect(key)));
    engine.refused(at(12), key);
    engine.advance(at(21));
    assert_eq!(engine.next_action(), None);
    engine.advance(at(22));
    assert_eq!(engine.next_action(), Some(Action::Reset(key, Port::Inside)));
    assert_eq!((engine.open_connections(), engine.counts().refused), (0, 1));
    engine.audit().unwrap();
}

#[test]
fn number_of_connections_is_bounded() {
    let mut engine = Engine::new(plan("infinite", 10, 0.0), settings(1000)).unwrap();
    let keys: Vec<Key> = std::iter::from_fn(|| engine.open(Time::ZERO)).collect();
    assert_eq!(keys.len(), 16);
    engine.reset(at(1), keys[3], Port::Inside);
    run(&mut engine, at(50));
    let again = engine.open(at(60)).unwrap();
    assert_eq!((again.index(), again.number()), (keys[3].index(), 16));
}

/// Datagrams that enter before a change have the old delay, those from its time on the new one; a cut drops, a pause keeps.
#[test]
fn a_change_holds_from_its_time_on() {
    let mut engine = Engine::new(plan("infinite", 10, 0.0), settings(1000)).unwrap();
    let arrivals = |engine: &mut Engine, until: Time| {
        let (mut times, mut due) = (Vec::new(), Vec::new());
        engine.advance(until);
        engine.take_due(&mut due);
        times.extend(due.iter().map(|(_, time)| time.since(Time::ZERO).as_millis()));
        while let Some(datagram) = engine.next_datagram() {
            engine.give_back(datagram.data);
        }
        times
    };
    let change = |part: DirectionAdjustment| Adjustment { up: part, ..Adjustment::default() };
    let send = |engine: &mut Engine, now: u64| engine.send(at(now), 1, Port::Inside, &[0; 100]);
    send(&mut engine, 100);
    let longer = DirectionAdjustment { delay: Some((ms(50), None)), ..Default::default() };
    assert_eq!(engine.adjust(at(100), &change(longer)), Ok(at(100)));
    send(&mut engine, 100);
    assert_eq!(arrivals(&mut engine, at(200)), [110, 150]);

    let cut = |is_cut| DirectionAdjustment { is_cut: Some(is_cut), ..Default::default() };
    engine.adjust(at(200), &change(cut(true))).unwrap();
    send(&mut engine, 200);
    engine.adjust(at(201), &change(cut(false))).unwrap();
    send(&mut engine, 201);
    assert_eq!(arrivals(&mut engine, at(300)), [251], "what was cut is lost");

    let hold = |is_held| DirectionAdjustment { is_held: Some(is_held), ..Default::default() };
    engine.adjust(at(300), &change(hold(true))).unwrap();
    send(&mut engine, 300);
    engine.adjust(at(340), &change(hold(false))).unwrap();
    assert_eq!(arrivals(&mut engine, at(400)), [390], "what was held leaves");

    let lossy = DirectionAdjustment { loss: Some(LossModel::Random(1.5)), ..Default::default() };
    assert!(engine.adjust(at(400), &change(lossy)).unwrap_err().contains("expected"));
    engine.audit().unwrap();
    assert_eq!((engine.packets_inside(), engine.measures(Port::Inside).delivered.packets), (0, 4));
}

/// Sends datagrams of `bytes` and counts those that arrive.
fn datagrams(plan: Plan, count: u32, bytes: usize) -> (Engine, u32) {
    let mut engine = Engine::new(plan, settings(1000)).unwrap();
    let data: Vec<u8> = (0..bytes).map(|place| place as u8).collect();
    for number in 0..count {
        engine.send(at(u64::from(number)), number % 3, Port::Inside, &data);
    }
    engine.advance(at(60_000));
    let mut arrived = 0;
    while let Some(datagram) = engine.next_datagram() {
        assert_eq!((datagram.port, &datagram.data), (Port::Outside, &data));
        engine.give_back(datagram.data);
        arrived += 1;
    }
    engine.audit().unwrap();
    (engine, arrived)
}

#[test]
fn datagrams_are_packets() {
    let (engine, arrived) = datagrams(plan("1mbit", 5, 0.0), 100, 400);
    assert_eq!(arrived, 100);
    assert_eq!(engine.measures(Port::Inside).departed.bytes, 100 * 428, "headers of IP and UDP");
    assert_eq!(datagrams(plan("1mbit", 5, 1.0), 100, 400).1, 0);
    let mut twice = plan("1mbit", 5, 0.0);
    twice.up.impairment.duplicate = LossModel::Random(1.0);
    assert_eq!(datagrams(twice, 100, 400).1, 200);
    let some = datagrams(plan("1mbit", 5, 0.5), 100, 400).1;
    assert!(some > 20 && some < 80, "{some}");
}

#[test]
fn memory_of_datagrams_is_bounded() {
    let mut slow = direction("line:1kbit", 0, 0.0);
    slow.qdisc = qdelay_core::qdisc::AnyQdisc::parse("taildrop:limit=1000000").unwrap();
    let (engine, arrived) = datagrams(Plan { up: slow, ..plan("1kbit", 0, 0.0) }, 200, 10_000);
    // A mebibyte holds 104 datagrams; in a minute the link sends none.
    assert_eq!((arrived, engine.packets_inside(), engine.counts().unstored), (0, 104, 96));
}
