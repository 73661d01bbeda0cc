//! Deployments of variants: marks in charts, the list, and the form that reports one.

use maud::{Markup, html};

use super::chart::Mark;
use super::format::{ABSENT, ago, encoded, moment, text, variant_name};
use super::screen::ask;
use crate::api::deployments::{Entry, entry};
use crate::api::status;
use crate::clock::wall_now;
use crate::live::deployments::Deployment;
use rankgauge_core::text::count_of;
use rankgauge_core::time::EventTime;

/// Maximum number of deployments in the line below the systems.
const MAX_LATEST: usize = 3;

/// Marks of the deployments of a variant in a chart whose points have these times, oldest first.
/// Deployments before the first point have none.
pub(super) fn marks(deployments: &[Deployment], variant: &str, times: &[EventTime]) -> Vec<Mark> {
    let of_variant = deployments.iter().filter(|it| it.variant == variant);
    let marks = of_variant.filter_map(|it| mark(it.at(), mark_text(it), times));
    marks.collect()
}

/// Text of the mark of a deployment.
fn mark_text(it: &Deployment) -> String {
    match &it.lists {
        Some(lists) if lists.is_change => format!("{} deployed, {}", it.version, lists.text),
        _ => format!("{} deployed", it.version),
    }
}

/// Mark of a moment in a chart whose points have these times; `None` before the first point.
pub(super) fn mark(at: EventTime, text: String, times: &[EventTime]) -> Option<Mark> {
    let points_before = times.partition_point(|time| *time < at);
    (points_before > 0).then_some(Mark {
        points_before,
        text,
    })
}

/// Last deployment of a variant.
pub(super) fn last<'a>(deployments: &'a [Deployment], variant: &str) -> Option<&'a Deployment> {
    deployments.iter().find(|it| it.variant == variant)
}

/// Version and time of a deployment.
pub(super) fn version(it: &Deployment) -> Markup {
    let age = age(it);
    html! {
        (text(&it.version)) " " span.name { "(" (moment(&entry(it.clone()).time))
            @if age >= 0.0 { ", " (ago(age)) } ")" }
    }
}

/// The latest deployments of all variants in one line.
pub(super) fn latest(deployments: &[Deployment]) -> Markup {
    html! {
        @if !deployments.is_empty() {
            p.deployed {
                span.name { "Deployed " }
                @for it in deployments.iter().take(MAX_LATEST) {
                    span { strong { (variant_name(&it.variant)) } " " (version(it)) } " "
                }
                a href="/systems#deployments" { "All deployments" }
            }
        }
    }
}

/// List of deployments, newest first.
pub(super) fn list<'a>(deployments: impl Iterator<Item = &'a Deployment>) -> Markup {
    let entries: Vec<Entry> = deployments.map(|it| entry(it.clone())).collect();
    html! {
        h2 #deployments { "Deployments" }
        @if entries.is_empty() {
            p.calm { "None was reported. Report each one, so that charts show it and rankings before and after it are compared." }
        } @else {
            div.scroll tabindex="0" role="group" aria-labelledby="deployments" { table.deployments {
                thead { tr { th scope="col" { "System" } th.words scope="col" { "Version" } th.words scope="col" { "Note" } th.words scope="col" { "Result lists" } th scope="col" { "Deployed" } } }
                tbody { @for it in &entries { tr data-version=(it.deployment.version) {
                    th scope="row" { a href={ "/systems/" (encoded(&it.deployment.variant)) } data-row { (variant_name(&it.deployment.variant)) } }
                    td.words data-label="Version" { (text(&it.deployment.version)) }
                    td.words data-label="Note" { @if let Some(note) = &it.deployment.note { (text(note)) } @else { (ABSENT) } }
                    td.words data-label="Result lists" { @match &it.deployment.lists {
                        Some(lists) => { (lists.text) " " span.name { "(" (count_of(lists.queries, "query", "queries")) ")" } }
                        None => (ABSENT)
                    } }
                    td data-label="Deployed" { span { (moment(&it.time)) @let age = age(&it.deployment); @if age >= 0.0 { " " span.name { "(" (ago(age)) ")" } } } }
                } } }
            } }
        }
    }
}

/// Form that reports a deployment: a question first, then the command.
pub(super) fn form(variants: &[&str]) -> Markup {
    let fields = html! {
        p.fields {
            label { "System " select name="variant" { @for name in variants {
                option value=(name) { @if name.is_empty() { "no variant" } @else { (name) } }
            } } }
            label { "Version " input name="version" required maxlength="64" autocomplete="off"; }
            label { "Note " input name="note" maxlength="64" autocomplete="off"; }
        }
    };
    ask(
        "Report a deployment",
        "The system gets new baselines from the following searches. An open incident stays until its loss is gone. Charts mark the time, and the last rankings before it are kept for comparison. With several replicas, report it to each of them.",
        "/-/deployment",
        &fields,
    )
}

/// Seconds since a deployment.
fn age(it: &Deployment) -> f64 {
    status::seconds(wall_now().as_event_time().since(it.at()))
}
