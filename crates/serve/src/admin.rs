//! The admin listener: finds the endpoint of a request, checks it, and responds as JSON or as a page.

use std::net::SocketAddr;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, Request, StatusCode};

use crate::api::AdminApi;
use crate::api::body::Body;
use crate::api::problem::ApiError;
use crate::endpoints::{Answer, ENDPOINTS, Endpoint, names};
use crate::server::{Handler, HttpResponse, compressible_response};
use crate::web::Web;
use crate::{guard, page};

const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

/// Handler of the admin listener.
#[derive(Debug)]
pub struct AdminListener {
    /// State that it shows.
    pub api: AdminApi,
    /// Address of the listener.
    pub address: SocketAddr,
    /// TLS and authentication of the listener.
    pub web: Arc<Web>,
}

impl AdminListener {
    async fn respond(&self, request: &mut Request<Incoming>) -> Result<HttpResponse, ApiError> {
        if !self.web.is_protected() {
            guard::host(request.headers(), self.address)?;
        }
        let endpoint = endpoint(request)?;
        if endpoint.is_command() {
            guard::same_site(request.headers(), self.web.scheme())?;
        }
        let params = endpoint.parameters(request.uri())?;
        let api = &self.api;
        match &endpoint.answer {
            Answer::Json {
                markdown: Some(markdown),
                ..
            } if params.single("format") == Some("markdown") => Ok(compressible_response(
                "text/markdown; charset=utf-8",
                markdown(api, &params)?.into_bytes(),
                request.headers(),
            )),
            Answer::Json { read, .. } => Ok(compressible_response(
                JSON,
                read(api, &params)?,
                request.headers(),
            )),
            Answer::Csv(read) => Ok(compressible_response(
                CSV,
                read(api, &params)?,
                request.headers(),
            )),
            Answer::Command { run, body, .. } => {
                let mut body = match body {
                    Some(_) => Body::read(request).await?,
                    None => Body::default(),
                };
                body.by = self.web.user(request.headers());
                let done = run(api, params, body).await?;
                if page::is_wanted(request)
                    && let Some(address) = done.page
                {
                    return Ok(page::see_other(address));
                }
                let mut response = compressible_response(JSON, done.json, request.headers());
                *response.status_mut() = endpoint.status;
                Ok(response)
            }
            Answer::Screen(screen) => Ok(page::response(api, &screen(api, &params)?, request)),
            Answer::Asset { content_type, text } => {
                let body = text.as_bytes().to_vec();
                let mut response = compressible_response(content_type, body, request.headers());
                let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
                response.headers_mut().insert(CACHE_CONTROL, immutable);
                Ok(response)
            }
        }
    }
}

/// Endpoint of a request.
fn endpoint(request: &Request<Incoming>) -> Result<&'static Endpoint, ApiError> {
    let path = request.uri().path();
    let mut at_path: Vec<&Endpoint> = ENDPOINTS
        .iter()
        .filter(|it| it.captured(path).is_some())
        .collect();
    let longest = at_path.iter().map(|it| it.fixed_length()).max();
    at_path.retain(|it| Some(it.fixed_length()) == longest);
    if at_path.is_empty() {
        let error = ApiError::new(
            StatusCode::NOT_FOUND,
            format!("no endpoint at {path}; use one of the list of /api/v1"),
        );
        return Err(error.with_endpoints(names()));
    }
    let found = at_path
        .iter()
        .find(|endpoint| endpoint.methods.contains(request.method()));
    found.copied().ok_or_else(|| {
        let methods = at_path.iter().flat_map(|endpoint| endpoint.methods);
        let allowed: Vec<&str> = methods.map(Method::as_str).collect();
        let allowed = allowed.join(", ");
        let error = format!("{path} accepts {allowed} only");
        let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, error);
        error.with_methods(allowed)
    })
}

impl Handler for AdminListener {
    fn probe(&self, request: &Request<Incoming>) -> Option<HttpResponse> {
        self.api.exposition.probe(request)
    }

    async fn handle(&self, request: &mut Request<Incoming>) -> HttpResponse {
        let answered = self.respond(request).await;
        answered.unwrap_or_else(|error| {
            if page::is_wanted(request) {
                return page::error_response(&error);
            }
            error.into_response()
        })
    }

    fn error(&self, status: StatusCode, text: &str) -> HttpResponse {
        ApiError::new(status, text).into_response()
    }
}
