//! Reading of requests without a listener and without a broker: every record counts as confirmed.

use hyper::body::Bytes;
use hyper::{HeaderMap, Uri};
use rankgauge_core::event::{Acceptance, Kind};

use crate::answer::{Answer, Refusal};
use crate::body::Body;
use crate::events::{Reader, Record, Sink, read_body};
use crate::memory::Memory;
use crate::routes::{KnownFormats, form, is_lines, reading, route};
use crate::settings::Settings;
use rankgauge_serve::gateway::Route;

/// Request of the present settings.
#[derive(Debug)]
pub struct Offline {
    /// Limits and key.
    pub settings: Settings,
    /// Conditions for events.
    pub acceptance: Acceptance,
    /// Formats of the configuration.
    pub formats: KnownFormats,
}

/// Record that a gateway would write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfflineRecord {
    /// Kind of the event.
    pub kind: Kind,
    /// Key of the record.
    pub key: String,
    /// Native event.
    pub payload: Vec<u8>,
}

/// Response to a request, with the records that it became.
#[derive(Debug)]
pub struct OfflineResponse {
    /// Status code of HTTP.
    pub status: u16,
    /// Body.
    pub body: Bytes,
    /// Records, in the order of the request.
    pub records: Vec<OfflineRecord>,
}

struct Collected {
    records: Vec<OfflineRecord>,
    limit: usize,
}

impl Sink for Collected {
    fn record(&mut self, record: &Record<'_>) -> Result<(), Refusal> {
        if self.records.len() == self.limit {
            return Err(Refusal::TooManyEvents(self.limit));
        }
        self.records.push(OfflineRecord {
            kind: record.kind,
            key: record.key.to_owned(),
            payload: record.payload.to_vec(),
        });
        Ok(())
    }
}

impl Offline {
    /// Response to a `POST` of `body`.
    pub fn post(&self, uri: &Uri, headers: &HeaderMap, body: Vec<u8>) -> OfflineResponse {
        let route = route(uri.path()).unwrap_or(Route::Other);
        let mut records = Collected {
            records: Vec::new(),
            limit: self.settings.max_events,
        };
        let answered = self.read(uri, route, headers, body, &mut records);
        let form = form(route, headers);
        let response = match answered {
            Ok(answer) => answer.into_response(form),
            Err(refusal) => {
                records.records.clear();
                refusal.into_response(form)
            }
        };
        OfflineResponse {
            status: response.status().as_u16(),
            body: response.into_body().into_inner().unwrap_or_default(),
            records: records.records,
        }
    }

    fn read(
        &self,
        uri: &Uri,
        route: Route,
        headers: &HeaderMap,
        body: Vec<u8>,
        records: &mut Collected,
    ) -> Result<Answer, Refusal> {
        let reading = reading(route, uri, headers, &self.formats)?;
        let memory = Memory::new(self.settings.memory);
        let body = Body::of_bytes(body, headers, &self.settings, &memory)?;
        let mut reader = Reader::new(self.settings.key, self.acceptance, records);
        read_body(
            &mut reader,
            (route, reading),
            is_lines(headers),
            &body.bytes,
            (&self.settings, &memory),
        )?;
        let (rejected, ignored) = (reader.rejected, reader.ignored);
        Ok(Answer {
            accepted: records.records.len(),
            ignored,
            rejected,
            is_logs: route == Route::Logs,
        })
    }
}
