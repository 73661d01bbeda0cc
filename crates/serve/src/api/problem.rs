//! Error responses as problem details (RFC 9457).

use hyper::StatusCode;
use hyper::header::ALLOW;
use schemars::JsonSchema;
use serde::Serialize;

use crate::guard::Refused;
use crate::server::{HttpResponse, response};

/// Media type of problem details.
const PROBLEM_JSON: &str = "application/problem+json";

/// Error response.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ApiError {
    /// No documentation of single problem types: the status is the type.
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    /// Cause and remedy.
    pub(crate) detail: String,
    /// Individual problems, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    /// Existing endpoints, in the response to an unknown path.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    endpoints: Box<[String]>,
    #[serde(skip)]
    allow: Option<Box<str>>,
}

impl From<Refused> for ApiError {
    fn from(refused: Refused) -> Self {
        Self::new(StatusCode::FORBIDDEN, refused.to_string())
    }
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
            problems: Vec::new(),
            endpoints: Box::default(),
            allow: None,
        }
    }

    /// Error response with status 400: the request is invalid.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// This error with the existing endpoints.
    pub(crate) fn with_endpoints(mut self, endpoints: Vec<String>) -> Self {
        self.endpoints = endpoints.into();
        self
    }

    /// This error with the allowed methods.
    pub(crate) fn with_methods(mut self, allow: String) -> Self {
        self.allow = Some(allow.into());
        self
    }

    /// This error with its single problems.
    pub(super) fn with_problems(mut self, problems: Vec<String>) -> Self {
        self.problems = problems;
        self
    }

    /// Status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Name of the status: `Not Found`.
    pub(crate) fn title(&self) -> &'static str {
        self.title
    }

    /// The response with problem details.
    pub(crate) fn into_response(self) -> HttpResponse {
        // An error response always serialises: it consists of strings.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        self.with_allow(response(self.status(), PROBLEM_JSON, body))
    }

    /// Adds the header `Allow` to a response to this error.
    pub(crate) fn with_allow(&self, mut response: HttpResponse) -> HttpResponse {
        if let Some(allow) = self.allow.as_ref().and_then(|allow| allow.parse().ok()) {
            let headers = response.headers_mut();
            headers.insert(ALLOW, allow);
        }
        response
    }
}
