//! Missed targets, or what is known without one.

use maud::{Markup, html};

use super::deployments;
use super::format::{count, encoded, score, text, time, variant_name};
use crate::api::missed_targets::MissedTarget;
use crate::api::systems::Systems;
use crate::live::deployments::Deployment;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::text::count_of;

/// Maximum number of missed targets shown at once; the others are in the JSON.
const MAX_SHOWN: usize = 12;

/// Section of the first screen. `has_incident` is true if incidents are open, which are shown above it.
pub(super) fn section(systems: &Systems, has_incident: bool, deployments: &[Deployment]) -> Markup {
    let list = |missed: &[&MissedTarget]| list(missed, deployments);
    let is_overall = |it: &&MissedTarget| it.slice == Settings::ALL_SEARCHES;
    let (overall, of_slices): (Vec<_>, Vec<_>) =
        systems.missed_targets.iter().partition(is_overall);
    let missed = systems.missed_targets.len();
    html! {
        @if missed > 0 {
            section.alarms aria-labelledby="targets" {
                h2 #targets { "Missed targets " span.number { (missed) } }
                (list(&overall))
                @if !of_slices.is_empty() {
                    details open[overall.is_empty()] {
                        summary { (of_slices.len()) " in slices" }
                        (list(&of_slices))
                    }
                }
            }
        } @else if !has_incident {
            section aria-labelledby="state" {
                h2.unseen #state { "State" }
                (calm(systems))
            }
        }
    }
}

/// State without an incident and a missed target: everything is tested, or not yet.
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
            p.calm { "No open incident, and no evidence of a mean below its target."
                @if below > 0 { " " span.name { (count_of(below, "mean reaches", "means reach")) " no target now." } }
                @let warming = scores().filter(|it| it.warm_up_until.is_some()).count();
                @if warming > 0 { " " span.name { "Warm-up: " (warming) " of " (monitored) " tests report large drops only." } }
                @if tested < monitored { " " span.name { "Learning: " (monitored - tested) " of " (monitored) " baselines; a drop below them is not found yet." } }
            }
        }
    }
}

fn list(missed: &[&MissedTarget], deployments: &[Deployment]) -> Markup {
    html! {
        @if !missed.is_empty() {
            ul.alarm-list { @for it in missed.iter().take(MAX_SHOWN) { li { (missed_target(it, deployments)) } } }
            @if missed.len() > MAX_SHOWN {
                p.name { (missed.len() - MAX_SHOWN) " more are in the " a href="/api/v1/systems" { "JSON" } "." }
            }
        }
    }
}

/// One missed target: a link to the queries with the worst scores.
fn missed_target(it: &MissedTarget, deployments: &[Deployment]) -> Markup {
    let (direction, bound) = match Direction::of(&it.measure) {
        Direction::Down => ("▲", "above"),
        Direction::Up | Direction::Neither => ("▼", "below"),
    };
    let queries = format!(
        "/queries?order=worst&variant={}{}",
        encoded(&it.variant),
        measure_of(&it.measure)
    );
    html! {
        div.alarm {
            a.cause href=(queries) data-row {
                span.bad { (direction) } " "
                strong { (variant_name(&it.variant)) } " " (it.measure)
                @if it.slice != Settings::ALL_SEARCHES { " " span.label { (it.slice) "=" (text(&it.value)) } }
            }
            span.values {
                (bound) " its target " (score(it.target))
                @if let Some(bounds) = it.bounds {
                    " " span.name { "mean " (score(bounds.lower)) " to " (score(bounds.upper)) " (" (count(it.searches)) " searches)" }
                }
            }
            span.when {
                @if let Some(at) = it.reported_at { "reported at " (time(at)) }
                @if let Some(deployed) = deployments::last(deployments, &it.variant) {
                    " " span.name { "searches since the deployment of " strong { (text(&deployed.version)) } }
                }
            }
        }
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
