//! The stack's configuration for one flow.
//!
//! Differences from quinn-proto's defaults: packets have a fixed size (no path MTU discovery), a connection has no idle timeout, random
//! numbers and connection identifiers follow from the seed, each call of the stack yields one datagram (no segmentation offload), and servers
//! issue no address validation tokens.

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

/// Bytes of the IPv4 and UDP headers of a packet.
pub const HEADERS: u32 = 28;
/// Length of connection identifiers, bytes (quinn-proto's default).
const IDENTIFIER: usize = 8;

/// Largest UDP payload, bytes.
fn payload(config: &QuicConfig) -> u16 {
    config.ip_bytes - HEADERS as u16
}

/// Transport parameters of an end whose congestion control `factory` makes.
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

/// Most unacknowledged data of a sender, as a multiple of a stream's receive window (quinn-proto's default).
const SEND_WINDOWS: u64 = 8;

/// Settings of an endpoint whose random numbers come from `random`.
pub fn endpoint(config: &QuicConfig, random: &mut Random) -> Arc<EndpointConfig> {
    let mut endpoint = EndpointConfig::new(Arc::new(ResetKey));
    let seed = random.bits();
    endpoint
        .rng_seed(Some(bytes(random)))
        .cid_generator(move || Box::new(Identifiers(Random::derive(seed, "quic", "identifiers"))));
    // Both ends have the same largest packet.
    let payload = payload(config);
    // The call cannot fail: `size` begins at 1228 bytes, which leaves the stack's minimum of 1200 for the payload.
    let _ = endpoint.max_udp_payload_size(payload.max(1_472));
    Arc::new(endpoint)
}

/// Settings of a client. `tap` reads the client's packets; `gate` holds the time before which the client sends none.
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
    let factory = control::for_sender(config.control, payload(config), random, &tap, gate);
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
        .transport_config(transport(config, control::for_receiver(payload(config))))
        .migration(false)
        .time_source(Arc::new(NoTime));
    Ok(server)
}

fn bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.bits() as u8)
}

/// Generator of connection identifiers from a random stream.
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

/// A constant time of day: the stack reads the time of day for tokens only.
struct NoTime;

impl TimeSource for NoTime {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
