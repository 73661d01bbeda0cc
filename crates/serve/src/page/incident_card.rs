//! Card of an open incident: which system, how much, since when, why, and what next.

use maud::{Markup, html};

use super::chart::{Mark, history};
use super::deployments;
use super::format::{address, count, encoded, score, signed, signed_share, span, text, time};
use super::screen::ask;
use crate::api::AdminApi;
use crate::api::causes::Cause;
use crate::api::incidents::{AcknowledgedEntry, IncidentEntry, LevelEntry, MeasureEntry};
use crate::api::queries::REGRESSED;
use crate::api::systems::Systems;
use crate::clock::wall_now;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::text::count_of;

/// Maximum number of causes, further measures and queries on a card. The page of the incident has all.
const MAX_SHOWN: usize = 3;

/// Cards of open incidents.
pub(super) fn cards(admin: &AdminApi, open: &[IncidentEntry], systems: &Systems) -> Markup {
    html! { @for it in open { (card(admin, it, systems)) } }
}

/// Open incidents in a line each, on the other screens.
pub(super) fn lines(open: &[IncidentEntry]) -> Markup {
    html! {
        @for it in open {
            p.incident-line { a href={ "/incidents/" (encoded(&it.id)) } { span.bad { "▼" } " " (text(&it.summary)) } }
        }
    }
}

fn card(admin: &AdminApi, it: &IncidentEntry, systems: &Systems) -> Markup {
    let primary = it.measures.first();
    let id = format!("incident-{}", it.id);
    html! {
        section.incident aria-labelledby=(id) data-incident=(it.id) data-variant=(it.variant) {
            div.reading {
                h2 id=(id) {
                    span.bad { "▼ " (text(&it.title)) }
                    @if let Some(of) = primary { " " span.figure { (of.name()) " " (size(of)) } }
                }
                p { (since(it)) @if let Some(of) = primary { (interval(of)) } }
                dl {
                    div { dt { "Why" } dd { (why(it)) } }
                    @if it.measures.len() > 1 { div { dt { "Also" } dd { (also(it)) } } }
                    @if !it.queries.is_empty() { div { dt { "Queries" } dd { (queries(admin, it)) } } }
                    div { dt { "Next" } dd { (next(it)) } }
                }
            }
            @if let Some(of) = primary { (chart(it, of, systems)) }
        }
    }
}

/// Verdict on the evaluator of an incident.
pub(super) fn verdict(cause: &Cause) -> Option<&'static str> {
    Some(match cause.verdict? {
        "drifted" => "evaluator changed, bias",
        "new_version" => "evaluator with a new version, bias",
        "unchanged" => "evaluator unchanged, bias",
        _ => "evaluator not decided yet, bias",
    })
}

/// `0.846 → 0.641 now (−24 %)`.
fn size(of: &MeasureEntry) -> Markup {
    html! {
        @if let (Some(before), Some(now)) = (of.before, of.now) {
            (score(before.mean)) " → " strong { (score(now.mean)) } " now "
            @if let Some(change) = of.change() { span.bad { "(" (signed_share(change)) ")" } }
        }
    }
}

fn since(it: &IncidentEntry) -> Markup {
    let age = wall_now().as_event_time().since(it.started_at.0).seconds();
    html! {
        "since about " (time(it.started_at))
        @if age >= 0.0 { ", " (span(age)) }
        " · " (it.severity)
        @if let Some(given) = &it.acknowledged { " · " (acknowledged(given)) }
        @if let Some(last) = it.notes.last() {
            " · " a href={ "/incidents/" (encoded(&it.id)) "#notes" } { (count_of(it.notes.len(), "note", "notes")) }
            ", the last at " (time(last.at))
        }
    }
}

/// Operator who works on an incident.
pub(super) fn acknowledged(given: &AcknowledgedEntry) -> Markup {
    html! {
        "acknowledged"
        @if let Some(by) = &given.by { " by " (text(by)) }
        " at " (time(given.at))
    }
}

/// Notes of operators on an incident, and the form that adds one.
pub(super) fn notes(it: &IncidentEntry) -> Markup {
    html! {
        h2 #notes { "Notes" }
        @if !it.notes.is_empty() {
            ul { @for note in &it.notes { li {
                span.name { (time(note.at)) @if let Some(by) = &note.by { " " (text(by)) } } " " (text(&note.text))
            } } }
        }
        (ask(
            "Add a note",
            "All who look at the incident see it, and so do its tickets in Markdown.",
            &format!("/api/v1/incidents/{}/notes", it.id),
            &html! { p.fields {
                label { "Note " input name="text" required maxlength="500" autocomplete="off"; }
                label { "Your name " input name="by" maxlength="64" autocomplete="name"; }
            } },
        ))
    }
}

/// Button that acknowledges an incident.
pub(super) fn acknowledge(it: &IncidentEntry) -> Markup {
    html! {
        @if it.acknowledged.is_none() && it.ended_at.is_none() {
            (ask(
                "Acknowledge",
                "Shows to all that an operator works on the incident. The alert stays.",
                &format!("/api/v1/incidents/{}/acknowledge", it.id),
                &html! {},
            ))
        }
    }
}

/// Interval of the loss, with its number of searches.
fn interval(of: &MeasureEntry) -> Markup {
    html! { @if let Some(loss) = of.loss {
        " · loss " (score(loss.mean)) ", 95 % " (score(loss.lower)) " … " (score(loss.upper))
        ", " (count(loss.searches)) " searches"
    } }
}

/// Likely causes: deployments, and measures that changed with it.
fn why(it: &IncidentEntry) -> Markup {
    html! {
        @if it.subject == "answer" { "no watched measure of its ranking has dropped" " · " }
        @if it.causes.is_empty() {
            @if it.is_compared { "nothing else changed with it" }
            @else { "not known yet: other values are compared a minute after the beginning, if they are known from before it" }
            @if it.part == "some" { "; some of the queries dropped" }
        }
        @for (place, cause) in it.causes.iter().take(MAX_SHOWN).enumerate() {
            @if place > 0 { " · " }
            @if let Some(verdict) = verdict(cause) { (verdict) " of " }
            @match (cause.before, cause.after) {
                (Some(before), Some(after)) => { (text(&cause.name)) " " (score(before)) " → " (score(after)) },
                _ => {
                    (cause.kind) " " strong { (text(&cause.name)) }
                    @if let Some(at) = cause.at { " at " (time(at)) }
                },
            }
        }
    }
}

/// Other measures and slices that fell together.
fn also(it: &IncidentEntry) -> Markup {
    let others = &it.measures[1..];
    html! {
        @for (place, of) in others.iter().take(MAX_SHOWN).enumerate() {
            @if place > 0 { " · " }
            (text(&of.name()))
            @if let (Some(before), Some(now)) = (of.before, of.now) { " " (signed(now.mean - before.mean)) }
        }
        @if others.len() > MAX_SHOWN { " · " (others.len() - MAX_SHOWN) " more" }
    }
}

/// Queries that lost most, with their titles and the intervals of their losses.
fn queries(admin: &AdminApi, it: &IncidentEntry) -> Markup {
    html! {
        ul.lost { @for of in it.queries.iter().take(MAX_SHOWN) {
            li {
                a href=(lost_query(&of.query, &it.variant)) data-row {
                    (query_name(admin, &of.query))
                }
                " " (score(of.before)) " → " @match of.now { Some(now) => (score(now.mean)), None => "–" }
                @if let Some(loss) = of.loss { (loss_interval(loss)) }
            }
        } }
    }
}

/// Address of a query in the list of those of a system that lost.
pub(super) fn lost_query(key: &str, variant: &str) -> String {
    let path = format!("/queries/{}", encoded(key));
    address(&path, [("variant", variant), ("order", REGRESSED)])
}

/// Id and text of a query.
pub(super) fn query_name(admin: &AdminApi, key: &str) -> Markup {
    let gold = admin.exposition.control.gold();
    let found = gold.find(Some(key), None);
    let title = found.and_then(|index| gold.query(index).text.clone());
    html! { span.id { (key) } @if let Some(title) = title { " " (text(&title)) } }
}

fn loss_interval(loss: LevelEntry) -> Markup {
    html! { span.name { " (" (signed(-loss.upper)) " … " (signed(-loss.lower)) ", n " (count(loss.searches)) ")" } }
}

fn next(it: &IncidentEntry) -> Markup {
    let worst = it.queries.first();
    html! {
        @if let Some(worst) = worst {
            a.step href=(lost_query(&worst.query, &it.variant)) { "compare rankings" } " · "
        }
        a.step href=(address("/queries", [("order", REGRESSED), ("variant", &it.variant)])) { "all queries that lost" } " · "
        a.step href={ "/systems/" (encoded(&it.variant)) "#report" } { "report a deployment" } " · "
        a.step href={ "/incidents/" (encoded(&it.id)) } { "details and runbook" } " · "
        a.step href={ "/api/v1/incidents/" (encoded(&it.id)) "?format=markdown" } data-copy { "copy as Markdown" }
        " " (acknowledge(it))
    }
}

/// Steps of the runbook, for the page of an incident.
pub(super) fn runbook() -> Markup {
    html! {
        h2 #runbook { "Runbook" }
        ol {
            li { "One system or all? A drop of all systems at once points to the index or the gold set, a drop of one to its release." }
            li { "Open the queries that lost most: which documents are missing now, and which component found them before?" }
            li { "Check the measures that changed with it, the latency by stage, and the deployments: a component that times out finds nothing." }
            li { "Roll back or repair. Then report the deployment: the incident ends when the loss is gone." }
            li { "If the change is intended, report its deployment, or reset the baselines." }
        }
    }
}

/// Course of the primary measure, with the reference from before the incident, deployments and the alarm.
fn chart(it: &IncidentEntry, of: &MeasureEntry, systems: &Systems) -> Markup {
    if !of.value.is_empty() {
        return html! {};
    }
    let system = systems
        .systems
        .iter()
        .find(|system| system.variant == it.variant);
    let mut scores = system.iter().flat_map(|system| &system.scores);
    let Some(found) = scores.find(|found| found.measure == of.measure) else {
        return html! {};
    };
    let times = &systems.history.times;
    let mut marks: Vec<Mark> = it
        .deployments
        .iter()
        .filter_map(|deployed| {
            let text = format!(
                "{} deployed",
                deployed.version.as_deref().unwrap_or("version")
            );
            deployments::mark(deployed.at, text, times)
        })
        .collect();
    marks.extend(deployments::mark(it.started_at, "began".to_owned(), times));
    marks.extend(deployments::mark(it.alarmed_at, "alarm".to_owned(), times));
    let title = format!("{} of {}", of.measure, it.variant);
    let direction = Direction::of(&of.measure);
    history(
        &title,
        (&found.history, times),
        of.before.map(|it| it.mean),
        (&marks, direction),
    )
}
