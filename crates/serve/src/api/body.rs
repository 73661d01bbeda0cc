//! Body of a request.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Request, StatusCode};

use super::problem::ApiError;

/// Maximum size of a body.
const MAX_BODY: usize = 16 << 10;

/// Time limit for a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

/// Media type of a form of the page.
const FORM: &str = "application/x-www-form-urlencoded";

/// Body of a request.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    /// True if the client declares the body as a form.
    pub(crate) is_form: bool,
    /// User of the request, if the listener has authentication.
    pub(crate) by: Option<String>,
}

impl Body {
    /// Returns true if the body has the fields of a form. curl declares JSON as a form, unless it is given
    /// a type.
    pub(crate) fn has_form_fields(&self) -> bool {
        self.is_form && !self.bytes.trim_ascii_start().starts_with(b"{")
    }

    /// Reads the body of a request within its limits.
    pub(crate) async fn read(request: &mut Request<Incoming>) -> Result<Self, ApiError> {
        let content_type = request.headers().get(CONTENT_TYPE);
        let is_form = content_type.is_some_and(|it| it.as_bytes().starts_with(FORM.as_bytes()));
        let limited = Limited::new(request.body_mut(), MAX_BODY);
        let collected = tokio::time::timeout(BODY_TIMEOUT, limited.collect());
        let collected = collected.await.map_err(|_| {
            let limit = BODY_TIMEOUT.as_secs();
            let error = format!("the body did not arrive within {limit} s; send it at once");
            ApiError::new(StatusCode::REQUEST_TIMEOUT, error)
        })?;
        let body = collected.map_err(|problem| {
            let error = format!(
                "the body cannot be read, or exceeds {MAX_BODY} bytes: {problem}; send a whole body \
                 within this limit"
            );
            ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, error)
        })?;
        Ok(Self {
            bytes: body.to_bytes(),
            is_form,
            by: None,
        })
    }
}
