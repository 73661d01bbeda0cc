//! One system: all its measures against targets, baseline and control, its slices, latency, cost and
//! user behaviour.

use std::collections::BTreeMap;

use hyper::StatusCode;
use maud::{Markup, html};

use super::chart::Mark;
use super::choices::{AGAINST, Against};
use super::format::{
    ABSENT, count, duration, encoded, interval, moment, quantity, score, share, signed, text,
    variant_name,
};
use super::scores::{
    SliceMean, WINDOW, change, choices, columns, heat, learning, mean, of_last_searches, reference,
    reference_name, selected, share_of, shown_difference, slice_names, tier,
};
use super::screen::{Screen, command, empty};
use super::{chart, deployments, list_changes, quality, side_by_side};
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::systems::{HISTORY, MeasureInfo, System, SystemScore, Systems};
use crate::api::{AdminApi, experiments, measures};
use crate::live::deployments::Deployment;
use rankgauge_core::engine::family::Quantile;
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::tier::LEGEND;
use rankgauge_core::text::count_of;

pub(super) const PARAMETERS: [Parameter; 5] = [
    WINDOW,
    AGAINST,
    HISTORY,
    side_by_side::FROM,
    side_by_side::TO,
];

/// Parameters of the list of the systems.
pub(super) const INDEX_PARAMETERS: [Parameter; 3] = [WINDOW, AGAINST, HISTORY];

/// List of the systems.
pub(super) fn index(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let systems = selected(admin, params)?;
    let deployed = admin.exposition.control.deployments.latest();
    let content = html! {
        h1 { "Systems" }
        @if systems.systems.is_empty() {
            (empty("No searches yet", &html! { "Every value of " code { "variant" } " in search events appears here as a system." }))
        } @else {
            ul.cards { @for system in &systems.systems { li {
                a href={ "/systems/" (encoded(&system.variant)) } data-row { (variant_name(&system.variant)) }
                " " @if system.is_control { span.label { "control" } }
                p.name { (count(system.searches)) " searches" }
                @if let Some(last) = deployments::last(&deployed, &system.variant) { p.name { "deployed " (text(&last.version)) } }
            } } }
        }
        (deployments::list(deployed.iter(), |variant| systems.has(variant)))
        @if !systems.systems.is_empty() { (deployments::form(&systems.systems.iter().map(|it| it.variant.as_str()).collect::<Vec<_>>())) }
        (command("Reset the baselines", "All workers forget their baselines and the regression evidence, and learn new baselines from the following searches. Do this after a change that was intended to change scores.", "/-/baseline"))
    };
    Ok(Screen {
        title: "Systems".to_owned(),
        tab: "systems",
        json: "/api/v1/systems".to_owned(),
        content,
    })
}

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let variant = &params.path;
    let systems = selected(admin, params)?;
    let Some(system) = systems
        .systems
        .iter()
        .find(|system| system.variant == *variant)
    else {
        let error =
            format!("no search of a system \"{variant}\" has arrived; /systems lists the systems");
        return Err(ApiError::new(StatusCode::NOT_FOUND, error));
    };
    let against = Against::of(params, &systems);
    let found = experiments::of(&admin.exposition);
    let deployed = admin.exposition.control.deployments.latest();
    let marks = deployments::marks(&deployed, &system.variant, &systems.history.times);
    let of_system: Vec<&Deployment> = deployed
        .iter()
        .filter(|it| it.variant == *variant)
        .collect();
    let content = html! {
        div.heading {
            h1 { "System " (variant_name(&system.variant)) }
            (choices(&systems, against))
        }
        dl.facts {
            div { dt { "Searches" } dd { (count(system.searches)) } }
            @if let Some(rate) = system.searches_per_second { div { dt { "Rate" } dd { (quantity(rate)) "/s" } } }
            @if let Some(coverage) = system.gold_coverage { div { dt { "In the gold set" } dd { (share(coverage)) } } }
            div { dt { "Errors" } dd { (count(system.errors)) } }
            @for (currency, mean) in &system.cost_per_query { div { dt { "Cost per 1,000" } dd { (quantity(mean * 1_000.0)) " " (currency) } } }
            @if system.is_control { div { dt { "Role" } dd { "control" } } }
            @if let Some(last) = deployments::last(&deployed, &system.variant) { div { dt { "Deployed" } dd { (deployments::version(last)) } } }
            @for experiment in &found.experiments { div { dt { "Experiment" } dd { (share_of(experiment, &system.variant)) } } }
        }
        p { a href={ "/queries?order=regressed&variant=" (encoded(&system.variant)) } { "Most regressed queries" } " · "
            a href={ "/queries?order=worst&variant=" (encoded(&system.variant)) } { "Worst queries" } }
        h2 { "Measures" }
        (families(&systems, against, system, &marks))
        (slices(admin, (&systems, against), system)?)
        div.columns {
            (latency(system, &systems.window))
            (users(system))
        }
        (quality::section(&admin.exposition, &system.variant))
        (list_changes::section(&admin.exposition, &system.variant))
        (deployments::list(of_system.iter().copied(), |_| true))
        (side_by_side::section(&of_system, &systems, params)?)
        div #report { (deployments::form(&[system.variant.as_str()])) }
    };
    Ok(Screen {
        title: format!("System {variant}"),
        tab: "systems",
        json: format!(
            "/api/v1/systems?variant={}&window={}",
            encoded(variant),
            encoded(&systems.window)
        ),
        content,
    })
}

/// Number of measures up to which no family is folded.
const MAX_OPEN_MEASURES: usize = 12;

/// Measures that changed and those of the first screen, then the others by family.
fn families(systems: &Systems, against: Against, system: &System, marks: &[Mark]) -> Markup {
    let info = |name: &str| systems.measures.iter().find(|info| info.measure == name);
    let is_changed = |of: &SystemScore| {
        let is_different = of.difference.is_some_and(|it| it.is_shown());
        !of.alarms.is_empty() || is_different
    };
    let columns = columns(systems);
    let mut first: Vec<(&MeasureInfo, &SystemScore)> = Vec::new();
    let mut families: Vec<(&'static str, Vec<(&MeasureInfo, &SystemScore)>)> = Vec::new();
    for of in &system.scores {
        let Some(info) = info(&of.measure) else {
            continue;
        };
        if is_changed(of) || columns.iter().any(|it| it.measure == info.measure) {
            first.push((info, of));
            continue;
        }
        let family = family_of(info);
        match families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, rows)) => rows.push((info, of)),
            None => families.push((family, vec![(info, of)])),
        }
    }
    // The sort is stable: others keep the order of the configuration.
    first.sort_by_key(|(_, of)| !is_changed(of));
    let is_open = system.scores.len() <= MAX_OPEN_MEASURES;
    html! {
        p.name { "Mean of the last " (systems.window) ". Change against " (reference_name(systems, against))
            ", coloured where evidence supports it. Bounds since the last deployment and differences from the control since the start are anytime-valid. " (LEGEND)
            ". Measures with an alarm or a difference come first." }
        @if !first.is_empty() { (measures_table(systems, against, (system, &first), ("first", marks))) }
        @for (family, rows) in &families {
            details.family open[is_open] {
                summary { (family) " " span.name { (count_of(rows.len() as u64, "measure", "measures")) ", no change shown" } }
                (measures_table(systems, against, (system, rows), (family, marks)))
            }
        }
    }
}

/// Family of a measure.
fn family_of(info: &MeasureInfo) -> &'static str {
    if info.is_user_measure {
        "Users"
    } else if info.measure.contains('(') && is_component(&info.measure) {
        "Components"
    } else if info.direction == Direction::Neither {
        "Descriptive"
    } else {
        "Ranking"
    }
}

/// Returns true if the measure is about a part of the results: its first argument is unnamed.
fn is_component(measure: &str) -> bool {
    let measure = measure.parse::<rankgauge_core::measure::Measure>();
    measure.is_ok_and(|it| it.descriptor().has_argument())
}

fn measures_table(
    systems: &Systems,
    against: Against,
    (system, rows): (&System, &[(&MeasureInfo, &SystemScore)]),
    (family, marks): (&str, &[Mark]),
) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label={ "Measures: " (family) } {
            table.measures {
                thead { tr {
                    th scope="col" { "Measure" }
                    th scope="col" { "History" }
                    th scope="col" { "Mean" }
                    th scope="col" { "Change" }
                    th scope="col" { "Targets" }
                    th scope="col" { "Baseline" }
                    th scope="col" { "Bounds" }
                    th scope="col" { "Unjudged results" }
                    th scope="col" { "Against control" }
                } }
                tbody { @for (info, of) in rows {
                    (measure_row((info, of), marks, &change(systems, against, (system, info, of))))
                } }
            }
        }
    }
}

fn measure_row(
    (info, of): (&MeasureInfo, &SystemScore),
    marks: &[Mark],
    change: &Markup,
) -> Markup {
    let has_alarm = !of.alarms.is_empty();
    html! {
        tr data-measure=(of.measure) {
            th scope="row" { (of.measure) @if has_alarm { " " span.label.bad { "alarm" } } }
            td data-label="History" { (chart::sparkline(&of.measure, (&of.history, EMPTY_SCALE), reference(info, of), marks)) }
            td data-label="Mean" { (mean(of)) " " (tier(info, of)) }
            td data-label="Change" { (change) }
            td.targets data-label="Targets" { @for target in &info.targets { span.name { (target.tier) " " (score(target.value)) } " " } }
            td data-label="Baseline" {
                @match (of.baseline, of.baseline_searches) {
                    (Some(baseline), _) => {
                        (score(baseline))
                        (of_last_searches(info))
                    },
                    (None, Some(searches)) => (learning(searches)),
                    (None, None) => (ABSENT),
                }
                (tested_drops(info, of))
            }
            td data-label="Bounds" {
                @match of.bounds.and_then(|it| interval(it.lower, it.upper, "–")) {
                    Some(bounds) => { span { (bounds) } (of_last_searches(info)) },
                    None => (ABSENT),
                }
            }
            td data-label="Unjudged results" { (range(of)) }
            td data-label="Against control" { @match of.difference {
                Some(it) => { (super::experiments::verdict(info.direction, it)) span.name { " " (signed(it.lower)) " … " (signed(it.upper)) } },
                None => (ABSENT),
            } }
        }
    }
}

/// Smallest drops that are reported, and the end of the warm-up.
fn tested_drops(info: &MeasureInfo, of: &SystemScore) -> Markup {
    html! {
        @if let Some(tolerance) = of.tolerance {
            div.sub { span.name {
                "drops above " (score(tolerance))
                @if let Some(end) = of.warm_up_until { ", warm-up until " (moment(end)) }
                @if info.is_seasonal { ", by hour of the week" }
            } }
        }
    }
}

/// Scale that a chart extends to its own means.
const EMPTY_SCALE: [f64; 2] = [f64::INFINITY, f64::NEG_INFINITY];

/// Range of the mean over the grades of unjudged results, where they could change it.
fn range(of: &SystemScore) -> Markup {
    let open = of.range.filter(|it| it.upper - it.lower > SMALLEST_RANGE);
    html! { @match open {
        Some(range) => { span { (score(range.lower)) "–" (score(range.upper)) } },
        None => (ABSENT),
    } }
}

/// Smallest difference that four decimals show.
const SMALLEST_RANGE: f64 = 5e-5;

/// Heat maps of all slices: values by measure, coloured by the difference from the control.
fn slices(
    admin: &AdminApi,
    (systems, against): (&Systems, Against),
    system: &System,
) -> Result<Markup, ApiError> {
    let control = systems.control.as_deref();
    let control = control.filter(|_| against == Against::Control);
    let names = slice_names(admin);
    let columns = columns(systems);
    let pairs = columns
        .iter()
        .map(|info| ("measure", info.measure.as_str()));
    let pairs = pairs.chain([("window", systems.window.as_str())]);
    let found = measures::of(
        &admin.exposition,
        &Parameters::from_pairs(&measures::PARAMETERS, pairs),
    )?;
    let mut means: BTreeMap<(&str, &str, &str, &str), SliceMean> = BTreeMap::new();
    for it in &found.measures {
        if let Some(rolling) = it.windows.first() {
            means.insert(
                (&it.slice, &it.value, &it.measure, &it.variant),
                SliceMean {
                    mean: rolling.mean,
                    count: rolling.count,
                },
            );
        }
    }
    let labels = super::queries::labels(admin);
    let values = |slice: &str| {
        let mut values: Vec<&str> = means
            .keys()
            .filter(|key| key.0 == slice && key.3 == system.variant)
            .map(|key| key.1)
            .collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let cell = |slice: &str, value: &str, measure: &str| {
        let of = |variant: &str| means.get(&(slice, value, measure, variant)).copied();
        (of(&system.variant), control.and_then(of))
    };
    let by_slice: Vec<(&str, Vec<&str>)> = names
        .iter()
        .map(|it| (it.as_str(), values(it)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    let number: usize = by_slice.iter().map(|(_, values)| values.len()).sum();
    let is_changed = |slice: &str, values: &[&str]| {
        let cells = values
            .iter()
            .flat_map(|value| columns.iter().map(move |info| (*value, &info.measure)));
        let mut shown = cells.filter_map(|(value, measure)| {
            let (of, control) = cell(slice, value, measure);
            shown_difference(measure, of?, control)
        });
        shown.next().is_some()
    };
    Ok(html! {
        h2 { "Slices" }
        div.columns.slices { @for (slice, values) in &by_slice {
            details.family open[number <= MAX_OPEN_VALUES || is_changed(slice, values)] {
                summary { (slice) " " span.name { (count_of(values.len() as u64, "value", "values")) } }
                div.scroll tabindex="0" role="group" aria-label={ "Scores by " (slice) } {
                    table.heat {
                        thead { tr { th scope="col" { (slice) } @for info in &columns { th scope="col" { (info.measure) } } } }
                        tbody { @for value in values { tr {
                            th scope="row" { (text(value)) }
                            @for info in &columns {
                                @let measure = info.measure.as_str();
                                @let address = super::queries::of_slice(&labels, measure, &system.variant, (slice, value));
                                (heat(measure, measure, cell(slice, value, measure), address.as_deref()))
                            }
                        } } }
                    }
                }
            }
        } }
    })
}

/// Number of values of slices up to which all slices are open. Beyond it, those with a difference are.
const MAX_OPEN_VALUES: usize = 12;

fn latency(system: &System, window: &str) -> Markup {
    let quantiles = [
        (Quantile::P50, "p50"),
        (Quantile::P90, "p90"),
        (Quantile::P95, "p95"),
        (Quantile::P99, "p99"),
    ];
    html! {
        section {
            h2 { "Latency by stage" }
            @if system.latency_seconds.is_empty() {
                (empty("No latencies in this window", &html! { "Search events state them as " code { "latency_ms" } " and in their stages." }))
            } @else {
                div.scroll tabindex="0" role="group" aria-label={ "Latency quantiles of the last " (window) } {
                    table.narrow {
                        thead { tr { th scope="col" { "Stage" } @for (_, name) in quantiles { th scope="col" { (name) } } } }
                        tbody { @for (stage, of_stage) in &system.latency_seconds { tr {
                            th scope="row" { @if stage == Settings::WHOLE_SEARCH { "whole search" } @else { (text(stage)) } }
                            @for (quantile, _) in quantiles { td data-label={ "p" (quantile.name()) } { @if let Some(it) = of_stage.get(&quantile) { (duration(*it)) } @else { span.name { "–" } } } }
                        } } }
                    }
                }
            }
        }
    }
}

fn users(system: &System) -> Markup {
    html! {
        section {
            h2 { "User behaviour" }
            @if system.feedback.is_empty() {
                (empty("No feedback joined yet", &html! { "Feedback is counted when it is joined with its search." }))
            } @else {
                table.narrow {
                    thead { tr { th scope="col" { "Action" } th scope="col" { "Since the start" } } }
                    tbody { @for (action, number) in &system.feedback { tr { th scope="row" { (action) } td data-label="Since the start" { (count(*number)) } } } }
                }
            }
        }
    }
}
