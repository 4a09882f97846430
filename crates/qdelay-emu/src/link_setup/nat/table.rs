//! A link's table of nftables, by netlink (`linux/netfilter/nf_tables.h`). As `nft list table inet qdelay0` shows it:
//!
//! ```text
//! table inet qdelay0 { # flags owner
//!     chain beyond {
//!         type nat hook postrouting priority srcnat; policy accept;
//!         ip saddr 100.64.0.0/24 oif != "qdelay0" masquerade
//!         ip6 saddr fd71:de1a::/48 oif != "qdelay0" masquerade
//!     }
//!     chain guard {
//!         type filter hook forward priority filter; policy accept;
//!         iif "qdelay0" ip saddr != 100.64.0.0/24 drop
//!         iif "qdelay0" ip6 saddr != fd71:de1a::/48 drop
//!         meta nfproto ipv4 iif "eth0" ct state ! established,related drop
//!     }
//! }
//! ```
//!
//! Rules contain device indices, so that they still apply when a device gets another name. The table belongs to its socket: no
//! other program can change it, and the kernel removes it when the last copy of the socket is closed. No other table of nftables
//! is read or changed.

use super::forwarding::Family;
use crate::link_setup::block::Block;
use crate::link_setup::netlink::Network;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Timeout for an answer. The kernel answers at once, so a timeout means that it gives none.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reason why the table could not be created.
#[derive(Debug)]
pub(super) enum TableError {
    NotPermitted,
    Exists,
    Unsupported(io::Error),
    Failed(io::Error),
}

impl From<io::Error> for TableError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error().unwrap_or_default() {
            libc::EPERM | libc::EACCES => TableError::NotPermitted,
            libc::EEXIST => TableError::Exists,
            libc::EOPNOTSUPP | libc::EPROTONOSUPPORT | libc::ENOENT | libc::EINVAL | libc::EAFNOSUPPORT => {
                TableError::Unsupported(error)
            }
            _ => TableError::Failed(error),
        }
    }
}

/// The table; it exists as long as this value.
#[derive(Debug)]
pub(super) struct Table {
    socket: Socket,
}

impl Table {
    /// Adds the table for the link whose device has this name and index, in the namespace of the calling thread. Only answers are
    /// forwarded from `guarded` devices.
    pub(super) fn new(
        link: (&str, u32),
        block: Block,
        guarded: &[(Family, u32)],
    ) -> Result<Self, TableError> {
        let mut socket = Socket::new(NETLINK_NETFILTER)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let table = Self { socket };
        set_socket_timeout(table.as_fd(), Timeout::Recv, Some(PATIENCE)).map_err(io::Error::from)?;
        table.order(&rules(link, block, guarded))?;
        Ok(table)
    }

    /// Sends a batch, which the kernel applies as a whole or not at all.
    fn order(&self, batch: &[u8]) -> io::Result<()> {
        self.socket.send(batch, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        // The first answer is the first error, or the acknowledgement of the last message: header, then a negative error number.
        let number = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
        match number {
            Some(0) => Ok(()),
            Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
            None => Err(io::Error::other("the kernel's netlink answer is truncated")),
        }
    }
}

impl AsFd for Table {
    #[allow(unsafe_code)]
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open as long as `self`.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

// Values of `linux/netfilter/nfnetlink.h` and `nf_tables.h`.
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const SUBSYSTEM: u16 = 10;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;
const TABLE_IS_OWNED: u32 = 2;
const INET: u8 = 1;
const REQUEST: u16 = libc::NLM_F_REQUEST as u16;
const ACKNOWLEDGE: u16 = libc::NLM_F_ACK as u16;
const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
const APPEND: u16 = (libc::NLM_F_CREATE | libc::NLM_F_APPEND) as u16;
const NESTED: u16 = 0x8000;
const ESTABLISHED_OR_RELATED: u32 = 2 | 4;

/// Netlink messages, one after the other.
#[derive(Default)]
struct Batch(Vec<u8>);

impl Batch {
    fn message(&mut self, kind: u16, flags: u16, family: u8, resource: u16, attributes: &[Vec<u8>]) {
        let attributes = attributes.concat();
        let length = u32::try_from(20 + attributes.len()).unwrap_or(u32::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend((flags | REQUEST).to_ne_bytes());
        // Sequence number and port are zero, because answers are not matched to messages.
        self.0.extend([0; 8]);
        self.0.extend([family, 0]);
        self.0.extend(resource.to_be_bytes());
        self.0.extend(attributes);
    }
}

/// Encodes an attribute: its length, its number, its contents, padded to a multiple of four bytes.
fn attribute(number: u16, contents: &[u8]) -> Vec<u8> {
    let mut bytes = u16::try_from(4 + contents.len()).unwrap_or(u16::MAX).to_ne_bytes().to_vec();
    bytes.extend(number.to_ne_bytes());
    bytes.extend(contents);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn text(number: u16, text: &str) -> Vec<u8> {
    attribute(number, &[text.as_bytes(), &[0]].concat())
}

fn word(number: u16, value: u32) -> Vec<u8> {
    attribute(number, &value.to_be_bytes())
}

fn nest(number: u16, parts: &[Vec<u8>]) -> Vec<u8> {
    attribute(number | NESTED, &parts.concat())
}

/// Encodes a part of a rule: an expression and its attributes.
fn expression(name: &str, attributes: &[Vec<u8>]) -> Vec<u8> {
    nest(1, &[text(1, name), nest(2, attributes)])
}

/// Encodes the data of a comparison.
fn value(number: u16, bytes: &[u8]) -> Vec<u8> {
    nest(number, &[attribute(1, bytes)])
}

/// Expression: continue if the register equals `bytes`, or does not.
fn compare(is_equal: bool, bytes: &[u8]) -> Vec<u8> {
    expression("cmp", &[word(1, 1), word(2, u32::from(!is_equal)), value(3, bytes)])
}

/// Expression: load metadata of a packet into the register.
fn meta(key: u32) -> Vec<u8> {
    expression("meta", &[word(1, 1), word(2, key)])
}

fn masked(mask: &[u8]) -> Vec<u8> {
    let length = u32::try_from(mask.len()).unwrap_or_default();
    let nothing = vec![0; mask.len()];
    expression("bitwise", &[word(1, 1), word(2, 1), word(3, length), value(4, mask), value(5, &nothing)])
}

fn device(is_input: bool, is_equal: bool, index: u32) -> Vec<u8> {
    [meta(if is_input { 4 } else { 5 }), compare(is_equal, &index.to_ne_bytes())].concat()
}

fn family(number: i32) -> Vec<u8> {
    [meta(15), compare(true, &number.to_ne_bytes()[..1])].concat()
}

/// Expressions: continue if the packet's source is in the network, or not in it.
fn source(network: Network, is_in: bool) -> Vec<u8> {
    let (number, offset, address, whole) = match network.address {
        IpAddr::V4(address) => {
            (libc::NFPROTO_IPV4, 12, address.octets().to_vec(), u128::from(u32::MAX) << 96)
        }
        IpAddr::V6(address) => (libc::NFPROTO_IPV6, 8, address.octets().to_vec(), u128::MAX),
    };
    let host_bits = address.len() * 8 - usize::from(network.prefix);
    let mask = match u32::try_from(128 - address.len() * 8 + host_bits) {
        Ok(bits) => whole & u128::MAX.checked_shl(bits).unwrap_or(0),
        Err(_) => whole,
    };
    let mask = &mask.to_be_bytes()[..address.len()];
    let length = u32::try_from(address.len()).unwrap_or_default();
    let prefix: Vec<u8> = address.iter().zip(mask).map(|(byte, mask)| byte & mask).collect();
    let load = expression("payload", &[word(1, 1), word(2, 1), word(3, offset), word(4, length)]);
    [family(number), load, masked(mask), compare(is_in, &prefix)].concat()
}

fn drop_it() -> Vec<u8> {
    let verdict = nest(2, &[word(1, 0)]);
    expression("immediate", &[word(1, 0), nest(2, &[verdict])])
}

/// Encodes the whole table.
fn rules((name, index): (&str, u32), block: Block, guarded: &[(Family, u32)]) -> Vec<u8> {
    let mut batch = Batch::default();
    batch.message(BATCH_BEGIN, 0, 0, SUBSYSTEM, &[]);
    batch.message(NEW_TABLE, CREATE, INET, 0, &[text(1, name), word(2, TABLE_IS_OWNED)]);
    for (chain, kind, hook, priority) in [("beyond", "nat", 4, 100), ("guard", "filter", 2, 0)] {
        let hook = nest(4, &[word(1, hook), word(2, priority)]);
        batch.message(NEW_CHAIN, CREATE, INET, 0, &[text(1, name), text(3, chain), hook, text(7, kind)]);
    }
    let networks: Vec<Network> = [Some(block.ipv4), block.ipv6].into_iter().flatten().collect();
    let mut all = Vec::new();
    for network in &networks {
        let parts = [source(*network, true), device(false, false, index), expression("masq", &[])];
        all.push(("beyond", parts.concat()));
    }
    // Packets of the link with other sources would leave without masquerading.
    for network in &networks {
        all.push(("guard", [device(true, true, index), source(*network, false), drop_it()].concat()));
    }
    // Only answers to connections of the link are forwarded from these devices.
    for (of, guarded) in guarded {
        let number = if *of == Family::Ipv4 { libc::NFPROTO_IPV4 } else { libc::NFPROTO_IPV6 };
        let state = expression("ct", &[word(1, 1), word(2, 0)]);
        let is_other = [masked(&ESTABLISHED_OR_RELATED.to_ne_bytes()), compare(true, &[0; 4])].concat();
        all.push((
            "guard",
            [family(number), device(true, true, *guarded), state, is_other, drop_it()].concat(),
        ));
    }
    let last = all.len();
    for (number, (chain, parts)) in all.into_iter().enumerate() {
        let flags = if number + 1 == last { APPEND | ACKNOWLEDGE } else { APPEND };
        batch.message(NEW_RULE, flags, INET, 0, &[text(1, name), text(2, chain), nest(4, &[parts])]);
    }
    batch.message(BATCH_END, 0, 0, SUBSYSTEM, &[]);
    batch.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_but_their_length_excludes_padding() {
        assert_eq!(text(7, "nat"), [&8_u16.to_ne_bytes()[..], &7_u16.to_ne_bytes(), b"nat\0"].concat());
        assert_eq!(attribute(1, &[9]).len(), 8);
        assert_eq!(attribute(1, &[9])[..2], 5_u16.to_ne_bytes());
    }

    #[test]
    fn masks_match_their_prefixes() {
        let holds = |network: &str, prefix: u8, wanted: &[u8]| {
            let source = source(Network::new(network.parse().expect("an address"), prefix), true);
            assert!(
                source.windows(wanted.len()).any(|part| part == wanted),
                "{network}/{prefix}: {source:?}"
            );
        };
        holds("100.64.3.1", 24, &[255, 255, 255, 0]);
        holds("100.64.3.32", 27, &[255, 255, 255, 224]);
        holds("100.64.3.33", 30, &[100, 64, 3, 32]);
        holds("fd71:de1a:3::1", 52, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0, 0]);
    }
}
