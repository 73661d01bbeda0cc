//! Client of a gateway, and the topics that it writes to.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::wait_until;

pub(crate) const SOON: Duration = Duration::from_mins(1);

/// Response of a gateway.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Head, in lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Gateway with topics of its own.
pub(crate) struct Gateway {
    pub(crate) process: Sidecar,
    pub(crate) address: SocketAddr,
    pub(crate) search: String,
    pub(crate) feedback: String,
}

impl Gateway {
    /// Starts `rankgauge gateway` with more lines of configuration.
    pub(crate) fn start(more: &str) -> Self {
        let topics = broker().unique_topics("gateway", 4);
        Self::on(broker(), topics, more)
    }

    /// Starts `rankgauge gateway` on topics of a broker.
    pub(crate) fn on(broker: &Broker, (search, feedback): (String, String), more: &str) -> Self {
        let settings = format!(
            "kafka:\n  brokers: {}\n  search_topic: {search}\n  feedback_topic: {feedback}\n  \
             properties: {{reconnect.backoff.max.ms: 200}}\n{more}\n",
            broker.bootstrap()
        );
        let process = Sidecar::gateway(&settings);
        let gateway = Self {
            address: process.gateway_address(),
            process,
            search,
            feedback,
        };
        gateway.await_ready();
        gateway
    }

    pub(crate) fn await_ready(&self) {
        wait_until(SOON, "the gateway is ready", || {
            (self.process.get("/readyz").0 == 200).then_some(())
        });
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn request(&self, head: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        request(self.address, head, headers, body).expect("the gateway responds")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.request(&format!("POST {path}"), &[], body.as_bytes())
    }

    /// Records of a topic as (key, payload), sorted.
    pub(crate) fn records(topic: &str) -> Vec<(String, String)> {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        let records = broker().consume(topic).into_iter();
        let mut records: Vec<_> = records
            .map(|record| (text(record.key), text(record.payload)))
            .collect();
        records.sort();
        records
    }
}

/// Sends a request: `head` is the method and the path.
pub(crate) fn request(
    address: SocketAddr,
    head: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<Response> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(SOON))?;
    let headers: String = headers
        .iter()
        .map(|(name, value)| [*name, ": ", *value, "\r\n"].concat())
        .collect();
    let length = body.len();
    let text = format!(
        "{head} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    connection.write_all(text.as_bytes())?;
    // A body that is too long is refused before its end.
    drop(connection.write_all(body));
    response(&mut connection)
}

/// Reads a response to its end.
pub(crate) fn response(connection: &mut TcpStream) -> std::io::Result<Response> {
    let mut bytes = Vec::new();
    let read = connection.read_to_end(&mut bytes);
    let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") else {
        read?;
        return Err(std::io::Error::other("no response"));
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Ok(Response {
        status: status.ok_or_else(|| std::io::Error::other("no status"))?,
        body: bytes.split_off(end + 4),
        head,
    })
}

/// Topics of a test that starts its processes itself.
pub(crate) fn topics() -> (String, String, String) {
    let (search, feedback) = broker().unique_topics("gateway", 4);
    (search, feedback, unique_name("gateway"))
}

/// Native search with one result.
pub(crate) fn search(number: usize) -> String {
    format!(
        r#"{{"query_id":"q{number}","ts":{},"query":"x","session_id":"s{number}","results":[{{"id":"a"}}]}}"#,
        1_763_337_600_000_usize + number
    )
}

/// Click on the result of [`search`].
pub(crate) fn click(number: usize) -> String {
    format!(
        r#"{{"event_id":"e{number}","ts":{},"query_id":"q{number}","type":"click","object_id":"a"}}"#,
        1_763_337_601_000_usize + number
    )
}
