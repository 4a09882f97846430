//! TLS 1.3 by rustls and ring, with a certificate and private key that are part of the program.
//!
//! Two runs have different keys, because ring takes randomness from the operating system, but packets of the same sizes: the order of preference
//! fixes the cipher suite, X25519 keys and Ed25519 signatures have one length, and the server sends no tickets. The certificate is valid from
//! 1970 to 9999, so that no result depends on the time of day. The private key is public, so TLS here protects packets from accidental change
//! but does not authenticate the sender.

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::{Arc, OnceLock};

/// A self-signed Ed25519 certificate for [`SERVER_NAME`], valid from 1970 to 9999, DER.
const CERTIFICATE: &[u8] = include_bytes!("certificate.der");
/// The certificate's private key, PKCS #8.
const KEY: &[u8] = include_bytes!("key.der");
/// Server name in the certificate.
pub const SERVER_NAME: &str = "qdelay";
/// Application protocol (ALPN).
const PROTOCOL: &[u8] = b"qdelay";

/// TLS configurations of both sides, shared by all connections.
#[derive(Clone)]
pub struct Tls {
    /// Configuration of clients.
    pub client: Arc<QuicClientConfig>,
    /// Configuration of servers.
    pub server: Arc<QuicServerConfig>,
}

/// The TLS configurations of both sides, built at the first call.
///
/// # Errors
/// rustls refuses a configuration.
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

/// The cryptography of ring with X25519 as the only key exchange, so that the client's first key share is always accepted.
fn provider() -> Arc<CryptoProvider> {
    let provider = ring::default_provider();
    Arc::new(CryptoProvider { kx_groups: vec![ring::kx_group::X25519], ..provider })
}
