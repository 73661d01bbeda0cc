//! The live page: what the API serves as JSON, for people.
//!
//! Every screen is rendered on the server from the structures that the API serialises, so both show
//! the same numbers. Texts from events are escaped by construction (maud). The page loads one style
//! sheet and one script of this server, and nothing else: its content security policy forbids the
//! rest.

mod alarms;
mod chart;
mod deployments;
mod experiments;
mod format;
mod gold;
mod incidents;
mod overview;
mod pipeline;
mod queries;
mod query;
mod scores;
mod screen;
mod system;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use hyper::{Request, StatusCode};
use maud::{Markup, html};

use super::api::parameters::{Parameter, Parameters};
use super::api::problem::ApiError;
use super::api::status;
use super::api::{self, Accepted, AdminApi, Reload};
use super::server::{self, HttpResponse, compressible_response};
use crate::clock::wall_now;
pub(super) use deployments::deployed;
use format::size;
pub(super) use screen::Screen;
use screen::{ALARM_ICON, ICON, PROBLEM_ICON, SCRIPT, STYLE, document};

const HTML: &str = "text/html; charset=utf-8";
/// Policy of a page: its own style sheet and script, requests and forms to this server, and nothing
/// else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Screen at an address of the page.
type ScreenOf = fn(&AdminApi, &Parameters) -> Result<Screen, ApiError>;

/// Addresses of the screens, with their parameters.
pub(super) const SCREENS: [(&str, &[Parameter], ScreenOf); 10] = [
    ("/", &overview::PARAMETERS, overview::screen),
    ("/queries", &api::queries::PARAMETERS, queries::screen),
    ("/queries/{key}", &api::query::PARAMETERS, query::screen),
    ("/systems", &system::PARAMETERS, system::index),
    ("/systems/{variant}", &system::PARAMETERS, system::screen),
    ("/incidents", &api::incidents::PARAMETERS, incidents::index),
    (
        "/incidents/{id}",
        &api::incidents::ONE_PARAMETERS,
        incidents::screen,
    ),
    ("/experiments", &[], |admin, _| {
        Ok(experiments::screen(admin))
    }),
    ("/pipeline", &[], |admin, _| Ok(pipeline::screen(admin))),
    ("/gold", &api::gold::PARAMETERS, gold::screen),
];

/// Addresses, content types and texts of the files of the page.
pub(super) const ASSETS: [(&str, &str, &str); 5] = [
    ("/assets/page.css", "text/css; charset=utf-8", STYLE),
    ("/assets/page.js", "text/javascript; charset=utf-8", SCRIPT),
    ("/assets/icon.svg", "image/svg+xml", ICON),
    ("/assets/icon-alarm.svg", "image/svg+xml", ALARM_ICON),
    ("/assets/icon-problem.svg", "image/svg+xml", PROBLEM_ICON),
];

/// Parameters of the files: the version of the page that names them.
pub(super) const ASSET_PARAMETERS: [Parameter; 1] = [Parameter::text("v", "Version of the page.")];

/// Response with a screen.
pub(super) fn response(
    admin: &AdminApi,
    screen: &Screen,
    request: &Request<Incoming>,
) -> HttpResponse {
    let status = status::of(admin, wall_now());
    let body = document(Some(&status), screen).into_string();
    with_policy(compressible_response(
        HTML,
        body.into_bytes(),
        request.headers(),
    ))
}

/// Returns true if the client is a browser that expects a page: not one of the API's programs.
pub(super) fn is_wanted(request: &Request<Incoming>) -> bool {
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    !request.uri().path().starts_with("/api/")
        && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Page of an error.
pub(super) fn error_response(error: &ApiError) -> HttpResponse {
    let content = html! {
        h1 { (error.title()) }
        p { (error.detail) }
        @if !error.problems.is_empty() {
            ul { @for problem in &error.problems { li { (format::text(problem)) } } }
        }
        p { a href="/" { "Overview" } }
    };
    let screen = Screen {
        title: error.title().to_owned(),
        tab: "",
        json: "/api/v1".to_owned(),
        content,
    };
    let body = document(None, &screen).into_string();
    with_policy(error.with_allow(server::response(error.status(), HTML, body)))
}

/// Page of a finished reload of the gold set.
pub(super) fn reloaded(reload: &Reload) -> (&'static str, Markup) {
    let title = if reload.changed {
        "The gold set was reloaded"
    } else {
        "The gold set is unchanged"
    };
    let text = html! {
        dl.facts {
            div { dt { "Before" } dd { (reload.before.version) ", " (size(reload.before.queries)) " queries" } }
            div { dt { "Now" } dd { (reload.after.version) ", " (size(reload.after.queries)) " queries" } }
        }
        p { a href="/gold" { "Gold set" } }
    };
    (title, text)
}

/// Page of an accepted reset of the baselines.
pub(super) fn baselines_reset(accepted: &Accepted) -> (&'static str, Markup) {
    let text = html! {
        p { (accepted.workers) " workers learn new baselines from the following searches." }
        p { a href="/systems" { "Systems" } }
    };
    ("The baselines are being reset", text)
}

/// Response with the result of a command.
pub(super) fn done(title: &str, text: &Markup) -> HttpResponse {
    let screen = Screen {
        title: title.to_owned(),
        tab: "",
        json: "/api/v1/status".to_owned(),
        content: html! { h1 { (title) } (text) },
    };
    let body = document(None, &screen).into_string();
    with_policy(server::response(StatusCode::OK, HTML, body))
}

fn with_policy(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Without a referrer policy of its own, a form would send `Origin: null`, which the check of
    // commands rejects.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
