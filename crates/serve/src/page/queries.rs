//! Gold queries: worst or most regressed first, searchable.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::format;
use super::format::{count, encoded, score, signed, size, text, variant_name};
use super::screen::{Screen, empty};
use crate::api::parameters::Parameters;
use crate::api::problem::ApiError;
use crate::api::queries::{PARAMETERS, QueryScore, WorstQueries, worst_first};
use crate::api::regressions::Regressions;
use crate::api::{AdminApi, queries};
use rankgauge_core::engine::registry::Dimension;
use rankgauge_core::measure::direction::Direction;

/// Number of queries on the overview.
const SUMMARY: &str = "10";
/// Number of queries of a page.
const PAGE: &str = "50";

/// Most regressed queries, or the worst ones while none has regressed. While alarms for drops are
/// active, only queries of their systems are listed.
pub(super) fn summary(admin: &AdminApi, alarms: &Regressions) -> Result<Markup, ApiError> {
    let measure = primary(admin);
    let drops = alarms
        .regressions
        .iter()
        .filter(|it| it.is_active && it.regression.test == "drop");
    let variants: BTreeSet<&str> = drops.map(|it| it.regression.variant.as_str()).collect();
    let of = |order| {
        let pairs = [("order", order), ("limit", SUMMARY)];
        let measure = measure.as_deref().map(|measure| ("measure", measure));
        let variants = variants.iter().map(|variant| ("variant", *variant));
        let params = Parameters::from_pairs(
            &PARAMETERS,
            pairs.into_iter().chain(measure).chain(variants),
        );
        worst_first(&admin.exposition, &params)
    };
    let mut found = of("regressed")?;
    if found.queries.is_empty() {
        found = of("worst")?;
    }
    let title = if found.order == "regressed" {
        "Most regressed queries"
    } else {
        "Worst queries"
    };
    Ok(html! {
        section aria-labelledby="queries" {
            div.heading {
                h2 #queries { (title)
                    @if !variants.is_empty() { " of " @for (place, variant) in variants.iter().enumerate() {
                        @if place > 0 { ", " } (variant_name(variant))
                    } }
                }
                form.search action="/queries" role="search" {
                    input type="search" name="search" aria-label="Search gold queries" placeholder="Search queries  /";
                }
            }
            (table(&found))
            p { a href={ "/queries?order=" (found.order) } { "All queries" } }
        }
    })
}

/// Name of the primary measure.
pub(super) fn primary(admin: &AdminApi) -> Option<String> {
    let settings = &admin.exposition.names.settings;
    let index = settings.primary_measure()?;
    Some(settings.measures[index].to_string())
}

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let measure = primary(admin);
    let wanted = params.single("measure").is_none() && params.single("cutoff").is_none();
    let measure = measure.filter(|_| wanted);
    let limit = params.single("limit").is_none().then_some(("limit", PAGE));
    // Empty fields of the form are no filters.
    let given = params.pairs().filter(|(_, value)| !value.is_empty());
    let measure = measure.as_deref().map(|measure| ("measure", measure));
    let listed = Parameters::from_pairs(&PARAMETERS, given.chain(measure).chain(limit));
    let found = queries::worst_first(&admin.exposition, &listed)?;
    let address = |pairs: &[(&str, &str)]| {
        let kept = listed
            .pairs()
            .filter(|(name, _)| pairs.iter().all(|(it, _)| it != name));
        let all = kept
            .chain(pairs.iter().copied())
            .filter(|(name, value)| *name != "limit" && !value.is_empty());
        let all: Vec<String> = all
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        all.join("&")
    };
    let content = html! {
        h1 { "Queries" }
        (form(admin, &found, params))
        p.name role="status" {
            (size(found.found)) " pairs of query and system"
            @if found.order == "regressed" { " whose last rankings score worse in " (found.measure) " than their baseline" }
            @else { " by mean " (found.measure) ", worst first" }
            "."
            @if found.not_recorded > 0 { " " strong.bad { "✗ " (count(found.not_recorded)) " searches are not recorded: the query statistics are full." } }
        }
        (table(&found))
        @if let Some(cursor) = &found.next_cursor {
            p { a rel="next" href={ "/queries?" (address(&[("cursor", cursor)])) } { "Next " (PAGE) } }
        }
    };
    Ok(Screen {
        title: "Queries".to_owned(),
        tab: "queries",
        json: format!("/api/v1/queries?{}", address(&[])),
        content,
    })
}

fn form(admin: &AdminApi, found: &WorstQueries, params: &Parameters) -> Markup {
    let settings = &admin.exposition.names.settings;
    let measures = settings.measures.iter().filter(|measure| {
        !measure.is_user_measure() && measure.descriptor().direction != Direction::Neither
    });
    let variants = admin.exposition.names.registry.values(Dimension::Variant);
    let variant = params.single("variant").unwrap_or_default();
    let search = params.single("search").unwrap_or_default();
    let orders = [
        ("worst", "worst mean first"),
        ("regressed", "most regressed first"),
    ];
    html! {
        form.filters action="/queries" data-auto role="search" {
            label { "Search " input type="search" name="search" value=(search) placeholder="text or id"; }
            label { "Order " select name="order" { @for (value, name) in orders {
                option value=(value) selected[value == found.order] { (name) }
            } } }
            label { "Measure " select name="measure" { @for measure in measures {
                option selected[measure.to_string() == found.measure] { (measure.to_string()) }
            } } }
            label { "System " select name="variant" {
                option value="" { "all" }
                @for name in variants.iter().filter(|name| !name.is_empty()) { option selected[**name == *variant] { (name) } }
            } }
            button { "Show" }
        }
    }
}

fn table(found: &WorstQueries) -> Markup {
    if found.queries.is_empty() {
        return empty(
            "No gold query found",
            &html! {
                @if found.gold.queries == 0 {
                    "No gold set is loaded: set " code { "gold.paths" } ", see the " a href="/gold" { "gold set" } "."
                } @else if found.order == "regressed" {
                    "No query scores worse than its baseline. A baseline needs the first 10 searches of a query with a system."
                } @else {
                    "No search for a gold query has arrived, or the filter excludes all of them."
                }
            },
        );
    }
    let worse_down = found.direction == "up";
    html! {
        div.scroll tabindex="0" role="group" aria-label="Queries" {
            table.queries {
                thead { tr {
                    th scope="col" { "Query" }
                    th scope="col" { "System" }
                    th scope="col" { "Baseline" }
                    th scope="col" { "Last" }
                    th scope="col" { "Change" }
                    th scope="col" { "Mean" }
                    th scope="col" { "Searches" }
                } }
                tbody data-rows="queries" { @for query in &found.queries { (row(query, worse_down)) } }
            }
        }
        p { button type="button" data-sorts="queries" hidden { "Show the current order" } }
    }
}

fn row(query: &QueryScore, worse_down: bool) -> Markup {
    let worse = query.change.map(|change| (change < 0.0) == worse_down);
    html! {
        tr data-key={ (query.key) "\u{1f}" (query.variant) } data-query=(query.key) data-variant=(query.variant) {
            th scope="row" {
                a href={ "/queries/" (encoded(&query.key)) "?variant=" (encoded(&query.variant)) } data-row {
                    span.id { (query.key) } " "
                    @if let Some(it) = &query.text { (text(it)) }
                }
            }
            td data-label="System" { (variant_name(&query.variant)) }
            td data-label="Baseline" { @if let Some(baseline) = query.baseline { (score(baseline)) } @else { span.name { "–" } } }
            td data-label="Last" title={ "mean of the last " (query.recent_count) " searches" } { @if let Some(recent) = query.recent { (score(recent)) } @else { span.name { "–" } } }
            td data-label="Change" {
                @match (query.change, worse) {
                    (Some(change), Some(true)) if change.abs() >= 0.0005 => span.bad { @if worse_down { "▼ " } @else { "▲ " } (signed(change)) },
                    (Some(change), _) => span.name { (signed(change)) },
                    (None, _) => span.name { "–" },
                }
            }
            td data-label="Mean" { (score(query.mean)) }
            td data-label="Searches" { (format::count(query.count)) }
        }
    }
}
