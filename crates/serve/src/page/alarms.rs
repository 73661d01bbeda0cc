//! Active alarms with their cause.

use maud::{Markup, html};

use super::format::{count, encoded, score, signed, text, time};
use super::screen::when;
use super::{deployments, incidents};
use crate::api::regressions::{RegressionEntry, Regressions};
use crate::api::systems::Systems;
use crate::live::deployments::Deployment;
use crate::live::regressions::Regression;
use rankgauge_core::engine::read_model::ALL_SEARCHES;
use rankgauge_core::measure::direction::Direction;

/// Maximum number of alarms shown at once; the others are in the JSON.
const MAX_SHOWN: usize = 12;

pub(super) fn section(
    found: &Regressions,
    systems: &Systems,
    deployments: &[Deployment],
) -> Markup {
    let list = |entries: &[&RegressionEntry]| list(entries, deployments);
    let is_overall = |entry: &&RegressionEntry| entry.regression.slice == ALL_SEARCHES;
    let active = || found.regressions.iter().filter(|entry| entry.is_active);
    let overall: Vec<_> = active().filter(is_overall).collect();
    let of_slices: Vec<_> = active().filter(|entry| !is_overall(entry)).collect();
    let ended: Vec<_> = found
        .regressions
        .iter()
        .filter(|entry| !entry.is_active)
        .collect();
    html! {
        section.alarms[active().next().is_some()] aria-labelledby="alarms" {
            h2 #alarms { "Alarms " span.number { (active().count()) } }
            @if active().next().is_none() {
                (calm(systems))
            }
            (list(&overall))
            @if !of_slices.is_empty() {
                details open[overall.is_empty()] {
                    summary { (of_slices.len()) " in slices" }
                    (list(&of_slices))
                }
            }
            @if !ended.is_empty() {
                details { summary { (ended.len()) " ended" } (list(&ended)) }
            }
        }
    }
}

/// State without an active alarm: everything is tested, or not yet.
fn calm(systems: &Systems) -> Markup {
    let scores = || systems.systems.iter().flat_map(|system| &system.scores);
    let monitored = scores().filter(|it| it.baseline_searches.is_some()).count();
    let tested = scores().filter(|it| it.baseline.is_some()).count();
    html! {
        @if !systems.measures.iter().any(|info| info.is_monitored) {
            p.calm { "No measure is monitored: list measures under " code { "detection.measures" } "." }
        } @else if monitored == 0 {
            p.calm { "Nothing is tested yet: no search for a gold query has been judged." }
        } @else {
            @let below = scores().filter(|it| it.is_below_targets).count();
            p.calm { "No evidence of a drop, nor of a mean below its target."
                @if below > 0 { " " span.name { (below) " means reach no target now." } }
                @let warming = scores().filter(|it| it.warm_up_until.is_some()).count();
                @if warming > 0 { " " span.name { "Warm-up: " (warming) " of " (monitored) " tests report large drops only." } }
                @if tested < monitored { " " span.name { "Learning: " (monitored - tested) " of " (monitored) " baselines; a drop below them is not found yet." } }
            }
        }
    }
}

fn list(entries: &[&RegressionEntry], deployments: &[Deployment]) -> Markup {
    html! {
        @if !entries.is_empty() {
            ul.alarm-list { @for entry in entries.iter().take(MAX_SHOWN) { li { (alarm(entry, deployments)) } } }
        }
    }
}

/// One alarm: a link to the queries that explain it, and the most affected ones.
fn alarm(entry: &RegressionEntry, deployments: &[Deployment]) -> Markup {
    let it = &entry.regression;
    let at = it.at.as_event_time();
    let worse = match Direction::of(&it.measure) {
        Direction::Down => "▲",
        Direction::Up | Direction::Neither => "▼",
    };
    let variant = encoded(&it.variant);
    let order = if it.test == "drop" {
        "regressed"
    } else {
        "worst"
    };
    let queries = format!(
        "/queries?order={order}&variant={variant}{}",
        measure_of(&it.measure)
    );
    html! {
        div.alarm {
            a.cause href=(queries) data-row {
                span.bad { (worse) } " "
                strong { (text(&it.variant)) } " " (it.measure)
                @if it.slice != ALL_SEARCHES { " " span.label { (it.slice) "=" (text(&it.value)) } }
            }
            span.values {
                (score(it.expected)) " → " strong { (score(it.recent)) } " "
                span.bad { "(" (signed(it.recent - it.expected)) ")" }
                @if let Some(drop) = &it.drop {
                    " " span.name { "loss " (score(drop.estimate)) ", " (score(drop.lower)) " to " (score(drop.upper))
                        ", since " (time(&drop.since)) " (" (count(drop.searches)) " searches)" }
                } @else if let Some(bounds) = entry.bounds {
                    " " span.name { "mean of all searches " (score(bounds.lower)) "–" (score(bounds.upper)) }
                }
            }
            span.name { (cause(it)) @if let Some(class) = it.class { ": " (incidents::cause(class)) } }
            span.when { (when(&entry.time, entry.age_seconds)) " " (deployments::before_alarm(deployments, &it.variant, at)) }
            @if !it.queries.is_empty() {
                span.top { span.name { "most affected " }
                    @for query in it.queries.iter().take(5) {
                        a href={ "/queries/" (encoded(&query.query)) "?variant=" (variant) } { (query.query) } " "
                    }
                }
            }
        }
    }
}

/// Searches whose scores fell, and what they are below.
fn cause(it: &Regression) -> &'static str {
    match it.part {
        Some("some") => "some queries below their baseline",
        Some(_) => "all queries below their baseline",
        None => "below its target",
    }
}

/// Parameter of the query list for a measure. User measures are not kept by query.
pub(super) fn measure_of(measure: &str) -> String {
    let parsed = measure.parse::<rankgauge_core::measure::Measure>();
    if parsed.is_ok_and(|measure| measure.is_user_measure()) {
        String::new()
    } else {
        format!("&measure={}", encoded(measure))
    }
}
