//! The laboratory: a real Linux kernel, with its own TCP and queue disciplines, in deterministic virtual time (`qdelay lab`, and
//! `qdelay run --clock lab`).
//!
//! A case runs in a machine that QEMU emulates, whose time is the count of its instructions ([`machine`]). In the machine, this program
//! runs the case as under the real clock (`qdelay-real`): iperf3 and irtt over the path between two network namespaces. All of them use
//! the machine's time, so a busy host changes no figure: the same scenario, seed and versions give the same bytes.
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
//! | `kernels` | suites, packages and modules |
//! | `packages` | Debian packages, downloaded and unpacked |
//! | `modules`, `elf` | dependencies of a module and of a program |
//! | `image` | kernel and initial file system, and the cache of them |
//! | `archive` | the format of the initial file system, and of results |
//! | `machine` | QEMU |
//! | `program` | this program as a part of a job |
//! | `job` | data passed to the machine and back |
//! | `runner` | runs the cases of a study |
//! | `guest` | the part that runs in the machine |
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
pub mod program;
mod runner;

pub use runner::{Lab, Wanted};
