//! Long load through links: memory and open files must not grow. Not part of the everyday tests:
//!
//! ```text
//! QDELAY_SOAK_SECONDS=1800 cargo test --release --package qdelay --test net soak:: -- --ignored --nocapture
//! ```
//!
//! Two links carry connections and datagrams both ways from beginning to end, a cellular one under BoDe and one without a bound;
//! meanwhile others are started, loaded and ended, some by `kill -9`. After the first interval, memory and open files of the
//! two must not grow. Bounds are numbers of pages, files and packets; time only sets the duration of the load.

use crate::link_support::{
    Running, TASK, assert_accounted, echo_server, eventually, files, json, link, machine, name, network,
    pause_of, resident, talking_task, task, try_converse,
};
use qdelay_emu::netns::Namespace;
use rustix::process::Signal;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Seconds of load.
const SECONDS: &str = "QDELAY_SOAK_SECONDS";
/// Number of readings of memory and files; the first one is the reference.
const INTERVALS: u32 = 10;
/// Packet limit of a link, whose memory is allocated at the start.
const HOLD: u64 = 4096;
/// Allowed growth of a link's memory after the first interval, in KiB (256 pages): program pages used for the first
/// time, and delays not seen before. A leaked packet takes 1.5 KiB.
const GROWTH: u64 = 1024;
/// Interval between two datagrams of a sender: 0.8 Mbit/s with [`DATAGRAM`], which leaves room on a cellular uplink.
const GAP: Duration = Duration::from_millis(10);
const DATAGRAM: usize = 1000;

fn seconds() -> u32 {
    let text = std::env::var(SECONDS).unwrap_or_else(|_| "20".into());
    text.parse().unwrap_or_else(|_| panic!("{SECONDS}={text}: expected a whole number of seconds"))
}

/// Server on `machine` that echoes datagrams; its port, and the count of datagrams.
fn datagram_server(machine: &Namespace) -> (u16, Arc<AtomicU64>) {
    let socket = machine.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    let port = socket.local_addr().unwrap().port();
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            counted.fetch_add(1, Ordering::Relaxed);
            // The server ignores clients that have gone.
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
    (port, count)
}

/// Command behind a link: "stream-port datagram-port". Ends with its input.
#[helper]
fn converses() {
    let task = std::env::var(TASK).expect("a task");
    let [stream, datagrams] = [0, 1].map(|index| task.split(' ').nth(index).unwrap().parse::<u16>().unwrap());
    let outside: IpAddr = std::env::var("QDELAY_OUTSIDE").unwrap().parse().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let socket = Arc::new(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap());
    socket.connect((outside, datagrams)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let (over, sender) = (Arc::clone(&is_over), Arc::clone(&socket));
    let sending = std::thread::spawn(move || {
        let mut sent = 0_u64;
        while !over.load(Ordering::Relaxed) {
            sent += u64::from(sender.send(&[5; DATAGRAM]).is_ok());
            pause_of(GAP);
        }
        sent
    });
    let over = Arc::clone(&is_over);
    let receiving = std::thread::spawn(move || {
        let (mut buffer, mut received) = ([0; 2048], 0_u64);
        while !over.load(Ordering::Relaxed) {
            if let Ok(length) = socket.recv(&mut buffer) {
                assert!(buffer[..length] == [5; DATAGRAM]);
                received += 1;
            }
        }
        received
    });
    let over = Arc::clone(&is_over);
    let talking = std::thread::spawn(move || {
        let (mut conversations, mut stalled) = (0_u64, 0_u64);
        while !over.load(Ordering::Relaxed) {
            // A queue that drops packets after a long wait, on a fading link, beside unresponsive datagrams: sometimes TCP
            // loses the same segment so often that its next try is more than a minute away.
            match try_converse(SocketAddr::new(outside, stream), 100_000) {
                Ok(()) => conversations += 1,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    stalled += 1
                }
                Err(error) => panic!("{error}"),
            }
        }
        println!("\nstalled: {stalled}");
        assert!(stalled * 50 <= conversations, "{stalled} stalled beside {conversations} that did not");
        conversations
    });
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    is_over.store(true, Ordering::Relaxed);
    let [sent, received, conversations] = [sending, receiving, talking].map(|thread| thread.join().unwrap());
    println!("\nsoak: {conversations} {sent} {received}");
}

/// Link under load for as long as it has input.
struct Loaded {
    what: &'static str,
    running: Running,
    file: String,
    /// Memory in KiB and files after the first interval.
    right: Option<(u64, usize)>,
}

impl Loaded {
    fn start(machine: &Namespace, what: &'static str, options: &str, ports: (u16, u16)) -> Loaded {
        let file = name(&format!("soak-{what}"), "figures.json");
        let options = format!("{options} --hold {HOLD} --quiet --json {file}");
        let mut command = link(&options, &talking_task("converses", &format!("{} {}", ports.0, ports.1)));
        command.stdin(Stdio::piped());
        Loaded { what, running: Running::start(machine, command), file, right: None }
    }

    fn look(&mut self) -> String {
        let (memory, open) = (resident(self.running.id()), files(self.running.id()));
        let what = self.what;
        match self.right {
            None => self.right = Some((memory, open)),
            Some((before, open_before)) => {
                assert!(memory <= before + GROWTH, "{what}: from {before} to {memory} KiB");
                assert!(open <= open_before, "{what}: from {open_before} to {open} files");
            }
        }
        format!("{what} {memory} KiB, {open} files")
    }

    fn end(self) {
        let Loaded { what, running, file, .. } = self;
        let (status, output, complaint) = running.all();
        assert_eq!((status.code(), complaint.as_str()), (Some(0), ""), "{what}: {output}");
        let done = output.split("soak: ").nth(1).and_then(|rest| rest.lines().next()).expect("its counts");
        let stalled =
            output.split("stalled: ").nth(1).and_then(|rest| rest.lines().next()).expect("its stalls");
        let counts: Vec<u64> = done.split(' ').map(|word| word.parse().unwrap()).collect();
        assert!(counts.iter().all(|count| *count > 0), "{what}: {done}");
        let value = json(&file);
        for direction in ["down", "up"] {
            let figures = &value[direction];
            assert_accounted(figures, HOLD);
            assert_eq!(figures["malformed"], 0, "{what}");
            println!(
                "{what} {direction}: {} packets, {} delivered, {} dropped, queue p99 {} ms",
                figures["packets_arrived"],
                figures["packets_delivered"],
                figures["drops"],
                figures["queue_delay_ms"]["p99"]
            );
        }
        println!(
            "{what}: {} conversations and {stalled} that stalled, {} datagrams out, {} back; lost outside: {}; {}",
            counts[0], counts[1], counts[2], value["audit"]["lost_outside"], value["audit"]["reasons"]
        );
        // The kernel keeps 10,000 packets of a device, and what is sent here is far less.
        assert_eq!(value["audit"]["lost_outside"], 0, "{what}");
    }
}

#[test]
#[ignore = "takes QDELAY_SOAK_SECONDS, 20 unless set"]
fn soak() {
    let seconds = seconds();
    let machine = machine();
    let before = network(&machine);
    let stream = echo_server(&machine);
    let (datagrams, count) = datagram_server(&machine);
    let ports = (stream, datagrams);
    let cellular = "--down synth-lte-driving --up synth-lte-driving.up --qdisc bode --up-qdisc bode";
    let mut links = [
        Loaded::start(&machine, "cellular", cellular, ports),
        Loaded::start(&machine, "fast", "--qdisc fq_codel", ports),
    ];
    let interval = Duration::from_secs(seconds.into()) / INTERVALS;
    let mut restarted = 0;
    for number in 1..=INTERVALS {
        // A short load beside them, which ends by itself or is ended; at least one, and one per five seconds.
        let rounds = (seconds / INTERVALS / 5).max(1);
        for round in 0..rounds {
            restart(&machine, (number + round).is_multiple_of(2), ports);
            restarted += 1;
            pause_of(interval / rounds);
        }
        let looks = links.each_mut().map(Loaded::look);
        println!("interval {number} of {INTERVALS}: {}", looks.join("; "));
    }
    links.into_iter().for_each(Loaded::end);
    println!("{restarted} links beside them; {} datagrams in all", count.load(Ordering::Relaxed));
    eventually("the network is what it was", || network(&machine) == before);
}

/// Link that is started, loaded, and ended by its command or by `kill -9`.
fn restart(machine: &Namespace, is_killed: bool, ports: (u16, u16)) {
    let options = "--down 20mbit --up 5mbit --qdisc codel --quiet";
    let load = task("converses", &format!("{} {}", ports.0, ports.1));
    if !is_killed {
        // Without input it ends as soon as it has begun.
        let (status, complaint) = crate::link_support::run(machine, options, &load);
        assert_eq!((status, complaint.as_str()), (Some(0), ""));
        return;
    }
    let mut command = link(options, &format!("echo; {load} & {load}"));
    command.stdin(Stdio::piped());
    let mut running = Running::start(machine, command);
    running.line();
    pause_of(Duration::from_millis(200));
    running.signal(Signal::KILL);
    assert_eq!(running.end().0.code(), None);
}
