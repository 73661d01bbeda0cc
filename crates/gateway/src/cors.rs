//! Requests of pages in a browser, by their origin (CORS).
//!
//! A page can send a simple request to any address, also to the loopback of its user. A request with the
//! origin of a page that is not configured is therefore refused, not only its answer kept from the page.

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, HeaderName, HeaderValue, ORIGIN, VARY,
};
use hyper::{HeaderMap, StatusCode};
use rankgauge_serve::server::{HttpResponse, response};

/// Origins whose pages can send events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins(Vec<HeaderValue>);

/// Origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin<'o> {
    /// The request is not of a page.
    None,
    /// A configured origin, or `*`.
    Allowed(&'o HeaderValue),
    /// Another origin.
    Refused,
}

impl Origins {
    pub(crate) fn new(origins: &[String]) -> Self {
        let values = origins.iter();
        Self(
            values
                .filter_map(|it| HeaderValue::from_str(it).ok())
                .collect(),
        )
    }

    pub(crate) fn of(&self, headers: &HeaderMap) -> Origin<'_> {
        let Some(origin) = headers.get(ORIGIN) else {
            return Origin::None;
        };
        let mut allowed = self.0.iter();
        allowed
            .find(|allowed| *allowed == "*" || *allowed == origin)
            .map_or(Origin::Refused, Origin::Allowed)
    }
}

impl Origin<'_> {
    /// Adds the headers that let the page read the response.
    pub(crate) fn allow(self, headers: &mut HeaderMap) {
        let Self::Allowed(origin) = self else { return };
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(VARY, HeaderValue::from_static("origin"));
        headers.insert(
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("cross-origin"),
        );
    }

    /// Response to a preflight request; `None` if the origin is not allowed.
    pub(crate) fn preflight(self) -> Option<HttpResponse> {
        if !matches!(self, Self::Allowed(_)) {
            return None;
        }
        let mut response = response(StatusCode::NO_CONTENT, "text/plain", "");
        let headers = response.headers_mut();
        self.allow(headers);
        let fixed = [
            (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
            (
                ACCESS_CONTROL_ALLOW_HEADERS,
                "content-type, content-encoding, authorization",
            ),
            (ACCESS_CONTROL_MAX_AGE, "3600"),
        ];
        for (name, value) in fixed {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Some(response)
    }
}
