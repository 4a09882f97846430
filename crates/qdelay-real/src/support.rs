//! Checks before a run that real programs can run a scenario, and the choice of each flow's generator.

use super::MTU;
use super::datagrams;
use super::external::{self, ExternalPrograms};
use super::irtt;
use qdelay_sim::{FlowSpec, Scenario};
use qdelay_traffic::control::{AnyController, Controller};
use qdelay_traffic::tcp::{Pacing, Profile};
use qdelay_traffic::transport::TransportConfig;
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{AddressFamily, SocketType, socket};
use std::process::{Command, Stdio};

/// Maximum number of flows: each TCP flow consists of two processes.
pub const FLOWS_MAX: usize = 200;

/// Checks that real programs can run the scenario, over a kernel with these congestion controls.
///
/// # Errors
/// The part that cannot be run, and what is expected.
pub fn check(scenario: &Scenario, kernel: &[String]) -> Result<(), String> {
    check_with(scenario, kernel, &ExternalPrograms::default())
}

/// Checks the scenario as [`check`] does, with programs of the user for some flows.
///
/// # Errors
/// The part that cannot be run, and what is expected.
pub fn check_with(scenario: &Scenario, kernel: &[String], programs: &ExternalPrograms) -> Result<(), String> {
    if scenario.flows.len() > FLOWS_MAX {
        return Err(format!(
            "{} flows are too many for real programs; expected at most {FLOWS_MAX}",
            scenario.flows.len()
        ));
    }
    if [&scenario.impairments.down, &scenario.impairments.up].iter().any(|spec| spec.duplicate.is_lossy()) {
        return Err("duplicate: packets of real programs are not duplicated; expected 0%".to_string());
    }
    for flow in &scenario.flows {
        check_flow(flow, kernel, programs)
            .map_err(|message| format!("flow '{}': {message} with real programs", flow.name))?;
    }
    external::check(scenario, |flow| programs.command_for(flow).is_some())?;
    // ECN and pacing are settings of a namespace, which all senders share.
    let mut ecn = scenario.flows.iter().filter_map(ecn);
    if let Some(first) = ecn.next()
        && ecn.any(|other| other != first)
    {
        return Err("some TCP flows use ECN and some do not: the kernel has one setting for all flows; expected all or none \
                    with real programs"
            .to_string());
    }
    let mut paced = scenario.flows.iter().filter_map(paced);
    if let Some(first) = paced.next()
        && paced.any(|other| other != first)
    {
        return Err("some of Cubic and Reno are paced (pacing=always) and some are not: the namespace of the senders has one \
                    default for all; expected all or none with real programs"
            .to_string());
    }
    Ok(())
}

/// Program that generates a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// TCP flow: iperf3.
    Iperf3,
    /// Call-like flow: irtt.
    Irtt,
    /// Other datagrams: this program.
    Own,
    /// Transport over sockets: this subcommand of this program.
    Subcommand(&'static str),
    /// Program of the user.
    External,
}

impl Generator {
    /// The name of the program, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Generator::Irtt => "irtt",
            Generator::Iperf3 => "iperf3",
            Generator::Own => "qdelay",
            Generator::External => "its program",
            Generator::Subcommand(name) => name,
        }
    }
}

/// The subcommand that runs the flow over sockets, if its transport has one.
fn subcommand(flow: &FlowSpec) -> Option<&'static str> {
    let TransportConfig::Own(own) = &flow.transport else { return None };
    own.transport().program()
}

/// The generator of each flow of the scenario, and true if irtt is missing for one of them.
pub fn generators(scenario: &Scenario, programs: &ExternalPrograms) -> (Vec<Generator>, bool) {
    // Clients of irtt send from outside only.
    let is_call = |flow: &FlowSpec| irtt::is_call(flow) && !flow.is_upload;
    let wanted = scenario.flows.iter().any(is_call);
    let is_there = wanted && irtt::is_installed();
    let generator = |flow: &FlowSpec| match is_call(flow) {
        true if is_there => Generator::Irtt,
        _ if is_tcp(flow) => Generator::Iperf3,
        _ if programs.command_for(flow).is_some() => Generator::External,
        _ => subcommand(flow).map_or(Generator::Own, Generator::Subcommand),
    };
    (scenario.flows.iter().map(generator).collect(), wanted && !is_there)
}

/// True if TCP flows of the scenario negotiate ECN.
pub fn wants_ecn(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| ecn(flow) == Some(true))
}

/// True if Cubic and Reno flows of the scenario are paced.
pub fn wants_pacing(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| paced(flow) == Some(true))
}

/// True if the flow is paced; `None` if its transport leaves no choice: BBR is always paced.
fn paced(flow: &FlowSpec) -> Option<bool> {
    match &flow.transport {
        TransportConfig::Tcp(tcp) if tcp.controller.owns_window() => None,
        TransportConfig::Tcp(tcp) => Some(tcp.profile.pacing == Pacing::Always),
        TransportConfig::Udp(_)
        | TransportConfig::Tfrc(_)
        | TransportConfig::Audio(_)
        | TransportConfig::Sprout(_)
        | TransportConfig::Video(_)
        | TransportConfig::Own(_) => None,
        // Sockets of these transports keep the namespace's default.
        TransportConfig::Stream(_) | TransportConfig::Web(_) => {
            external::carried_by(flow).filter(|tcp| tcp.controller.owns_window()).map(|_| true)
        }
    }
}

fn ecn(flow: &FlowSpec) -> Option<bool> {
    match &flow.transport {
        TransportConfig::Tcp(tcp) => Some(tcp.profile.ecn),
        TransportConfig::Udp(_)
        | TransportConfig::Tfrc(_)
        | TransportConfig::Audio(_)
        | TransportConfig::Sprout(_)
        | TransportConfig::Video(_)
        | TransportConfig::Own(_) => None,
        TransportConfig::Stream(_) | TransportConfig::Web(_) => {
            external::carried_by(flow).map(|tcp| tcp.profile.ecn)
        }
    }
}

/// Default congestion control of sockets, by the kernel's name.
pub fn default_control(scenario: &Scenario) -> &'static str {
    let carried = scenario.flows.iter().find_map(external::carried_by);
    match carried.and_then(|tcp| tcp.controller.in_kernel()) {
        Some(name) => name,
        None if wants_pacing(scenario) => "bbr",
        None => "reno",
    }
}

/// True if iperf3 generates the flow.
pub fn is_tcp(flow: &FlowSpec) -> bool {
    matches!(flow.transport, TransportConfig::Tcp(_))
}

fn check_flow(flow: &FlowSpec, kernel: &[String], programs: &ExternalPrograms) -> Result<(), String> {
    if flow.other.is_some() {
        return Err(
            "second_dscp: packets of a real program have one codepoint; expected dscp alone".to_string()
        );
    }
    if flow.discard_delay.is_some() {
        return Err("discard_delay: real receivers accept every packet; remove it".to_string());
    }
    if programs.command_for(flow).is_some() {
        let Some(tcp) = external::carried_by(flow) else { return Ok(()) };
        if !is_kernel(tcp.profile) {
            return Err(format!(
                "'{}': the kernel's TCP does not have these parameters; expected {} in over, with at most ecn",
                flow.typed,
                controls()
            ));
        }
        return check_control(flow, &tcp.controller, kernel);
    }
    match &flow.transport {
        // iperf3 ends a transfer when all data is written, and discards data that has not arrived by then.
        TransportConfig::Tcp(tcp) if tcp.bytes.is_some() => {
            Err(format!("'{}': iperf3 cannot send an exact number of bytes; remove bytes", flow.typed))
        }
        // Parameters of the kernel's TCP cannot be set for a single flow.
        TransportConfig::Tcp(tcp) if !is_kernel(tcp.profile) => Err(format!(
            "'{}': the kernel's TCP does not have these parameters; expected {}, with at most ecn or pacing=always",
            flow.typed,
            controls()
        )),
        TransportConfig::Tcp(tcp) => check_control(flow, &tcp.controller, kernel),
        TransportConfig::Tfrc(_) | TransportConfig::Audio(_) => Err(format!(
            "'{}': there is no program for TFRC; expected {}, udp, voip or gaming",
            flow.typed,
            controls()
        )),
        TransportConfig::Sprout(_) => Err(format!(
            "'{}': there is no program for Sprout; expected {}, udp, voip or gaming",
            flow.typed,
            controls()
        )),
        TransportConfig::Video(_) => Err(format!(
            "'{}': there is no program for calls with video yet; expected one by --program, or {}, udp, voip or gaming",
            flow.typed,
            controls()
        )),
        TransportConfig::Stream(_) | TransportConfig::Web(_) => Err(format!(
            "'{}': there is no program for this application; expected one by --program, or {}, udp, voip or gaming",
            flow.typed,
            controls()
        )),
        TransportConfig::Own(own) if own.transport().program().is_some() => {
            own.transport().check_sockets(MTU).map_err(|message| format!("'{}': {message}", flow.typed))
        }
        TransportConfig::Own(_) => Err(format!("'{}': there is no program for this transport", flow.typed)),
        TransportConfig::Udp(udp) if udp.echo && udp.bytes < datagrams::NUMBERED_BYTES => Err(format!(
            "'{}': datagrams that are returned contain a number; expected a size of at least {}",
            flow.typed,
            datagrams::NUMBERED_BYTES
        )),
        TransportConfig::Udp(udp) if udp.bytes > u32::from(MTU) => Err(format!(
            "'{}': packets of {} bytes would be fragmented; expected a size of at most {MTU}",
            flow.typed, udp.bytes
        )),
        TransportConfig::Udp(_) => Ok(()),
    }
}

/// The names of congestion controls that a kernel may have, for messages.
fn controls() -> String {
    AnyController::names_in_kernel().collect::<Vec<_>>().join(", ")
}

/// Checks that the kernel has the congestion control.
fn check_control(flow: &FlowSpec, control: &AnyController, kernel: &[String]) -> Result<(), String> {
    let typed = &flow.typed;
    match control.in_kernel() {
        None => {
            let all = controls();
            Err(format!("'{typed}': the kernel's TCP does not have this congestion control; expected {all}"))
        }
        Some(name) if kernel.iter().any(|there| there == name) => Ok(()),
        Some(name) => Err(format!(
            "'{typed}': this kernel has no congestion control '{name}', and no module for it; expected one of {}",
            if kernel.is_empty() { "its own".to_string() } else { kernel.join(", ") }
        )),
    }
}

/// Congestion controls of this machine's kernel, and those of the scenario's flows for which the kernel has a module.
pub fn kernel_controls(scenario: &Scenario) -> Vec<String> {
    let there = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let mut all: Vec<String> =
        there.unwrap_or_default().split_ascii_whitespace().map(str::to_string).collect();
    for flow in &scenario.flows {
        let tcp = match &flow.transport {
            TransportConfig::Tcp(tcp) => Some(tcp),
            _ => external::carried_by(flow),
        };
        if let Some(tcp) = tcp
            && let Some(name) = tcp.controller.in_kernel()
            && !all.iter().any(|there| there == name)
            && has_module(name)
        {
            all.push(name.to_string());
        }
    }
    all
}

/// True if the kernel has a module for the congestion control. Permission to use it is set in the flows' namespaces.
fn has_module(name: &str) -> bool {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None);
    socket.is_ok_and(|socket| set_tcp_congestion(&socket, name) != Err(rustix::io::Errno::NOENT))
}

/// True if the kernel's TCP can be configured like `profile`.
fn is_kernel(profile: Profile) -> bool {
    let pacing = if profile.pacing == Pacing::Always { Pacing::Controller } else { profile.pacing };
    Profile { ecn: false, pacing, ..profile } == Profile::linux()
}

/// Checks that the programs that the scenario needs are installed.
///
/// # Errors
/// The missing program and its package.
pub fn check_programs(scenario: &Scenario) -> Result<(), String> {
    if !scenario.flows.iter().any(is_tcp) {
        return Ok(());
    }
    let missing = |what: &str| {
        Err(format!(
            "{what}; iperf3 generates TCP flows of real programs: expected it to be installed (package iperf3)"
        ))
    };
    let version = Command::new("iperf3").arg("--version").stdin(Stdio::null()).output();
    match version {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => missing(&format!("iperf3 --version ended with {}", output.status)),
        Err(error) => missing(&format!("iperf3 cannot be started: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::scenario::{Overrides, Study};
    use qdelay_study::traces::Library;

    #[test]
    fn congestion_controls_missing_in_the_kernel_are_refused() {
        let text = "[path]\nlink = \"10mbit\"\n[[flow]]\nname = \"call\"\ntransport = \"udp:80kbit:size=200b\"\n\
                    [[flow]]\nname = \"download\"\ntransport = \"bbr\"\n[run]\nduration = \"2s\"\n";
        let study = Study::parse("some", text, &Overrides::default()).unwrap();
        let scenario = study.case(0, &Library::new()).unwrap().scenario;
        let kernel = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let refused = check(&scenario, &kernel(&["reno", "cubic"])).unwrap_err();
        assert_eq!(
            refused,
            "flow 'download': 'bbr': this kernel has no congestion control 'bbr', and no module for it; expected one of \
             reno, cubic with real programs"
        );
        assert!(check(&scenario, &[]).unwrap_err().contains("expected one of its own"));
        for flow in &scenario.flows {
            assert_eq!(
                check_flow(flow, &kernel(&["reno", "bbr"]), &ExternalPrograms::default()),
                Ok(()),
                "{}",
                flow.name
            );
        }
        for call in ["webrtc", "scream", "frames"] {
            let text =
                format!("[path]\nlink = \"10mbit\"\n[[flow]]\nname = \"call\"\ntransport = \"{call}\"\n");
            let study = Study::parse("some", &text, &Overrides::default()).unwrap();
            let refused = check(&study.case(0, &Library::new()).unwrap().scenario, &[]).unwrap_err();
            assert!(refused.contains("no program for calls with video"), "{refused}");
        }
        // Every congestion control in a kernel's list exists, on any kernel.
        assert!(kernel_controls(&scenario).iter().all(|name| has_module(name)));
    }
}
