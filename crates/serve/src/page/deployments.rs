//! Deployments of variants: marks in charts, the list, and the form that reports one.

use maud::{Markup, html};

use super::chart::Mark;
use super::format::{ABSENT, ago, encoded, moment, text, variant_name};
use super::screen::ask;
use crate::api::timestamp::Timestamp;
use crate::clock::wall_now;
use crate::live::deployments::Deployment;
use rankgauge_core::text::count_of;

/// Maximum number of deployments in the line below the systems.
const MAX_LATEST: usize = 3;

/// Marks of the deployments of a variant in a chart whose points have these times, oldest first.
/// Deployments before the first point have none.
pub(super) fn marks(deployments: &[Deployment], variant: &str, times: &[Timestamp]) -> Vec<Mark> {
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
pub(super) fn mark(at: impl Into<Timestamp>, text: String, times: &[Timestamp]) -> Option<Mark> {
    let at = at.into();
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
        (text(&it.version)) " " span.name { "(" (moment(it.at()))
            @if age >= 0.0 { ", " (ago(age)) } ")" }
    }
}

/// The latest deployments of all variants with searches in one line.
pub(super) fn latest(deployments: &[Deployment], has_searches: impl Fn(&str) -> bool) -> Markup {
    let deployments = deployments.iter().filter(|it| has_searches(&it.variant));
    let mut deployments = deployments.take(MAX_LATEST).peekable();
    html! {
        @if deployments.peek().is_some() {
            p.deployed {
                span.name { "Deployed " }
                @for it in deployments {
                    span { strong { (variant_name(&it.variant)) } " " (version(it)) } " "
                }
                a href="/systems#deployments" { "All deployments" }
            }
        }
    }
}

/// List of deployments, newest first, with those of variants of which no search has arrived.
pub(super) fn list<'a>(
    deployments: impl Iterator<Item = &'a Deployment>,
    has_searches: impl Fn(&str) -> bool,
) -> Markup {
    let deployments: Vec<&Deployment> = deployments.collect();
    html! {
        h2 #deployments { "Deployments" }
        @if deployments.is_empty() {
            p.calm { "None was reported. Report each one, so that charts show it and rankings before and after it are compared." }
        } @else {
            div.scroll tabindex="0" role="group" aria-labelledby="deployments" { table.deployments {
                thead { tr { th scope="col" { "System" } th.words scope="col" { "Version" } th.words scope="col" { "Note" } th.words scope="col" title="Compared once, soon after the deployment" { "Result lists at first" } th scope="col" { "Deployed" } } }
                tbody { @for it in deployments { tr data-version=(it.version) {
                    th scope="row" { @if has_searches(&it.variant) {
                        a href={ "/systems/" (encoded(&it.variant)) } data-row { (variant_name(&it.variant)) }
                    } @else { (variant_name(&it.variant)) " " span.name { "no search has it" } } }
                    td.words data-label="Version" { (text(&it.version)) }
                    td.words data-label="Note" { @if let Some(note) = &it.note { (text(note)) } @else { (ABSENT) } }
                    td.words data-label="Result lists at first" { @match &it.lists {
                        Some(lists) => { (lists.text) " " span.name { "(" (count_of(lists.queries, "query", "queries")) ")" } }
                        None => (ABSENT)
                    } }
                    td data-label="Deployed" { span { (moment(it.at())) @let age = age(it); @if age >= 0.0 { " " span.name { "(" (ago(age)) ")" } } } }
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
            label { input type="checkbox" name="keeps_baselines" value="true"; " Keep the baselines, to find a drop of this version" }
        }
    };
    ask(
        "Report a deployment",
        "The system gets new baselines from the following searches, unless they are kept. An open incident stays until its loss is gone. Charts mark the time, and the last rankings before it are kept for comparison. With several replicas, report it to each of them.",
        "/-/deployment",
        &fields,
    )
}

/// Seconds since a deployment.
fn age(it: &Deployment) -> f64 {
    wall_now().as_event_time().since(it.at()).seconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_of_a_variant_without_searches_is_no_system() {
        let deployment = Deployment {
            variant: "nosuch".to_owned(),
            version: "1".to_owned(),
            ts: 0,
            ..Deployment::default()
        };
        let of = [deployment];
        let listed = |has_searches| list(of.iter(), |_| has_searches).0;
        assert!(listed(true).contains("href=\"/systems/nosuch\""));
        let unknown = listed(false);
        assert!(!unknown.contains("href=\"/systems/nosuch\""), "{unknown}");
        assert!(unknown.contains("no search has it"), "{unknown}");
        assert!(!latest(&of, |_| false).0.contains("nosuch"));
    }
}
