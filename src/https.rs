//! HTTP client of the commands and of the schema registry: blocking, without redirects and proxies.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Client for URLs that begin like `url`. Certificates are those of `ca_file`, the value of `key`, or those
/// of the system.
///
/// # Errors
/// There are no certificates, and the URL needs them.
pub(crate) fn agent(
    url: &str,
    ca_file: Option<&Path>,
    key: &str,
    timeout: Duration,
) -> anyhow::Result<Agent> {
    let mut config = Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None);
    if url.starts_with("https://") {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(roots(ca_file, key)?)
            .unversioned_rustls_crypto_provider(provider);
        config = config.tls_config(tls.build());
    }
    Ok(config.build().new_agent())
}

fn roots(file: Option<&Path>, key: &str) -> anyhow::Result<RootCerts> {
    let certificates: Vec<Certificate<'static>> = match file {
        Some(path) => {
            let pem = std::fs::read(path)
                .with_context(|| format!("{key} {} cannot be read", path.display()))?;
            parse_pem(&pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect()
        }
        None => rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect(),
    };
    anyhow::ensure!(
        !certificates.is_empty(),
        "no certificates of authorities in PEM are found; name a file with {key}"
    );
    Ok(RootCerts::new_with_certs(&certificates))
}
