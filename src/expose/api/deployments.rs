//! Deployments: reported by operators, and listed.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::StatusCode;
use hyper::body::Incoming;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ApiError, status};
use crate::ingest::deployments::{Deployment, Deployments};
use rankgauge_core::time::WallTime;

/// Maximum size of the body of a request.
const MAX_BODY: usize = 16 << 10;

/// Time limit for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of a version or a note in bytes.
const MAX_TEXT: usize = 256;

/// Body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    variant: String,
    version: String,
    #[serde(default)]
    ts: Option<Time>,
    #[serde(default)]
    note: Option<String>,
}

/// Time in milliseconds since 1970, or as RFC 3339 text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Time {
    Millis(i64),
    Text(String),
}

/// Deployment in a response.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    time: String,
    #[serde(flatten)]
    deployment: Deployment,
}

/// Deployments, newest first.
#[derive(Debug, Serialize)]
pub(super) struct List {
    deployments: Vec<Entry>,
}

/// Accepted deployment, and the number of workers that reset its baselines.
#[derive(Debug, Serialize)]
pub(super) struct AcceptedDeployment {
    pub(super) workers: usize,
    pub(super) deployment: Entry,
}

pub(super) fn entry(deployment: Deployment) -> Entry {
    Entry {
        time: status::time(deployment.at()),
        deployment,
    }
}

pub(super) fn list(deployments: &Deployments) -> List {
    List {
        deployments: deployments.latest().into_iter().map(entry).collect(),
    }
}

/// Reads the deployment in the body of a request.
pub(super) async fn read(body: &mut Incoming, now: WallTime) -> Result<Deployment, ApiError> {
    let limited = Limited::new(body, MAX_BODY);
    let collected = tokio::time::timeout(BODY_TIMEOUT, limited.collect());
    let collected = collected.await.map_err(|_| {
        let error = format!(
            "the body did not arrive within {} s",
            BODY_TIMEOUT.as_secs()
        );
        ApiError::new(StatusCode::REQUEST_TIMEOUT, error)
    })?;
    let body = collected
        .map_err(|problem| {
            let error = format!("the body cannot be read, or exceeds {MAX_BODY} bytes: {problem}");
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error)
        })?
        .to_bytes();
    let report: Report = serde_json::from_slice(&body).map_err(|problem| {
        ApiError::bad_request(format!(
            "the body is not a deployment: {problem}; send JSON as {{\"variant\": \"V5\", \
             \"version\": \"1.4.0\"}}, with optional ts and note"
        ))
    })?;
    deployment(report, now)
}

fn deployment(report: Report, now: WallTime) -> Result<Deployment, ApiError> {
    let Report {
        variant,
        version,
        ts,
        note,
    } = report;
    let note_text = note.as_deref().unwrap_or_default();
    for (name, text) in [
        ("variant", variant.as_str()),
        ("version", version.as_str()),
        ("note", note_text),
    ] {
        if text.len() > MAX_TEXT {
            let error = format!("{name} is longer than {MAX_TEXT} bytes");
            return Err(ApiError::bad_request(error));
        }
    }
    if version.is_empty() {
        return Err(ApiError::bad_request("version is empty"));
    }
    let ts = match ts {
        None => now.0,
        Some(Time::Millis(millis)) => millis,
        Some(Time::Text(text)) => {
            let parsed: Result<Timestamp, _> = text.parse();
            let parsed = parsed.map_err(|_| {
                ApiError::bad_request(format!(
                    "ts: \"{text}\" is neither milliseconds since 1970 nor an RFC 3339 time"
                ))
            })?;
            parsed.as_millisecond()
        }
    };
    if Timestamp::from_millisecond(ts).is_err() {
        let error = format!("ts: {ts} is no time in milliseconds since 1970");
        return Err(ApiError::bad_request(error));
    }
    Ok(Deployment {
        variant,
        version,
        ts,
        note,
    })
}
