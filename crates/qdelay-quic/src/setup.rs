//! Configurations of the stack for one flow.
//!
//! Differences from quinn-proto's defaults: packets have a fixed size (no probing for a larger one), a connection does not end for
//! being idle, random numbers and connection identifiers are those of the seed, one datagram is given at a time, and there are no
//! tokens for addresses.

use crate::adapter::Gate;
use crate::config::QuicConfig;
use crate::control;
use crate::crypto::null::{NullClient, NullServer, ResetKey, TokenKey};
use crate::crypto::{Profile, TappedClient, tls};
use crate::tap::Tap;
use qdelay_core::Random;
use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto as proto;
use quinn_proto::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig, TimeSource,
    TransportConfig, VarInt,
};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// IPv4 and UDP headers in front of a datagram.
pub const HEADERS: u32 = 28;
/// Length of connection identifiers, as quinn-proto's.
const IDENTIFIER: usize = 8;

/// The largest UDP payload.
fn payload(config: &QuicConfig) -> u16 {
    config.ip_bytes - HEADERS as u16
}

/// Settings of an end with the control that `factory` makes.
fn transport(config: &QuicConfig, factory: Arc<dyn ControllerFactory + Send + Sync>) -> Arc<TransportConfig> {
    let payload = payload(config);
    let window = VarInt::from_u64(config.window).unwrap_or(VarInt::MAX);
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(factory)
        .initial_mtu(payload)
        .min_mtu(payload)
        .mtu_discovery_config(None)
        .max_idle_timeout(None)
        .stream_receive_window(window)
        .send_window(SEND_WINDOWS * config.window)
        .max_concurrent_uni_streams(VarInt::from_u32(config.streams.max(1)))
        .enable_segmentation_offload(false);
    Arc::new(transport)
}

/// Unacknowledged data that a sender keeps, in receive windows of a stream (quinn-proto's default).
const SEND_WINDOWS: u64 = 8;

/// Settings of an endpoint with randomness of `random`.
pub fn endpoint(config: &QuicConfig, random: &mut Random) -> Arc<EndpointConfig> {
    let mut endpoint = EndpointConfig::new(Arc::new(ResetKey));
    let seed = random.bits();
    endpoint
        .rng_seed(Some(bytes(random)))
        .cid_generator(move || Box::new(Identifiers(Random::derive(seed, "quic", "identifiers"))));
    // A peer may send as much as is configured for both.
    let payload = payload(config);
    // It is above the least that the stack takes: `size` begins at 1228 bytes.
    let _ = endpoint.max_udp_payload_size(payload.max(1_472));
    Arc::new(endpoint)
}

/// Settings of a client whose packets are read by `tap`, and which sends none before `gate` opens.
///
/// # Errors
/// TLS cannot be set up.
pub fn client(
    config: &QuicConfig,
    random: &mut Random,
    tap: Tap,
    gate: &Gate,
) -> Result<ClientConfig, String> {
    let crypto: Arc<dyn proto::ClientConfig> = match config.crypto {
        Profile::Null => Arc::new(NullClient),
        Profile::Tls => tls::configs()?.client,
    };
    let identifier = ConnectionId::new(&bytes::<IDENTIFIER>(random));
    let factory = control::of_sender(config.control, payload(config), random, &tap, gate);
    let mut client = ClientConfig::new(Arc::new(TappedClient { config: crypto, tap }));
    client
        .initial_dst_cid_provider(Arc::new(move || identifier))
        .transport_config(transport(config, factory));
    Ok(client)
}

/// Settings of a server.
///
/// # Errors
/// TLS cannot be set up.
pub fn server(config: &QuicConfig) -> Result<ServerConfig, String> {
    let crypto: Arc<dyn proto::ServerConfig> = match config.crypto {
        Profile::Null => Arc::new(NullServer),
        Profile::Tls => tls::configs()?.server,
    };
    let mut server = ServerConfig::new(crypto, Arc::new(TokenKey));
    server
        .transport_config(transport(config, control::of_receiver(payload(config))))
        .migration(false)
        .time_source(Arc::new(NoTime));
    Ok(server)
}

fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.bits() as u8)
}

/// Connection identifiers by a random stream.
struct Identifiers(Random);

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&bytes::<IDENTIFIER>(&mut self.0))
    }
    fn cid_len(&self) -> usize {
        IDENTIFIER
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The time of day is always the same: it is asked for tokens only.
struct NoTime;

impl TimeSource for NoTime {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
