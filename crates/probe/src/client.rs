//! HTTP client of the probe: one request, within limits of time and size.
//!
//! It follows no redirects and uses no proxy: the answer of another service must not be judged.

#![allow(
    clippy::disallowed_methods,
    reason = "latencies are measured, and Retry-After states a date"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use super::event::ErrorType;
use super::header::HeaderPart;
use super::pace::retry_after;
use super::settings::Probe;
use super::target::{Method, ProbeTarget};
use super::template::{Template, TemplateValue};
use rankgauge_core::gold::GoldQuery;

/// Client that cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// Certificates cannot be used.
    #[error("probe.ca_file: {path}: {problem}")]
    CaFile {
        /// Path in `probe.ca_file`.
        path: String,
        /// Reason for which the file cannot be used.
        problem: String,
    },
    /// The system has no certificates, and a target needs them.
    #[error(
        "no certificate authorities of the system are found, and {variant} uses https; set \
         probe.ca_file"
    )]
    NoAuthorities {
        /// Variant of the target.
        variant: String,
    },
    /// A header cannot be built.
    #[error("header {name} of {variant}: {problem}")]
    Header {
        /// Variant of the target.
        variant: String,
        /// Name of the header.
        name: String,
        /// Problem, without the value.
        problem: String,
    },
}

/// HTTP client with its limits.
pub struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    max_answer: usize,
    results: usize,
}

/// Complete answer with status 200.
pub(super) struct Response {
    pub(super) body: Bytes,
    pub(super) latency: Duration,
}

/// Failed request.
pub(super) struct RequestError {
    pub(super) error: ErrorType,
    pub(super) detail: String,
    pub(super) latency: Duration,
    /// Delay that the endpoint asks for.
    pub(super) retry_after: Option<Duration>,
}

impl RequestError {
    /// Returns true if a repetition may succeed.
    pub(super) fn is_transient(&self) -> bool {
        match self.error {
            ErrorType::Timeout | ErrorType::Connection => true,
            ErrorType::Status(status) => matches!(status, 429 | 500 | 502 | 503 | 504),
            ErrorType::TooLarge | ErrorType::Malformed | ErrorType::Partial => false,
        }
    }
}

impl Client {
    /// Creates a client for the targets of `probe`.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    pub fn new(probe: &Probe) -> Result<Self, ClientError> {
        let secure = probe
            .targets
            .iter()
            .find(|target| target.request.is_https());
        let roots = if let Some(path) = &probe.ca_file {
            authorities(path)?
        } else {
            let mut roots = RootCertStore::empty();
            if let Some(target) = secure {
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    let variant = target.variant.clone();
                    return Err(ClientError::NoAuthorities { variant });
                }
            }
            roots
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|problem| ClientError::Tls(problem.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        // The connector of TLS calls this one for both schemes.
        tcp.enforce_http(false);
        // A head that waits for the acknowledgement of its predecessor would add to the latency.
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(probe.concurrency)
            .build(connector);
        Ok(Self {
            http: client,
            timeout: probe.timeout,
            max_answer: probe.max_answer,
            results: probe.results,
        })
    }

    /// Sends the request of `target` for `query`.
    pub(super) async fn send(
        &self,
        target: &ProbeTarget,
        headers: &HeaderMap,
        query: &GoldQuery,
    ) -> Result<Response, RequestError> {
        let start = Instant::now();
        let fail = |error, detail: String, retry_after| RequestError {
            error,
            detail,
            latency: start.elapsed(),
            retry_after,
        };
        let request = match request(target, headers, query, self.results) {
            Ok(request) => request,
            // The template was checked; only a very long query makes a URL that is not valid.
            Err(error) => return Err(fail(ErrorType::Malformed, error.to_string(), None)),
        };
        let exchange = async {
            let response = self
                .http
                .request(request)
                .await
                .map_err(|error| fail(ErrorType::Connection, with_causes(&error), None))?;
            let status = response.status();
            if status != StatusCode::OK {
                let after = response.headers().get(header::RETRY_AFTER);
                let after = after.and_then(|it| it.to_str().ok());
                let after = after.and_then(|it| retry_after(it, Timestamp::now()));
                let beginning = beginning(response.into_body()).await;
                let detail = format!("status {status}: {beginning}");
                return Err(fail(ErrorType::Status(status.as_u16()), detail, after));
            }
            let body = Limited::new(response.into_body(), self.max_answer).collect();
            let body = body.await.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    let detail = format!(
                        "the answer has more than {} bytes (probe.max_answer)",
                        self.max_answer
                    );
                    fail(ErrorType::TooLarge, detail, None)
                } else {
                    fail(ErrorType::Connection, with_causes(&*error), None)
                }
            })?;
            Ok(body.to_bytes())
        };
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Ok(body)) => Ok(Response {
                body,
                latency: start.elapsed(),
            }),
            Ok(Err(failed)) => Err(failed),
            Err(_elapsed) => {
                let detail = format!(
                    "no complete answer within {} ms (probe.timeout)",
                    self.timeout.as_millis()
                );
                Err(fail(ErrorType::Timeout, detail, None))
            }
        }
    }
}

/// Placeholders that are not labels of the gold query.
pub(super) const PLACEHOLDERS: [&str; 3] = ["query", "query_key", "size"];

/// Value of a placeholder in the requests of a gold query.
fn value<'q>(name: &str, query: &'q GoldQuery, results: usize) -> Option<TemplateValue<'q>> {
    let text = match name {
        "query" => query.text.as_deref()?,
        "query_key" => &query.key,
        "size" => return Some(TemplateValue::Number(results)),
        label => query.labels.get(label)?,
    };
    Some(TemplateValue::Text(text.into()))
}

fn request(
    target: &ProbeTarget,
    headers: &HeaderMap,
    query: &GoldQuery,
    results: usize,
) -> hyper::http::Result<Request<Full<Bytes>>> {
    let render = |template: &Template| template.render(|name| value(name, query, results));
    let method = match target.request.method {
        Method::Get => hyper::Method::GET,
        Method::Post => hyper::Method::POST,
    };
    let body = target.request.body.as_ref().map(render).unwrap_or_default();
    let mut request = Request::builder()
        .method(method)
        .uri(render(&target.request.url))
        .body(Full::new(Bytes::from(body)))?;
    *request.headers_mut() = headers.clone();
    Ok(request)
}

/// Resolves the headers of a target, with values from files and the environment.
///
/// # Errors
/// The first header whose value cannot be resolved.
pub(super) fn headers(target: &ProbeTarget) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let agent = concat!("rankgauge-probe/", env!("CARGO_PKG_VERSION"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    if target.request.body.is_some() {
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
    }
    for (name, value) in &target.headers {
        let error = |problem: String| ClientError::Header {
            variant: target.variant.clone(),
            name: name.clone(),
            problem,
        };
        let mut text = String::new();
        for part in value.parts() {
            match part {
                HeaderPart::Text(fixed) => text.push_str(fixed),
                HeaderPart::Variable(variable) => {
                    let secret = std::env::var(variable).map_err(|_| {
                        error(format!("the environment variable {variable} is not set"))
                    })?;
                    text.push_str(secret.trim());
                }
                HeaderPart::File(path) => {
                    let secret = std::fs::read_to_string(path)
                        .map_err(|problem| error(format!("{}: {problem}", path.display())))?;
                    text.push_str(secret.trim());
                }
            }
        }
        let name: HeaderName = name
            .parse()
            .map_err(|_| error("is not the name of a header".to_owned()))?;
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| error("its value has characters that a header cannot have".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn authorities(path: &Path) -> Result<RootCertStore, ClientError> {
    let error = |problem: String| ClientError::CaFile {
        path: path.display().to_string(),
        problem,
    };
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|problem| error(problem.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|problem| error(problem.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|problem| error(problem.to_string()))?;
    }
    if roots.is_empty() {
        return Err(error("contains no certificate in PEM".to_owned()));
    }
    Ok(roots)
}

/// First characters of the body of an error.
async fn beginning(body: hyper::body::Incoming) -> String {
    let body = Limited::new(body, 4096).collect().await;
    let bytes = body
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(120)
        .collect()
}

/// An error with its causes. Libraries differ in whether an error repeats its cause.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
        cause = error.source();
    }
    text
}
