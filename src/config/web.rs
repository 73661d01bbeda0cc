//! Web configuration of a listener: TLS, authentication and headers, in a file of its own.
//!
//! The format is that of the `web.config.file` of Prometheus and its exporters, with bearer tokens
//! added. This module must not know certificates and credentials: it states where they are.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

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
    let files = [path.to_owned()];
    let (tree, problems) = layers::merge("", &files, std::iter::empty(), &[]);
    let mut reader = Reader::new(tree, problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let config = read(&mut reader, folder);
    let problems = reader.finish();
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError { problems }.into())
    }
}

fn read(reader: &mut Reader, folder: &Path) -> WebConfig {
    WebConfig {
        tls: tls(reader, folder),
        headers: headers(reader),
        users: users(reader),
        bearer_tokens_file: file(reader, "bearer_tokens_file", folder),
    }
}

fn tls(reader: &mut Reader, folder: &Path) -> Option<TlsConfig> {
    // Without the section, its keys are requested nevertheless: they are then known.
    let is_written = reader.is_written("tls_server_config");
    let [cert_file, key_file] = ["cert_file", "key_file"].map(|name| {
        let path = format!("tls_server_config.{name}");
        if is_written && !reader.is_written(&path) {
            reader.problem(&path, "is missing; name a file in PEM format");
        }
        file(reader, &path, folder)
    });
    let client_ca_file = file(reader, "tls_server_config.client_ca_file", folder);
    let client_auth_type = "tls_server_config.client_auth_type";
    let client_auth = reader.choice(
        client_auth_type,
        ClientAuth::None,
        &[
            ("NoClientCert", ClientAuth::None),
            ("RequestClientCert", ClientAuth::Requested),
            ("RequireAnyClientCert", ClientAuth::AnyRequired),
            ("VerifyClientCertIfGiven", ClientAuth::IfGiven),
            ("RequireAndVerifyClientCert", ClientAuth::Required),
        ],
    );
    match (client_auth, &client_ca_file) {
        (ClientAuth::None, Some(_)) => reader.conflict(
            &[client_auth_type, "tls_server_config.client_ca_file"],
            "client_ca_file has no effect with NoClientCert; write RequireAndVerifyClientCert",
        ),
        (ClientAuth::Requested | ClientAuth::AnyRequired, Some(_)) => reader.conflict(
            &[client_auth_type, "tls_server_config.client_ca_file"],
            "client_ca_file has no effect without verification; write VerifyClientCertIfGiven or \
             RequireAndVerifyClientCert",
        ),
        (ClientAuth::IfGiven | ClientAuth::Required, None) => reader.problem(
            client_auth_type,
            "needs client_ca_file, the authorities that sign client certificates",
        ),
        (ClientAuth::None | ClientAuth::Requested | ClientAuth::AnyRequired, None)
        | (ClientAuth::IfGiven | ClientAuth::Required, Some(_)) => {}
    }
    let min_version = reader.choice(
        "tls_server_config.min_version",
        TlsVersion::Tls12,
        &[("TLS12", TlsVersion::Tls12), ("TLS13", TlsVersion::Tls13)],
    );
    Some(TlsConfig {
        cert_file: cert_file?,
        key_file: key_file?,
        client_ca_file,
        client_auth,
        min_version,
    })
}

/// The file that `path` names.
fn file(reader: &mut Reader, path: &str, folder: &Path) -> Option<PathBuf> {
    reader.parsed(path, |text| {
        if text.is_empty() {
            Err("is empty; name a file")
        } else {
            Ok(folder.join(text))
        }
    })
}

fn headers(reader: &mut Reader) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for name in reader.names("http_server_config.headers") {
        let path = format!("http_server_config.headers.{name}");
        let value = reader.scalar(&path);
        if !HEADERS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&name))
        {
            let known = HEADERS.join(", ");
            reader.problem(&path, format!("cannot be set; use one of {known}"));
        } else if value.as_ref().is_some_and(|value| !is_header_value(value)) {
            reader.problem(&path, "is not the value of a header; use visible ASCII");
        } else {
            headers.extend(value.map(|value| (name, value)));
        }
    }
    headers
}

fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn users(reader: &mut Reader) -> BTreeMap<String, PasswordHash> {
    let mut users = BTreeMap::new();
    for user in reader.names("basic_auth_users") {
        let path = format!("basic_auth_users.{user}");
        // A message must not repeat the value: it may be a password.
        let Some(hash) = reader.scalar(&path) else {
            continue;
        };
        match PasswordHash::parse(&hash) {
            Err(text) => reader.problem(&path, text),
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
