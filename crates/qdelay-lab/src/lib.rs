//! The laboratory: a real Linux kernel, with its own TCP and queue disciplines, in deterministic virtual time (`qdelay lab`, and
//! `qdelay run --clock lab`).
//!
//! A case runs in a machine that QEMU emulates, whose time is the count of its instructions ([`machine`]). In it, this program runs the
//! case as under the real clock (`qdelay-real`): iperf3 and irtt over the path between two network namespaces. The time of all of them is
//! the machine's, so that a busy host changes no figure: the same scenario, seed and versions give the same bytes.
//!
//! ```text
//! this machine                           emulated machine
//! Debian's packages -> image ----------> kernel, init
//! scenario, case, traces --> job ------> namespaces, iperf3, irtt, the path
//! run.json, summary.json <-- result <--- figures
//! ```
//!
//! | module | what |
//! | --- | --- |
//! | `kernels` | the suites, packages and modules |
//! | `packages` | Debian packages, downloaded and unpacked |
//! | `modules`, `elf` | what a module and a program need |
//! | `image` | kernel and initial file system, and the cache of them |
//! | `archive` | the format of the initial file system, and of results |
//! | `machine` | QEMU |
//! | `job` | what is passed to the machine and back |
//! | `runner` | runs the cases of a study |
//! | `guest` | what runs in the machine |
#![forbid(unsafe_code)]

pub mod archive;
mod elf;
pub mod guest;
pub mod image;
mod job;
pub mod kernels;
pub mod machine;
mod modules;
mod packages;
mod runner;

pub use runner::{Lab, Wanted};
