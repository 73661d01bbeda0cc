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
mod overview;
mod pipeline;
mod queries;
mod query;
mod system;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_SECURITY_POLICY, HeaderValue, REFERRER_POLICY};
use hyper::{Request, StatusCode};
use maud::{DOCTYPE, Markup, html};

use super::api::parameters::{Parameter, Parameters};
use super::api::problem::ApiError;
use super::api::status::{self, Status};
use super::api::{self, Accepted, AdminApi, Reload};
use super::server::{self, HttpResponse, compressible_response};
use crate::clock::wall_now;
pub(super) use deployments::deployed;
use format::{ago, duration, share, size};

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");
const ICON: &str = include_str!("page/icon.svg");

/// Policy of a page: its own style sheet and script, requests and forms to this server, and nothing
/// else.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// Version of the assets, a part of their addresses: browsers may keep an asset forever.
const VERSION: u64 = fingerprint(fingerprint(0xcbf2_9ce4_8422_2325, STYLE), SCRIPT);

/// FNV-1a hash of a text, beginning with `hash`.
const fn fingerprint(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut place = 0;
    while place < bytes.len() {
        hash = (hash ^ bytes[place] as u64).wrapping_mul(0x0100_0000_01b3);
        place += 1;
    }
    hash
}

/// Screen at an address of the page.
type ScreenOf = fn(&AdminApi, &Parameters) -> Result<Screen, ApiError>;

/// Addresses of the screens, with their parameters.
pub(super) const SCREENS: [(&str, &[Parameter], ScreenOf); 8] = [
    ("/", &overview::PARAMETERS, overview::screen),
    ("/queries", &api::queries::PARAMETERS, queries::screen),
    ("/queries/{key}", &api::query::PARAMETERS, query::screen),
    ("/systems", &system::PARAMETERS, system::index),
    ("/systems/{variant}", &system::PARAMETERS, system::screen),
    ("/experiments", &[], experiments::screen),
    ("/pipeline", &[], pipeline::screen),
    ("/gold", &api::gold::PARAMETERS, gold::screen),
];

/// Addresses, content types and texts of the files of the page.
pub(super) const ASSETS: [(&str, &str, &str); 3] = [
    ("/assets/page.css", "text/css; charset=utf-8", STYLE),
    ("/assets/page.js", "text/javascript; charset=utf-8", SCRIPT),
    ("/assets/icon.svg", "image/svg+xml", ICON),
];

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

/// A screen: its content and its place in the navigation.
pub(super) struct Screen {
    /// Title of the document.
    title: String,
    /// Name in the navigation.
    tab: &'static str,
    /// Address of the same content as JSON.
    json: String,
    content: Markup,
}

/// Name in the navigation, title and address of the screens.
const TABS: [(&str, &str, &str); 6] = [
    ("overview", "Overview", "/"),
    ("queries", "Queries", "/queries"),
    ("systems", "Systems", "/systems"),
    ("experiments", "Experiments", "/experiments"),
    ("pipeline", "Pipeline", "/pipeline"),
    ("gold", "Gold set", "/gold"),
];

fn document(status: Option<&Status>, screen: &Screen) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (screen.title) " – rankgauge" }
                link rel="icon" href={ "/assets/icon.svg?v=" (VERSION) } type="image/svg+xml";
                link rel="stylesheet" href={ "/assets/page.css?v=" (VERSION) };
                script src={ "/assets/page.js?v=" (VERSION) } defer {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header {
                    a.brand href="/" { "rankgauge" }
                    nav aria-label="Screens" { ul { @for (name, title, address) in TABS {
                        li { a href=(address) data-screen=(name) aria-current=[(name == screen.tab).then_some("page")] { (title) } }
                    } } }
                    @if let Some(status) = status { (status_line(status)) }
                }
                main id="main" tabindex="-1" { (screen.content) }
                footer {
                    button #pause type="button" hidden { "Pause" }
                    a href=(screen.json) { "JSON" }
                    a href="/api/v1/openapi.json" { "API" }
                    span { "Keys: " kbd { "?" } }
                    span.stale-note role="status" { "The last refresh failed; it is retried every 5 seconds." }
                }
                (keys())
            }
        }
    }
}

/// State of the sidecar in one line.
fn status_line(status: &Status) -> Markup {
    let is_connected = status.workers.iter().any(|worker| worker.connected);
    let away = (!is_connected).then_some("no broker connection");
    let problem = status.liveness_problem.as_deref().or(away);
    let problem = problem.or(status.readiness_problem.as_deref());
    let lags = status
        .partitions
        .iter()
        .flat_map(|partition| partition.lag.values());
    let mut lags = lags.copied().flatten().peekable();
    let is_lag_known = lags.peek().is_some();
    let lag: u64 = lags.sum();
    let ages = status
        .workers
        .iter()
        .filter_map(|worker| worker.snapshot_age_seconds);
    let age = ages.reduce(f64::max);
    let searches = status.events.get("search");
    let of = |outcome| {
        searches
            .and_then(|it| it.get(outcome))
            .copied()
            .unwrap_or(0)
    };
    let (judged, pending) = (of("judged"), of("unjudged"));
    let finalised = judged + pending;
    html! {
        ul.status {
            li {
                @if let Some(problem) = problem {
                    strong.bad { "✗ " (problem) }
                } @else {
                    span.good { "✓ healthy" }
                }
            }
            @if status.is_over_series_limit {
                li { a href="/pipeline#rejected" { strong.bad { "✗ series limit reached" } } }
            }
            li title="records that are not read yet" { span.name { "lag" } " "
                @if is_lag_known { (format::count(lag)) } @else { span.name { "unknown" } }
            }
            @if let Some(age) = age {
                li { span.name { "snapshot" } " "
                    @if age > 10.0 { strong.bad { "✗ " (duration(age)) } } @else { (duration(age)) }
                }
            }
            @if let Some(gold) = &status.gold {
                li { span.name { "gold" } " " a href="/gold" { (gold.version) } " "
                    span.name { "(" (size(gold.queries)) " queries"
                        @if finalised > 0 {
                            ", " (share(ratio(judged, finalised))) " of searches"
                        }
                        ")" }
                }
            } @else {
                li { a href="/gold" { "no gold set" } }
            }
        }
    }
}

/// Ratio of two counts; 0 without any.
#[allow(
    clippy::cast_precision_loss,
    reason = "a share is shown with three digits"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn keys() -> Markup {
    let keys = [
        ("/", "focus the search field"),
        ("j k", "next and previous row"),
        ("Enter", "open the row"),
        ("g o", "overview"),
        ("g q", "queries"),
        ("g s", "systems"),
        ("g e", "experiments"),
        ("g p", "pipeline"),
        ("g g", "gold set"),
        ("?", "show and hide this list"),
    ];
    html! {
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl { @for (key, text) in keys { dt { @for key in key.split(' ') { kbd { (key) } " " } } dd { (text) } } }
            form method="dialog" { button { "Close" } }
        }
    }
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

/// Form of a command that changes the state: a question first, then the command.
fn command(name: &str, question: &str, address: &str) -> Markup {
    ask(name, question, address, &html! {})
}

/// [`command`] with fields.
fn ask(name: &str, question: &str, address: &str, fields: &Markup) -> Markup {
    html! {
        details.command {
            summary { (name) "…" }
            form method="post" action=(address) {
                p { (question) }
                (fields)
                button { (name) }
            }
        }
    }
}

/// Text for a state without data: what is missing, and what to do next.
fn empty(title: &str, text: &Markup) -> Markup {
    html! { div.empty { p { strong { (title) } } p { (text) } } }
}

/// Age of a time in words, beside the time.
fn when(time: &str, age_seconds: f64) -> Markup {
    html! { (format::time(time)) " " span.name { "(" (ago(age_seconds)) ")" } }
}
