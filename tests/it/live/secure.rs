//! TLS and authentication on both listeners, from a web configuration as Prometheus and its
//! exporters use it, with files that change while the sidecar runs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion, version,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::ask_as_written;
use super::{SOON, start};
use crate::harness::prometheus::promtool;
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::{free_port, wait_until};

/// Password of the user `alice` in these tests.
const PASSWORD: &str = "correct horse: battery";

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

const ALL_VERSIONS: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
const ONLY_TLS12: &[&SupportedProtocolVersion] = &[&version::TLS12];

/// Certificate authority of a test.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate").pem();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// Certificate of the authority, in PEM.
    pub(super) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Certificate for the loopback, and its key, in PEM.
    pub(super) fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).expect("parameters");
        // With the name of its issuer, OpenSSL would take it for self-signed.
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

/// Folder with a web configuration and its files.
struct Folder {
    folder: TempDir,
    authority: Authority,
}

impl Folder {
    fn new() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
        let files = Self {
            folder,
            authority: Authority::new(),
        };
        let (certificate, key) = files.authority.issue();
        files.write("tls.crt", &certificate);
        files.write("tls.key", &key);
        files.write("ca.crt", &files.authority.certificate);
        files.write("tokens", &format!("# rotated monthly\n{TOKEN}\n"));
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("a file can be written");
    }

    /// Sidecar with this web configuration for both listeners.
    fn start(&self, web: &Value) -> Sidecar {
        // JSON is YAML.
        self.write("web.yaml", &web.to_string());
        let file = self.path("web.yaml");
        start(&json!({
            "kafka": {"brokers": format!("127.0.0.1:{}", free_port())},
            "metrics": {"web_config_file": file},
            "admin": {"web_config_file": file},
        }))
    }

    fn client(&self) -> Client {
        Client {
            authority: self.authority.certificate.clone(),
            certificate: None,
            versions: ALL_VERSIONS,
        }
    }
}

/// TLS client that trusts one authority.
struct Client {
    authority: String,
    /// Certificate and key.
    certificate: Option<(String, String)>,
    versions: &'static [&'static SupportedProtocolVersion],
}

/// Response: its status, its head in lower case, and its body.
#[derive(Debug)]
struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn header(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines();
        let values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.collect()
    }
}

impl Client {
    fn with_certificate(mut self, certificate: (String, String)) -> Self {
        self.certificate = Some(certificate);
        self
    }

    fn connect(
        &self,
        address: SocketAddr,
    ) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(self.authority.as_bytes());
        roots
            .add(authority.expect("a certificate"))
            .expect("an authority");
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .expect("TLS versions")
            .with_root_certificates(roots);
        let config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate.as_bytes());
                let chain = chain.collect::<Result<_, _>>().expect("a chain");
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
                let config = builder.with_client_auth_cert(chain, key);
                config.expect("a certificate with its key")
            }
        };
        let name = ServerName::try_from("localhost").expect("a name");
        let tls = ClientConnection::new(Arc::new(config), name).expect("a client");
        let stream = TcpStream::connect(address).expect("it listens");
        stream
            .set_read_timeout(Some(SOON))
            .expect("a limit can be set");
        let mut stream = StreamOwned::new(tls, stream);
        while stream.conn.is_handshaking() {
            let done = stream.conn.complete_io(&mut stream.sock);
            done.map_err(|error| error.to_string())?;
        }
        Ok(stream)
    }

    /// Sends a request with these header lines. The error is that of the connection.
    fn request(
        &self,
        address: SocketAddr,
        method: &str,
        path: &str,
        headers: &str,
    ) -> Result<Response, String> {
        let mut stream = self.connect(address)?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: rankgauge.example\r\n{headers}Connection: close\r\n\r\n"
        );
        let sent = stream.write_all(head.as_bytes());
        sent.map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        stream
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        let (head, body) = text.split_once("\r\n\r\n").ok_or("no head")?;
        let head = head.to_lowercase();
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        Ok(Response {
            status: status.ok_or("no status")?,
            body: body.to_owned(),
            head,
        })
    }

    fn get(&self, address: SocketAddr, path: &str, headers: &str) -> Response {
        self.request(address, "GET", path, headers)
            .unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    /// Certificate that the listener presents.
    fn certificate_of(&self, address: SocketAddr) -> Result<Vec<u8>, String> {
        let stream = self.connect(address)?;
        let chain = stream.conn.peer_certificates().expect("a certificate");
        Ok(chain[0].to_vec())
    }
}

fn basic(user: &str, password: &str) -> String {
    let credentials = STANDARD.encode(format!("{user}:{password}"));
    format!("Authorization: Basic {credentials}\r\n")
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

/// Hash of the lowest cost: these tests must not wait for bcrypt.
fn hash(password: &str) -> String {
    bcrypt::hash(password, 4).expect("a hash")
}

fn tls() -> Value {
    json!({"cert_file": "tls.crt", "key_file": "tls.key"})
}

#[test]
fn both_listeners_require_tls_and_credentials_except_for_probes() {
    let folder = Folder::new();
    let hash = hash(PASSWORD);
    let sidecar = folder.start(&json!({
        "tls_server_config": tls(),
        "basic_auth_users": {"alice": hash, "first.last": bcrypt::hash("second", 4).expect("a hash")},
        "bearer_tokens_file": "tokens",
        "http_server_config": {"headers": {
            "Strict-Transport-Security": "max-age=31536000",
            "X-Frame-Options": "SAMEORIGIN",
        }},
    }));
    let client = folder.client();
    let pages = [
        (sidecar.address(), "/metrics", "metrics"),
        (sidecar.admin_address(), "/api/v1/status", "admin"),
    ];
    for (address, page, _) in pages {
        for credentials in [
            String::new(),
            basic("alice", "wrong"),
            basic("alice", ""),
            basic("nobody", PASSWORD),
            basic("first.last", PASSWORD),
            bearer("wrong"),
            bearer(""),
            bearer(&TOKEN[1..]),
            "Authorization: Basic !\r\n".to_owned(),
            "Authorization: Digest x\r\n".to_owned(),
            "Authorization: Basic\r\n".to_owned(),
            format!("{}{}", bearer(TOKEN), bearer(TOKEN)),
        ] {
            let response = client.get(address, page, &credentials);
            assert_eq!(response.status, 401, "{credentials}: {response:?}");
            assert!(
                response
                    .body
                    .contains("the credentials are missing or wrong"),
                "{response:?}"
            );
            assert_eq!(
                response.header("www-authenticate"),
                ["basic realm=\"rankgauge\"", "bearer realm=\"rankgauge\""]
            );
        }
        for credentials in [
            basic("alice", PASSWORD),
            basic("alice", PASSWORD),
            basic("first.last", "second"),
            bearer(TOKEN),
            format!("authorization: bearer {TOKEN}\r\n"),
        ] {
            let response = client.get(address, page, &credentials);
            assert_eq!(response.status, 200, "{credentials}: {response:?}");
            assert_eq!(
                response.header("strict-transport-security"),
                ["max-age=31536000"]
            );
            assert_eq!(response.header("x-frame-options"), ["sameorigin"]);
            assert_eq!(response.header("x-content-type-options"), ["nosniff"]);
        }
        for probe in ["/healthz", "/-/healthy"] {
            assert_eq!(client.get(address, probe, "").status, 200, "{probe}");
        }
        for probe in ["/readyz", "/-/ready"] {
            assert_eq!(client.get(address, probe, "").status, 503, "{probe}");
        }
        // Plain HTTP gets no response.
        let mut plain = TcpStream::connect(address).expect("it listens");
        plain
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            .expect("the request is sent");
        let mut answer = Vec::new();
        drop(plain.read_to_end(&mut answer));
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    // Commands need the credentials and still come from no other site.
    let admin = sidecar.admin_address();
    let command = |headers: &str| {
        let response = client.request(admin, "POST", "/-/baseline", headers);
        response.expect("a response").status
    };
    assert_eq!(command(""), 401);
    assert_eq!(command(&bearer(TOKEN)), 202);
    let other = format!("{}Origin: https://site.example\r\n", bearer(TOKEN));
    assert_eq!(command(&other), 403);
    let own = format!("{}Origin: https://rankgauge.example\r\n", bearer(TOKEN));
    assert_eq!(command(&own), 202);

    let metrics = client
        .get(sidecar.address(), "/metrics", &bearer(TOKEN))
        .body;
    let exposition = Exposition::parse(&metrics).expect("the text format");
    for (_, _, listener) in pages {
        let rejected = exposition.value(
            "rankgauge_http_rejected_requests_total",
            &[("listener", listener), ("reason", "authentication")],
        );
        assert!(rejected.is_some_and(|count| count >= 12.0), "{rejected:?}");
    }
    for secret in [PASSWORD, TOKEN, &hash] {
        assert!(!sidecar.log().contains(secret), "{}", sidecar.log());
        assert!(!metrics.contains(secret));
    }
}

#[test]
fn ctl_names_the_option_that_mends_a_problem_of_tls() {
    let folder = Folder::new();
    let sidecar = folder.start(&json!({"tls_server_config": tls()}));
    let port = sidecar.admin_address().port();
    let run = |url: &str, authority: Option<&str>| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rankgauge"));
        command.args(["ctl", "status", "--url", url]);
        if let Some(file) = authority {
            command.arg("--ca-file").arg(folder.path(file));
        }
        let output = command.output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), said)
    };
    folder.write("other.crt", Authority::new().certificate());
    let https = format!("https://127.0.0.1:{port}");
    for (url, authority, expected) in [
        (&*https, Some("other.crt"), "set --ca-file to a PEM file"),
        (
            &*format!("http://127.0.0.1:{port}"),
            None,
            "if the server has TLS, use https:// in --url",
        ),
    ] {
        let (is_success, said) = run(url, authority);
        assert!(!is_success && said.contains(expected), "{url}: {said}");
    }
    let (is_success, said) = run(&https, Some("ca.crt"));
    assert!(is_success, "{said}");
}

#[test]
fn client_certificates_are_required_except_for_probes() {
    let folder = Folder::new();
    let mut tls = tls();
    tls["client_ca_file"] = json!("ca.crt");
    tls["client_auth_type"] = json!("RequireAndVerifyClientCert");
    tls["min_version"] = json!("TLS13");
    let sidecar = folder.start(&json!({"tls_server_config": tls}));
    let address = sidecar.address();
    let anonymous = folder.client();
    let response = anonymous.get(address, "/metrics", "");
    assert_eq!(response.status, 403, "{response:?}");
    assert!(
        response.body.contains("requires a client certificate"),
        "{response:?}"
    );
    assert_eq!(anonymous.get(address, "/healthz", "").status, 200);
    let known = folder.client().with_certificate(folder.authority.issue());
    assert_eq!(known.get(address, "/metrics", "").status, 200);
    let status = known.get(sidecar.admin_address(), "/api/v1/status", "");
    assert_eq!(status.status, 200);
    let stranger = folder.client().with_certificate(Authority::new().issue());
    let refused = stranger.request(address, "GET", "/healthz", "");
    assert!(refused.is_err(), "{refused:?}");
    let old = Client {
        versions: ONLY_TLS12,
        ..folder.client()
    };
    assert!(old.connect(address).is_err(), "TLS 1.2 is not accepted");
}

#[test]
fn client_certificates_that_are_not_verified_are_accepted_from_any_authority() {
    for (kind, without) in [("RequestClientCert", 200), ("RequireAnyClientCert", 403)] {
        let folder = Folder::new();
        let mut tls = tls();
        tls["client_auth_type"] = json!(kind);
        let sidecar = folder.start(&json!({"tls_server_config": tls}));
        let address = sidecar.address();
        let get = |client: &Client, page: &str| client.get(address, page, "").status;
        assert_eq!(get(&folder.client(), "/metrics"), without, "{kind}");
        assert_eq!(get(&folder.client(), "/healthz"), 200, "{kind}");
        let stranger = folder.client().with_certificate(Authority::new().issue());
        assert_eq!(get(&stranger, "/metrics"), 200, "{kind}");
    }
}

#[test]
fn files_are_reloaded_when_they_change_and_never_weaken_the_protection() {
    let folder = Folder::new();
    let web = |password: &str| {
        json!({
            "tls_server_config": tls(),
            "basic_auth_users": {"alice": hash(password)},
        })
    };
    let sidecar = folder.start(&web("first"));
    let address = sidecar.address();
    let client = folder.client();
    let before = client.certificate_of(address).expect("a connection");
    // Verified passwords are remembered, but not beyond a change.
    assert_eq!(
        client.get(address, "/", &basic("alice", "first")).status,
        200
    );

    let (certificate, key) = folder.authority.issue();
    folder.write("tls.crt", &certificate);
    wait_until(SOON, "the certificate without its key is reported", || {
        sidecar
            .log()
            .contains("web configuration reload failed; the previous one stays in use")
            .then_some(())
    });
    assert_eq!(client.certificate_of(address).as_ref(), Ok(&before));
    folder.write("tls.key", &key);
    let after = wait_until(SOON, "the new certificate is in use", || {
        let certificate = client.certificate_of(address).ok()?;
        (certificate != before).then_some(certificate)
    });
    let presented = CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM");
    assert_eq!(after, presented.to_vec());
    assert!(sidecar.log().contains("web configuration reloaded"));

    folder.write("web.yaml", &web("second").to_string());
    wait_until(SOON, "the new password is in use", || {
        let response = client.get(address, "/", &basic("alice", "second"));
        (response.status == 200).then_some(())
    });
    assert_eq!(
        client.get(address, "/", &basic("alice", "first")).status,
        401
    );

    // Files that the configuration names appear after it.
    let mut moved = web("second");
    moved["tls_server_config"] = json!({"cert_file": "new.crt", "key_file": "new.key"});
    folder.write("web.yaml", &moved.to_string());
    wait_until(SOON, "the missing file is reported", || {
        sidecar
            .log()
            .contains("new.crt cannot be read")
            .then_some(())
    });
    let (certificate, key) = folder.authority.issue();
    folder.write("new.crt", &certificate);
    folder.write("new.key", &key);
    wait_until(SOON, "the certificate of the new file is in use", || {
        let certificate = client.certificate_of(address).ok()?;
        (certificate != after).then_some(())
    });

    for (weaker, problem) in [
        (String::new(), "adds or removes TLS"),
        (
            json!({"tls_server_config": tls()}).to_string(),
            "removes authentication",
        ),
        ("basic_auth_users: [".to_owned(), "is not YAML"),
    ] {
        folder.write("web.yaml", &weaker);
        // Each listener reads the file by itself, and both have to see it before it changes again.
        wait_until(SOON, problem, || {
            (sidecar.log().matches(problem).count() >= 2).then_some(())
        });
        assert_eq!(client.get(address, "/", "").status, 401, "{problem}");
        let granted = client.get(address, "/", &basic("alice", "second"));
        assert_eq!(granted.status, 200, "{problem}");
    }
    // Each problem is logged once, by each listener.
    let log = sidecar.log();
    assert_eq!(log.matches("removes authentication").count(), 2, "{log}");
}

#[test]
fn a_response_does_not_show_which_users_exist() {
    let folder = Folder::new();
    let cost = 10;
    let hash = bcrypt::hash(PASSWORD, cost).expect("a hash");
    let sidecar = folder.start(&json!({"basic_auth_users": {"alice": hash}}));
    let fastest = |user: &str| {
        let times = (0..3).map(|_| {
            let headers = format!("Host: localhost\r\n{}", basic(user, "wrong"));
            let started = Instant::now();
            let answer = ask_as_written(sidecar.address(), "GET", "/metrics", &headers);
            assert_eq!(answer.status, 401);
            started.elapsed()
        });
        times.min().expect("three times")
    };
    let headers = format!("Host: localhost\r\n{}", basic("alice", PASSWORD));
    let get = || ask_as_written(sidecar.address(), "GET", "/", &headers).status;
    // On a busy machine, other programs can slow down one part of a comparison.
    let mut rounds = Vec::new();
    let is_equal = (0..5).any(|_| {
        let (known, unknown) = (fastest("alice"), fastest("nobody"));
        // A verified password is not verified again.
        assert_eq!(get(), 200);
        let started = Instant::now();
        assert_eq!([get(), get(), get()], [200; 3]);
        let verified = started.elapsed();
        rounds.push([known, unknown, verified]);
        unknown > known / 3 && verified < known
    });
    assert!(is_equal, "known user, unknown user, verified: {rounds:?}");
}

#[test]
fn probes_answer_while_passwords_are_guessed() {
    let folder = Folder::new();
    // About a second for each guess.
    let hash = bcrypt::hash_with_salt(PASSWORD, 4, [7; 16]).expect("a hash");
    let hash = hash.to_string().replacen("$04$", "$14$", 1);
    let sidecar = folder.start(&json!({
        "basic_auth_users": {"alice": hash},
        "bearer_tokens_file": "tokens",
    }));
    let address = sidecar.address();
    let guesses: Vec<TcpStream> = (0..40)
        .map(|number| {
            let mut connection = TcpStream::connect(address).expect("it listens");
            let credentials = basic("alice", &format!("guess {number}"));
            let request = format!("GET /metrics HTTP/1.1\r\nHost: a\r\n{credentials}\r\n");
            connection
                .write_all(request.as_bytes())
                .expect("the request is sent");
            connection
        })
        .collect();
    // On the threads of the listener, the guesses would take at least 20 seconds.
    let prompt = Duration::from_secs(9);
    let get = |path: &str, headers: &str| {
        let started = Instant::now();
        let headers = format!("Host: localhost\r\n{headers}");
        let status = ask_as_written(address, "GET", path, &headers).status;
        assert!(
            started.elapsed() < prompt,
            "{path}: {:?}",
            started.elapsed()
        );
        status
    };
    for _ in 0..5 {
        assert_eq!(get("/healthz", ""), 200);
        assert_eq!(get("/metrics", &bearer(TOKEN)), 200);
    }
    drop(guesses);
}

/// Output of `check` and its exit code, with this web configuration.
fn check(folder: &Folder, web: &str) -> (String, Option<i32>) {
    folder.write("web.yaml", web);
    folder.write(
        "rankgauge.yaml",
        "workers: 1\nmetrics:\n  web_config_file: web.yaml\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_rankgauge"))
        .args(["check", "--config", "rankgauge.yaml"])
        .current_dir(folder.folder.path())
        .output()
        .expect("the built binary runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    (text, output.status.code())
}

#[test]
fn check_finds_the_problems_of_a_web_configuration_and_prints_no_secret() {
    let folder = Folder::new();
    folder.write("short", "geheim\n");
    folder.write("other.key", &Authority::new().issue().1);
    let expensive = hash("x").replacen("$04$", "$20$", 1);
    for (web, expected) in [
        (
            "tls_server_confg: {}\n",
            "web.yaml:1: tls_server_confg: unknown key; did you mean tls_server_config?",
        ),
        (
            "tls_server_config: {cert_file: tls.crt}\n",
            "tls_server_config.key_file: is missing; name a file in PEM format",
        ),
        (
            "tls_server_config: {cert_file: none.crt, key_file: tls.key}\n",
            "none.crt cannot be read",
        ),
        (
            "tls_server_config: {cert_file: tls.key, key_file: tls.key}\n",
            "tls.key: is not a certificate in PEM format",
        ),
        (
            "tls_server_config: {cert_file: tls.crt, key_file: tls.crt}\n",
            "tls.crt: is not an unencrypted private key",
        ),
        (
            "tls_server_config: {cert_file: tls.crt, key_file: other.key}\n",
            "tls.crt: cannot be used with the key in other.key",
        ),
        (
            "tls_server_config: {cert_file: tls.crt, key_file: tls.key, min_version: TLS10}\n",
            "\"TLS10\" is none of TLS12, TLS13",
        ),
        (
            "tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_ca_file: ca.crt}\n",
            "client_ca_file has no effect with NoClientCert",
        ),
        (
            "tls_server_config: {cert_file: tls.crt, key_file: tls.key, client_auth_type: RequireAndVerifyClientCert}\n",
            "needs client_ca_file",
        ),
        (
            "basic_auth_users: {alice: geheim}\n",
            "web.yaml:1: basic_auth_users.alice: is not a bcrypt hash; write the output of htpasswd -nBC 10",
        ),
        (
            &format!("basic_auth_users: {{alice: {expensive}}}\n"),
            "is a bcrypt hash of a cost above 16",
        ),
        (
            "bearer_tokens_file: short\n",
            "short: line 1 is not a token",
        ),
        ("bearer_tokens_file: none\n", "none cannot be read"),
        (
            "http_server_config: {headers: {X-Other: a}}\n",
            "http_server_config.headers.X-Other: cannot be set; use one of",
        ),
        (
            "http_server_config: {headers: {X-Frame-Options: 'a\u{e9}'}}\n",
            "is not the value of a header",
        ),
    ] {
        let (text, code) = check(&folder, web);
        assert_eq!(code, Some(2), "{web}: {text}");
        assert!(text.contains(expected), "{web}: {text}");
        assert!(
            text.contains("rankgauge.yaml:3: metrics.web_config_file: "),
            "{text}"
        );
        assert!(
            !text.contains("geheim") && !text.contains(&expensive),
            "{text}"
        );
    }
    let refused = Sidecar::refused(&format!(
        "metrics: {{web_config_file: {}}}\n",
        folder.path("none.yaml").display()
    ));
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("none.yaml: cannot be read"), "{text}");
    let (text, code) = check(&folder, "bearer_tokens_file: tokens\n");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("web configuration web.yaml"), "{text}");
}

#[test]
fn a_web_configuration_without_tokens_is_one_of_prometheus() {
    let folder = Folder::new();
    let web = format!(
        "tls_server_config:\n  cert_file: tls.crt\n  key_file: tls.key\n  client_ca_file: ca.crt\n  \
         client_auth_type: RequireAndVerifyClientCert\n  min_version: TLS13\n\
         http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=31536000\n\
         basic_auth_users:\n  alice: {}\n",
        hash(PASSWORD)
    );
    let (text, code) = check(&folder, &web);
    assert_eq!(code, Some(0), "{text}");
    let file = folder.path("web.yaml").display().to_string();
    promtool(["check", "web-config", &file]).expect("Prometheus accepts it too");
}
