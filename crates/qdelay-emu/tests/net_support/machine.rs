//! A namespace that represents the machine, for all tests with real devices.

use qdelay_emu::device::tun::{OffloadMode, Tun, TunError};
use qdelay_emu::netns::{Namespace, NamespaceError};
use qdelay_testing::{Need, eventually, skip};

/// A namespace in which devices can be created. Skips the test if that is not permitted.
pub fn machine() -> Namespace {
    let machine = match Namespace::new() {
        Ok(machine) => machine,
        Err(error @ (NamespaceError::NotPermitted { .. } | NamespaceError::Unsupported { .. })) => {
            skip(Need::Net, error)
        }
        Err(error) => panic!("{error}"),
    };
    match machine.run(|| Tun::open("probe%d", 1500, OffloadMode::Off)) {
        Ok(tun) => {
            drop(tun);
            // A process that another test has just forked may hold it for a moment longer.
            eventually("the device of the probe is gone", || {
                machine.run(|| {
                    let text = |file: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
                    ["dev", "igmp6"].iter().all(|file| !text(file).unwrap_or_default().contains("probe"))
                        && text("packet").unwrap_or_default().lines().count() <= 1
                })
            });
            machine
        }
        Err(error @ (TunError::NoDriver | TunError::NoAccess | TunError::NotPermitted { .. })) => {
            skip(Need::Net, error)
        }
        Err(error) => panic!("{error}"),
    }
}
