//! First screen: alarms, systems side by side, the primary slice, and the queries to look at.

use maud::{Markup, html};

use super::chart::Mark;
use super::format::{duration, encoded, quantity, signed_text, text, variant_name};
use super::scores::{WINDOW, columns, heat, mean, selected, slice_names, tier, windows};
use super::screen::{Screen, empty};
use super::{alarms, chart, deployments, format, queries};
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::systems::{MeasureInfo, System, SystemScore, Systems};
use crate::api::{AdminApi, measures, regressions};
use crate::live::deployments::Deployment;

pub(super) const PARAMETERS: [Parameter; 2] =
    [WINDOW, Parameter::text("slice", "Slice of the heat map.")];

pub(super) fn screen(admin: &AdminApi, params: &Parameters) -> Result<Screen, ApiError> {
    let found = regressions::of(
        &admin.exposition,
        &Parameters::from_pairs(&regressions::PARAMETERS, []),
    )?;
    let systems = selected(admin, params)?;
    let deployed = admin.exposition.control.deployments.latest();
    let content = html! {
        h1.unseen { "Overview" }
        (alarms::section(&found, &systems, &deployed))
        section aria-labelledby="systems" {
            div.heading {
                h2 #systems { "Systems" }
                (windows(&systems, params))
            }
            (table(&systems, &deployed))
            (deployments::latest(&deployed))
        }
        div.columns {
            (slices(admin, &systems, params)?)
            (queries::summary(admin, &found)?)
        }
    };
    Ok(Screen {
        title: "Overview".to_owned(),
        tab: "overview",
        json: format!("/api/v1/systems?window={}", encoded(&systems.window)),
        content,
    })
}

fn table(systems: &Systems, deployed: &[Deployment]) -> Markup {
    if systems.systems.is_empty() {
        return empty(
            "No searches yet",
            &html! { "Send search events to the topic of the configuration. "
            code { "rankgauge produce" } " sends examples; the " a href="/pipeline" { "pipeline" }
            " shows what arrives." },
        );
    }
    let columns = columns(systems);
    let reference = reference_name(systems);
    html! {
        div.scroll tabindex="0" role="group" aria-labelledby="systems-caption" {
            table.systems {
                caption #systems-caption {
                    "Means of the last " (systems.window) ". Second line: change against " (reference)
                    ", marked where evidence supports it. ✓ reaches a target, ✗ reaches none."
                    @if !deployed.is_empty() { " Vertical lines are deployments." }
                }
                thead { tr {
                    th scope="col" { "System" }
                    @for info in &columns { th scope="col" { (info.measure) } }
                    th scope="col" { "p95" }
                    th scope="col" { "Cost per 1,000" }
                    th scope="col" { "Searches" }
                } }
                tbody { @for system in &systems.systems { tr data-variant=(system.variant) {
                    th scope="row" {
                        a href={ "/systems/" (encoded(&system.variant)) } data-row { (variant_name(&system.variant)) }
                        @if system.is_control { " " span.name { "control" } }
                    }
                    @let marks = deployments::marks(deployed, &system.variant, &systems.history.at);
                    @for info in &columns { (cell(systems, system, info, &marks)) }
                    td data-label="p95" { (latency(system)) }
                    td data-label="Cost per 1,000" { (cost(system)) }
                    td data-label="Searches" {
                        (format::count(system.searches))
                        @if let Some(rate) = system.searches_per_second { div.sub { (quantity(rate)) "/s" } }
                        @if let Some(coverage) = system.gold_coverage { div.sub title="share of the searches that the means are about" { (format::share(coverage)) " in gold" } }
                    }
                } } }
            }
        }
    }
}

/// Name of what the second line of a cell compares with.
fn reference_name(systems: &Systems) -> Markup {
    html! {
        @if let Some(control) = &systems.control { "the control " (text(control)) } @else { "the baseline" }
    }
}

fn cell(systems: &Systems, system: &System, info: &MeasureInfo, marks: &[Mark]) -> Markup {
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
                (chart::sparkline(&title, &of.history, of.baseline, marks))
                span { (mean(of)) }
                (tier(of))
            }
            div.sub { (change(systems, system, info, of)) }
        }
    }
}

/// Change against the control, or against the baseline without one.
fn change(systems: &Systems, system: &System, info: &MeasureInfo, of: &SystemScore) -> Markup {
    let has_alarm = !of.alarms.is_empty();
    if has_alarm && let (Some(mean), Some(baseline)) = (of.mean, of.baseline) {
        return html! {
            span.bad title="active alarm: change against the baseline" {
                (mark(info.direction, false)) " " data value=(mean - baseline) { (signed_text(mean - baseline)) } " baseline"
            }
        };
    }
    if let Some(difference) = of.difference {
        let mark = if difference.lower > 0.0 {
            Some(info.direction == "up")
        } else if difference.upper < 0.0 {
            Some(info.direction == "down")
        } else {
            None
        };
        return judged_change(
            info,
            difference.estimate,
            mark,
            "since the start, against the control",
        );
    }
    if systems.control.is_none()
        && let (Some(mean), Some(baseline)) = (of.mean, of.baseline)
    {
        return judged_change(info, mean - baseline, None, "against the baseline");
    }
    html! {
        @if system.is_control { span.name { "control" } }
        @else if let (None, Some(searches)) = (of.baseline, of.baseline_searches) {
            span.name { "learning: " (format::count(searches)) }
        }
    }
}

/// A change with its mark: better, worse, or undecided.
fn judged_change(info: &MeasureInfo, value: f64, is_better: Option<bool>, title: &str) -> Markup {
    html! {
        @match is_better {
            Some(is_better) => span.good[is_better].bad[!is_better] title=(title) {
                (mark(info.direction, is_better)) " " data value=(value) { (signed_text(value)) }
            },
            None => span.name title=(title) { data value=(value) { (signed_text(value)) } },
        }
    }
}

/// Arrow in the direction in which the score moved.
fn mark(direction: &str, is_better: bool) -> &'static str {
    if (direction == "down") == is_better {
        "▼"
    } else {
        "▲"
    }
}

fn latency(system: &System) -> Markup {
    let whole = system.latency_seconds.get("all");
    html! {
        @if let Some(p95) = whole.and_then(|whole| whole.get("0.95")) { (duration(*p95)) } @else { span.name { "–" } }
    }
}

fn cost(system: &System) -> Markup {
    html! {
        @if system.cost_per_query.is_empty() { span.name { "–" } }
        @for (currency, mean) in &system.cost_per_query { div { (quantity(mean * 1_000.0)) " " span.name { (currency) } } }
    }
}

/// Heat map of one slice: its values by system, in the primary measure.
fn slices(admin: &AdminApi, systems: &Systems, params: &Parameters) -> Result<Markup, ApiError> {
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
        Some(found.windows.first()?.mean)
    };
    let variants: Vec<&str> = systems
        .systems
        .iter()
        .map(|it| it.variant.as_str())
        .collect();
    Ok(html! {
        section aria-labelledby="slices" {
            div.heading {
                h2 #slices { (measure) " by slice" }
                ul.choice aria-label="Slice" { @for name in &names {
                    li { a href={ "?window=" (encoded(&systems.window)) "&slice=" (encoded(name)) } aria-current=[(**name == slice).then_some("true")] { (name) } }
                } }
            }
            @if values.is_empty() {
                (empty("No searches in this window", &html! { "Choose a longer window." }))
            } @else {
                div.scroll tabindex="0" role="group" aria-labelledby="slices-caption" {
                    table.heat {
                        caption #slices-caption { "Means of the last " (systems.window)
                            @if let Some(control) = &systems.control { "; ▲ ▼ by 0.05 or more against " (text(control)) }
                        }
                        thead { tr { th scope="col" { (slice) }
                            @for variant in &variants { th scope="col" { (variant_name(variant)) } }
                        } }
                        tbody { @for value in &values { tr {
                            th scope="row" { (text(value)) }
                            @for variant in &variants {
                                (heat(&measure, variant, mean(value, variant), systems.control.as_deref().and_then(|control| mean(value, control))))
                            }
                        } } }
                    }
                }
            }
        }
    })
}
