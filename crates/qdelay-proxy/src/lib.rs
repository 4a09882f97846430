//! A proxy that carries the connections and datagrams of programs through a path: queues, links, losses and delays without privileges.
//!
//! | module | what |
//! | --- | --- |
//! | [`engine`] | connections and datagrams on the path, without sockets and clock |
//! | [`mapping`] | ports to listen on, and their targets |
//! | [`serve`] | the sockets, the loop that moves bytes between them and the engine, and requests from other threads |
//! | [`options`], [`command`], `program` | `qdelay proxy`, and the program that it runs |

pub mod command;
pub mod engine;
pub mod mapping;
pub mod options;
mod program;
pub mod serve;
mod wait;
