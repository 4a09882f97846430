//! The namespaces of a case and their devices, set up by `ip` and `tc` (iproute2).

use super::capture::HEAD_BYTES;
use super::{Class, ETHERNET, Kernel};
use crate::{MTU, ports};
use qdelay_core::Span;
use qdelay_emu::device::offload::Offloads;
use qdelay_emu::device::packet::{PacketOptions, PacketSocket};
use qdelay_emu::netns::Namespace;
use rustix::thread::gettid;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Command, Output, Stdio};

/// The devices at both ends of the three cables, from the senders to the receivers.
const CABLES: [[&str; 2]; 3] = [["o0", "a0"], ["a1", "b0"], ["b1", "i0"]];
/// The shaper's device towards the receivers.
const BOTTLENECK: &str = "a1";
/// Number of bytes recorded of each frame.
const FRAME_HEAD: u16 = ETHERNET as u16 + HEAD_BYTES as u16;
const FRAMES: u32 = 163_840;
/// Maximum number of packets in netem's delay queue.
const DELAYED_MAX: u32 = 1_000_000;
/// Linux's PIE leaves its probability at zero for half a second after it is attached (`pie_init`). On a router that is long before the
/// observed traffic; here flows would begin within that time, and fill the queue without an early drop.
const PIE_RESTS: Span = Span::from_millis(500);
/// Rate of control connections, which bypass the bottleneck's class.
const CONTROL_RATE: &str = "10gbit";

/// The namespaces, from the senders to the receivers.
pub(crate) struct Network {
    /// The namespace of the senders.
    pub outside: Namespace,
    shaper: Namespace,
    _delay: Namespace,
    /// The namespace of the receivers.
    pub inside: Namespace,
    offloads: Vec<Offloads>,
}

/// Addresses of the senders and the receivers.
pub(crate) const ENDS: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 3, 2));

impl Network {
    /// Sets up the namespaces of `kernel`, for flows with the numbers 0 to `flows - 1`.
    ///
    /// # Errors
    /// No namespaces, no iproute2, or a refusal of the kernel; the message is one line.
    pub(crate) fn new(kernel: &Kernel, flows: usize) -> Result<Network, String> {
        let namespace = || Namespace::new().map_err(|error| error.to_string());
        let all = [namespace()?, namespace()?, namespace()?, namespace()?];
        for namespace in &all {
            namespace.run(|| {
                // A kernel without IPv6 has no such files, so a failure is ignored.
                for which in ["all", "default"] {
                    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
                }
                let _ = std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
            });
        }
        for (number, [near, far]) in CABLES.into_iter().enumerate() {
            let peer = all[number + 1].run(gettid);
            let line = format!(
                "link add {near} address {} mtu {MTU} type veth peer name {far} address {} mtu {MTU} netns {}",
                hardware(number, 1),
                hardware(number, 2),
                peer.as_raw_pid()
            );
            batch(&all[number], "ip", vec![line])?;
        }
        let mut offloads = Vec::new();
        for (number, namespace) in all.iter().enumerate() {
            let left = number.checked_sub(1).map(|cable| (cable, 2));
            let right = (number < CABLES.len()).then_some((number, 1));
            let mut lines = Vec::new();
            for (cable, side) in [left, right].into_iter().flatten() {
                let device = CABLES[cable][side - 1];
                let switched = namespace.run(move || Offloads::switch_off(device));
                offloads.push(
                    switched
                        .map_err(|error| format!("{device}: offloads cannot be switched off: {error}"))?,
                );
                lines.push(format!("addr add {}/24 dev {device}", address(cable, side)));
                lines.push(format!("link set {device} up"));
                let other = 3 - side;
                let (ip, mac) = (address(cable, other), hardware(cable, other));
                lines.push(format!("neigh replace {ip} lladdr {mac} dev {device} nud permanent"));
            }
            batch(namespace, "ip", lines)?;
        }
        // Routes to the networks behind the next device.
        let routes = [
            (0, vec!["route add default via 10.0.1.2"]),
            (1, vec!["route add 10.0.3.0/24 via 10.0.2.2"]),
            (2, vec!["route add 10.0.1.0/24 via 10.0.2.1"]),
            (3, vec!["route add default via 10.0.3.1"]),
        ];
        for (number, lines) in routes {
            batch(&all[number], "ip", lines.into_iter().map(str::to_string).collect())?;
        }
        batch(&all[1], "tc", bottleneck(kernel, flows))?;
        if has_pie(kernel) {
            crate::sleep(PIE_RESTS);
        }
        let down = Span::from_nanos(kernel.rtt.as_nanos() / 2);
        let delay = |device: &str, span: Span| {
            format!(
                "qdisc add dev {device} root netem delay {}us limit {DELAYED_MAX}",
                span.as_nanos() as f64 / 1000.0
            )
        };
        batch(&all[2], "tc", vec![delay("b1", down), delay("b0", kernel.rtt - down)])?;
        if let Some((class, limit)) = kernel.uplink {
            let mut lines = vec!["qdisc add dev i0 root handle 1: htb default 10".to_string()];
            lines.push(format!("class add dev i0 parent 1: classid 1:10 {}", htb(class)));
            lines.push(format!("qdisc add dev i0 parent 1:10 handle 10: pfifo limit {limit}"));
            batch(&all[3], "tc", lines)?;
        }
        let [outside, shaper, delay, inside] = all;
        Ok(Network { outside, shaper, _delay: delay, inside, offloads })
    }

    /// Sockets for the packets that arrive at the shaper and for those that leave it.
    ///
    /// # Errors
    /// A socket cannot be opened; the message is one line.
    pub(crate) fn sockets(&self) -> Result<[PacketSocket; 2], String> {
        let open = |device: &'static str, leaving: bool| {
            let options =
                PacketOptions { leaving, head: Some(FRAME_HEAD), frames: FRAMES, ..PacketOptions::default() };
            let socket = self.shaper.run(move || PacketSocket::open_with(device, options));
            socket.map_err(|error| error.to_string())
        };
        Ok([open(CABLES[0][1], false)?, open(BOTTLENECK, true)?])
    }

    /// The kernel's counters of the bottleneck's discipline, by the names in the output of `tc -s qdisc`.
    ///
    /// # Errors
    /// tc cannot be run; the message is one line.
    pub(crate) fn counters(&self) -> Result<BTreeMap<String, u64>, String> {
        let arguments = ["-s", "-j", "qdisc", "show", "dev", BOTTLENECK];
        let output =
            self.shaper.run(move || Command::new("tc").args(arguments).stdin(Stdio::null()).output());
        let output = output.map_err(|error| format!("tc cannot be started: {error} (package iproute2)"))?;
        let all: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("tc: {error}"))?;
        let is_ours = |qdisc: &&Value| qdisc["handle"] == "10:";
        let ours = all.as_array().and_then(|all| all.iter().find(is_ours));
        let fields = ours.and_then(Value::as_object).into_iter().flatten();
        Ok(fields.filter_map(|(name, value)| Some((name.clone(), value.as_u64()?))).collect())
    }

    /// Compares the kernel's counters with a recording of `dropped` drops and `left` departures; returns contradictions.
    pub(crate) fn contradiction(
        &self,
        counters: &BTreeMap<String, u64>,
        [dropped, left]: [u64; 2],
    ) -> Vec<String> {
        let mut reasons = Vec::new();
        for (name, recorded) in [("drops", dropped), ("packets", left)] {
            let counted = counters.get(name).copied().unwrap_or(0);
            // The tolerance covers packets at the very end, which may be dropped or still queued.
            if counted.abs_diff(recorded) > counted / 100 + 50 {
                reasons
                    .push(format!("the kernel counted {counted} {name}, but the recording has {recorded}"));
            }
        }
        if self.offloads.iter().any(|offloads| !offloads.left_on().is_empty()) {
            reasons.push("offloads of a network device are on: packets may have been merged".to_string());
        }
        reasons
    }
}

fn address(cable: usize, side: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, cable as u8 + 1, side as u8)
}

fn hardware(cable: usize, side: usize) -> String {
    format!("02:00:00:00:0{}:0{side}", cable + 1)
}

fn htb(class: Class) -> String {
    let (rate, burst) = (class.rate.as_bps(), class.burst_bytes);
    format!(
        "htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b quantum {}",
        u32::from(MTU) + ETHERNET
    )
}

/// Whether the discipline is PIE, whose updates begin late.
fn has_pie(kernel: &Kernel) -> bool {
    kernel.qdisc.words.first().is_some_and(|name| name == "pie")
}

/// Commands of tc for the bottleneck: packets of flows go to class 1:10, all others to 1:20.
fn bottleneck(kernel: &Kernel, flows: usize) -> Vec<String> {
    let dev = BOTTLENECK;
    let mut lines = vec![
        format!("qdisc add dev {dev} root handle 1: htb default 20"),
        format!("class add dev {dev} parent 1: classid 1:10 {}", htb(kernel.class)),
        format!("class add dev {dev} parent 1: classid 1:20 htb rate {CONTROL_RATE} quantum 60000"),
        format!("qdisc add dev {dev} parent 1:10 handle 10: {}", kernel.qdisc.words.join(" ")),
    ];
    let filter = |parent: &str, flow: usize, class: String| {
        let (from, to) = (ports::sender(flow), ports::receiver(flow));
        format!(
            "filter add dev {dev} parent {parent} protocol ip prio 1 u32 match ip sport {from} 0xffff match ip dport {to} 0xffff flowid {class}"
        )
    };
    lines.extend((0..flows).map(|flow| filter("1:", flow, "1:10".to_string())));
    // Disciplines with classes get one class for each flow.
    if let Some((class, queue)) = &kernel.qdisc.class {
        for flow in 0..flows {
            let number = format!("{:x}", flow + 1);
            lines.push(format!("class add dev {dev} parent 10: classid 10:{number} {}", class.join(" ")));
            lines.push(format!("qdisc add dev {dev} parent 10:{number} {}", queue.join(" ")));
            lines.push(filter("10:", flow, format!("10:{number}")));
        }
    }
    lines
}

/// Runs the lines as commands of `program` in `namespace`.
fn batch(namespace: &Namespace, program: &'static str, lines: Vec<String>) -> Result<(), String> {
    let text = lines.join("\n") + "\n";
    let run = move || -> std::io::Result<Output> {
        let mut command = Command::new(program);
        command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A write to a program that has ended fails; its output has the reason.
            let _ = input.write_all(text.as_bytes());
        }
        child.wait_with_output()
    };
    let output = namespace
        .run(run)
        .map_err(|error| format!("{program} cannot be started: {error} (package iproute2)"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(format!("{program} refused: {} ({})", first.join("; "), lines.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::Rate;
    use qdelay_core::qdisc::KernelQdisc;

    fn kernel(discipline: &str) -> Kernel {
        Kernel {
            qdisc: KernelQdisc { words: vec![discipline.into()], class: None, drops_departures: true },
            class: Class { rate: Rate::from_bps(10_000_000), burst_bytes: 1540 },
            uplink: None,
            rtt: Span::from_millis(20),
        }
    }

    #[test]
    fn only_pie_needs_a_rest_before_traffic() {
        assert!(has_pie(&kernel("pie")));
        assert!(!has_pie(&kernel("codel")));
    }

    #[test]
    fn packets_of_flows_go_to_the_class_of_the_bottleneck() {
        let kernel = kernel("codel");
        let lines = bottleneck(&kernel, 2);
        assert_eq!(lines.len(), 6);
        assert!(lines[1].ends_with(
            "classid 1:10 htb rate 10000000bit ceil 10000000bit burst 1540b cburst 1540b quantum 1514"
        ));
        assert!(lines[5].ends_with("match ip sport 30001 0xffff match ip dport 20001 0xffff flowid 1:10"));
    }
}
