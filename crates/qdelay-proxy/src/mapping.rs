//! Ports that the proxy listens on, with the target of each.
//!
//! `[tcp:|udp:][ADDRESS:]PORT` names what the proxy listens on, `HOST:PORT` the target. Names are resolved once, at the start; a connection tries
//! the addresses of its target in their order.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// The transport of a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Connections.
    Tcp,
    /// Datagrams.
    Udp,
}

impl Transport {
    /// The name in options.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        }
    }
}

/// Address and transport that the proxy listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The transport.
    pub transport: Transport,
    /// The address; port 0 lets the system choose a port.
    pub address: SocketAddr,
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.transport.name(), self.address)
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        let (transport, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (Transport::Tcp, rest),
            Some(("udp", rest)) => (Transport::Udp, rest),
            _ => (Transport::Tcp, text),
        };
        let fault =
            || "expected [tcp:|udp:][ADDRESS:]PORT, such as 8080, udp:5000 or 0.0.0.0:8080".to_string();
        let address = match rest.parse::<u16>() {
            Ok(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            Err(_) => match rest.strip_prefix("localhost:") {
                Some(port) => {
                    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().map_err(|_| fault())?)
                }
                None => rest.parse().map_err(|_| fault())?,
            },
        };
        Ok(Listen { transport, address })
    }
}

/// The target of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host and port as the user wrote them.
    pub name: String,
    /// Addresses in the order in which they are tried; at least one.
    pub addresses: Vec<SocketAddr>,
}

impl Target {
    /// Resolves `HOST:PORT`.
    ///
    /// # Errors
    /// The text has another form, or the name has no address.
    pub fn resolve(text: &str) -> Result<Target, String> {
        let form =
            || format!("'{text}' is no target; expected HOST:PORT, such as localhost:3000 or [::1]:80");
        let (host, port) = text.rsplit_once(':').ok_or_else(form)?;
        let port: u16 = port.parse().map_err(|_| form())?;
        let host_only = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if port == 0 || host_only.is_empty() || (host_only.contains(':') && host_only.len() == host.len()) {
            return Err(form());
        }
        let addresses: Vec<SocketAddr> = (host_only, port)
            .to_socket_addrs()
            .map_err(|error| {
                format!("'{host}' has no address ({error}); expected a host that can be resolved")
            })?
            .collect();
        match addresses.is_empty() {
            true => Err(format!("'{host}' has no address; expected a host that can be resolved")),
            false => Ok(Target { name: text.to_string(), addresses }),
        }
    }
}

/// A place to listen on and its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The place.
    pub listen: Listen,
    /// The target.
    pub target: Target,
}

impl Mapping {
    /// The mappings of the options: the target of each `listen` is the one of `to` at the same place.
    ///
    /// # Errors
    /// The numbers differ, two places are the same, or a target cannot be resolved.
    pub fn pairs(listen: &[Listen], to: &[String]) -> Result<Vec<Mapping>, String> {
        if listen.len() != to.len() {
            return Err(format!(
                "{} --listen and {} --to are given; expected one --to for each --listen, in the same order",
                listen.len(),
                to.len()
            ));
        }
        for (number, place) in listen.iter().enumerate() {
            if place.address.port() != 0 && listen[..number].contains(place) {
                return Err(format!("--listen {place} is given twice; expected different ports"));
            }
        }
        let mapping = |(listen, to): (&Listen, &String)| {
            Ok(Mapping {
                listen: *listen,
                target: Target::resolve(to).map_err(|error| format!("--to: {error}"))?,
            })
        };
        listen.iter().zip(to).map(mapping).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_a_default_transport_and_address() {
        for (text, expected) in [
            ("8080", "tcp:127.0.0.1:8080"),
            ("udp:5000", "udp:127.0.0.1:5000"),
            ("localhost:80", "tcp:127.0.0.1:80"),
            ("tcp:0.0.0.0:1", "tcp:0.0.0.0:1"),
            ("udp:[::1]:9", "udp:[::1]:9"),
        ] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), expected);
        }
        for wrong in ["", "x", "99999", "sctp:80", "host:80", "udp:", "1.2.3.4"] {
            let error = wrong.parse::<Listen>().unwrap_err();
            assert!(error.contains("expected [tcp:|udp:][ADDRESS:]PORT"), "{error}");
        }
    }

    #[test]
    fn targets_need_a_host_and_a_port() {
        assert_eq!(Target::resolve("127.0.0.1:80").unwrap().addresses, ["127.0.0.1:80".parse().unwrap()]);
        assert_eq!(Target::resolve("[::1]:80").unwrap().addresses, ["[::1]:80".parse().unwrap()]);
        for wrong in ["", "80", ":80", "host", "host:", "host:0", "host:x", "::1:80"] {
            let error = Target::resolve(wrong).unwrap_err();
            assert!(error.contains("expected HOST:PORT"), "{wrong}: {error}");
        }
    }

    #[test]
    fn each_place_has_one_target() {
        let listen: Vec<Listen> = ["1", "udp:1"].map(|text| text.parse().unwrap()).to_vec();
        let to = ["127.0.0.1:2".to_string(), "127.0.0.1:3".to_string()];
        assert_eq!(Mapping::pairs(&listen, &to).unwrap().len(), 2);
        assert!(Mapping::pairs(&listen, &to[..1]).unwrap_err().contains("2 --listen and 1 --to"));
        let twice = [listen[0], listen[0]];
        assert!(Mapping::pairs(&twice, &to).unwrap_err().contains("given twice"));
    }
}
