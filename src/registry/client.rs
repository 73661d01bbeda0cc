//! HTTP client of a registry, with limits of time and size.

use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::Agent;

use super::answer::{FetchError, Reference, schema_of_answers};
use super::settings::{Credentials, Settings};
use crate::https;
use rankgauge_core::decode::schema::Schema;

/// Maximum size of a response in bytes.
const MAX_RESPONSE: u64 = 8 << 20;

/// HTTP client of a registry.
pub struct Client {
    agent: Agent,
    url: String,
    authorization: Option<String>,
}

impl Client {
    /// Creates a client.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(settings: &Settings) -> anyhow::Result<Self> {
        let Settings {
            url,
            credentials,
            ca_file,
            timeout,
        } = settings;
        let authorization = credentials.as_ref().map(|credentials| match credentials {
            Credentials::Basic { username, password } => {
                let encoded = BASE64_STANDARD.encode(format!("{username}:{password}"));
                format!("Basic {encoded}")
            }
            Credentials::Bearer(token) => format!("Bearer {token}"),
        });
        Ok(Self {
            agent: https::agent(url, ca_file.as_deref(), "registry.ca_file", *timeout)?,
            url: url.clone(),
            authorization,
        })
    }

    /// Requests the schema of an id, and those that it refers to.
    ///
    /// # Errors
    /// [`FetchError`].
    pub fn fetch(&self, id: u32) -> Result<Schema, FetchError> {
        let main = self.get(&format!("schemas/ids/{id}"))?;
        schema_of_answers(&main, &mut |Reference { subject, version }| {
            let subject = utf8_percent_encode(subject, NON_ALPHANUMERIC);
            self.get(&format!("subjects/{subject}/versions/{version}"))
        })
    }

    fn get(&self, path: &str) -> Result<Vec<u8>, FetchError> {
        let url = &self.url;
        let unavailable = |problem: String| FetchError::Unavailable(format!("{url} {problem}"));
        let mut request = self.agent.get(format!("{url}/{path}"));
        request = request.header(
            "Accept",
            "application/vnd.schemaregistry.v1+json, application/json",
        );
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let response = request.call().map_err(|problem| {
            let remedy = https::remedy(&problem, url, ["registry.url", "registry.ca_file"]);
            let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
            unavailable(format!("does not answer: {problem}{remedy}"))
        })?;
        let status = response.status();
        let mut content = Vec::new();
        let body = response.into_body().into_reader();
        let read = body.take(MAX_RESPONSE + 1).read_to_end(&mut content);
        read.map_err(|problem| unavailable(format!("does not end its answer: {problem}")))?;
        let is_too_large = u64::try_from(content.len()).is_ok_and(|it| it > MAX_RESPONSE);
        match status.as_u16() {
            200 if is_too_large => Err(FetchError::Invalid(format!(
                "has more than {MAX_RESPONSE} bytes"
            ))),
            200 => Ok(content),
            404 => Err(FetchError::Missing),
            401 | 403 => Err(unavailable(format!(
                "answers with {status}; set registry.username and registry.password, or registry.token"
            ))),
            _ => Err(unavailable(format!("answers with {status}"))),
        }
    }
}
