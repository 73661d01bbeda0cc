//! HTTP client of the commands and of the schema registry: blocking, without redirects and proxies.

use std::error::Error;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustls::{AlertDescription, CertificateError};
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

/// Remedy of a request to `url` that failed by its TLS or its scheme; `None` for another failure. The URL is
/// the value of `url_key`, the certificates are those of `ca_key`.
pub(crate) fn remedy(
    problem: &ureq::Error,
    url: &str,
    [url_key, ca_key]: [&str; 2],
) -> Option<String> {
    let is_https = url.starts_with("https://");
    let Some(problem) = tls_problem(problem) else {
        let is_ended = match problem {
            ureq::Error::Protocol(_) => true,
            ureq::Error::Io(problem) => [
                io::ErrorKind::UnexpectedEof,
                io::ErrorKind::ConnectionReset,
                io::ErrorKind::ConnectionAborted,
            ]
            .contains(&problem.kind()),
            _ => false,
        };
        return is_ended.then(|| {
            if is_https {
                format!("if the server has no TLS, use http:// in {url_key}")
            } else {
                format!("if the server has TLS, use https:// in {url_key}")
            }
        });
    };
    let rustls::Error::InvalidCertificate(problem) = problem else {
        return Some(match problem {
            rustls::Error::InvalidMessage(_) => {
                format!("the server answers without TLS; use http:// in {url_key}, or set up its TLS")
            }
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired) => {
                "the server requires a client certificate, and this client sends none; allow clients without one \
                 in the server"
                    .to_owned()
            }
            _ => "check the TLS versions and the certificates of the server".to_owned(),
        });
    };
    Some(match problem {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("use a host that the certificate of the server names in {url_key}")
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "renew the certificate of the server, or correct the clock of this machine".to_owned()
        }
        CertificateError::UnknownIssuer => {
            format!("set {ca_key} to a PEM file with the authority of the server's certificate")
        }
        _ => format!(
            "replace the certificate of the server, or set {ca_key} to a PEM file with its authority"
        ),
    })
}

/// Problem of TLS in an error of the client.
fn tls_problem<'e>(problem: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(found) = problem.downcast_ref() {
        return Some(found);
    }
    if let Some(problem) = problem.downcast_ref::<io::Error>() {
        return tls_problem(problem.get_ref()?);
    }
    match problem.downcast_ref()? {
        ureq::Error::Rustls(found) => Some(found),
        ureq::Error::Io(problem) => tls_problem(problem),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 2] = ["--url", "--ca-file"];

    fn of_tls(problem: rustls::Error) -> ureq::Error {
        ureq::Error::Io(io::Error::new(io::ErrorKind::InvalidData, problem))
    }

    #[test]
    fn a_problem_of_tls_names_the_option_that_mends_it() {
        let of_certificate = |it| of_tls(rustls::Error::InvalidCertificate(it));
        for (problem, expected) in [
            (
                of_certificate(CertificateError::UnknownIssuer),
                "set --ca-file to a PEM file",
            ),
            (
                of_certificate(CertificateError::NotValidForName),
                "use a host that the certificate of the server names in --url",
            ),
            (
                of_certificate(CertificateError::Expired),
                "renew the certificate",
            ),
            (
                of_tls(rustls::InvalidMessage::InvalidContentType.into()),
                "use http:// in --url",
            ),
            (
                of_tls(rustls::Error::AlertReceived(
                    AlertDescription::CertificateRequired,
                )),
                "requires a client certificate",
            ),
            (
                ureq::Error::Io(io::ErrorKind::UnexpectedEof.into()),
                "if the server has no TLS, use http:// in --url",
            ),
        ] {
            let remedy = remedy(&problem, "https://search:9469", KEYS);
            let remedy = remedy.unwrap_or_else(|| panic!("{problem:?} has a remedy"));
            assert!(remedy.contains(expected), "{remedy}");
        }
    }

    #[test]
    fn a_connection_without_tls_that_ends_early_leads_to_https() {
        let ended = ureq::Error::Io(io::ErrorKind::ConnectionReset.into());
        let found = remedy(&ended, "http://search:9469", KEYS);
        assert_eq!(
            found.as_deref(),
            Some("if the server has TLS, use https:// in --url")
        );
        let refused = ureq::Error::Io(io::ErrorKind::ConnectionRefused.into());
        assert_eq!(remedy(&refused, "http://search:9469", KEYS), None);
    }
}
