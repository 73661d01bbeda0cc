//! Incidents: the list, and one with its size, queries and causes.

use maud::{Markup, html};

use super::format::{address, count, encoded, moment, score, signed, text, variant_name};
use super::incident_card;
use super::screen::{Screen, empty};
use crate::api::AdminApi;
use crate::api::incidents::{self, IncidentEntry, Incidents, LevelEntry};
use crate::api::parameters::Parameters;
use crate::api::problem::ApiError;
use crate::api::queries::REGRESSED;
use crate::api::timestamp::Timestamp;

pub(super) fn index(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let found = incidents::list(admin, params)?;
    Ok(Screen {
        title: "Incidents".to_owned(),
        tab: "incidents",
        json: "/api/v1/incidents".to_owned(),
        content: list(&found, params),
    })
}

fn list(found: &Incidents, params: &Parameters) -> Markup {
    let earlier = found.next_cursor.as_deref().map(|cursor| {
        let variants = params.values("variant").map(|it| ("variant", it));
        address(
            "/incidents",
            [("cursor", cursor)].into_iter().chain(variants),
        )
    });
    html! {
        h1 { "Incidents" }
        @if found.incidents.is_empty() {
            (empty("No incident", &html! { "An incident is a drop of a variant with a beginning, one reference and an end." }))
        } @else {
            div.scroll tabindex="0" role="group" aria-label="Incidents" { table {
                thead { tr { th scope="col" { "Incident" } th scope="col" { "State" } th scope="col" { "Began" } th scope="col" { "Ended" } } }
                tbody { @for it in &found.incidents { tr {
                    th scope="row" { a href={ "/incidents/" (encoded(&it.id)) } data-row { (text(&it.summary)) } }
                    td data-label="State" { (state(it)) }
                    td data-label="Began" { (moment(it.started_at)) }
                    td data-label="Ended" { @if let Some(at) = it.ended_at { (moment(at)) } @else { span.name { "–" } } }
                } } }
            } }
            @if let Some(address) = &earlier { p { a href=(address) { "Earlier incidents" } } }
        }
    }
}

fn state(it: &IncidentEntry) -> Markup {
    html! {
        @match it.ended_by {
            None => { strong.bad { "open" } " " span.name { (it.severity) } }
            Some(by) => { (by) @if let Some(version) = &it.ended_after { " after " (text(version)) } }
        }
    }
}

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let it = incidents::one(admin, params)?;
    Ok(Screen {
        title: it.summary.clone(),
        tab: "incidents",
        json: format!("/api/v1/incidents/{}", it.id),
        content: content(admin, &it),
    })
}

/// Cause of an incident, by its subject and class.
fn cause_of(it: &IncidentEntry) -> &'static str {
    match (it.subject, it.class) {
        ("answer", _) => "worse answers; no measure of the ranking has dropped",
        ("evaluator", _) => "the evaluator changed; people see no change of the system",
        (_, "worse") => "worse results, for any grades of unjudged ones",
        (_, "more_unjudged") => {
            "more unjudged results; judge them before you look for a cause in the ranking"
        }
        _ => "worse results or more unjudged ones, not decided yet",
    }
}

fn level(it: Option<LevelEntry>) -> Markup {
    html! {
        @match it {
            None => { span.name { "–" } }
            Some(it) => { (score(it.mean)) " " span.name { (score(it.lower)) " to " (score(it.upper)) " (" (count(it.searches)) ")" } }
        }
    }
}

/// Estimated beginning with its interval.
fn began(it: &IncidentEntry) -> Markup {
    let [lower, upper] = [it.started_at_lower, it.started_at_upper];
    // Times are shown to the second.
    let second = |at: Timestamp| at.0.0.div_euclid(1_000);
    let is_one = second(lower) == second(upper);
    html! {
        "began " @if is_one { "about " } (moment(it.started_at))
        @if !is_one { " " span.name { "(between " (moment(lower)) " and " (moment(upper)) ")" } }
    }
}

fn content(admin: &AdminApi, it: &IncidentEntry) -> Markup {
    let now = it.moment_of_size();
    let column = if it.ended_at.is_some() {
        "At the end"
    } else {
        "Now"
    };
    html! {
        h1 { (text(&it.summary)) }
        p { (state(it)) " · " (began(it))
            @if let Some(at) = it.ended_at { " · ended " (moment(at)) }
            @if let Some(given) = &it.acknowledged { " · " (incident_card::acknowledged(given)) }
        }
        (incident_card::acknowledge(it))
        p { (if it.part == "some" { "Some queries" } else { "All queries" }) ": " (cause_of(it)) }
        div.scroll tabindex="0" role="group" aria-label="Measures" { table {
            thead { tr { th scope="col" { "Measure" } th scope="col" { "Before" } th scope="col" { "At the alarm" } th scope="col" { (column) } th scope="col" { "Loss" } } }
            tbody { @for of in &it.measures { tr {
                th scope="row" { (text(&of.name())) }
                td data-label="Before" { (level(of.before)) }
                td data-label="At the alarm" { (level(of.at_alarm)) }
                td data-label=(column) { (level(of.now)) }
                td data-label="Loss" { (level(of.loss)) }
            } } }
        } }
        @if !it.queries.is_empty() {
            h2 { "Queries that lost most " (now) }
            div.scroll tabindex="0" role="group" aria-label="Queries" { table.queries {
                thead { tr { th scope="col" { "Query" } th scope="col" { "Before" } th scope="col" { (column) } th scope="col" { "Loss" } } }
                tbody { @for of in &it.queries { tr {
                    th scope="row" { a href=(incident_card::lost_query(&of.query, &it.variant)) data-row { (incident_card::query_name(admin, &of.query)) } }
                    td data-label="Before" { (score(of.before)) }
                    td data-label=(column) { (level(of.now)) }
                    td data-label="Loss" { (level(of.loss)) }
                } } }
            } }
        }
        @if !it.causes.is_empty() {
            h2 { "Changed with it" }
            ul { @for cause in &it.causes { li {
                @if let Some(verdict) = incident_card::verdict(cause) { (verdict) " of " }
                (text(&cause.name))
                @if let (Some(before), Some(after)) = (cause.before, cause.after) {
                    ": " (score(before)) " → " (score(after)) " (" (signed(after - before)) ")"
                } @else { " " span.name { (cause.kind) } @if let Some(at) = cause.at { " " (moment(at)) } }
            } } }
        }
        @if !it.deployments.is_empty() {
            h2 { "Deployments" }
            ul { @for of in &it.deployments { li {
                strong { (text(of.version.as_deref().unwrap_or("without a version"))) } " " (moment(of.at)) " "
                @match of.state {
                    "continues" => { span.bad { "repaired nothing: the incident continues" } }
                    "improved" => { "no loss is shown since" }
                    "testing" => { "searches after it are being compared" }
                    _ => { span.name { "before the beginning" } }
                }
            } } }
        }
        (incident_card::notes(it))
        (incident_card::runbook())
        p { a href=(address("/queries", [("order", REGRESSED), ("variant", &it.variant)])) { "Regressed queries of " (variant_name(&it.variant)) }
            " · " a href={ "/api/v1/incidents/" (it.id) "?format=markdown" } { "Markdown" }
            " · " a href="/incidents" { "All incidents" } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::incidents::tests::ended;

    #[test]
    fn a_beginning_without_a_width_is_one_time() {
        let text = began(&ended()).0;
        assert!(text.contains("began about "), "{text}");
        assert!(!text.contains("between"), "{text}");
        let it = IncidentEntry {
            started_at_lower: Timestamp("2026-11-28T01:20:58.051Z".parse().expect("a time")),
            ..ended()
        };
        let text = began(&it).0;
        assert!(text.contains("(between "), "{text}");
    }
}
