//! TLS 1.3 by rustls and ring, with a certificate that everybody has.
//!
//! Two runs have different keys, because ring takes randomness from the operating system, but the same sizes: the suite is fixed by the
//! order of preference, keys and signatures are those of X25519 and Ed25519, which have one length, and the server sends no tickets.
//! The certificate is valid for all times, so that no result depends on the time of day. Its private key is published with the
//! program: whoever connects learns that packets have not been changed by accident, not who sent them.

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::{Arc, OnceLock};

/// An Ed25519 certificate for [`SERVER_NAME`], signed by itself, from 1970 to 9999.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
/// Its private key.
const KEY: &[u8] = include_bytes!("key.der");
/// The name in the certificate.
pub const SERVER_NAME: &str = "qdelay";
/// The application protocol.
const PROTOCOL: &[u8] = b"qdelay";

/// Both sides' configurations, the same for all connections.
#[derive(Clone)]
pub struct Tls {
    /// For clients.
    pub client: Arc<QuicClientConfig>,
    /// For servers.
    pub server: Arc<QuicServerConfig>,
}

/// The configurations.
///
/// # Errors
/// rustls refuses one.
pub fn configs() -> Result<Tls, String> {
    static CONFIGS: OnceLock<Result<Tls, String>> = OnceLock::new();
    CONFIGS.get_or_init(|| build().map_err(|error| format!("TLS cannot be set up: {error}"))).clone()
}

fn build() -> Result<Tls, Box<dyn std::error::Error>> {
    let provider = provider();
    let certificate = CertificateDer::from(CERTIFICATE);
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone())?;
    let versions = &[&rustls::version::TLS13];
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(versions)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![PROTOCOL.to_vec()];
    client.resumption = Resumption::disabled();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?;
    server.alpn_protocols = vec![PROTOCOL.to_vec()];
    server.send_tls13_tickets = 0;
    Ok(Tls {
        client: Arc::new(QuicClientConfig::try_from(client)?),
        server: Arc::new(QuicServerConfig::try_from(server)?),
    })
}

/// ring with X25519 alone, so that the first key share is always the right one.
fn provider() -> Arc<CryptoProvider> {
    let provider = ring::default_provider();
    Arc::new(CryptoProvider { kx_groups: vec![ring::kx_group::X25519], ..provider })
}
