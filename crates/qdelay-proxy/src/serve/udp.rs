//! Datagrams: a flow for each client of a place, with a socket of its own to the target.

use super::{FLOWS, Listener, Proxy};
use crate::engine::Datagram;
use mio::net::UdpSocket;
use mio::{Interest, Token};
use qdelay_core::{Span, Time};
use qdelay_emu::device::Port;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Time after which a flow without datagrams may be closed.
const IDLE: Span = Span::from_secs(60);
/// Most flows at a time.
const FLOWS_MAX: usize = 4096;
/// Errors in a row after which a socket is left alone until its next event.
const ERRORS_MAX: u32 = 16;
/// Largest datagram, bytes.
const LARGEST: usize = 65_536;

/// The datagrams of one client.
struct Flow {
    /// The place that the client sends to.
    place: usize,
    client: SocketAddr,
    socket: UdpSocket,
    latest: Time,
}

/// All flows of datagrams.
pub(super) struct Flows {
    flows: BTreeMap<u32, Flow>,
    by_client: BTreeMap<(usize, SocketAddr), u32>,
    next: u32,
    buffer: Vec<u8>,
    /// Datagrams of new clients that found as many flows as are allowed, or no socket.
    pub rejected: u64,
    /// Datagrams that a socket did not take.
    pub unsent: u64,
}

impl Flows {
    pub fn new() -> Flows {
        Flows {
            flows: BTreeMap::new(),
            by_client: BTreeMap::new(),
            next: 0,
            buffer: vec![0; LARGEST],
            rejected: 0,
            unsent: 0,
        }
    }

    /// Closes flows that were idle.
    fn expire(&mut self, now: Time) {
        let by_client = &mut self.by_client;
        self.flows.retain(|_, flow| {
            let stays = now.since(flow.latest) < IDLE;
            if !stays {
                by_client.remove(&(flow.place, flow.client));
            }
            stays
        });
    }
}

/// A socket that exchanges datagrams with the target.
fn open(target: SocketAddr) -> io::Result<UdpSocket> {
    let any = match target {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(target)?;
    Ok(socket)
}

impl Proxy {
    /// Reads the datagrams of clients.
    pub(super) fn read_clients(&mut self, now: Time, place: usize) {
        let mut errors = 0;
        while errors < ERRORS_MAX {
            let Some(Listener::Udp(socket)) = self.listeners.get(place) else { return };
            let (count, client) = match socket.recv_from(&mut self.flows.buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // An earlier datagram was refused (Windows), or a signal came.
                Err(_) => {
                    errors += 1;
                    continue;
                }
            };
            errors = 0;
            self.audit.stalls.read(Port::Inside, false);
            let flow = match self.flows.by_client.get(&(place, client)) {
                Some(flow) => *flow,
                None => match self.open_flow(now, place, client) {
                    Ok(flow) => flow,
                    Err(error) => {
                        if self.flows.rejected == 0 {
                            let listen = self.mappings[place].listen;
                            (self.report)(&format!(
                                "{listen}: datagrams of {client} are not carried: {error}"
                            ));
                        }
                        self.flows.rejected += 1;
                        continue;
                    }
                },
            };
            if let Some(found) = self.flows.flows.get_mut(&flow) {
                found.latest = now;
            }
            let data = self.flows.buffer.get(..count).unwrap_or(&[]);
            self.engine.send(now, flow, Port::Inside, data);
        }
    }

    fn open_flow(&mut self, now: Time, place: usize, client: SocketAddr) -> io::Result<u32> {
        if self.flows.flows.len() >= FLOWS_MAX {
            self.flows.expire(now);
        }
        if self.flows.flows.len() >= FLOWS_MAX {
            return Err(io::Error::other("4096 clients have sent datagrams within a minute"));
        }
        let target = self.mappings[place].target.addresses.first();
        let mut socket = open(*target.ok_or(ErrorKind::AddrNotAvailable)?)?;
        let number = self.flows.next;
        // Numbers begin again after two thousand million flows.
        self.flows.next = (number + 1) & (u32::MAX >> 1);
        self.poll.registry().register(&mut socket, Token(FLOWS + number as usize), Interest::READABLE)?;
        self.flows.flows.insert(number, Flow { place, client, socket, latest: now });
        self.flows.by_client.insert((place, client), number);
        Ok(number)
    }

    /// Reads the datagrams of a target.
    pub(super) fn read_flow(&mut self, now: Time, number: u32) {
        let mut errors = 0;
        while errors < ERRORS_MAX {
            let Some(flow) = self.flows.flows.get_mut(&number) else { return };
            let count = match flow.socket.recv(&mut self.flows.buffer) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The target has refused an earlier datagram; a client behind a real path need not hear of that either.
                Err(_) => {
                    errors += 1;
                    continue;
                }
            };
            errors = 0;
            flow.latest = now;
            self.audit.stalls.read(Port::Outside, false);
            let data = self.flows.buffer.get(..count).unwrap_or(&[]);
            self.engine.send(now, number, Port::Outside, data);
        }
    }

    /// Writes a datagram that has crossed the path.
    pub(super) fn write_datagram(&mut self, datagram: Datagram) {
        let Datagram { flow, port, data } = datagram;
        if let Some(flow) = self.flows.flows.get(&flow) {
            let sent = match (port, self.listeners.get(flow.place)) {
                (Port::Outside, _) => flow.socket.send(&data),
                (Port::Inside, Some(Listener::Udp(socket))) => socket.send_to(&data, flow.client),
                (Port::Inside, _) => Ok(0),
            };
            match sent {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.flows.unsent += 1,
                // The program at the other side is gone: the datagram would be lost too.
                _ => {}
            }
        }
        self.engine.give_back(data);
    }
}
