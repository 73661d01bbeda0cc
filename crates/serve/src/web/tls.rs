//! TLS server configuration from files in PEM format.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
    SupportedProtocolVersion, version,
};

use super::config::{ClientAuth, TlsConfig, TlsVersion};
use super::files::{WebError, read};

const ALL_VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS12, &version::TLS13];
const ONLY_TLS13: &[&SupportedProtocolVersion] = &[&version::TLS13];

/// The server configuration that `config` describes.
///
/// A required client certificate is not enforced here but for each request, so that probes need
/// none. A certificate that is sent is verified, unless the type says otherwise.
pub(super) fn server_config(config: &TlsConfig) -> Result<ServerConfig, WebError> {
    let provider = Arc::new(ring::default_provider());
    let versions = match config.min_version {
        TlsVersion::Tls12 => ALL_VERSIONS,
        TlsVersion::Tls13 => ONLY_TLS13,
    };
    let problem = |text: String| WebError::Content {
        path: config.cert_file.clone(),
        text,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| problem(error.to_string()))?;
    let builder = match (&config.client_auth, &config.client_ca_file) {
        (ClientAuth::IfGiven | ClientAuth::Required, Some(authorities)) => {
            builder.with_client_cert_verifier(client_verifier(authorities, &provider)?)
        }
        (ClientAuth::Requested | ClientAuth::AnyRequired, _) => {
            let algorithms = provider.signature_verification_algorithms;
            builder.with_client_cert_verifier(Arc::new(AnyCertificate(algorithms)))
        }
        _ => builder.with_no_client_auth(),
    };
    let chain = certificates(&config.cert_file)?;
    let key = private_key(&config.key_file)?;
    let mut server = builder.with_single_cert(chain, key).map_err(|error| {
        let key = config.key_file.display();
        problem(format!("cannot be used with the key in {key}: {error}"))
    })?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

fn client_verifier(
    path: &Path,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, WebError> {
    let problem = |text: String| WebError::Content {
        path: path.to_owned(),
        text,
    };
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(path)? {
        let added = authorities.add(certificate);
        added.map_err(|error| problem(format!("has an unusable certificate: {error}")))?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| problem(error.to_string()))
}

/// Verifier that accepts every certificate whose key the client has, as `RequestClientCert` and
/// `RequireAnyClientCert` of Go do.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, WebError> {
    let bytes = read(path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match parsed {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(WebError::Content {
            path: path.to_owned(),
            text: "is not a certificate in PEM format (-----BEGIN CERTIFICATE-----)".to_owned(),
        }),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, WebError> {
    PrivateKeyDer::from_pem_slice(&read(path)?).map_err(|_| WebError::Content {
        path: path.to_owned(),
        text: "is not an unencrypted private key in PEM format (-----BEGIN PRIVATE KEY-----)"
            .to_owned(),
    })
}
