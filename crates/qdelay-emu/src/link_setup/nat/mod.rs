//! Lets the programs of a link reach hosts beyond this machine, and restores all settings at the end.
//!
//! | change | end |
//! | --- | --- |
//! | a table of nftables, named as the link's device: masquerading, and guards | the kernel removes it with its socket (`NFT_TABLE_F_OWNER`) |
//! | forwarding of the link's own device | disappears with the device |
//! | forwarding of the devices that answers come from, where it is off | `forwarding` restores it |
//!
//! The machine's own `ip_forward` is not changed. Linux decides by the device that a packet *comes* from whether the packet is
//! forwarded, and answers come from the devices of the machine; therefore forwarding is switched on there, and the table drops
//! everything from these devices that is not an answer: the machine does not become a router for other hosts. If several links
//! need forwarding of a device, the last of them restores the setting.
//!
//! For IPv6 the kernel has a setting of its own, `conf/all/forwarding`, which also stops the machine from accepting router
//! advertisements. This setting is never changed. Since Linux 6.17 a device has `force_forwarding`, which is used as above.
//!
//! After `kill -9` a process that outlives this one restores the settings (`netns/afterwards.rs`). That process holds the table as
//! well, so that the guards stay until forwarding is off.

mod forwarding;
mod table;

use super::netlink::Netlink;
use super::{Addresses, Tun};
use crate::netns::afterwards::Afterwards;
pub(super) use forwarding::Family;
use forwarding::Forwarding;
use rustix::event::{Timespec, poll};
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use table::{Table, TableError};

/// Number of pauses to wait for the removal of a table of the same name.
const PAUSES: usize = 50;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// Reason why a link cannot reach beyond the machine.
#[derive(Debug)]
#[non_exhaustive]
pub enum NatError {
    /// The kernel refused, for lack of a capability.
    NotPermitted,
    /// The kernel lacks nftables, or a part of nftables.
    Unsupported(io::Error),
    /// A table of this name exists already.
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
                "address translation is not permitted: it needs root or CAP_NET_ADMIN; run as root, or without --nat"
            ),
            NatError::Unsupported(error) => write!(
                f,
                "this kernel cannot translate addresses ({error}): --nat needs Linux 5.12 or later with nf_tables, \
                 nft_masq and nft_ct"
            ),
            NatError::NameTaken(name) => write!(
                f,
                "nftables already has a table 'inet {name}'; remove it (nft delete table inet {name}), or end its owner"
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

/// NAT and forwarding of a link. Dropping it restores all settings.
#[derive(Debug)]
pub struct Nat {
    process: Option<Afterwards>,
    forwarding: Forwarding,
    /// The nftables table. The last field, because its guards have to stay until forwarding is off.
    _table: Table,
}

impl Nat {
    /// Sets up NAT for the link with the device `outside`, in the network namespace of the calling thread. Adds to `notes` what
    /// cannot be reached.
    ///
    /// # Errors
    /// A [`NatError`], which names the cause. After an error all settings are as before.
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
        let forwarding = Forwarding::lock(netlink, index, &families)?;
        let guarded: Vec<_> = forwarding.devices().collect();
        let of_table = (name, index);
        let mut table = Table::new(of_table, addresses.block, &guarded);
        for _ in 0..PAUSES {
            // An existing table may belong to a link that was killed a moment ago, and disappears soon. The kernel answers EPERM instead
            // of EEXIST while another socket owns it.
            if !matches!(table, Err(TableError::Exists | TableError::NotPermitted)) {
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
        // The process works on copies of the descriptors.
        let process = Afterwards::start(
            c"qdelay-undo",
            &files,
            &nat.forwarding,
            |_, _| {},
            |forwarding| forwarding.undo_from_outside(),
        );
        nat.process = process.ok();
        // From here on dropping `nat` undoes everything.
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
    fn errors_suggest_a_remedy() {
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
