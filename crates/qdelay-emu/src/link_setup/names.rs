//! Names for the command: the resolver, and the ends of the links in its hosts(5).

use super::Addresses;
use crate::dns::{self, Relay};
use crate::netns::Namespace;
use std::fmt::Write;
use std::io;
use std::net::IpAddr;

/// Path of hosts(5).
const HOSTS_FILE: &str = "/etc/hosts";
/// Comment of the lines that a link adds.
const MARK: &str = "# qdelay link";

/// Adds the ends of the links to the command's hosts(5). If that fails, the addresses are known by the environment only.
pub(super) fn add_hosts(namespace: &Namespace, addresses: &Addresses, notes: &mut Vec<String>) {
    let done = std::fs::read_to_string(HOSTS_FILE)
        .and_then(|text| namespace.replace_file(HOSTS_FILE, hosts(&text, addresses)));
    if let Err(error) = done {
        notes.push(format!(
            "the names outside, nearest and inside are not known inside: {HOSTS_FILE}: {error}"
        ));
    }
}

/// The contents of a hosts(5) with the ends of the links in place of those of an enclosing link.
fn hosts(text: &str, addresses: &Addresses) -> String {
    let mut hosts = String::new();
    for line in text.lines().filter(|line| !line.ends_with(MARK)) {
        hosts.push_str(line);
        hosts.push('\n');
    }
    let (outermost, outermost6) = addresses.outermost();
    let own6 = addresses.ipv6;
    let ends: [(&str, [Option<IpAddr>; 2]); 3] = [
        ("outside", [Some(outermost.into()), outermost6.map(IpAddr::from)]),
        ("nearest", [Some(addresses.outside.into()), own6.map(|(_, outside)| outside.into())]),
        ("inside", [Some(addresses.inside.into()), own6.map(|(inside, _)| inside.into())]),
    ];
    for (name, found) in ends {
        for address in found.into_iter().flatten() {
            // Writing to a string cannot fail.
            let _ = writeln!(hosts, "{address} {name} {MARK}");
        }
    }
    hosts
}

/// The host's resolver configuration.
const RESOLVER_FILE: &str = "/etc/resolv.conf";

/// Starts a DNS relay outside and points the command's namespace at it. If that fails, the link works without name resolution.
pub(super) fn start_resolver(
    namespace: &Namespace,
    addresses: &Addresses,
    notes: &mut Vec<String>,
) -> Option<Relay> {
    if !namespace.has_own_mounts() {
        notes.push("names are not looked up through the link: mounting is not permitted".into());
        return None;
    }
    let configuration = match std::fs::read_to_string(RESOLVER_FILE) {
        Ok(text) => dns::Configuration::parse(&text),
        Err(error) => {
            notes.push(format!("names are not looked up: {RESOLVER_FILE}: {error}"));
            return None;
        }
    };
    let mut own: Vec<IpAddr> = vec![addresses.outside.into()];
    let mut clients = vec![addresses.block.ipv4];
    if let (Some(block), Some((_, outside))) = (addresses.block.ipv6, addresses.ipv6) {
        own.push(outside.into());
        clients.push(block);
    }
    let relay = match Relay::start(&own, clients, &configuration.servers) {
        Ok(relay) => Some(relay),
        // A resolver of the host that listens on every address also serves this one.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => None,
        Err(error) => {
            notes.push(format!("names are not looked up through the link: {error}"));
            return None;
        }
    };
    if let Err(error) = namespace.replace_file(RESOLVER_FILE, configuration.pointing_at(addresses.outside)) {
        notes.push(format!("names are not looked up through the link: {RESOLVER_FILE}: {error}"));
        return None;
    }
    relay
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link_setup::block::Block;
    use crate::link_setup::netlink::Network;

    #[test]
    fn hosts_have_the_ends_of_the_nearest_and_of_the_outermost_link() {
        let network = |text: &str, prefix| Network::new(text.parse().expect("an address"), prefix);
        let block = Block { ipv4: network("100.64.24.0", 21), ipv6: Some(network("fd71:de1a:1:8000::", 49)) };
        let (inside, outside) = block.ipv4_ends();
        let addresses = Addresses { inside, outside, ipv6: block.ipv6_ends(), block };
        let before = "127.0.0.1 localhost\n100.64.16.2 inside # qdelay link\n10.0.0.1 db # ours";
        let expected = "127.0.0.1 localhost\n10.0.0.1 db # ours\n100.64.16.1 outside # qdelay link\n\
                        fd71:de1a:1::1 outside # qdelay link\n100.64.24.1 nearest # qdelay link\n\
                        fd71:de1a:1:8000::1 nearest # qdelay link\n100.64.24.2 inside # qdelay link\n\
                        fd71:de1a:1:8000::2 inside # qdelay link\n";
        assert_eq!(hosts(before, &addresses), expected);
        assert_eq!(hosts(expected, &addresses), expected);
    }
}
