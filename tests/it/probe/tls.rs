//! TLS: certificates are verified against `probe.ca_file`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::probe;
use crate::harness::command::{assert_exit, assert_reports, stderr};

/// Starts a TLS server that answers each connection with `body`. Returns its port and its certificate in
/// PEM.
pub(crate) fn server(body: &'static str) -> (u16, String) {
    let certified =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(
        certified.signing_key.serialize_der(),
    ));
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .expect("versions")
    .with_no_client_auth()
    .with_single_cert(vec![certified.cert.der().clone()], key)
    .expect("a certificate");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let Ok(session) = rustls::ServerConnection::new(Arc::clone(&config)) else {
                continue;
            };
            let mut stream = rustls::StreamOwned::new(session, connection);
            let mut buffer = [0; 4096];
            // A client that rejects the certificate closes the connection.
            if stream.read(&mut buffer).is_ok() {
                drop(write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                ));
                drop(stream.flush());
            }
        }
    });
    (port, certified.cert.pem())
}

#[test]
fn a_certificate_is_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let body = r#"{"results": []}"#;
    let (port, certificate) = server(body);
    let (_, other) = server(body);
    fs::write(folder.path().join("ca.pem"), certificate).expect("a file");
    fs::write(folder.path().join("other.pem"), other).expect("a file");
    let configuration = |ca: &str, host: &str| {
        format!(
            "probe:\n  rate: 1000\n  retries: 0\n  ca_file: {ca}\n  targets:\n    - {{variant: V5, url: 'https://{host}:{port}/s?q={{{{query}}}}'}}\n"
        )
    };
    let trusted = probe(folder.path(), &configuration("ca.pem", "localhost"), &[]);
    assert_exit(&trusted, 0);
    for (ca, host) in [("other.pem", "localhost"), ("ca.pem", "127.0.0.1")] {
        let output = probe(folder.path(), &configuration(ca, host), &[]);
        assert_eq!(output.status.code(), Some(1), "{ca} {host}");
        assert!(
            stderr(&output).contains("certificate"),
            "{}",
            stderr(&output)
        );
    }
    let missing = probe(folder.path(), &configuration("none.pem", "localhost"), &[]);
    assert_reports(&missing, 2, "probe.ca_file: none.pem");
}
