//! Acknowledgements of incidents, and notes of operators on them.

use hyper::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::incidents::{AcknowledgedEntry, IncidentEntry, NoteEntry, one};
use super::parameters::Parameters;
use super::problem::ApiError;
use super::state::AdminApi;
use crate::clock::wall_now;
use crate::live::{Order, ReportedCommand};
use rankgauge_core::engine::incidents::{Acknowledged, Note};

/// Body of an acknowledgement. It may be empty.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Acknowledgement {
    /// Name of the operator, at most 256 bytes. With authentication, the user of the request is stored
    /// instead.
    #[serde(default)]
    #[schemars(length(max = MAX_NAME))]
    by: Option<String>,
}

/// Body of a request for a note.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "NoteRequest")]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// Text, at most 2,000 bytes.
    #[schemars(length(min = 1, max = Note::MAX_BYTES))]
    text: String,
    /// Name of the operator, at most 256 bytes. With authentication, the user of the request is stored
    /// instead.
    #[serde(default)]
    #[schemars(length(max = MAX_NAME))]
    by: Option<String>,
}

/// Maximum length of the name of an operator in bytes.
const MAX_NAME: usize = 256;

/// Kept note, and the number of workers that keep it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct NotedIncident {
    pub(crate) workers: usize,
    pub(crate) id: String,
    pub(crate) note: NoteEntry,
}

/// Acknowledged incident, and the number of workers that note it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AcknowledgedIncident {
    pub(crate) workers: usize,
    pub(crate) id: String,
    /// True for the first acknowledgement. Later ones change nothing.
    pub(crate) is_first: bool,
    /// The first acknowledgement.
    pub(crate) acknowledged: AcknowledgedEntry,
}

/// Acknowledges the incident in the path.
pub(crate) fn acknowledge(
    api: &AdminApi,
    params: &Parameters,
    body: &Body,
) -> Result<AcknowledgedIncident, ApiError> {
    let found = one(api, params)?;
    let mut stated = Acknowledgement::default();
    if body.has_form_fields() {
        for (name, value) in form_urlencoded::parse(&body.bytes) {
            match &*name {
                "by" => stated.by = given(&value),
                _ => return Err(unknown_field(&name, "by")),
            }
        }
    } else if !body.bytes.trim_ascii().is_empty() {
        stated = serde_json::from_slice(&body.bytes).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not an acknowledgement: {problem}; send none, or JSON as {{\"by\": \"name\"}}"
            ))
        })?;
    }
    let by = operator(body, stated.by)?;
    let given = Acknowledged {
        at: wall_now(),
        by: by.as_deref().map(Into::into),
    };
    let control = &api.exposition.control;
    let first = control.acknowledge(number(&found)?, given.clone());
    let first = first.as_ref().map(AcknowledgedEntry::from);
    let first = found.acknowledged.or(first);
    Ok(AcknowledgedIncident {
        workers: api.exposition.published.views.len(),
        id: found.id,
        is_first: first.is_none(),
        acknowledged: first.unwrap_or_else(|| AcknowledgedEntry::from(&given)),
    })
}

/// Adds a note to the incident in the path.
pub(crate) fn note(
    api: &AdminApi,
    params: &Parameters,
    body: &Body,
) -> Result<NotedIncident, ApiError> {
    let found = one(api, params)?;
    let stated = if body.has_form_fields() {
        let mut stated = NewNote {
            text: String::new(),
            by: None,
        };
        for (name, value) in form_urlencoded::parse(&body.bytes) {
            match &*name {
                "text" => stated.text = value.into_owned(),
                "by" => stated.by = given(&value),
                _ => return Err(unknown_field(&name, "text, by")),
            }
        }
        stated
    } else {
        serde_json::from_slice(&body.bytes).map_err(|problem| {
            ApiError::bad_request(format!(
                "the body is not a note: {problem}; send JSON as {{\"text\": \"rolled back\"}}, with an optional by"
            ))
        })?
    };
    let text = stated.text.trim();
    if text.is_empty() || text.len() > Note::MAX_BYTES {
        let error = format!(
            "text has {} bytes; a note has from 1 to {}",
            text.len(),
            Note::MAX_BYTES
        );
        return Err(ApiError::bad_request(error));
    }
    if found.notes.len() >= Note::MAX_NUMBER {
        let error = format!(
            "the incident has {} notes, the maximum; write further ones in a ticket",
            Note::MAX_NUMBER
        );
        return Err(ApiError::new(StatusCode::CONFLICT, error));
    }
    let by = operator(body, stated.by)?;
    let reported = wall_now();
    let note = Note {
        at: reported,
        by: by.as_deref().map(Into::into),
        text: text.into(),
    };
    api.exposition.control.execute(ReportedCommand {
        reported,
        by,
        order: Order::Note {
            incident: number(&found)?,
            text: text.to_owned(),
        },
    });
    Ok(NotedIncident {
        workers: api.exposition.published.views.len(),
        note: NoteEntry::from(&note),
        id: found.id,
    })
}

/// Value of a field of a form, unless it is empty.
fn given(value: &str) -> Option<String> {
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

fn unknown_field(name: &str, known: &str) -> ApiError {
    ApiError::bad_request(format!("\"{name}\" is not a field: use {known}"))
}

/// Name of the operator: the user of the request, or the stated one.
fn operator(body: &Body, stated: Option<String>) -> Result<Option<String>, ApiError> {
    let by = body.by.clone().or(stated);
    if by.as_ref().is_some_and(|by| by.len() > MAX_NAME) {
        let error = format!("by is longer than {MAX_NAME} bytes; shorten it");
        return Err(ApiError::bad_request(error));
    }
    Ok(by)
}

/// Number of an incident.
fn number(found: &IncidentEntry) -> Result<u64, ApiError> {
    let number = u64::from_str_radix(&found.id, 16);
    number.map_err(|_| ApiError::bad_request("the id is no hexadecimal number"))
}
