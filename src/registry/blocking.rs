//! Schemas for commands, which wait for each answer.

use std::time::{Duration, Instant};

use tracing::warn;

use super::answer::FetchError;
use super::client::Client;
use super::settings::Settings;
use rankgauge_core::decode::Formats;
use rankgauge_core::event::{Kind, Limits};

/// Time for which a registry is not asked again that did not answer.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Schemas for commands, which wait for each answer.
pub struct Blocking {
    client: Option<Client>,
    failed: Option<(Instant, String)>,
}

impl Blocking {
    /// Client of a registry, if there is one.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(settings: Option<&Settings>) -> anyhow::Result<Self> {
        Ok(Self {
            client: settings.map(Client::new).transpose()?,
            failed: None,
        })
    }

    /// Problem of the last request that the registry did not answer.
    pub fn problem(&self) -> Option<&str> {
        self.failed.as_ref().map(|(_, problem)| &**problem)
    }

    /// Requests the schema of a record, if it is needed and not known. A failure is logged.
    pub fn receive(&mut self, formats: &Formats, kind: Kind, payload: &[u8], limits: &Limits) {
        let (Some(client), Some(cache)) = (&self.client, formats.cache()) else {
            return;
        };
        let Some(id) = formats.missing_schema(kind, payload, limits) else {
            return;
        };
        if (self.failed.as_ref()).is_some_and(|(at, _)| at.elapsed() < RETRY_INTERVAL) {
            return;
        }
        match client.fetch(id) {
            Ok(schema) => cache.set(id, Ok(schema)),
            Err(FetchError::Invalid(problem)) => cache.set(id, Err(problem)),
            Err(FetchError::Missing) => cache.set_missing(id, true),
            Err(FetchError::Unavailable(problem)) => {
                warn!(schema = id, error = problem, "schema registry unavailable");
                self.failed = Some((Instant::now(), problem));
            }
        }
    }
}
