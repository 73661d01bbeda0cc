//! Gold set: version, coverage by slice, queries without traffic, unjudged documents that users
//! click.

use maud::{Markup, html};

use super::evaluators;
use super::format::{count, encoded, share, size, text};
use super::screen::{Screen, command, empty, ratio};
use crate::api::gold::GoldCoverage;
use crate::api::parameters::Parameters;
use crate::api::problem::ApiError;
use crate::api::{AdminApi, gold};

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let found = gold::of(&admin.exposition, params)?;
    let content = html! {
        h1 { "Gold set" }
        @if found.gold.queries == 0 {
            (empty("No gold set is loaded", &html! { "Set " code { "gold.paths" } " to the files with judgements and restart. Without one, searches are counted and not judged." }))
        } @else {
            (facts(&found))
            div.columns { (slices(&found)) (clicked(&found)) }
            (without_traffic(&found))
            @if admin.reload.is_some() {
                (command("Reload the gold set", "The files are read again now. Scores against different gold sets are not comparable: if the content changed, query statistics and baselines start again.", "/-/reload"))
            }
        }
        (evaluators::section(&admin.exposition))
    };
    Ok(Screen {
        title: "Gold set".to_owned(),
        tab: "gold",
        json: "/api/v1/gold".to_owned(),
        content,
    })
}

fn facts(found: &GoldCoverage) -> Markup {
    let of = |outcome| found.searches.get(outcome).copied().unwrap_or(0);
    let (judged, unjudged) = (of("judged"), of("unjudged"));
    html! {
        dl.facts {
            div { dt { "Version" } dd { (found.gold.version) } }
            div { dt { "SHA-256" } dd { code title=(found.gold.sha256) { (found.gold.sha256.get(..12).unwrap_or_default()) } } }
            div { dt { "Queries" } dd { (size(found.gold.queries)) } }
            div { dt { "Judgements" } dd { (size(found.gold.judgements)) } }
            div { dt { "Relevant from grade" } dd { (found.relevance_level) } }
            div { dt { "Searches in the gold set" } dd { (count(judged)) " of " (count(judged + unjudged))
                @if judged + unjudged > 0 { " (" (share(ratio(judged, judged + unjudged))) ")" } } }
            div { dt { "Queries with traffic" } dd { (size(found.with_traffic)) " of " (size(found.gold.queries)) } }
        }
    }
}

fn slices(found: &GoldCoverage) -> Markup {
    html! {
        section aria-labelledby="coverage" {
            h2 #coverage { "Coverage by slice" }
            @if found.slices.is_empty() {
                (empty("No slices", &html! { "Declare labels of the gold set under " code { "slices" } "." }))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="coverage" { table.coverage {
                    thead { tr { th scope="col" { "Slice" } th.words scope="col" { "Value" } th scope="col" { "Queries" } th scope="col" { "Judgements" } th scope="col" { "With traffic" } } }
                    tbody { @for it in &found.slices { tr {
                        th scope="row" { (it.slice) }
                        td.words data-label="Value" { (text(&it.value)) }
                        td data-label="Queries" { (size(it.queries)) }
                        td data-label="Judgements" { (size(it.judgements)) }
                        td data-label="With traffic" { (size(it.with_traffic)) @if it.with_traffic == 0 { span.bad { " ✗" } } }
                    } } }
                } }
            }
        }
    }
}

fn clicked(found: &GoldCoverage) -> Markup {
    html! {
        section aria-labelledby="clicked" {
            h2 #clicked { "Unjudged documents that users click" }
            @if found.clicked_unjudged.is_empty() {
                p.calm { span.good { "✓" } " No click on an unjudged document of the last rankings." }
            } @else {
                p.name { "Candidates for judgement. Clicks on the last rankings of each query and system are counted." }
                div.scroll tabindex="0" role="group" aria-labelledby="clicked" { table.clicked {
                    thead { tr { th scope="col" { "Document" } th.words scope="col" { "Query" } th scope="col" { "Clicks" } } }
                    tbody { @for it in found.clicked_unjudged.iter().take(20) { tr {
                        th scope="row" { (text(&it.document)) }
                        td.words data-label="Query" { a href={ "/queries/" (encoded(&it.key)) } { span.id { (it.key) } @if let Some(query) = &it.text { " " (text(query)) } } }
                        td data-label="Clicks" { (count(it.clicks)) }
                    } } }
                } }
            }
        }
    }
}

fn without_traffic(found: &GoldCoverage) -> Markup {
    html! {
        section aria-labelledby="silent" {
            h2 #silent { "Queries without traffic " span.number { (found.gold.queries.saturating_sub(found.with_traffic)) } }
            @if found.without_traffic.is_empty() {
                p.calm { span.good { "✓" } " Every query of the gold set was searched." }
            } @else {
                ul.silent { @for it in &found.without_traffic { li { span.id { (it.key) } @if let Some(query) = &it.text { " " (text(query)) } } } }
                @if let Some(cursor) = &found.next_cursor { p { a rel="next" href={ "?cursor=" (encoded(cursor)) } { "Next" } } }
            }
        }
    }
}
