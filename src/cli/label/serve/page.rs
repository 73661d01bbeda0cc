//! Requests of the page: its files, the state of an annotator, and labels.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::labels::{LabelProblem, Labels};
use rankgauge_eval::labelling::sheet::{Agreement, Label, label};
use rankgauge_serve::guard;
use rankgauge_serve::server::{Handler, HttpResponse, response};

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const FILES: [(&str, &str, &str); 4] = [
    ("/icon.svg", "image/svg+xml", include_str!("icon.svg")),
    ("/", HTML, include_str!("page.html")),
    (
        "/page.js",
        "text/javascript; charset=utf-8",
        include_str!("page.js"),
    ),
    (
        "/page.css",
        "text/css; charset=utf-8",
        include_str!("page.css"),
    ),
];
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Maximum length of the body of a request, in bytes.
const MAX_BODY: usize = 1_024;

/// Page of the annotators.
pub(super) struct Page {
    pub(super) labels: Arc<Labels>,
    /// Address of the listener.
    pub(super) address: SocketAddr,
}

/// Progress of an annotator, with a row.
#[derive(Serialize)]
struct Progress<'a> {
    /// Rows of the sheet.
    rows: usize,
    /// Labels of this annotator.
    labelled: usize,
    scale_max: f64,
    agreement: Option<Agreement>,
    /// Row to show. `None` after the last one.
    row: Option<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    row: usize,
    query: &'a str,
    document: &'a str,
    text: &'a str,
    /// Label of this annotator, as in the sheet.
    grade: Option<String>,
}

/// Label of a row.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewLabel {
    annotator: usize,
    row: usize,
    /// Grade, or `skip`.
    grade: Value,
}

/// Failed request: status and text.
struct Refusal(StatusCode, String);

impl From<guard::Refused> for Refusal {
    fn from(refused: guard::Refused) -> Self {
        Self(StatusCode::FORBIDDEN, refused.to_string())
    }
}

impl From<LabelProblem> for Refusal {
    fn from(problem: LabelProblem) -> Self {
        let status = match problem {
            LabelProblem::Order { .. } | LabelProblem::Changed { .. } => StatusCode::CONFLICT,
            LabelProblem::Write { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, problem.to_string())
    }
}

fn bad(text: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, text.into())
}

impl Handler for Page {
    fn probe(&self, _request: &Request<Incoming>) -> Option<HttpResponse> {
        None
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        let answer = self.answer(request).await;
        answer.unwrap_or_else(|Refusal(status, text)| self.error(status, &text))
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        let body = serde_json::json!({ "error": text }).to_string();
        response(status, JSON, body)
    }
}

impl Page {
    async fn answer(&self, request: &mut Request<Incoming>) -> Result<HttpResponse, Refusal> {
        guard::host(request.headers(), self.address)?;
        let path = request.uri().path().to_owned();
        match (request.method(), path.as_str()) {
            (&Method::GET, "/label") => self.row(request.uri().query().unwrap_or_default()),
            (&Method::POST, "/label") => {
                guard::same_site(request.headers(), "http")?;
                let body = Limited::new(request.body_mut(), MAX_BODY).collect().await;
                let body = body.map_err(|error| bad(error.to_string()))?.to_bytes();
                self.add(&body)
            }
            (&Method::GET, path) => {
                let file = FILES.iter().find(|(known, ..)| *known == path);
                let (_, content_type, content) = file.ok_or_else(|| {
                    Refusal(
                        StatusCode::NOT_FOUND,
                        "there is /, and /label for its script".into(),
                    )
                })?;
                let mut found = response(StatusCode::OK, content_type, *content);
                let policy = HeaderValue::from_static(POLICY);
                found.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
                Ok(found)
            }
            _ => Err(Refusal(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET, and POST of /label".into(),
            )),
        }
    }

    /// Progress of an annotator: `annotator=1` or 2, optionally with the `row` to show.
    fn row(&self, query: &str) -> Result<HttpResponse, Refusal> {
        let (mut annotator, mut row) = (1, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let number = |value: &str| value.parse::<usize>();
            match pair.split_once('=') {
                Some(("annotator", value)) => annotator = number(value).unwrap_or(0),
                Some(("row", value)) => {
                    let number = number(value).map_err(|_| bad("`row` is a number from 1"))?;
                    row = Some(number);
                }
                _ => return Err(bad("the parameters are `annotator` and `row`")),
            }
        }
        self.progress(index_of(annotator)?, row)
    }

    fn progress(&self, annotator: usize, row: Option<usize>) -> Result<HttpResponse, Refusal> {
        let labels = &self.labels;
        let state = labels.state();
        let labelled = state.labelled.get(annotator).copied().unwrap_or(0);
        let at = row.map_or(Some(labelled), |row| row.checked_sub(1));
        let found = at.and_then(|at| state.sheet.rows.get(at).zip(labels.draw.rows.get(at)));
        let progress = Progress {
            rows: state.sheet.rows.len(),
            labelled,
            scale_max: labels.draw.scale_max,
            agreement: labels.agreement(&state.sheet),
            row: found.map(|(row, drawn)| Shown {
                row: row.row + 1,
                query: &drawn.query,
                document: &drawn.document,
                text: &row.text,
                grade: row
                    .labels
                    .get(annotator)
                    .copied()
                    .flatten()
                    .map(|it| it.to_string()),
            }),
        };
        let body = serde_json::to_string(&progress).map_err(|error| bad(error.to_string()))?;
        Ok(response(StatusCode::OK, JSON, body))
    }

    fn add(&self, body: &[u8]) -> Result<HttpResponse, Refusal> {
        let new: NewLabel = serde_json::from_slice(body)
            .map_err(|error| bad(format!("{error}; expected annotator, row and grade")))?;
        let annotator = index_of(new.annotator)?;
        let max = self.labels.draw.scale_max;
        let grade = label_of(&new.grade, max)
            .ok_or_else(|| bad(format!("`grade` is a number from 0 to {max}, or \"skip\"")))?;
        let row = new
            .row
            .checked_sub(1)
            .ok_or_else(|| bad("`row` is a number from 1"))?;
        self.labels.set(annotator, row, grade)?;
        // The next row, also after a correction.
        self.progress(annotator, Some(new.row + 1))
    }
}

/// Index of annotator 1 or 2.
fn index_of(annotator: usize) -> Result<usize, Refusal> {
    match annotator {
        1 | 2 => Ok(annotator - 1),
        _ => Err(bad("`annotator` is 1 or 2")),
    }
}

fn label_of(grade: &Value, max: f64) -> Option<Label> {
    match grade {
        Value::Number(number) => label(&number.to_string(), max)?,
        Value::String(text) => label(text, max)?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
