//! First screen: incidents, missed targets, systems side by side, the primary slice, and the queries to look at.

use maud::{Markup, html};

use super::chart::Mark;
use super::choices::{AGAINST, Against};
use super::format::{duration, encoded, quantity, text, variant_name};
use super::scores::{
    SliceMean, WINDOW, change, choices, columns, heat, mean, reference, reference_name, relative,
    selected, slice_names, tier,
};
use super::screen::{Screen, empty};
use super::{chart, deployments, evaluators, format, incident_card, missed_targets, queries};
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::systems::{HISTORY, MeasureInfo, System, Systems};
use crate::api::{AdminApi, incidents, measures};
use crate::live::deployments::Deployment;
use rankgauge_core::engine::family::Quantile;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::tier::LEGEND;

pub(super) const PARAMETERS: [Parameter; 4] = [
    WINDOW,
    Parameter::text("slice", "Slice of the heat map."),
    AGAINST,
    HISTORY,
];

/// Maximum number of systems in the table; the others are folded.
const MAX_SYSTEMS: usize = 6;

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let systems = selected(admin, params)?;
    let against = Against::of(params, &systems);
    let incidents = incidents::open_entries(admin);
    let deployed = admin.exposition.control.deployments.latest();
    let content = html! {
        h1.unseen { "Overview" }
        (evaluators::alarms(&admin.exposition))
        (incident_card::cards(admin, &incidents, &systems))
        (missed_targets::section(&systems, !incidents.is_empty(), &deployed))
        section aria-labelledby="systems" {
            div.heading {
                h2 #systems { "Systems" }
                (choices(&systems, against))
            }
            (table(&systems, against, &deployed))
            (deployments::latest(&deployed, |variant| systems.has(variant)))
        }
        div.columns {
            (slices(admin, (&systems, against), params)?)
            (queries::summary(admin, &incidents)?)
        }
    };
    Ok(Screen {
        title: "Overview".to_owned(),
        tab: "overview",
        json: format!("/api/v1/systems?window={}", encoded(&systems.window)),
        content,
    })
}

fn table(systems: &Systems, against: Against, deployed: &[Deployment]) -> Markup {
    if systems.systems.is_empty() {
        return empty(
            "No searches yet",
            &html! { "Send search events to the topic of the configuration. "
            code { "rankgauge produce" } " sends examples; the " a href="/pipeline" { "pipeline" }
            " shows what arrives." },
        );
    }
    let columns = columns(systems).into_iter();
    let columns: Vec<Column<'_>> = columns.map(|info| (info, scale(systems, info))).collect();
    let (first, rest) = by_interest(systems);
    let rows = |systems_of: &[&System]| {
        html! { @for system in systems_of { (row(systems, against, system, (&columns, deployed))) } }
    };
    let head = html! {
        thead { tr {
            th scope="col" { "System" }
            @for (info, _) in &columns { th scope="col" { (info.measure) } }
            th scope="col" { "p95" }
            th scope="col" { "Cost per 1,000" }
            th scope="col" { "Searches" }
        } }
    };
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby="systems-caption" {
            table.systems {
                caption #systems-caption {
                    "Means of the last " (systems.window) ". Second line: change against " (reference_name(systems, against))
                    ", coloured where evidence supports it. " (LEGEND) "."
                    @if !deployed.is_empty() { " Vertical lines are deployments." }
                }
                (head)
                tbody { (rows(&first)) }
            }
        }
        @if !rest.is_empty() {
            details {
                summary { (rest.len()) " more systems" }
                div.scroll tabindex="0" role="group" aria-label="More systems" {
                    table.systems { (head) tbody { (rows(&rest)) } }
                }
            }
        }
    }
}

/// Systems of the table, and those that are folded. With many systems, those with an alarm, the control and
/// the best are shown.
fn by_interest(systems: &Systems) -> (Vec<&System>, Vec<&System>) {
    let all: Vec<&System> = systems.systems.iter().collect();
    if all.len() <= MAX_SYSTEMS {
        return (all, Vec::new());
    }
    let primary = systems.measures.iter().find(|info| info.is_primary);
    let mean = |system: &System| {
        let mut scores = system.scores.iter();
        let found = scores.find(|it| primary.is_some_and(|info| it.measure == info.measure));
        found.and_then(|it| it.mean).unwrap_or(f64::NEG_INFINITY)
    };
    let mut ranked = all.clone();
    ranked.sort_by(|a, b| {
        let rank = |it: &System| {
            let has_alarm = it.scores.iter().any(|of| !of.alarms.is_empty());
            (!has_alarm, !it.is_control)
        };
        rank(a).cmp(&rank(b)).then(mean(b).total_cmp(&mean(a)))
    });
    let first = &ranked[..MAX_SYSTEMS];
    let is_first = |it: &&System| first.iter().any(|other| other.variant == it.variant);
    all.into_iter().partition(is_first)
}

/// Measure with the scale of its sparklines.
type Column<'a> = (&'a MeasureInfo, [f64; 2]);

fn row(
    systems: &Systems,
    against: Against,
    system: &System,
    (columns, deployed): (&[Column<'_>], &[Deployment]),
) -> Markup {
    let marks = deployments::marks(deployed, &system.variant, &systems.history.times);
    let control = systems.systems.iter().find(|it| it.is_control);
    let control = control.filter(|_| against == Against::Control && !system.is_control);
    html! {
        tr data-variant=(system.variant) {
            th scope="row" {
                a href={ "/systems/" (encoded(&system.variant)) } data-row { (variant_name(&system.variant)) }
                @if system.is_control { " " span.name { "control" } }
            }
            @for column in columns { (cell(systems, against, (system, column), &marks)) }
            td data-label="p95" { (latency(system)) (relative(p95(system), control.and_then(p95))) }
            td data-label="Cost per 1,000" { (cost(system, control)) }
            td data-label="Searches" {
                (format::count(system.searches))
                @if let Some(rate) = system.searches_per_second { div.sub { (quantity(rate)) "/s" } }
                @if let Some(coverage) = system.gold_coverage { div.sub title="share of the searches that the means are about" { (format::share(coverage)) " in gold" } }
            }
        }
    }
}

fn cell(
    systems: &Systems,
    against: Against,
    (system, (info, scale)): (&System, &Column<'_>),
    marks: &[Mark],
) -> Markup {
    let Some(of) = system
        .scores
        .iter()
        .find(|score| score.measure == info.measure)
    else {
        return html! { td data-label=(info.measure) { span.name { "–" } } };
    };
    let title = format!("{} of {}", info.measure, system.variant);
    html! {
        td data-label=(info.measure) data-measure=(info.measure) {
            div.value {
                (chart::sparkline(&title, (&of.history, *scale), reference(info, of), marks))
                span { (mean(of)) }
                (tier(info, of))
            }
            div.sub { (change(systems, against, (system, info, of))) }
        }
    }
}

/// Lowest and highest mean of a measure in the history of all systems: the scale of its sparklines.
fn scale(systems: &Systems, info: &MeasureInfo) -> [f64; 2] {
    let scores = systems.systems.iter().flat_map(|system| &system.scores);
    let scores = scores.filter(|it| it.measure == info.measure);
    let means = scores.flat_map(|it| {
        it.history
            .iter()
            .copied()
            .flatten()
            .chain(reference(info, it))
    });
    means.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], mean| {
        [low.min(mean), high.max(mean)]
    })
}

fn p95(system: &System) -> Option<f64> {
    let whole = system.latency_seconds.get(Settings::WHOLE_SEARCH)?;
    whole.get(&Quantile::P95).copied()
}

fn latency(system: &System) -> Markup {
    html! {
        @if let Some(p95) = p95(system) { (duration(p95)) } @else { span.name { "–" } }
    }
}

fn cost(system: &System, control: Option<&System>) -> Markup {
    html! {
        @if system.cost_per_query.is_empty() { span.name { "–" } }
        @for (currency, mean) in &system.cost_per_query {
            div { (quantity(mean * 1_000.0)) " " span.name { (currency) } }
            (relative(Some(*mean), control.and_then(|it| it.cost_per_query.get(currency)).copied()))
        }
    }
}

/// Heat map of one slice: its values by system, in the primary measure.
fn slices(
    admin: &AdminApi,
    (systems, against): (&Systems, Against),
    params: &Parameters,
) -> Result<Markup, ApiError> {
    let names = slice_names(admin);
    let chosen = params.single("slice").map(str::to_owned);
    let chosen = chosen.or_else(|| names.first().map(|first| (*first).clone()));
    let (Some(slice), Some(measure)) = (chosen, queries::primary(admin)) else {
        return Ok(html! {});
    };
    let selected = Parameters::from_pairs(
        &measures::PARAMETERS,
        [
            ("measure", measure.as_str()),
            ("slice", &slice),
            ("window", &systems.window),
        ],
    );
    let found = measures::of(&admin.exposition, &selected)?;
    let mut values: Vec<&str> = found.measures.iter().map(|it| it.value.as_str()).collect();
    values.sort_unstable();
    values.dedup();
    let mean = |value: &str, variant: &str| {
        let mut found = found.measures.iter();
        let found = found.find(|it| it.value == value && it.variant == variant)?;
        let window = found.windows.first()?;
        Some(SliceMean {
            mean: window.mean,
            count: window.count,
        })
    };
    let labels = queries::labels(admin);
    let control = systems.control.as_deref();
    let control = control.filter(|_| against == Against::Control);
    let (first, rest) = by_interest(systems);
    let heat_map = |of: &[&System], caption: Option<&Markup>| {
        html! {
            table.heat {
                @if let Some(caption) = caption { (caption) }
                thead { tr { th scope="col" { (slice) }
                    @for it in of { th scope="col" { (variant_name(&it.variant)) } }
                } }
                tbody { @for value in &values { tr {
                    th scope="row" { (text(value)) }
                    @for it in of {
                        @let variant = it.variant.as_str();
                        @let of_control = control.and_then(|control| mean(value, control));
                        @let address = queries::of_slice(&labels, &measure, variant, (&slice, value));
                        (heat(&measure, variant, (mean(value, variant), of_control), address.as_deref()))
                    }
                } } }
            }
        }
    };
    let caption = html! {
        caption #slices-caption { "Means of the last " (systems.window)
            @if let Some(control) = control { "; ▲ ▼ a difference from " (text(control)) " beyond noise. A cell opens its queries" } "."
        }
    };
    Ok(html! {
        section aria-labelledby="slices" {
            div.heading {
                h2 #slices { (measure) " by slice" }
                ul.choice aria-label="Slice" { @for name in &names {
                    li { a href={ "?slice=" (encoded(name)) } aria-current=[(**name == slice).then_some("true")] { (name) } }
                } }
            }
            @if values.is_empty() {
                (empty("No searches in this window", &html! { "Choose a longer window." }))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="slices-caption" { (heat_map(&first, Some(&caption))) }
                @if !rest.is_empty() {
                    details {
                        summary { (rest.len()) " more systems" }
                        div.scroll tabindex="0" role="group" aria-label={ "More systems by " (slice) } { (heat_map(&rest, None)) }
                    }
                }
            }
        }
    })
}
