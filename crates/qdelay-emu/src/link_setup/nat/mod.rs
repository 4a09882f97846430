//! Lets the programs of a link reach what lies beyond this machine, and undoes all of it.
//!
//! | what | how it ends |
//! | --- | --- |
//! | a table of nftables, named as the link's device: masquerading, and guards | the kernel removes it with its socket (`NFT_TABLE_F_OWNER`) |
//! | forwarding of the link's own device | goes with the device |
//! | forwarding of the devices that answers come from, where it is off | `forwarding` sets it back |
//!
//! The machine's own `ip_forward` stays as it is. Linux decides by the device that a packet *comes* from whether it is forwarded,
//! and answers come from the devices of the machine; so forwarding is switched on there, and the table drops everything from them
//! that is no answer: the machine does not become a router for others. If another link has switched it on, both links hold it,
//! and the last one sets it back.
//!
//! The kernel looks at a setting of its own for IPv6: `conf/all/forwarding`, which also ends that the machine listens to router
//! advertisements. It is never changed. Since Linux 6.17 a device has `force_forwarding`, which is used as above.
//!
//! After `kill -9` a process that outlives this one does the same (`netns/afterwards.rs`); it holds the table as well, so
//! that the guards stay until forwarding is off.

mod forwarding;
mod table;

use super::netlink::Netlink;
use super::{Addresses, Tun};
use crate::netns::afterwards::Afterwards;
use forwarding::{Family, Forwarding};
use rustix::event::{Timespec, poll};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use table::{Table, TableError};

/// How long to wait for a table of the same name to go.
const PAUSES: usize = 50;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Why a link cannot lead beyond the machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum NatError {
    /// Refused by the kernel, for lack of a capability.
    NotPermitted,
    /// The kernel has no nftables, or not all that is needed of it.
    Unsupported(io::Error),
    /// There is a table of this name.
    NameTaken(String),
    /// Any other failure.
    Failed {
        /// The operation that failed.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
}

impl fmt::Display for NatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NatError::NotPermitted => f.write_str(
                "address translation is not permitted: it needs root or CAP_NET_ADMIN; run it so, or without --nat",
            ),
            NatError::Unsupported(error) => write!(
                f,
                "this kernel cannot translate addresses ({error}): --nat needs Linux 5.12 or later with nf_tables, \
                 nft_masq and nft_ct"
            ),
            NatError::NameTaken(name) => write!(
                f,
                "nftables has a table 'inet {name}' already; remove it (nft delete table inet {name}), or end its owner"
            ),
            NatError::Failed { what, error } => {
                write!(f, "{what}: {error}; --nat needs it, without --nat the link reaches this machine only")
            }
        }
    }
}

impl std::error::Error for NatError {}

fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> NatError {
    let what = what.into();
    move |error| NatError::Failed { what, error }
}

/// A link's way beyond the machine. When dropped, everything is as it was before.
#[derive(Debug)]
pub struct Nat {
    process: Option<Afterwards>,
    forwarding: Forwarding,
    /// Last: its guards stay until forwarding is off.
    _table: Table,
}

impl Nat {
    /// Sets it up for the link with the device `outside`, in the network namespace of the calling thread. Adds to `notes` what
    /// cannot be reached.
    ///
    /// # Errors
    /// See [`NatError`]. Nothing has changed.
    pub fn new(
        netlink: &mut Netlink,
        outside: &Tun,
        addresses: &Addresses,
        notes: &mut Vec<String>,
    ) -> Result<Self, NatError> {
        let (index, name) = (outside.index(), outside.name());
        let mut families = vec![Family::Ipv4];
        if addresses.ipv6.is_some() {
            match forwarding::without_ipv6() {
                None => families.push(Family::Ipv6),
                Some(why) => notes.push(why),
            }
        }
        let forwarding = Forwarding::take(netlink, index, &families)?;
        let guarded: Vec<_> = forwarding.devices().collect();
        let of_table = (name, index);
        let mut table = Table::new(of_table, addresses.block, &guarded);
        for _ in 0..PAUSES {
            // That of a link that was killed a moment ago, and is being undone.
            if !matches!(table, Err(TableError::Exists)) {
                break;
            }
            let _ = poll(&mut [], Some(&PAUSE));
            table = Table::new(of_table, addresses.block, &guarded);
        }
        let table = table.map_err(|error| match error {
            TableError::NotPermitted => NatError::NotPermitted,
            TableError::Exists => NatError::NameTaken(name.to_string()),
            TableError::Unsupported(error) => NatError::Unsupported(error),
            TableError::Failed(error) => failed("adding a table of nftables")(error),
        })?;
        let mut nat = Self { process: None, forwarding, _table: table };
        let mut files = nat.forwarding.files();
        files.push(nat._table.as_fd());
        // It works on copies of the descriptors, in a process of its own.
        let process = Afterwards::start(
            c"qdelay-undo",
            &files,
            &nat.forwarding,
            |_, _| {},
            |forwarding| forwarding.undo_from_outside(),
        );
        nat.process = process.ok();
        // From here on everything is undone when `nat` is dropped.
        nat.forwarding.switch_on().map_err(|(path, error)| failed(path)(error))?;
        families.iter().try_for_each(|family| family.switch_on_own(name))?;
        Ok(nat)
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        match self.process.take().is_some_and(|mut process| process.finish()) {
            true => self.forwarding.is_undone(),
            false => self.forwarding.undo(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let refused = || io::Error::from_raw_os_error(libc::EROFS);
        for error in [
            NatError::NotPermitted,
            NatError::Unsupported(refused()),
            NatError::NameTaken("qdelay0".into()),
            failed("/proc/sys/net/ipv4/conf/eth0/forwarding")(refused()),
        ] {
            let text = error.to_string();
            assert!(text.contains("--nat") || text.contains("nft delete table inet qdelay0"), "{text}");
            assert!(!text.contains('\n') && text.len() > 40, "{text}");
        }
    }
}
