//! Cryptography of connections: TLS 1.3, or plain text in packets of the same size.

pub mod null;
pub mod tls;

use crate::tap::{Tap, Tapped};
use quinn_proto::ConnectError;
use quinn_proto::crypto::{ClientConfig, Session};
use quinn_proto::transport_parameters::TransportParameters;
use std::sync::Arc;

/// Cryptography of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// No encryption; packets are as large as with TLS.
    Null,
    /// TLS 1.3 by rustls and ring.
    Tls,
}

/// A client's cryptography with a tap that reads each packet before encryption.
pub struct TappedClient {
    /// The cryptography.
    pub config: Arc<dyn ClientConfig>,
    /// The tap.
    pub tap: Tap,
}

impl ClientConfig for TappedClient {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let session = self.config.clone().start_session(version, server_name, params)?;
        Ok(Box::new(Tapped::new(session, self.tap.clone())))
    }
}

#[cfg(test)]
mod tests {
    use super::null::{NullClient, NullServer};
    use super::*;
    use quinn_proto::Side;
    use quinn_proto::crypto::ServerConfig;
    use std::collections::VecDeque;

    const VERSION: u32 = 1;

    /// All messages of a handshake: the sender, the size in bytes, and whether new keys follow.
    fn flights(client: Arc<dyn ClientConfig>, server: Arc<dyn ServerConfig>) -> Vec<(Side, usize, bool)> {
        let params = TransportParameters::read(Side::Client, &mut &[][..]).unwrap();
        let mut client = client.start_session(VERSION, tls::SERVER_NAME, &params).unwrap();
        let mut server = server.start_session(VERSION, &params);
        let mut flights = Vec::new();
        // As in the stack, each side writes all that it can after each message that it reads.
        let mut waiting = VecDeque::from([(Side::Client, Vec::new())]);
        while let Some((side, message)) = waiting.pop_front() {
            let session = if side == Side::Client { &mut client } else { &mut server };
            if !message.is_empty() {
                session.read_handshake(&message).unwrap();
            }
            loop {
                let mut answer = Vec::new();
                let has_keys = session.write_handshake(&mut answer).is_some();
                if answer.is_empty() && !has_keys {
                    break;
                }
                flights.push((side, answer.len(), has_keys));
                if !answer.is_empty() {
                    waiting.push_back((!side, answer));
                }
            }
        }
        assert!(!client.is_handshaking() && !server.is_handshaking());
        assert!(client.transport_parameters().unwrap().is_some());
        assert!(server.transport_parameters().unwrap().is_some());
        flights
    }

    /// Handshakes without cryptography have messages of the same sizes as TLS, and those of TLS are equal from handshake to handshake.
    #[test]
    fn handshakes_have_the_same_sizes() {
        let null = flights(Arc::new(NullClient), Arc::new(NullServer));
        for _ in 0..20 {
            let tls = tls::configs().unwrap();
            assert_eq!(flights(tls.client, tls.server), null);
        }
    }

    #[test]
    fn a_message_of_another_handshake_is_refused() {
        let params = TransportParameters::read(Side::Client, &mut &[][..]).unwrap();
        let mut server = Arc::new(NullServer).start_session(VERSION, &params);
        assert!(server.read_handshake(&[0, 3, 0, 9, 1]).is_err());
    }
}
