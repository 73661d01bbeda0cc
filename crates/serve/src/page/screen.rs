//! Frame of a screen, and the elements that screens have in common.

use maud::{DOCTYPE, Markup, html};

use super::format::{self, duration, share, size, span};
use crate::api::status::Status;
use rankgauge_core::number::real;
use rankgauge_core::text::count_of;

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("script.js");
pub(super) const ICON: &str = include_str!("icon.svg");
pub(super) const ALARM_ICON: &str = include_str!("icon-alarm.svg");
pub(super) const PROBLEM_ICON: &str = include_str!("icon-problem.svg");

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

/// A screen: its content and its place in the navigation.
pub(crate) struct Screen {
    /// Title of the document.
    pub(super) title: String,
    /// Name in the navigation.
    pub(super) tab: &'static str,
    /// Address of the same content as JSON.
    pub(super) json: String,
    pub(super) content: Markup,
}

/// Name in the navigation, title and address of the screens.
const TABS: [(&str, &str, &str); 7] = [
    ("overview", "Overview", "/"),
    ("incidents", "Incidents", "/incidents"),
    ("queries", "Queries", "/queries"),
    ("systems", "Systems", "/systems"),
    ("experiments", "Experiments", "/experiments"),
    ("pipeline", "Pipeline", "/pipeline"),
    ("gold", "Gold set", "/gold"),
];

/// State of the sidecar and of its searches, worst first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State<'a> {
    /// It cannot count, or its numbers are stale.
    Problem(&'a str),
    /// Incidents are open.
    Incidents(usize),
    /// Means miss their targets.
    MissedTargets(usize),
    /// Nothing is wrong with what was measured, which may be nothing.
    Quiet,
}

impl<'a> State<'a> {
    fn of(status: &'a Status) -> Self {
        let is_connected = status.workers.iter().any(|worker| worker.connected);
        let away = (!is_connected).then_some("no broker connection");
        let problem = status.liveness_problem.as_deref().or(away);
        match problem.or(status.readiness_problem.as_deref()) {
            Some(problem) => Self::Problem(problem),
            None if status.open_incidents > 0 => Self::Incidents(status.open_incidents),
            None if status.missed_targets > 0 => Self::MissedTargets(status.missed_targets),
            None => Self::Quiet,
        }
    }

    /// Beginning of the title of the document.
    fn mark(self) -> String {
        match self {
            Self::Problem(_) => "✗ ".to_owned(),
            Self::Incidents(number) | Self::MissedTargets(number) => format!("▼ {number} "),
            Self::Quiet => String::new(),
        }
    }

    /// Icon of the document.
    fn icon(self) -> &'static str {
        match self {
            Self::Problem(_) => "icon-problem.svg",
            Self::Incidents(_) | Self::MissedTargets(_) => "icon-alarm.svg",
            Self::Quiet => "icon.svg",
        }
    }
}

/// Time without a search from which it is stated.
const IDLE_SECONDS: f64 = 5.0;

/// Searches: whether any arrive now.
fn traffic(status: &Status) -> Markup {
    html! {
        @match status.last_search_age_seconds {
            None => li { "no searches yet" },
            Some(age) if age >= IDLE_SECONDS => li { "no searches for " (span(age)) },
            Some(_) => li { "live" },
        }
    }
}

/// Document of a screen, with the `result` of the command that led to it and the open `incidents`.
pub(super) fn document(
    status: Option<&Status>,
    (result, incidents): (Option<&str>, &Markup),
    screen: &Screen,
) -> Markup {
    let state = status.map_or(State::Quiet, State::of);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (state.mark()) (screen.title) " – rankgauge" }
                link rel="icon" href={ "/assets/" (state.icon()) "?v=" (VERSION) } type="image/svg+xml";
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
                    @if let Some(status) = status { (status_line(status, state)) }
                }
                main id="main" tabindex="-1" {
                    @if let Some(result) = result { p.result role="status" { (result) } }
                    (incidents)
                    (screen.content)
                }
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

/// Sum of the known lags of topic partitions, and the number of the others.
fn total_lag(lags: &[Option<u64>]) -> Markup {
    let unknown = lags.iter().filter(|lag| lag.is_none()).count();
    let known: u64 = lags.iter().flatten().sum();
    html! {
        @if unknown == lags.len() {
            span.name { "unknown" }
        } @else if unknown > 0 {
            "at least " (format::count(known)) " "
            span.name { "(" (count_of(unknown, "topic partition", "topic partitions")) " unknown)" }
        } @else {
            (format::count(known))
        }
    }
}

/// State of the sidecar in one line.
fn status_line(status: &Status, state: State<'_>) -> Markup {
    let lags = status
        .partitions
        .iter()
        .flat_map(|partition| partition.lag.values());
    let lags: Vec<Option<u64>> = lags.copied().collect();
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
            @if let State::Problem(problem) = state {
                li { strong.bad { "✗ " (problem) } }
            }
            @if status.open_incidents > 0 {
                li { a href="/incidents" { strong.bad { "▼ " (status.open_incidents) @if status.open_incidents == 1 { " incident" } @else { " incidents" } } } }
            }
            @if status.missed_targets > 0 {
                li { a href="/#targets" { strong.bad { "▼ " (status.missed_targets) @if status.missed_targets == 1 { " missed target" } @else { " missed targets" } } } }
            }
            (traffic(status))
            @if status.is_open {
                li title="other machines reach this page: set admin.web_config_file, listen on 127.0.0.1, or accept it with admin.allow_unauthenticated" {
                    strong.bad { "✗ no authentication" }
                }
            }
            @if status.is_over_series_limit {
                li { a href="/pipeline#rejected" { strong.bad { "✗ series limit reached" } } }
            }
            li title="records that are not read yet" { span.name { "lag" } " " (total_lag(&lags)) }
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
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        real(part) / real(whole)
    }
}

fn keys() -> Markup {
    let keys = [
        ("/", "focus the search field"),
        ("j k", "next and previous row"),
        ("Enter", "open the row"),
        ("g o", "overview"),
        ("g i", "incidents"),
        ("g q", "queries"),
        ("g s", "systems"),
        ("g e", "experiments"),
        ("g p", "pipeline"),
        ("g g", "gold set"),
        ("Ctrl+K ⌘K", "jump to a system, a measure or a query"),
        ("?", "show and hide this list"),
    ];
    html! {
        dialog #jump aria-label="Jump to a system, a measure or a query" {
            input type="text" aria-label="Part of a name" placeholder="System, measure or query" autocomplete="off" spellcheck="false";
            ul {}
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl { @for (key, text) in keys { dt { @for key in key.split(' ') { kbd { (key) } " " } } dd { (text) } } }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Form of a command that changes the state: a question first, then the command.
pub(super) fn command(name: &str, question: &str, address: &str) -> Markup {
    ask(name, question, address, &html! {})
}

/// [`command`] with fields.
pub(super) fn ask(name: &str, question: &str, address: &str, fields: &Markup) -> Markup {
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
pub(super) fn empty(title: &str, text: &Markup) -> Markup {
    html! { div.empty { p { strong { (title) } } p { (text) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_that_is_not_known_makes_the_sum_a_lower_bound() {
        let text = |lags: &[Option<u64>]| total_lag(lags).0;
        assert!(text(&[Some(1_000), Some(2)]).ends_with(">1,002</data>"));
        let partly = text(&[Some(1_000), None, Some(2), None]);
        assert!(
            partly.starts_with("at least ") && partly.contains(">1,002<"),
            "{partly}"
        );
        assert!(partly.contains("(2 topic partitions unknown)"), "{partly}");
        assert!(text(&[]).contains(">unknown<"));
        assert!(text(&[None]).contains(">unknown<"));
    }
}
