//! Web configuration of a listener: TLS, authentication and headers, in a file of its own.
//!
//! The format is that of the `web.config.file` of Prometheus and its exporters, with bearer tokens
//! added. This module must not know certificates and credentials: it states where they are.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use super::key::{Checked, Key, Names, TEXT, Word, checked, keys};
use super::layers;
use super::problem::ConfigError;
use super::reader::Reader;
use rankgauge_serve::web::config::{ClientAuth, PasswordHash, TlsConfig, TlsVersion, WebConfig};

/// Headers that can be set, as in the exporters of Prometheus.
const HEADERS: [&str; 5] = [
    "Content-Security-Policy",
    "Strict-Transport-Security",
    "X-Content-Type-Options",
    "X-Frame-Options",
    "X-XSS-Protection",
];

/// Reads the web configuration of a listener from a file. Paths in it are relative to its folder.
///
/// # Errors
/// All problems of the file, without any of its secrets.
pub fn web_config(path: &Path) -> Result<WebConfig, Box<dyn Error + Send + Sync>> {
    load(path, true)
}

/// Reads a web configuration as [`web_config`] does, for a listener that checks credentials by
/// `gateway.tokens_file`.
///
/// # Errors
/// As [`web_config`], and users or bearer tokens.
pub fn web_config_without_credentials(
    path: &Path,
) -> Result<WebConfig, Box<dyn Error + Send + Sync>> {
    load(path, false)
}

fn load(
    path: &Path,
    can_have_credentials: bool,
) -> Result<WebConfig, Box<dyn Error + Send + Sync>> {
    let files = [path.to_owned()];
    let (tree, problems) = layers::merge("", &files, std::iter::empty(), &[]);
    let mut reader = Reader::new(tree, problems, all());
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = read(&mut reader, folder);
    for key in [&USERS.path, &BEARER_TOKENS_FILE.path] {
        if !can_have_credentials && reader.is_written(key) {
            reader.problem(
                key,
                "cannot be combined with gateway.tokens_file: a request has one header for credentials",
            );
        }
    }
    let problems = reader.finish();
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError { problems }.into())
    }
}

keys! {
    /// Keys of a web configuration, in the names of Prometheus.
    fn all;

    /// Certificate chain in PEM, the certificate of the listener first.
    CERT_FILE: Checked<PathBuf> = "tls_server_config.cert_file", FILE;
    /// Private key in PEM.
    KEY_FILE: Checked<PathBuf> = "tls_server_config.key_file", FILE;
    /// Certificates in PEM of the authorities that sign client certificates.
    CLIENT_CA_FILE: Checked<PathBuf> = "tls_server_config.client_ca_file", FILE;
    /// Requirement of client certificates.
    CLIENT_AUTH: Word<ClientAuth> = "tls_server_config.client_auth_type", Word(&[
        ("NoClientCert", ClientAuth::None),
        ("RequestClientCert", ClientAuth::Requested),
        ("RequireAnyClientCert", ClientAuth::AnyRequired),
        ("VerifyClientCertIfGiven", ClientAuth::IfGiven),
        ("RequireAndVerifyClientCert", ClientAuth::Required),
    ]), default "NoClientCert";
    /// Lowest accepted TLS version.
    MIN_VERSION: Word<TlsVersion> = "tls_server_config.min_version",
        Word(&[("TLS12", TlsVersion::Tls12), ("TLS13", TlsVersion::Tls13)]), default "TLS12";
    /// Headers of every response.
    RESPONSE_HEADERS: Names<Checked<String>> = "http_server_config.headers", Names(TEXT);
    /// Users of basic authentication with their bcrypt hashes.
    USERS: Names<Checked<String>> = "basic_auth_users", Names(TEXT);
    /// File with one bearer token a line.
    BEARER_TOKENS_FILE: Checked<PathBuf> = "bearer_tokens_file", FILE;
}

const FILE: Checked<PathBuf> = checked(|text| {
    if text.is_empty() {
        return Err("is empty; name a file".to_owned());
    }
    Ok(PathBuf::from(text))
});

fn read(reader: &mut Reader, folder: &Path) -> WebConfig {
    WebConfig {
        tls: tls(reader, folder),
        headers: headers(reader),
        users: users(reader),
        bearer_tokens_file: file(reader, &BEARER_TOKENS_FILE, folder),
    }
}

fn tls(reader: &mut Reader, folder: &Path) -> Option<TlsConfig> {
    if !reader.is_written("tls_server_config") {
        return None;
    }
    let [cert_file, key_file] = [&CERT_FILE, &KEY_FILE].map(|key| {
        if !reader.is_written(&key.path) {
            reader.problem(&key.path, "is missing; name a file in PEM format");
        }
        file(reader, key, folder)
    });
    let client_ca_file = file(reader, &CLIENT_CA_FILE, folder);
    let client_auth = reader.get(&CLIENT_AUTH);
    let both: [&str; 2] = [&CLIENT_AUTH.path, &CLIENT_CA_FILE.path];
    match (client_auth, &client_ca_file) {
        (ClientAuth::None, Some(_)) => reader.conflict(
            &both,
            "client_ca_file has no effect with NoClientCert; write RequireAndVerifyClientCert",
        ),
        (ClientAuth::Requested | ClientAuth::AnyRequired, Some(_)) => reader.conflict(
            &both,
            "client_ca_file has no effect without verification; write VerifyClientCertIfGiven or \
             RequireAndVerifyClientCert",
        ),
        (ClientAuth::IfGiven | ClientAuth::Required, None) => reader.problem(
            &CLIENT_AUTH.path,
            "needs client_ca_file, the authorities that sign client certificates",
        ),
        (ClientAuth::None | ClientAuth::Requested | ClientAuth::AnyRequired, None)
        | (ClientAuth::IfGiven | ClientAuth::Required, Some(_)) => {}
    }
    Some(TlsConfig {
        cert_file: cert_file?,
        key_file: key_file?,
        client_ca_file,
        client_auth,
        min_version: reader.get(&MIN_VERSION),
    })
}

/// The file that `key` names.
fn file(reader: &mut Reader, key: &Key<Checked<PathBuf>>, folder: &Path) -> Option<PathBuf> {
    reader.find(key).map(|path| folder.join(path))
}

fn headers(reader: &mut Reader) -> BTreeMap<String, String> {
    let headers = reader.names(&RESPONSE_HEADERS);
    for (name, value) in &headers {
        let path = format!("{}.{name}", RESPONSE_HEADERS.path);
        if !HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let known = HEADERS.join(", ");
            reader.problem(&path, format!("cannot be set; use one of {known}"));
        } else if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            reader.problem(&path, "is not the value of a header; use visible ASCII");
        }
    }
    headers
}

fn users(reader: &mut Reader) -> BTreeMap<String, PasswordHash> {
    let mut users = BTreeMap::new();
    for (user, hash) in reader.names(&USERS) {
        let path = format!("{}.{user}", USERS.path);
        // A message must not repeat the value: it may be a password.
        match PasswordHash::parse(&hash) {
            Err(problem) => reader.problem(&path, problem),
            Ok(_) if user.contains(':') => {
                reader.problem(&path, "is not a user name; it cannot contain a colon");
            }
            Ok(hash) => {
                users.insert(user, hash);
            }
        }
    }
    users
}
