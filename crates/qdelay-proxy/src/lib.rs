//! A proxy that carries the connections and datagrams of programs through a path: queues, links, losses and delays without privileges.
//!
//! | module | what |
//! | --- | --- |
//! | [`engine`] | connections and datagrams on the path, without sockets and clock |
//! | [`mapping`] | ports to listen on, and their targets |
//! | [`serve`] | the sockets, and the loop that moves bytes between them and the engine |
//! | [`control`] | requests from other threads |
//! | [`clock`] | time since the start |
//! | [`options`], [`command`] | `qdelay proxy` |

pub mod clock;
pub mod command;
pub mod control;
pub mod engine;
pub mod mapping;
pub mod options;
pub mod serve;
mod wait;
