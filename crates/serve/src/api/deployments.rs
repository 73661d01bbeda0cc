//! Deployments: reported by operators, and listed.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{ApiError, status};
use crate::live::deployments::{Deployment, Deployments};
use rankgauge_core::time::WallTime;

/// Maximum size of the body of a request.
const MAX_BODY: usize = 16 << 10;

/// Time limit for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of a version or a note in bytes.
const MAX_TEXT: usize = 256;

/// Media type of a form of the page.
const FORM: &str = "application/x-www-form-urlencoded";

/// Body of a request.
#[derive(Debug, Default, Deserialize)]
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
pub(crate) struct Entry {
    pub(crate) time: String,
    #[serde(flatten)]
    pub(crate) deployment: Deployment,
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

pub(crate) fn entry(deployment: Deployment) -> Entry {
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

/// Reads the deployment in the body of a request: JSON, or the form of the page.
pub(super) async fn read(
    request: &mut Request<Incoming>,
    now: WallTime,
) -> Result<Deployment, ApiError> {
    let content_type = request.headers().get(CONTENT_TYPE);
    let is_form = content_type.is_some_and(|it| it.as_bytes().starts_with(FORM.as_bytes()));
    let limited = Limited::new(request.body_mut(), MAX_BODY);
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
    // curl declares JSON as a form, unless it is given a type.
    let is_json = body.trim_ascii_start().starts_with(b"{");
    let report = if is_form && !is_json {
        form(&body)?
    } else {
        serde_json::from_slice(&body).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not a deployment: {problem}; send JSON as {{\"variant\": \"V5\", \
                 \"version\": \"1.4.0\"}}, with optional ts and note"
            ))
        })?
    };
    deployment(report, now)
}

/// Reads the fields of the form.
fn form(body: &[u8]) -> Result<Report, ApiError> {
    let mut report = Report::default();
    let mut has_variant = false;
    for (name, value) in form_urlencoded::parse(body) {
        let value = value.trim().to_owned();
        match &*name {
            "variant" => {
                report.variant = value;
                has_variant = true;
            }
            "version" => report.version = value,
            "note" => report.note = Some(value).filter(|note| !note.is_empty()),
            _ => {
                let error = format!("\"{name}\" is not a field: use variant, version, note");
                return Err(ApiError::bad_request(error));
            }
        }
    }
    if has_variant {
        return Ok(report);
    }
    let error = "the form has no variant; send variant and version, with an optional note";
    Err(ApiError::bad_request(error))
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
