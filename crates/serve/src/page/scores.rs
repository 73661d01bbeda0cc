//! Scores of systems, as several screens show them.

use maud::{Markup, html};

use super::format::{encoded, score, share, signed_text, text};
use crate::api::experiments::ExperimentStatus;
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::systems::{MeasureInfo, SystemScore, Systems};
use crate::api::{AdminApi, systems};
use rankgauge_core::engine::settings::{EXPERIMENT, SYNTHETIC};
use rankgauge_core::measure::direction::Direction;

/// Choice of the rolling window.
pub(super) const WINDOW: Parameter = Parameter::text("window", "Rolling window.");

/// Maximum number of measures in the table of systems.
const MAX_COLUMNS: usize = 6;

/// Names of the slices that the page shows.
pub(super) fn slice_names(admin: &AdminApi) -> Vec<&String> {
    let slices = admin.exposition.names.settings.slices.iter();
    slices
        .filter(|slice| ![EXPERIMENT, SYNTHETIC].contains(&slice.as_str()))
        .collect()
}

/// Systems in the window that the parameters of a screen choose.
pub(super) fn selected(admin: &AdminApi, params: &Parameters) -> Result<Systems, ApiError> {
    let window = params.single("window").map(|window| ("window", window));
    admin.systems(&Parameters::from_pairs(&systems::PARAMETERS, window))
}

/// Links to the same screen with another window.
pub(super) fn windows(systems: &Systems, params: &Parameters) -> Markup {
    let slice = params.single("slice");
    let slice = slice
        .map(|slice| format!("&slice={}", encoded(slice)))
        .unwrap_or_default();
    html! {
        ul.choice aria-label="Window" { @for window in &systems.windows {
            li { a href={ "?window=" (encoded(window)) (slice) } aria-current=[(*window == systems.window).then_some("true")] { (window) } }
        } }
    }
}

/// Measures of the table: the monitored ones, then those with most targets.
pub(super) fn columns(systems: &Systems) -> Vec<&MeasureInfo> {
    let has_score = |info: &&MeasureInfo| {
        let mut scores = systems.systems.iter().flat_map(|system| &system.scores);
        info.direction != "neither" && scores.any(|score| score.measure == info.measure)
    };
    let mut ordered: Vec<&MeasureInfo> = systems.measures.iter().filter(has_score).collect();
    // The sort is stable: equal measures keep the order of the configuration.
    ordered.sort_by_key(|info| {
        (
            !info.is_primary,
            !info.is_monitored,
            std::cmp::Reverse(info.targets.len()),
        )
    });
    ordered.truncate(MAX_COLUMNS);
    ordered
}

/// Mean of a score in the window, or that there are too few samples.
pub(super) fn mean(of: &SystemScore) -> Markup {
    html! {
        @if let Some(mean) = of.mean { (score(mean)) }
        @else { span.name title="no score in this window, or fewer samples than feedback.min_samples" { "–" span.unseen { " too few samples" } } }
    }
}

/// Mark of the target that a mean reaches.
pub(super) fn tier(of: &SystemScore) -> Markup {
    html! {
        @if let Some(tier) = &of.tier { span.good title={ "reaches " (tier) } { "✓" span.unseen { (tier) } } }
        @else if of.is_below_targets { span.bad title="reaches no target" { "✗" span.unseen { "below targets" } } }
        @else { span.none { } }
    }
}

/// Cell of a heat map, coloured by its difference from the control.
pub(super) fn heat(measure: &str, label: &str, mean: Option<f64>, control: Option<f64>) -> Markup {
    let Some(mean) = mean else {
        return html! { td data-label=(label) { span.name { "–" } } };
    };
    let difference = control.map_or(0.0, |control| mean - control);
    let sign = match Direction::of(measure) {
        Direction::Up => 1.0,
        Direction::Down => -1.0,
        Direction::Neither => 0.0,
    };
    let level = match (difference * sign, difference.abs()) {
        (_, size) if size < 0.05 || sign == 0.0 => "",
        (better, size) if better > 0.0 => {
            if size < 0.15 {
                "better1"
            } else {
                "better2"
            }
        }
        (_, size) => {
            if size < 0.15 {
                "worse1"
            } else {
                "worse2"
            }
        }
    };
    let arrow = match level {
        "" => "",
        _ if difference > 0.0 => " ▲",
        _ => " ▼",
    };
    html! { td class=(level) data-label=(label) title={ "difference from control " (signed_text(difference)) } { span { (score(mean)) (arrow) } } }
}

/// Shares of the searches of an experiment by arm, for the summary of a system.
pub(super) fn share_of(experiment: &ExperimentStatus, variant: &str) -> Markup {
    let arm = experiment.arms.iter().find(|arm| arm.variant == variant);
    html! { @if let Some(arm) = arm { (share(arm.share)) " of " (text(&experiment.id)) } }
}
