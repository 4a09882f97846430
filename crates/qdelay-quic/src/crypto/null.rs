//! No cryptography: messages and packets as large as those of TLS 1.3, in plain text.
//!
//! The handshake has the four flights of TLS 1.3: ClientHello; ServerHello; the server's Certificate, CertificateVerify and Finished; the
//! client's Finished. Each message is a length and zeros; the first and the third carry the transport parameters, as in RFC 9001 section 8.2.
//! A test compares the sizes with those of [`super::tls`].
//!
//! A packet's tag contains the full packet number, and the receiver checks it. A header has only the lowest bits of the number, so a packet that
//! arrives very late is decoded with a wrong number (RFC 9000 section 17.1). With TLS its decryption fails and the packet is dropped; here the
//! check of the tag does the same.

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Length of a packet's tag and of the sample for header protection, bytes: those of AES-GCM (RFC 9001 section 5.3).
const TAG: usize = 16;
/// Length of the packet number in a tag, bytes.
const NUMBER: usize = 8;
/// Size of the ClientHello without transport parameters, bytes.
const CLIENT_HELLO: usize = 189;
/// Size of the ServerHello, bytes.
const SERVER_HELLO: usize = 90;
/// Size of the server's Certificate, CertificateVerify and Finished without transport parameters, bytes.
const SERVER_PROOF: usize = 444;
/// Size of the client's Finished, bytes.
const CLIENT_PROOF: usize = 52;
/// Size of the two length fields in front of each message, bytes: of the message, and of the transport parameters in it.
const LENGTHS: usize = 4;

/// A key that leaves packets in plain text.
struct Nothing;

impl PacketKey for Nothing {
    fn encrypt(&self, packet: u64, buf: &mut [u8], _: usize) {
        let start = buf.len().saturating_sub(TAG);
        buf[start..].fill(0);
        if let Some(number) = buf.get_mut(start..start + NUMBER) {
            number.copy_from_slice(&packet.to_be_bytes());
        }
    }
    fn decrypt(&self, packet: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[len..len + NUMBER] != packet.to_be_bytes() {
            return Err(CryptoError);
        }
        payload.truncate(len);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Nothing {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Nothing), remote: Box::new(Nothing) }
}
fn keys() -> Keys {
    let header = KeyPair { local: Box::new(Nothing) as Box<dyn HeaderKey>, remote: Box::new(Nothing) as _ };
    Keys { header, packet: packet_keys() }
}

/// The next step of one side of the handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Client: send the ClientHello. Server: wait for the ClientHello.
    Hello,
    /// Hellos are sent. Client: wait for the ServerHello. Server: send Certificate and Finished.
    Proof,
    /// Client: send Finished once the server's Finished has arrived.
    Answer,
    /// Nothing is left to send.
    Done,
}

/// One side of a handshake.
struct NullSession {
    side: Side,
    step: Step,
    ours: Vec<u8>,
    /// Bytes of an incomplete message that have arrived.
    arrived: Vec<u8>,
    /// Number of complete messages that have arrived.
    messages: u32,
    theirs: Option<TransportParameters>,
}

impl NullSession {
    fn new(side: Side, params: &TransportParameters) -> NullSession {
        let mut ours = Vec::new();
        params.write(&mut ours);
        NullSession { side, step: Step::Hello, ours, arrived: Vec::new(), messages: 0, theirs: None }
    }

    fn message(&self, bytes: usize, has_params: bool, buf: &mut Vec<u8>) {
        let params: &[u8] = if has_params { &self.ours } else { &[] };
        let (end, whole) = (buf.len() + bytes + params.len(), bytes + params.len());
        buf.extend((whole as u16).to_be_bytes());
        buf.extend((params.len() as u16).to_be_bytes());
        buf.extend(params);
        buf.resize(end, 0);
    }

    fn lengths(&self) -> Option<(usize, usize)> {
        let field = |start: usize| {
            let bytes: Option<&[u8; 2]> = self.arrived.get(start..)?.first_chunk();
            bytes.map(|bytes| usize::from(u16::from_be_bytes(*bytes)))
        };
        Some((field(0)?, field(2)?))
    }
}

fn malformed() -> TransportError {
    TransportError {
        code: TransportErrorCode::crypto(50),
        frame: None,
        reason: "not a handshake message of crypto=none; expected the same crypto at both ends".to_string(),
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        match self.side {
            Side::Client => self.step != Step::Done,
            Side::Server => self.messages < 2,
        }
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.arrived.extend_from_slice(buf);
        let mut is_new = false;
        while let Some((whole, params)) = self.lengths() {
            if whole < LENGTHS + params {
                return Err(malformed());
            }
            if self.arrived.len() < whole {
                break;
            }
            let has_params = match self.side {
                Side::Server => self.messages == 0,
                Side::Client => self.messages == 1,
            };
            if has_params {
                let mut text = &self.arrived[LENGTHS..LENGTHS + params];
                self.theirs = Some(TransportParameters::read(self.side, &mut text)?);
                is_new = true;
            }
            self.arrived.drain(..whole);
            self.messages += 1;
        }
        Ok(is_new)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.theirs)
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.step, self.messages) {
            (Side::Client, Step::Hello, _) => {
                self.message(CLIENT_HELLO, true, buf);
                self.step = Step::Proof;
                None
            }
            (Side::Client, Step::Proof, 1..) => {
                self.step = Step::Answer;
                Some(keys())
            }
            (Side::Client, Step::Answer, 2..) => {
                self.message(CLIENT_PROOF, false, buf);
                self.step = Step::Done;
                Some(keys())
            }
            (Side::Server, Step::Hello, 1..) => {
                self.message(SERVER_HELLO, false, buf);
                self.step = Step::Proof;
                Some(keys())
            }
            (Side::Server, Step::Proof, _) => {
                self.message(SERVER_PROOF, true, buf);
                self.step = Step::Done;
                Some(keys())
            }
            _ => None,
        }
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// A client without cryptography.
pub struct NullClient;

impl ClientConfig for NullClient {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, params)))
    }
}

/// A server without cryptography.
pub struct NullServer;

impl ServerConfig for NullServer {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; TAG] {
        [0; TAG]
    }
    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, params))
    }
}

/// Key of stateless reset tokens, in both profiles: a plain checksum, because there is no attacker to forge a token.
pub struct ResetKey;

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        out.fill(0);
        let len = out.len().max(1);
        for (index, byte) in data.iter().enumerate() {
            if let Some(place) = out.get_mut(index % len) {
                *place = place.wrapping_mul(31).wrapping_add(*byte);
            }
        }
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut own = vec![0; signature.len()];
        self.sign(data, &mut own);
        if own == signature { Ok(()) } else { Err(CryptoError) }
    }
}

/// Key of address validation tokens, in both profiles: unused, because servers issue no tokens.
pub struct TokenKey;

impl HandshakeTokenKey for TokenKey {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(TokenKey)
    }
}

impl AeadKey for TokenKey {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
