//! Ports forwarded between the machine and the command: options `--forward` and `--loopback`.

use super::PLACE;
use qdelay_emu::link_setup::LinkSetup;
use qdelay_emu::relay::{Listening, Protocol, Relay, Service};
use qdelay_terminal::error::Failure;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// A port with its protocol: `3000`, `5353/udp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServicePort {
    /// Port number, above 0.
    pub port: u16,
    /// Protocol.
    pub protocol: Protocol,
}

impl FromStr for ServicePort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = split_protocol(text).and_then(|(port, protocol)| Some((number(port)?, protocol)));
        let (port, protocol) =
            parsed.ok_or("expected a port, 1 to 65535, such as 3000 or 5353/udp; several with commas")?;
        Ok(Self { port, protocol })
    }
}

/// A port of the machine that leads to one of the command: `[ADDRESS:]PORT:PORT[/udp]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Address of the machine; `None` for the loopback device, IPv4 and IPv6.
    pub address: Option<IpAddr>,
    /// Port of the machine.
    pub port: u16,
    /// Port of the command's device.
    pub inside: u16,
    /// Protocol.
    pub protocol: Protocol,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = || {
            let (ports, protocol) = split_protocol(text)?;
            let (outside, inside) = ports.rsplit_once(':')?;
            let inside = number(inside)?;
            let (address, port) = match outside.parse::<SocketAddr>() {
                Ok(address) if address.port() > 0 => (Some(address.ip()), address.port()),
                Ok(_) => return None,
                Err(_) => (None, number(outside)?),
            };
            Some(Self { address, port, inside, protocol })
        };
        parsed().ok_or_else(|| {
            "expected [ADDRESS:]PORT:PORT[/udp], the machine's port and the command's, such as 8080:80, \
             0.0.0.0:8080:80 or 5000:5000/udp"
                .to_string()
        })
    }
}

impl fmt::Display for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, inside, protocol, .. } = self;
        match self.address {
            Some(address) => write!(f, "{}:{inside}/{protocol}", SocketAddr::new(address, *port)),
            None => write!(f, "{port}:{inside}/{protocol}"),
        }
    }
}

fn split_protocol(text: &str) -> Option<(&str, Protocol)> {
    match text.split_once('/') {
        None => Some((text, Protocol::default())),
        Some((ports, name)) => {
            let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name)?;
            Some((ports, protocol))
        }
    }
}

fn number(text: &str) -> Option<u16> {
    text.parse().ok().filter(|port| *port > 0)
}

/// Sockets of the machine for forwarded ports. Opened before the process enters a user namespace, so that they are the machine's.
pub(super) struct Forwards(Vec<(Forward, Listening)>);

impl Forwards {
    /// # Errors
    /// A port that is in use or not permitted, and an address that the machine does not have.
    pub(super) fn open(all: &[Forward]) -> Result<Self, Failure> {
        let mut open = Vec::new();
        for forward in all {
            let (first, second) = match forward.address {
                Some(address) => (address, None),
                None => (Ipv4Addr::LOCALHOST.into(), Some(IpAddr::from(Ipv6Addr::LOCALHOST))),
            };
            let bind = |address| Listening::bind(forward.protocol, SocketAddr::new(address, forward.port));
            let listening = bind(first).map_err(|error| {
                let message = format!(
                    "port {} of {first} ({}): {error}; expected a free port of this machine",
                    forward.port, forward.protocol
                );
                Failure::input(format!("--forward {forward}"), message)
            })?;
            open.push((*forward, listening));
            // A machine without IPv6 has no such address.
            open.extend(second.and_then(|address| bind(address).ok()).map(|listening| (*forward, listening)));
        }
        Ok(Self(open))
    }

    /// Serves the ports by connections from the outer end to the command's device.
    pub(super) fn start(self, setup: &LinkSetup) -> Result<Option<Relay>, Failure> {
        let addresses = setup.addresses;
        let services = self.0.into_iter().map(|(forward, listening)| {
            let ipv6 = addresses.ipv6.map(|(inside, _)| IpAddr::from(inside));
            let ends = [Some(addresses.inside.into()), ipv6].into_iter().flatten();
            let targets = ends.map(|end| SocketAddr::new(end, forward.inside)).collect();
            Service { listening, clients: Vec::new(), targets }
        });
        let services: Vec<Service> = services.collect();
        if services.is_empty() {
            return Ok(None);
        }
        setup.run_outside(move || Relay::start(services)).map(Some).map_err(failed)
    }
}

/// Serves ports of the machine's loopback device at the outer end of the link and, inside, at the same ports of the command's
/// loopback device: packets between the two cross the link.
pub(super) fn serve_loopback(setup: &LinkSetup, ports: &[ServicePort]) -> Result<Vec<Relay>, Failure> {
    if ports.is_empty() {
        return Ok(Vec::new());
    }
    let addresses = setup.addresses;
    let outer: Vec<IpAddr> = [Some(addresses.outside.into()), addresses.ipv6.map(|ends| ends.1.into())]
        .into_iter()
        .flatten()
        .collect();
    let own: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let all = ports.to_vec();
    let (ends, targets) = (outer.clone(), own.clone());
    // A server of the machine that listens at every address is reached without a relay.
    let mut outside = setup
        .run_outside(move || listen(&all, &ends, &targets, |_, kind| kind == io::ErrorKind::AddrInUse))?;
    // The kernel accepts packets to the outer end's address from every device of the machine.
    let block = addresses.block;
    outside
        .iter_mut()
        .for_each(|service| service.clients.extend([Some(block.ipv4), block.ipv6].iter().flatten()));
    let all = ports.to_vec();
    let inside = setup.namespace.run(move || {
        let is_optional = |address: IpAddr, _| address.is_ipv6();
        Relay::start(listen(&all, &own, &outer, is_optional)?).map_err(failed)
    })?;
    // The main thread is in the machine's namespace, also if the outer end is in a private one.
    Ok(vec![Relay::start(outside).map_err(failed)?, inside])
}

/// Sockets at these addresses for the ports, with the targets' addresses. Errors that `is_harmless` are skipped.
fn listen(
    ports: &[ServicePort],
    addresses: &[IpAddr],
    targets: &[IpAddr],
    is_harmless: impl Fn(IpAddr, io::ErrorKind) -> bool,
) -> Result<Vec<Service>, Failure> {
    let mut services = Vec::new();
    for ServicePort { port, protocol } in ports {
        for address in addresses {
            match Listening::bind(*protocol, SocketAddr::new(*address, *port)) {
                Ok(listening) => {
                    let targets = targets.iter().map(|target| SocketAddr::new(*target, *port)).collect();
                    services.push(Service { listening, clients: Vec::new(), targets });
                }
                Err(error) if is_harmless(*address, error.kind()) => {}
                Err(error) => {
                    let message = format!("port {port} of {address} ({protocol}): {error}");
                    return Err(Failure::input("--loopback", message));
                }
            }
        }
    }
    Ok(services)
}

fn failed(error: io::Error) -> Failure {
    Failure::input(PLACE, format!("starting the relay of ports: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_read() {
        let forward = |text: &str| text.parse::<Forward>().map(|forward| forward.to_string());
        for (text, read) in [
            ("8080:80", "8080:80/tcp"),
            ("5000:5001/udp", "5000:5001/udp"),
            ("8080:80/tcp", "8080:80/tcp"),
            ("0.0.0.0:8080:80", "0.0.0.0:8080:80/tcp"),
            ("[::1]:8080:80/udp", "[::1]:8080:80/udp"),
        ] {
            assert_eq!(forward(text).as_deref(), Ok(read));
        }
        for text in [
            "",
            "80",
            "80:",
            ":80",
            "0:80",
            "80:0",
            "80:70000",
            "80:80/sctp",
            "host:80:80",
            "1.2.3.4:0:80",
            "1:2:3",
        ] {
            let error = forward(text).expect_err(text);
            assert!(error.contains("such as 8080:80"), "{error}");
        }
    }

    #[test]
    fn ports_are_read() {
        assert_eq!("53/udp".parse(), Ok(ServicePort { port: 53, protocol: Protocol::Udp }));
        assert_eq!("3000".parse(), Ok(ServicePort { port: 3000, protocol: Protocol::Tcp }));
        for text in ["", "0", "65536", "http", "1/", "1/2"] {
            assert!(text.parse::<ServicePort>().is_err(), "{text}");
        }
    }
}
