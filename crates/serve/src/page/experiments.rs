//! Experiments: arms against the control with their intervals.

use maud::{Markup, html};

use super::chart;
use super::format::{count, encoded, estimate, quantity, share, signed_text, text};
use super::screen::{Screen, empty, ratio};
use crate::api::experiments::{ArmStatus, ExperimentStatus, Interleaving};
use crate::api::systems::Difference;
use crate::api::{AdminApi, experiments};

pub(super) fn screen(admin: &AdminApi) -> Screen {
    let found = experiments::of(&admin.exposition);
    let content = html! {
        h1 { "Experiments" }
        @if found.experiments.is_empty() && found.interleaving.is_empty() {
            (empty("No experiment is configured", &html! { "Declare the arms and the control under " code { "experiments" } " in the configuration. Each arm is then compared with the control, with intervals that stay valid however often they are read." }))
        }
        @for experiment in &found.experiments { (section(experiment)) }
        @if !found.interleaving.is_empty() { (interleaving(&found.interleaving)) }
    };
    Screen {
        title: "Experiments".to_owned(),
        tab: "experiments",
        json: "/api/v1/experiments".to_owned(),
        content,
    }
}

fn section(experiment: &ExperimentStatus) -> Markup {
    let sessions: u64 = experiment.arms.iter().map(|arm| arm.sessions).sum();
    let units = if experiment.assignment == "user" {
        "Users"
    } else {
        "Sessions"
    };
    let is_split_wrong = experiment
        .split_log_evidence
        .is_some_and(|it| it >= experiment.split_threshold);
    html! {
        section aria-label=(experiment.id) {
            h2 { (text(&experiment.id)) }
            p {
                @if is_split_wrong { strong.bad { "✗ The " (experiment.assignment) "s are not split as configured" } }
                @else { span.good { "✓" } " The split agrees with the configuration" }
                @if let Some(evidence) = experiment.split_log_evidence {
                    span.name { " (evidence " (quantity(evidence)) ", threshold " (quantity(experiment.split_threshold)) ")" }
                }
            }
            div.scroll tabindex="0" role="group" aria-label="Arms" { table {
                thead { tr { th scope="col" { "Arm" } th scope="col" { "Searches" } th scope="col" { (units) } th scope="col" { "Share" } th scope="col" { "Configured" } } }
                tbody { @for arm in &experiment.arms { tr {
                    th scope="row" { a href={ "/systems/" (encoded(&arm.variant)) } data-row { (text(&arm.variant)) } @if arm.is_control { " " span.name { "control" } } }
                    td data-label="Searches" { (count(arm.searches)) }
                    td data-label=(units) { (count(arm.sessions)) }
                    td data-label="Share" { (share(ratio(arm.sessions, sessions))) }
                    td data-label="Configured" { (share(arm.share)) }
                } } }
            } }
            @if experiment.measures.is_empty() {
                (empty("Too few searches for a comparison", &html! { "An arm is compared with the control from about 100 " (experiment.assignment) "s in both." }))
            } @else { (differences(experiment)) }
        }
    }
}

fn interleaving(pairs: &[Interleaving]) -> Markup {
    html! {
        section aria-labelledby="interleaving" {
            h2 #interleaving { "Interleaved rankings" }
            div.scroll tabindex="0" role="group" aria-label="Pairs of teams" { table {
                thead { tr { th scope="col" { "Teams" } th scope="col" { "Sessions won" } th scope="col" { "Lost" } th scope="col" { "Ties" } th scope="col" { "Preference" } th scope="col" { "Evidence" } } }
                tbody { @for it in pairs { tr {
                    th scope="row" { (text(&it.team)) " against " (text(&it.against)) @if !it.experiment.is_empty() { " " span.name { (text(&it.experiment)) } } }
                    td data-label="Sessions won" { (count(it.wins)) }
                    td data-label="Lost" { (count(it.losses)) }
                    td data-label="Ties" { (count(it.ties)) }
                    td data-label="Preference" { (signed_text(it.delta)) @if it.log_evidence >= it.threshold { " " strong { "users prefer " (text(if it.delta > 0.0 { &it.team } else { &it.against })) } } }
                    td data-label="Evidence" { (quantity(it.log_evidence)) span.name { " of " (quantity(it.threshold)) } }
                } } }
            } }
        }
    }
}

fn differences(experiment: &ExperimentStatus) -> Markup {
    let arms: Vec<&ArmStatus> = experiment
        .arms
        .iter()
        .filter(|arm| !arm.is_control)
        .collect();
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby={ "differences-" (experiment.id) } { table.differences {
            caption id={ "differences-" (experiment.id) } {
                "Difference from " (text(&experiment.control)) " since the start. The intervals of a row share one scale and stay valid however often they are read ("
                (share(1.0 - experiment.alpha)) "). Undecided: about the searches for each arm that would decide it."
            }
            thead { tr { th scope="col" { "Measure" } @for arm in &arms { th scope="col" { (text(&arm.variant)) } } } }
            tbody { @for measure in &experiment.measures {
                @let of = |arm: &ArmStatus| arm.differences.iter().position(|it| it.measure == measure.measure);
                @let reach = arms.iter().filter_map(|arm| Some(&arm.differences[of(arm)?].difference)).map(|it| it.lower.abs().max(it.upper.abs())).fold(0.0, f64::max);
                tr data-measure=(measure.measure) {
                    th scope="row" { (measure.measure) }
                    @for arm in &arms { td data-label=(arm.variant) { @if let Some(at) = of(arm) {
                        @let it = &arm.differences[at];
                        div.against { (chart::interval(&format!("{} of {}", it.measure, arm.variant), it.difference.estimate, [it.difference.lower, it.difference.upper], reach))
                        div { (verdict(measure.direction, it.difference))
                            @if it.log_evidence.is_some_and(|it| it >= experiment.worse_threshold) { div.sub { strong.bad { "guardrail" } } }
                            @if let Some(enough) = it.searches_to_decide { div.sub { "≈ " (estimate(enough)) } } } }
                    } @else { span.name { "–" } } } }
                }
            } }
        } }
    }
}

/// Difference with its mark: better or worse if the interval excludes 0.
pub(super) fn verdict(direction: &str, it: Difference) -> Markup {
    let value = html! { data value=(it.estimate) title={ (it.estimate) ", from " (it.lower) " to " (it.upper) } { (signed_text(it.estimate)) } };
    let is_higher = it.lower > 0.0;
    let is_lower = it.upper < 0.0;
    let arrow = if is_higher { "▲ " } else { "▼ " };
    html! {
        @if !(is_higher || is_lower) { span.name { (value) } }
        @else if direction == "neither" { span { (arrow) (value) } }
        @else if is_higher == (direction == "up") { span.good { (arrow) (value) span.unseen { " better" } } }
        @else { span.bad { (arrow) (value) span.unseen { " worse" } } }
    }
}
