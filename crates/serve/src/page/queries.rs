//! Gold queries: worst, or with the largest loss, first; searchable, sortable, filtered.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::format;
use super::format::{
    ABSENT, address, count, encoded, interval, score, signed, size, text, variant_name,
};
use super::screen::{Screen, empty};
use crate::api::AdminApi;
use crate::api::incidents::IncidentEntry;
use crate::api::parameters::Parameters;
use crate::api::problem::ApiError;
use crate::api::queries::{
    ANY, BEST, IMPROVED, MIN_COMPARED, NEWEST, PARAMETERS, QUERY, Queries, QueryScore, REGRESSED,
    SEARCHED, SURELY_WORST, SYSTEM, WITHIN_NOISE, WORST, list, list_first,
};
use rankgauge_core::measure::direction::Direction;

/// Number of queries on the overview.
const SUMMARY: &str = "10";
/// Number of queries of a page.
const PAGE: &str = "30";
/// Maximum number of values of a slice in the filter.
const MAX_VALUES: usize = 200;

/// Orders of the list with their names.
const ORDERS: [(&str, &str); 9] = [
    (SURELY_WORST, "surely worst first"),
    (WORST, "worst mean first"),
    (BEST, "best mean first"),
    (REGRESSED, "largest loss first"),
    (IMPROVED, "largest gain first"),
    (SEARCHED, "most searches first"),
    (NEWEST, "last searched first"),
    (QUERY, "by id"),
    (SYSTEM, "by system"),
];

/// Queries that lost, or the worst ones while none has. While incidents are open, only queries of their
/// systems are listed.
pub(super) fn summary(admin: &AdminApi, open: &[IncidentEntry]) -> Result<Markup, ApiError> {
    let measure = primary(admin);
    let variants: BTreeSet<&str> = open.iter().map(|it| it.variant.as_str()).collect();
    let of = |order| {
        let pairs = [("order", order), ("limit", SUMMARY)];
        let measure = measure.as_deref().map(|measure| ("measure", measure));
        let variants = variants.iter().map(|variant| ("variant", *variant));
        Parameters::from_pairs(
            &PARAMETERS,
            pairs.into_iter().chain(measure).chain(variants),
        )
    };
    let orders = [&of(REGRESSED), &of(SURELY_WORST)];
    let found = list_first(&admin.exposition, orders)?;
    let (what, suffix) = if found.order == REGRESSED {
        ("Queries", " that lost")
    } else {
        ("Worst queries", "")
    };
    Ok(html! {
        section aria-labelledby="queries" {
            div.heading {
                h2 #queries { (what)
                    @if !variants.is_empty() { " of " @for (place, variant) in variants.iter().enumerate() {
                        @if place > 0 { ", " } (variant_name(variant))
                    } }
                    (suffix)
                }
                form.search action="/queries" role="search" {
                    input type="search" name="search" aria-label="Search gold queries" placeholder="Search queries  /";
                }
            }
            div.brief.losses[found.order == REGRESSED] { (table(&found, &found.queries, None)) }
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

/// Address of the queries of a slice value with a system; `None` if the slice is none of the
/// [labels] of the gold set, because query statistics know no other.
pub(super) fn of_slice(
    labels: &Labels<'_>,
    measure: &str,
    variant: &str,
    (slice, value): (&str, &str),
) -> Option<String> {
    labels.get(slice)?.contains(value).then(|| {
        format!(
            "/queries?order={SURELY_WORST}&variant={}&slice={}&value={}{}",
            encoded(variant),
            encoded(slice),
            encoded(value),
            super::missed_targets::measure_of(measure)
        )
    })
}

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let measure = primary(admin);
    let is_absent = |name| params.single(name).is_none();
    let measure = measure.filter(|_| is_absent("measure") && is_absent("cutoff"));
    // The choice of all systems is no filter, nor is a slice before the choice of its value.
    let is_filter = |name: &str, value: &str| match name {
        "slice" => !is_absent("value"),
        "value" => !is_absent("slice"),
        _ => !value.is_empty(),
    };
    let given = params
        .pairs()
        .filter(|(name, value)| is_filter(name, value));
    let measure = measure.as_deref().map(|measure| ("measure", measure));
    let defaults = [("limit", PAGE), ("order", SURELY_WORST), ("evidence", ANY)];
    let defaults = defaults.into_iter().filter(|(name, _)| is_absent(name));
    let listed = Parameters::from_pairs(&PARAMETERS, given.chain(measure).chain(defaults));
    let found = list(&admin.exposition, &listed)?;
    let list_at = |path: &str, pairs: &[(&str, &str)]| {
        let kept = listed
            .pairs()
            .filter(|(name, _)| *name != "cursor" && pairs.iter().all(|(it, _)| it != name));
        let all = kept
            .chain(pairs.iter().copied())
            .filter(|(name, value)| *name != "limit" && !value.is_empty());
        address(path, all)
    };
    let screen_at = |pairs: &[(&str, &str)]| list_at("/queries", pairs);
    let is_change = [REGRESSED, IMPROVED].contains(&found.order);
    let (evident, noise): (Vec<&QueryScore>, Vec<&QueryScore>) = found
        .queries
        .iter()
        .partition(|it| !is_change || it.verdict == Some(found.order));
    let what = if found.order == IMPROVED {
        "gain"
    } else {
        "loss"
    };
    let content = html! {
        h1 { "Queries" }
        (form(admin, &found, params))
        p.name role="status" {
            @if is_change {
                (size(found.with_evidence)) " of " (size(found.found)) " pairs of query and system have a " (what) " in " (found.measure)
                " beyond noise. The others are folded. Pairs with fewer than " (MIN_COMPARED) " searches before or now are not compared."
            } @else {
                (size(found.found)) " pairs of query and system by " (found.measure) "."
            }
            @if found.not_recorded > 0 { " " (count(found.not_recorded)) " searches of pairs searched longest ago made room for others." }
            " " a href=(list_at("/api/v1/queries.csv", &[])) download="queries.csv" { "CSV" }
        }
        @if is_change && evident.is_empty() {
            (empty(&format!("No query has a {what} beyond noise"), &html! {
                "The difference of every query is explained by chance, or it has too few searches before and now."
            }))
        } @else {
            (table(&found, evident, Some(&screen_at)))
        }
        @if !noise.is_empty() {
            details open[params.single("cursor").is_some()] {
                summary { (size(found.found - found.with_evidence)) " within noise: no " (what) " is shown" }
                (table(&found, noise, Some(&screen_at)))
            }
        }
        @if let Some(cursor) = &found.next_cursor {
            p { a rel="next" href=(screen_at(&[("cursor", cursor)])) { "Next " (PAGE) } }
        }
    };
    Ok(Screen {
        title: "Queries".to_owned(),
        tab: "queries",
        json: list_at("/api/v1/queries", &[]),
        content,
    })
}

fn form(admin: &AdminApi, found: &Queries, params: &Parameters) -> Markup {
    let settings = &admin.exposition.names.settings;
    let measures = settings.measures.iter().filter(|measure| {
        !measure.is_user_measure() && measure.descriptor().direction != Direction::Neither
    });
    let variants = admin.exposition.variants();
    let given = |name| params.single(name).unwrap_or_default();
    let labels = labels(admin);
    let values = labels.get(given("slice"));
    html! {
        form.filters action="/queries" data-auto role="search" {
            label { "Search " input type="search" name="search" value=(given("search")) placeholder="text or id"; }
            label { "Order " select name="order" { @for (value, name) in ORDERS {
                option value=(value) selected[value == found.order] { (name) }
            } } }
            label { "Measure " select name="measure" { @for measure in measures.map(ToString::to_string) {
                option selected[measure == found.measure] { (measure) }
            } } }
            label { "System " select name="variant" {
                option value="" { "all" }
                @for name in variants.iter().filter(|name| !name.is_empty()) { option selected[**name == *given("variant")] { (name) } }
            } }
            @if !labels.is_empty() {
                label { "Slice " select name="slice" {
                    option value="" { "all" }
                    @for slice in labels.keys() { option selected[*slice == given("slice")] { (slice) } }
                } }
            }
            @if let Some(values) = values {
                label { "Value " select name="value" {
                    option value="" { "all" }
                    @for value in values.iter().take(MAX_VALUES) { option selected[*value == given("value")] { (value) } }
                } }
            }
            label { "At least " input type="number" name="min_count" min="1" value=(params.whole("min_count").unwrap_or(1)) size="4"; " searches" }
            button { "Show" }
        }
    }
}

/// Values by label.
pub(super) type Labels<'a> = BTreeMap<&'a str, BTreeSet<String>>;

/// Values of the labels of the gold set that are slices.
pub(super) fn labels(admin: &AdminApi) -> Labels<'_> {
    let gold = admin.exposition.control.gold();
    let mut labels = Labels::new();
    for slice in super::scores::slice_names(admin) {
        for query in gold.queries() {
            if let Some(value) = query.labels.get(slice) {
                labels.entry(slice).or_default().insert(value.clone());
            }
        }
    }
    labels
}

/// Address of the same list with other parameters.
type Address<'a> = &'a dyn Fn(&[(&str, &str)]) -> String;

fn table<'a>(
    found: &Queries,
    queries: impl IntoIterator<Item = &'a QueryScore>,
    address: Option<Address<'_>>,
) -> Markup {
    let mut queries = queries.into_iter().peekable();
    if queries.peek().is_none() {
        return empty(
            "No gold query found",
            &html! {
                @if found.gold.queries == 0 {
                    "No gold set is loaded: set " code { "gold.paths" } ", see the " a href="/gold" { "gold set" } "."
                } @else {
                    "No search for a gold query has arrived, or the filter excludes all of them."
                }
            },
        );
    }
    let worse_down = found.direction == Direction::Up;
    // A second choice of a column is its opposite order.
    let heading = |name: &str, orders: [&str; 2]| {
        let is_chosen = orders.contains(&found.order);
        let next = if found.order == orders[0] {
            orders[1]
        } else {
            orders[0]
        };
        html! {
            th scope="col" aria-sort=[is_chosen.then_some(if found.order == orders[0] { "ascending" } else { "descending" })] {
                @match address {
                    Some(address) => a href=(address(&[("order", next)])) { (name) },
                    None => (name),
                }
            }
        }
    };
    html! {
        div.scroll tabindex="0" role="group" aria-label="Queries" {
            table.queries {
                thead { tr {
                    (heading("Query", [QUERY; 2]))
                    (heading("System", [SYSTEM; 2]))
                    th scope="col" { "Before" }
                    th scope="col" { "Now" }
                    (heading("Change", [REGRESSED, IMPROVED]))
                    (heading("Mean", [SURELY_WORST, BEST]))
                    (heading("Searches", [SEARCHED; 2]))
                } }
                tbody data-rows="queries" { @for query in queries { (row(query, found.order, worse_down)) } }
            }
        }
        p { button type="button" data-sorts="queries" hidden { "Show the current order" } }
    }
}

fn row(query: &QueryScore, order: &str, worse_down: bool) -> Markup {
    html! {
        tr data-key={ (query.key) "\u{1f}" (query.variant) } data-query=(query.key) data-variant=(query.variant) {
            th scope="row" {
                a href={ "/queries/" (encoded(&query.key)) "?variant=" (encoded(&query.variant)) "&order=" (order) } data-row {
                    span.id { (query.key) } " "
                    @if let Some(it) = &query.text { (text(it)) }
                }
            }
            td data-label="System" { (variant_name(&query.variant)) }
            td data-label="Before" { (sample(query.baseline, query.baseline_count, query.baseline_variance)) }
            td data-label="Now" { (sample(query.recent, query.recent_count, query.recent_variance)) }
            td data-label="Change" { (change(query, worse_down)) }
            td data-label="Mean" {
                (score(query.mean))
                (true_mean(query))
            }
            td data-label="Searches" { (format::count(query.count)) }
        }
    }
}

/// Interval of the true mean, which the observed mean of a few searches can lie outside of.
fn true_mean(query: &QueryScore) -> Markup {
    let found = query.lower.zip(query.upper);
    let bounds = found.and_then(|(lower, upper)| interval(lower, upper, " … "));
    html! {
        @if let Some(bounds) = bounds {
            div.sub title="99.9 % interval of the true mean, estimated together with the other queries of the system: the observed mean of a few searches can lie outside of it" {
                "true mean " (bounds)
            }
        }
    }
}

/// Mean of a sample with its size and standard deviation.
fn sample(mean: Option<f64>, number: u64, variance: Option<f64>) -> Markup {
    html! {
        @match mean {
            Some(mean) => {
                (score(mean))
                div.sub title="number of searches, standard deviation" { "n " (count(number)) @if let Some(it) = variance { ", sd " (score(it.sqrt())) } }
            },
            None => (ABSENT),
        }
    }
}

/// Estimated change with its interval; coloured only with evidence.
fn change(query: &QueryScore, worse_down: bool) -> Markup {
    let (Some(effect), Some(lower), Some(upper)) =
        (query.effect, query.effect_lower, query.effect_upper)
    else {
        return html! { span.name.absent title={ "compared from " (MIN_COMPARED) " searches before and now on" } { "–" } };
    };
    let is_loss = query.verdict == Some(REGRESSED);
    let is_evident = query.verdict.is_some_and(|it| it != WITHIN_NOISE);
    let raw = query
        .change
        .map(|it| format!("difference of the means {it:+.3}"));
    html! {
        @if is_evident {
            span.bad[is_loss].good[!is_loss] title=[raw] {
                @if is_loss == worse_down { "▼ " } @else { "▲ " }
                (signed(effect))
            }
            div.sub title="99.9 % interval" { (signed(lower)) " … " (signed(upper)) }
        } @else {
            span.name title=[raw] { (signed(effect)) }
            div.sub { "within noise" }
        }
    }
}
