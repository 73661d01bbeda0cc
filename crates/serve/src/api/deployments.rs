//! Deployments: reported by operators, and listed.

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::problem::ApiError;
use crate::live::deployments::{Deployment, Deployments};
use rankgauge_core::time::{EventTime, WallTime};

/// Maximum length of a version or a note in bytes.
const MAX_TEXT: usize = 256;

/// Times below, in milliseconds since 1970 until 1973, are meant as seconds.
const SECONDS_BELOW: i64 = 100_000_000_000;

/// Maximum time of a deployment in the future.
const MAX_AHEAD_MS: i64 = 24 * 3_600_000;

/// Body of a request.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "DeploymentReport")]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// Variant; empty for searches without one.
    #[schemars(length(max = MAX_TEXT))]
    variant: String,
    /// Deployed version, at most 256 bytes.
    #[schemars(length(min = 1, max = MAX_TEXT))]
    version: String,
    /// Time of the deployment: ISO 8601 with an offset, or milliseconds since 1970; now if it is left out.
    #[serde(default)]
    #[schemars(schema_with = "time_schema")]
    ts: Option<Time>,
    /// Remark of the operator.
    #[serde(default)]
    #[schemars(length(max = MAX_TEXT))]
    note: Option<String>,
    /// True to keep the baselines of the variant, so that a drop which begins with the deployment is found.
    /// False, or left out, if its scores are not comparable with those before: the baselines are reset when
    /// the request arrives.
    #[serde(default)]
    keeps_baselines: bool,
}

/// Time in milliseconds since 1970, or as text: ISO 8601 with an offset.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Time {
    Millis(i64),
    Text(String),
}

fn time_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [
        { "type": "integer", "minimum": -377_705_023_201_000_i64, "maximum": 253_402_207_200_999_i64 },
        { "type": "string" },
        { "type": "null" },
    ] })
}

/// Deployment in a response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Deployment")]
pub(crate) struct Entry {
    /// Time of the deployment. Its year can have more than four digits.
    pub(crate) time: String,
    #[serde(flatten)]
    pub(crate) deployment: Deployment,
}

/// Deployments, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Deployments")]
pub(crate) struct List {
    deployments: Vec<Entry>,
}

/// Accepted deployment, and the number of workers that it reaches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AcceptedDeployment {
    pub(crate) workers: usize,
    /// True if a search has the variant. The report of another one is kept: its first search can follow.
    pub(crate) has_searches: bool,
    pub(crate) deployment: Entry,
}

pub(crate) fn entry(deployment: Deployment) -> Entry {
    Entry {
        time: deployment.at().to_string(),
        deployment,
    }
}

pub(crate) fn list(deployments: &Deployments) -> List {
    List {
        deployments: deployments.latest().into_iter().map(entry).collect(),
    }
}

/// Deployment in the body of a request: JSON, or the form of the page.
pub(crate) fn read(body: &Body, now: WallTime) -> Result<Deployment, ApiError> {
    let report: Report = if body.has_form_fields() {
        form(&body.bytes)?
    } else {
        serde_json::from_slice(&body.bytes).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not a deployment: {problem}; send JSON as {{\"variant\": \"V5\", \
                 \"version\": \"1.4.0\"}}, with optional ts, note and keeps_baselines"
            ))
        })?
    };
    let mut deployment = deployment(report, now)?;
    deployment.by.clone_from(&body.by);
    Ok(deployment)
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
            "keeps_baselines" => report.keeps_baselines = value == "true",
            _ => {
                let error = format!(
                    "\"{name}\" is not a field: use variant, version, note, keeps_baselines"
                );
                return Err(ApiError::bad_request(error));
            }
        }
    }
    if has_variant {
        return Ok(report);
    }
    let error = "the form has no variant; send variant and version, with an optional note and \
                 keeps_baselines=true";
    Err(ApiError::bad_request(error))
}

fn deployment(report: Report, now: WallTime) -> Result<Deployment, ApiError> {
    let Report {
        variant,
        version,
        ts,
        note,
        keeps_baselines,
    } = report;
    let note_text = note.as_deref().unwrap_or_default();
    for (name, text) in [
        ("variant", variant.as_str()),
        ("version", version.as_str()),
        ("note", note_text),
    ] {
        if text.len() > MAX_TEXT {
            let error = format!("{name} is longer than {MAX_TEXT} bytes; shorten it");
            return Err(ApiError::bad_request(error));
        }
    }
    if version.is_empty() {
        return Err(ApiError::bad_request(
            "version is empty; state the deployed one",
        ));
    }
    let ts = match ts {
        None => now.0,
        Some(Time::Millis(millis)) => millis,
        Some(Time::Text(text)) => {
            let parsed = text.parse::<EventTime>();
            let EventTime(millis) = parsed.map_err(|problem| {
                ApiError::bad_request(format!(
                    "ts: \"{text}\" is {problem}; or send milliseconds since 1970, or leave ts out for now"
                ))
            })?;
            millis
        }
    };
    if Timestamp::from_millisecond(ts).is_err() {
        let error = format!(
            "ts: {ts} is no time in milliseconds since 1970; send one, or leave ts out for now"
        );
        return Err(ApiError::bad_request(error));
    }
    let ahead = ts.saturating_sub(now.0);
    if (0..SECONDS_BELOW).contains(&ts) {
        let error = format!(
            "ts: {ts} is a time in seconds; send milliseconds since 1970, or ISO 8601 with an offset"
        );
        return Err(ApiError::bad_request(error));
    }
    if ahead > MAX_AHEAD_MS {
        return Err(ApiError::bad_request(
            "ts: the deployment is more than a day ahead; report it when the version serves searches",
        ));
    }
    Ok(Deployment {
        variant,
        version,
        ts,
        note,
        keeps_baselines,
        ..Deployment::default()
    })
}
