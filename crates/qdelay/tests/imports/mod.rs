//! Logs and captures of other programs: whole, cut short and damaged.

mod captures;
mod clocks;
mod damaged;
mod files;
pub mod irtt;
mod mahimahi_log;
mod replay;
