//! Transports and applications from outside: two endpoints over a simple test link, slow models, closed forms.

#[macro_use]
extern crate qdelay_testing;

mod common;
mod tfrc_models;

mod applications;
mod audio;
mod closed_forms;
mod emodel;
mod endpoint_pair;
mod exchange;
mod newreno;
mod newreno_model;
mod playout;
mod recovery;
mod sprout;
mod sprout_models;
mod streaming;
mod tfrc;
mod timeouts;
mod video;
mod video_models;

main!();
