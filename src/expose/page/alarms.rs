//! Active alarms with their cause.

use maud::{Markup, html};

use super::format::{encoded, score, signed, text};
use super::when;
use crate::expose::api::regressions::{RegressionEntry, Regressions};
use crate::expose::collect::ALL_SEARCHES;
use rankgauge_core::measure::direction::Direction;

/// Maximum number of alarms shown at once; the others are in the JSON.
const MAX_SHOWN: usize = 12;

pub(super) fn section(found: &Regressions) -> Markup {
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
                p.calm { span.good { "✓" } " No measure is below its baseline or its target." }
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

fn list(entries: &[&RegressionEntry]) -> Markup {
    html! {
        @if !entries.is_empty() {
            ul.alarm-list { @for entry in entries.iter().take(MAX_SHOWN) { li { (alarm(entry)) } } }
        }
    }
}

/// One alarm: a link to the queries that explain it, and the most affected ones.
fn alarm(entry: &RegressionEntry) -> Markup {
    let it = &entry.regression;
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
                @if let Some(bounds) = entry.bounds {
                    " " span.name { "mean of all searches "(score(bounds.lower)) "–" (score(bounds.upper)) }
                }
            }
            span.name { @if it.test == "drop" { "below its baseline" } @else { "below its target" } }
            span { (when(&entry.time, entry.age_seconds)) }
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

/// Parameter of the query list for a measure. User measures are not kept by query.
fn measure_of(measure: &str) -> String {
    let parsed = measure.parse::<rankgauge_core::measure::Measure>();
    if parsed.is_ok_and(|measure| measure.is_user_measure()) {
        String::new()
    } else {
        format!("&measure={}", encoded(measure))
    }
}
