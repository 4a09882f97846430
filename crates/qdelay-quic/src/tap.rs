//! Counters of a sender's stream bytes and retransmissions, read from the frames of its packets (RFC 9000 section 19) before encryption.
//!
//! The stack does not report which bytes of a stream a packet carries. Packet keys are given each packet in plain text, so the keys of a
//! [`Tapped`] session read the STREAM frames: bytes sent for the first time, and packets with bytes sent again.

use bytes::BytesMut;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// Counters of sent stream data. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Mutex<Sent>>);

/// State behind a [`Tap`].
#[derive(Clone, Debug, Default)]
struct Sent {
    /// For each stream of the sender, one past the highest byte sent.
    ends: Vec<u64>,
    totals: Totals,
    /// Whether the latest packet contains only PADDING, ACK and CONNECTION_CLOSE frames.
    is_silent: bool,
}

/// Totals of sent stream data since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Stream bytes sent at least once.
    pub stream_bytes: u64,
    /// Packets with stream bytes.
    pub packets: u64,
    /// Packets with stream bytes that were sent before.
    pub retransmits: u64,
    /// Packets with a frame of unknown type; 0 unless the stack adds a frame type.
    pub unread: u64,
}

impl Tap {
    /// Totals so far.
    pub fn totals(&self) -> Totals {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).totals
    }

    /// Whether the latest packet elicits an acknowledgement (RFC 9002 section 2).
    pub fn is_ack_eliciting(&self) -> bool {
        !self.0.lock().unwrap_or_else(PoisonError::into_inner).is_silent
    }

    /// Counts the frames of an outgoing packet.
    pub fn record_packet(&self, frames: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record_packet(frames);
    }
}

impl Sent {
    fn record_packet(&mut self, frames: &[u8]) {
        let (mut reader, mut has_stream, mut is_again) = (Reader(frames), false, false);
        self.is_silent = true;
        while let Some(kind) = reader.0.first() {
            // PADDING, ACK and CONNECTION_CLOSE elicit no acknowledgement.
            self.is_silent &= matches!(kind, 0x00 | 0x02 | 0x03 | 0x1c | 0x1d);
            let Some(frame) = reader.frame() else {
                self.totals.unread += 1;
                break;
            };
            let Some(Stream { id, offset, len }) = frame else { continue };
            let index = (id >> 2) as usize;
            if index >= self.ends.len() {
                self.ends.resize(index + 1, 0);
            }
            let (end, known) = (offset + len, self.ends[index]);
            has_stream |= len > 0;
            is_again |= len > 0 && offset < known;
            if end > known {
                self.totals.stream_bytes += end - known;
                self.ends[index] = end;
            }
        }
        self.totals.packets += u64::from(has_stream);
        self.totals.retransmits += u64::from(is_again);
    }
}

/// Stream, offset and length of a STREAM frame's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stream {
    id: u64,
    offset: u64,
    len: u64,
}

/// Reader over the remaining frames of a packet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Reads the next frame: `Some(Some(_))` for a STREAM frame, `Some(None)` for any other, `None` if it is malformed or of unknown type.
    fn frame(&mut self) -> Option<Option<Stream>> {
        match self.number()? {
            // Frame types by number. PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK
            0x00 | 0x01 | 0x1e | 0x1f => {}
            // ACK, with and without counts of ECN
            kind @ (0x02 | 0x03) => {
                self.numbers(2)?;
                let ranges = self.number()?;
                self.numbers(1)?;
                (0..ranges).try_for_each(|_| self.numbers(2))?;
                self.numbers(if kind == 0x03 { 3 } else { 0 })?;
            }
            // RESET_STREAM; ACK_FREQUENCY
            0x04 => self.numbers(3)?,
            0xaf => self.numbers(4)?,
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED
            0x05 | 0x11 | 0x15 => self.numbers(2)?,
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => self.numbers(1)?,
            // CRYPTO; NEW_TOKEN, DATAGRAM with a length
            0x06 => {
                self.numbers(1)?;
                self.text()?;
            }
            0x07 | 0x31 => self.text()?,
            // DATAGRAM to the end of the packet
            0x30 => self.0 = &[],
            kind @ 0x08..=0x0f => {
                let id = self.number()?;
                let offset = if kind & 0x04 != 0 { self.number()? } else { 0 };
                let len = if kind & 0x02 != 0 { self.number()? } else { self.0.len() as u64 };
                self.skip(len)?;
                return Some(Some(Stream { id, offset, len }));
            }
            // NEW_CONNECTION_ID: the identifier has a length of one byte, and a token of 16 follows
            0x18 => {
                self.numbers(2)?;
                let len = *self.0.first()?;
                self.skip(1 + u64::from(len) + 16)?;
            }
            // PATH_CHALLENGE, PATH_RESPONSE
            0x1a | 0x1b => self.skip(8)?,
            // CONNECTION_CLOSE
            kind @ (0x1c | 0x1d) => {
                self.numbers(if kind == 0x1c { 2 } else { 1 })?;
                self.text()?;
            }
            _ => return None,
        }
        Some(None)
    }

    /// Reads a variable-length integer (RFC 9000 section 16).
    fn number(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let len = 1 << (first >> 6);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let value =
            bytes[1..].iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
        Some(value)
    }
    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(|_| ()))
    }
    fn skip(&mut self, bytes: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(bytes).ok()?..)?;
        Some(())
    }
    /// Skips a length and as many bytes.
    fn text(&mut self) -> Option<()> {
        let len = self.number()?;
        self.skip(len)
    }
}

/// A session whose outgoing packets a tap reads before encryption.
pub struct Tapped {
    session: Box<dyn Session>,
    tap: Tap,
}

impl Tapped {
    /// Wraps `session` so that `tap` reads its packets.
    pub fn new(session: Box<dyn Session>, tap: Tap) -> Tapped {
        Tapped { session, tap }
    }

    fn tapped(&self, keys: KeyPair<Box<dyn PacketKey>>) -> KeyPair<Box<dyn PacketKey>> {
        let local = Box::new(TappedKey { key: keys.local, tap: self.tap.clone() });
        KeyPair { local, remote: keys.remote }
    }
}

impl Session for Tapped {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.session.initial_keys(dst_cid, side)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.session.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.session.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.session.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.session.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.session.read_handshake(buf)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.session.transport_parameters()
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let Keys { header, packet } = self.session.write_handshake(buf)?;
        Some(Keys { header, packet: self.tapped(packet) })
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.session.next_1rtt_keys()?;
        Some(self.tapped(keys))
    }
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.session.is_valid_retry(orig_dst_cid, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.session.export_keying_material(output, label, context)
    }
}

/// A packet key that passes each packet to a tap before encryption.
struct TappedKey {
    key: Box<dyn PacketKey>,
    tap: Tap,
}

impl PacketKey for TappedKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let end = buf.len().saturating_sub(self.key.tag_len());
        self.tap.record_packet(buf.get(header_len..end).unwrap_or(&[]));
        self.key.encrypt(packet, buf, header_len);
    }
    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.key.decrypt(packet, header, payload)
    }
    fn tag_len(&self) -> usize {
        self.key.tag_len()
    }
    fn confidentiality_limit(&self) -> u64 {
        self.key.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.key.integrity_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One frame of each type in front of a STREAM frame, with the layouts of RFC 9000 section 19 and RFC 9221.
    #[test]
    fn a_stream_frame_is_read_behind_a_frame_of_any_type() {
        let kinds: &[&[u8]] = &[
            &[0x00],
            &[0x01],
            &[0x02, 9, 1, 1, 2, 3, 4],
            &[0x03, 9, 1, 0, 2, 5, 6, 7],
            &[0x04, 4, 1, 0x40, 0x80],
            &[0x05, 4, 1],
            &[0x06, 0, 2, 8, 8],
            &[0x07, 3, 1, 2, 3],
            &[0x10, 0x80, 0, 0, 1],
            &[0x11, 4, 0xc0, 0, 0, 0, 0, 0, 0, 1],
            &[0x12, 1],
            &[0x15, 0, 1],
            &[0x18, 1, 0, 2, 7, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            &[0x19, 3],
            &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x1c, 1, 2, 1, 0],
            &[0x1d, 1, 1, 0],
            &[0x1e],
            &[0x1f],
            &[0x31, 2, 0, 0],
            &[0x40, 0xaf, 1, 2, 3, 4],
        ];
        for kind in kinds {
            // STREAM with offset and length: stream 4, from byte 3 on, two bytes.
            let packet = [kind, &[0x0e, 4, 3, 2, 0xaa, 0xbb][..]].concat();
            let tap = Tap::default();
            tap.record_packet(&packet);
            let expected = Totals { stream_bytes: 5, packets: 1, ..Totals::default() };
            assert_eq!(tap.totals(), expected, "{kind:02x?}");
            for end in 0..packet.len() {
                tap.record_packet(&packet[..end]);
            }
        }
    }

    #[test]
    fn packets_with_bytes_sent_before_count_as_retransmits() {
        let tap = Tap::default();
        // STREAM without offset and length: from byte 0 to the end of the packet.
        tap.record_packet(&[0x08, 0, 1, 2, 3]);
        tap.record_packet(&[0x0c, 0, 3, 1, 2]);
        tap.record_packet(&[0x0c, 0, 3, 1, 2, 3]);
        tap.record_packet(&[0x0e, 4, 0, 1, 0, 0x0f, 0, 6, 0]);
        assert_eq!(tap.totals(), Totals { stream_bytes: 7, packets: 4, retransmits: 1, unread: 0 });
        tap.record_packet(&[0x21]);
        assert_eq!(tap.totals().unread, 1);
    }
}
