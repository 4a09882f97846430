//! The proxy between sockets of the loopback interface.

use crate::common::{ms, plan, settings};
use qdelay_core::Time;
use qdelay_emu::control::{Change, Control};
use qdelay_emu::snapshot::LinkSettings;
use qdelay_emu::system_clock::SystemClock;
use qdelay_path::stack::{Adjustment, DirectionAdjustment, Plan};
use qdelay_proxy::engine::Settings;
use qdelay_proxy::mapping::{Listen, Mapping, Target, Transport};
use qdelay_proxy::serve::{Outcome, Proxy};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest wait for anything: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A proxy that runs on a thread.
struct Running {
    address: SocketAddr,
    control: Control,
    thread: JoinHandle<Outcome>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Running {
    fn start(transport: Transport, target: SocketAddr, plan: Plan, settings: Settings) -> Running {
        let listen = Listen { transport, address: "127.0.0.1:0".parse().unwrap() };
        let target = Target { name: target.to_string(), addresses: vec![target] };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = lines.clone();
        let report = Box::new(move |line: &str| kept.lock().unwrap().push(line.to_string()));
        let (mut proxy, control) = Proxy::new(
            plan,
            settings,
            vec![Mapping { listen, target }],
            Some(LinkSettings::default()),
            report,
        )
        .unwrap();
        let address = proxy.addresses().unwrap()[0];
        let thread = thread::spawn(move || {
            proxy.run().unwrap();
            proxy.outcome().unwrap()
        });
        Running { address, control, thread, lines }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn end(self) -> Outcome {
        let Running { control, thread, .. } = self;
        control.stop().unwrap();
        // The request counts although the last handle is gone before the loop wakes.
        drop(control);
        thread.join().unwrap()
    }
}

/// A server that handles each connection on a thread.
fn server(handle: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let handle = Arc::new(handle);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    address
}

/// Sends back what comes, and closes when the client has.
fn echo(mut stream: TcpStream) {
    let mut buffer = [0; 16_384];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
    let _ = stream.shutdown(Shutdown::Write);
}

fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn echo_takes_at_least_the_delays() {
    let proxy = Running::start(Transport::Tcp, server(echo), plan("50mbit", 30, 0.0), settings(1 << 20));
    let clock = SystemClock::start();
    let mut stream = proxy.connect();
    stream.write_all(b"hello").unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"hello");
    // One round trip for the connection, one for the data.
    let took = clock.now().since(Time::ZERO);
    assert!(took >= ms(120), "{took}");
    drop(stream);
    let outcome = proxy.end();
    assert_eq!(outcome.counts.opened, 1);
    assert!(outcome.facts.lateness.count >= 2, "{:?}", outcome.facts.lateness);
}

#[test]
fn half_closed_connection_carries_the_other_direction() {
    let whole = |mut stream: TcpStream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all.reverse();
        stream.write_all(&all).unwrap();
    };
    let proxy = Running::start(Transport::Tcp, server(whole), plan("100mbit", 2, 0.0), settings(64 * 1024));
    let mut sent = bytes(1, 700_000);
    let mut stream = proxy.connect();
    stream.write_all(&sent).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    sent.reverse();
    assert!(got == sent, "{} bytes", got.len());
    // The last acknowledgement may still be under way.
    let outcome = proxy.end();
    assert_eq!((outcome.counts.resets, outcome.counts.done + outcome.open as u64), (0, 1));
}

#[test]
fn refused_target_resets_the_client_and_is_reported() {
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let proxy = Running::start(Transport::Tcp, nobody, plan("10mbit", 1, 0.0), settings(1 << 16));
    let mut stream = proxy.connect();
    let error = stream.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let line = proxy.lines.lock().unwrap()[0].clone();
    assert!(line.contains(&nobody.to_string()) && line.contains("refused"), "{line}");
    assert_eq!(proxy.end().counts.refused, 1);
}

#[test]
fn reset_of_the_target_reaches_the_client() {
    let resets = |mut stream: TcpStream| {
        let _ = stream.read(&mut [0; 1]);
        // Closing with unread bytes resets the connection.
        drop(stream);
    };
    let proxy = Running::start(Transport::Tcp, server(resets), plan("10mbit", 1, 0.0), settings(1 << 16));
    let mut stream = proxy.connect();
    stream.write_all(&[7; 5000]).unwrap();
    let error = stream.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(proxy.end().counts.resets, 1);
}

#[test]
fn two_hundred_connections_keep_their_bytes() {
    let settings = Settings { connections: 200, ..settings(1 << 18) };
    let proxy = Running::start(Transport::Tcp, server(echo), plan("500mbit", 1, 0.01), settings);
    let clients: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = proxy.connect();
            thread::spawn(move || {
                let sent = bytes(number, 20_000 + number as usize * 100);
                let mut writer = stream.try_clone().unwrap();
                let mut got = Vec::new();
                thread::scope(|scope| {
                    scope.spawn(|| {
                        writer.write_all(&sent).unwrap();
                        writer.shutdown(Shutdown::Write).unwrap();
                    });
                    stream.read_to_end(&mut got).unwrap();
                });
                assert!(got == sent, "connection {number}: {} of {} bytes", got.len(), sent.len());
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
    let outcome = proxy.end();
    assert_eq!((outcome.counts.opened, outcome.counts.resets), (200, 0));
    assert!(outcome.counts.retransmits.iter().sum::<u64>() > 0);
}

#[test]
fn slow_reader_stops_its_sender() {
    let (ended, end) = std::sync::mpsc::channel::<()>();
    let end = Mutex::new(end);
    let idle = move |stream: TcpStream| {
        let _ = end.lock().unwrap().recv();
        drop(stream);
    };
    let proxy = Running::start(Transport::Tcp, server(idle), plan("infinite", 1, 0.0), settings(100_000));
    let mut stream = proxy.connect();
    stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let mut taken = 0;
    let error = loop {
        match stream.write(&[0; 65_536]) {
            Ok(count) => taken += count,
            Err(error) => break error,
        }
        assert!(taken < 64 << 20, "the buffers of four sockets and the window hold less");
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    drop(ended);
    drop(stream);
    proxy.end();
}

/// A server that sends each datagram back.
fn datagram_echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((count, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..count], from);
        }
    });
    address
}

#[test]
fn datagrams_of_several_clients_are_answered() {
    let proxy = Running::start(Transport::Udp, datagram_echo(), plan("10mbit", 15, 0.0), settings(1000));
    let clients: Vec<UdpSocket> = (0..5).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let clock = SystemClock::start();
    for (number, client) in clients.iter().enumerate() {
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.send_to(&[number as u8; 100], proxy.address).unwrap();
    }
    for (number, client) in clients.iter().enumerate() {
        let mut buffer = [0; 200];
        let (count, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..count], from), (&[number as u8; 100][..], proxy.address));
    }
    let took = clock.now().since(Time::ZERO);
    assert!(took >= ms(30), "{took}");
    let outcome = proxy.end();
    assert_eq!(outcome.directions.map(|figures| figures.packets_delivered), [5, 5]);
}

#[test]
fn all_datagrams_are_lost_at_a_loss_of_everything() {
    let plan = Plan { down: plan("10mbit", 1, 1.0).down, ..plan("10mbit", 1, 0.0) };
    let proxy = Running::start(Transport::Udp, datagram_echo(), plan, settings(1000));
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    for _ in 0..20 {
        client.send_to(&[1; 50], proxy.address).unwrap();
    }
    let error = client.recv_from(&mut [0; 100]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    let [down, up] = proxy.end().directions;
    assert_eq!(down.packets_delivered, 0);
    assert!(up.packets_delivered > 0 && down.drops > 0, "{up:?} {down:?}");
}

/// A request of one byte over `stream`, and its answer.
fn asks(stream: &mut TcpStream) -> Result<(), ErrorKind> {
    stream.write_all(b"x").map_err(|error| error.kind())?;
    stream.read_exact(&mut [0; 1]).map_err(|error| error.kind())
}

#[test]
fn connections_are_reset_by_port_or_all() {
    let proxy = Running::start(Transport::Tcp, server(echo), plan("10mbit", 1, 0.0), settings(1 << 16));
    let mut streams: Vec<TcpStream> = (0..3).map(|_| proxy.connect()).collect();
    streams.iter_mut().for_each(|stream| asks(stream).unwrap());
    let client = streams[0].local_addr().unwrap().port();
    assert_eq!(proxy.control.reset(Some(1)).unwrap().1, 0);
    // A pause of the path does not keep a reset.
    let hold = |is_held| {
        let part = DirectionAdjustment { is_held: Some(is_held), ..Default::default() };
        let adjustment = Adjustment { down: part.clone(), up: part };
        let change = Change { adjustment, settings: Default::default(), what: format!("hold {is_held}") };
        proxy.control.adjust(change).unwrap().unwrap()
    };
    let paused = hold(true);
    assert_eq!(proxy.control.reset(Some(client)).unwrap().1, 1);
    assert_eq!(asks(&mut streams[0]), Err(ErrorKind::ConnectionReset));
    assert!(hold(false) >= paused);
    streams[1..].iter_mut().for_each(|stream| asks(stream).unwrap());
    assert_eq!(proxy.control.reset(Some(proxy.address.port())).unwrap().1, 2);
    streams[1..].iter_mut().for_each(|stream| assert_eq!(asks(stream), Err(ErrorKind::ConnectionReset)));
    let mut again = proxy.connect();
    assert_eq!(asks(&mut again), Ok(()), "new connections are carried");
    assert_eq!(proxy.control.reset(None).unwrap().1, 1);
    let sample = proxy.control.sample().unwrap();
    assert!(sample.up().total().delivered.packets > 10 && sample.host.released > 0);
    let outcome = proxy.end();
    assert_eq!((outcome.counts.opened, outcome.counts.resets, outcome.open), (4, 4, 0));
    let whats: Vec<&str> = outcome.changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(whats[..2], ["reset port 1: 0 connections", "hold true"]);
    assert_eq!(whats[whats.len() - 1], "reset all: 1 connections");
}
