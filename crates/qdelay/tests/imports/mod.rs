//! Logs and captures of other programs: whole, cut short and damaged.

mod captures;
mod clocks;
mod damaged;
mod files;
mod mahimahi_log;
mod replay;
