//! The live page: what the API serves as JSON, for people.
//!
//! Every screen is rendered on the server from the structures that the API serialises, so both show
//! the same numbers. Texts from events are escaped by construction (maud). The page loads one style
//! sheet and one script of this server, and nothing else: its content security policy forbids the
//! rest.

mod chart;
mod choices;
mod deployments;
mod evaluators;
mod experiments;
mod format;
mod gold;
mod incident_card;
mod incidents;
mod list_changes;
mod missed_targets;
mod overview;
mod pipeline;
mod quality;
mod queries;
mod query;
mod scores;
mod screen;
mod side_by_side;
mod system;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_SECURITY_POLICY, HeaderValue, LOCATION, REFERRER_POLICY};
use hyper::{Request, StatusCode};
use maud::html;

use super::api::parameters::{Parameter, Parameters};
use super::api::problem::ApiError;
use super::api::{self, AdminApi, status};
use super::server::{self, HttpResponse, compressible_response};
use crate::clock::wall_now;
use choices::Choices;
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
    ("/queries/{key}", &query::PARAMETERS, query::screen),
    ("/systems", &system::INDEX_PARAMETERS, system::index),
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
    let result = result(request.uri().query());
    let lines = if status.open_incidents == 0 || ["overview", "incidents"].contains(&screen.tab) {
        html! {}
    } else {
        incident_card::lines(&api::incidents::open_entries(admin))
    };
    let body = document(Some(&status), (result, &lines), screen).into_string();
    let body = Choices::of(request.uri().query()).kept_in(body);
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
    let body = document(None, (None, &html! {}), &screen).into_string();
    with_policy(error.with_allow(server::response(error.status(), HTML, body)))
}

/// Results of commands: their words in an address, with a sentence.
const RESULTS: [(&str, &str); 6] = [
    ("reloaded", "The gold set was reloaded."),
    ("unchanged", "The gold set is unchanged."),
    (
        "baselines",
        "The baselines are being reset: all workers learn new ones from the following searches.",
    ),
    ("deployed", "The deployment is recorded."),
    ("acknowledged", "The incident is acknowledged."),
    ("noted", "The note is kept."),
];

/// Name of the result of a command in the address of a screen.
const RESULT: &str = "done";

/// Names that every screen accepts in its address.
pub(super) const ACCEPTED: [&str; 4] = [
    choices::NAMES[0],
    choices::NAMES[1],
    choices::NAMES[2],
    RESULT,
];

/// Sentence about the result of the command that led to a screen.
fn result(query: Option<&str>) -> Option<&'static str> {
    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let (_, word) = pairs.find(|(name, _)| name == RESULT)?;
    let (_, sentence) = RESULTS.iter().find(|(it, _)| *it == word)?;
    Some(sentence)
}

/// Response to a command of a form: a browser reads the screen at `address`, and a reload of it does not
/// repeat the command.
pub(super) fn see_other(address: &'static str) -> HttpResponse {
    let mut response = with_policy(server::response(StatusCode::SEE_OTHER, HTML, String::new()));
    let location = HeaderValue::from_static(address);
    response.headers_mut().insert(LOCATION, location);
    response
}

fn with_policy(mut response: HttpResponse) -> HttpResponse {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    // Without a referrer policy of its own, a form would send `Origin: null`, which the check of
    // commands rejects.
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}
