//! Scores of systems, as several screens show them.

use maud::{Markup, html};

use super::choices::Against;
use super::format::{encoded, score, share, signed_text, text};
use crate::api::experiments::ExperimentStatus;
use crate::api::parameters::{Parameter, Parameters};
use crate::api::problem::ApiError;
use crate::api::systems::{MeasureInfo, System, SystemScore, Systems};
use crate::api::{AdminApi, systems};
use crate::history::Span;
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::measure::tier;
use rankgauge_core::number::real;
use rankgauge_core::text::count_of;

/// Choice of the rolling window.
pub(super) const WINDOW: Parameter = Parameter::text("window", "Rolling window.");

/// Maximum number of measures in the table of systems.
const MAX_COLUMNS: usize = 6;

/// Names of the slices that the page shows.
pub(super) fn slice_names(admin: &AdminApi) -> Vec<&String> {
    admin.exposition.names.settings.shown_slices().collect()
}

/// Systems in the window that the parameters of a screen choose.
pub(super) fn selected(admin: &AdminApi, params: &Parameters) -> Result<Systems, ApiError> {
    let chosen = ["window", "history"].into_iter();
    let chosen = chosen.filter_map(|name| Some((name, params.single(name)?)));
    admin.systems(&Parameters::from_pairs(&systems::PARAMETERS, chosen))
}

/// Baseline that cannot be compared with yet, and its number of searches.
pub(super) fn learning(searches: u64) -> Markup {
    let title = "No search was compared yet: a query needs earlier searches as its baseline.";
    html! { span.name title=(title) { "learning: " (count_of(searches, "search", "searches")) } }
}

/// Links to the same screen with another window, length of the history and reference of changes.
pub(super) fn choices(systems: &Systems, against: Against) -> Markup {
    html! {
        ul.choice aria-label="Window" { @for window in &systems.windows {
            li { a href={ "?window=" (encoded(window)) } aria-current=[(*window == systems.window).then_some("true")] { (window) } }
        } }
        ul.choice aria-label="History" { @for span in Span::NAMES {
            li { a href={ "?history=" (span) } aria-current=[(span == systems.history.span).then_some("true")] { (span) } }
        } }
        ul.choice aria-label="Changes against" { @for (other, word) in Against::all(systems) {
            li { a href={ "?against=" (word) } aria-current=[(other == against).then_some("true")] { "vs " (word) } }
        } }
    }
}

/// Name of the reference in a sentence.
pub(super) fn reference_name(systems: &Systems, against: Against) -> Markup {
    html! { @match (against, &systems.control) {
        (Against::Control, Some(control)) => { "the control " (text(control)) " in the same window" },
        (Against::Target, _) => "the least demanding target",
        (Against::Before | Against::Control, _) => "the baseline of the system",
    } }
}

/// Baseline that the mean of all searches can be compared with. A baseline of a measure of users has the last
/// search of each session only, which is more often successful than the others.
pub(super) fn reference(info: &MeasureInfo, of: &SystemScore) -> Option<f64> {
    of.baseline.filter(|_| !info.is_user_measure)
}

/// Label of a number of the tests of a measure of users.
pub(super) fn of_last_searches(info: &MeasureInfo) -> Markup {
    html! { @if info.is_user_measure { " " span.name { "of last searches of sessions" } } }
}

/// Change of a mean against the chosen reference. It has a colour only with evidence: an active alarm, or
/// an interval of the difference from the control that excludes 0 on the same side.
pub(super) fn change(
    systems: &Systems,
    against: Against,
    (system, info, of): (&System, &MeasureInfo, &SystemScore),
) -> Markup {
    let has_alarm = |test: &str| of.alarms.iter().any(|alarm| alarm == test);
    let is_worse = |test| has_alarm(test).then_some(false);
    if let (Against::Before, Some(drop)) = (against, &of.drop) {
        let title = "mean of the current searches against the mean before the incident";
        let value = drop.now - drop.before;
        let is_worse = (value > 0.0) == (info.direction == Direction::Down);
        return marked(info, value, is_worse.then_some(false), title, " incident");
    }
    let learned = of.baseline_searches.filter(|_| of.baseline.is_none());
    if let (Against::Before, Some(searches)) = (against, learned) {
        return learning(searches);
    }
    let Some(mean) = of.mean else {
        return html! {};
    };
    match against {
        Against::Before => {
            let Some(baseline) = reference(info, of) else {
                return html! {};
            };
            let evidence = is_worse("drop");
            marked(info, mean - baseline, evidence, "against the baseline", "")
        }
        Against::Target => {
            let Some(target) = info.targets.last() else {
                return html! {};
            };
            let tier = format!(" to {}", target.tier);
            let evidence = is_worse("target");
            let value = mean - target.value;
            marked(info, value, evidence, "against the target", &tier)
        }
        Against::Control if system.is_control => html! { span.name { "control" } },
        Against::Control => {
            let control = systems.systems.iter().find(|it| it.is_control);
            let mut scores = control.iter().flat_map(|it| &it.scores);
            let control = scores.find(|it| it.measure == of.measure);
            let Some(control) = control.and_then(|it| it.mean) else {
                return html! {};
            };
            let value = mean - control;
            let shown = of
                .difference
                .filter(|it| (it.lower > 0.0 && value > 0.0) || (it.upper < 0.0 && value < 0.0));
            let is_better = match info.direction {
                Direction::Up => Some(value > 0.0),
                Direction::Down => Some(value < 0.0),
                Direction::Neither => None,
            };
            let evidence = is_better.filter(|_| shown.is_some());
            let title = of.difference.map_or_else(String::new, |it| {
                format!(
                    "; since the start {:+.3}, from {:+.3} to {:+.3}",
                    it.estimate, it.lower, it.upper
                )
            });
            marked(
                info,
                value,
                evidence,
                &format!("against the control{title}"),
                "",
            )
        }
    }
}

/// A change with its mark: better, worse, or without evidence.
fn marked(
    info: &MeasureInfo,
    value: f64,
    is_better: Option<bool>,
    title: &str,
    suffix: &str,
) -> Markup {
    // The arrow has the direction in which the score moved.
    let arrow = |is_better: bool| {
        if (info.direction == Direction::Down) == is_better {
            "▼"
        } else {
            "▲"
        }
    };
    html! {
        span.good[is_better == Some(true)].bad[is_better == Some(false)].name[is_better.is_none()] title=(title) {
            @if let Some(is_better) = is_better { (arrow(is_better)) " " }
            data value=(value) { (signed_text(value)) } (suffix)
        }
    }
}

/// Change of a latency or a cost against the control as a share. It has no evidence.
pub(super) fn relative(value: Option<f64>, control: Option<f64>) -> Markup {
    let change = value.zip(control).filter(|(_, control)| *control > 0.0);
    html! { @if let Some((value, control)) = change {
        div.sub title="against the control in the same window" { (super::format::signed_share((value - control) / control)) }
    } }
}

/// Measures of the table: the monitored ones, then those with most targets.
pub(super) fn columns(systems: &Systems) -> Vec<&MeasureInfo> {
    let has_score = |info: &&MeasureInfo| {
        let mut scores = systems.systems.iter().flat_map(|system| &system.scores);
        info.direction != Direction::Neither && scores.any(|score| score.measure == info.measure)
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

/// Mark of the tier that a mean reaches.
pub(super) fn tier(info: &MeasureInfo, of: &SystemScore) -> Markup {
    let reached = of.tier.as_ref().and_then(|tier| {
        let higher = info.targets.iter().position(|it| it.tier == *tier)?;
        Some((tier, tier::mark(Some((tier, higher)))))
    });
    html! {
        @if let Some((tier, mark)) = reached { span.tier title={ "reaches " (tier) } { (mark) span.unseen { (tier) } } }
        @else if of.is_below_targets {
            @let is_shown = of.alarms.iter().any(|alarm| alarm == "target");
            span.tier.bad[is_shown] title="reaches no target" { (tier::mark(None)) span.unseen { "below targets" } }
        }
        @else { span.none { } }
    }
}

/// Mean of a slice with its number of searches.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceMean {
    pub(super) mean: f64,
    pub(super) count: u64,
}

/// Number of standard errors from which a difference of two slices is shown.
const SHOWN_ERRORS: f64 = 3.3;

impl SliceMean {
    /// Highest variance of the mean of scores from 0 to 1 (Bhatia and Davis, American Mathematical Monthly
    /// 107, 2000).
    fn variance(self) -> f64 {
        self.mean * (1.0 - self.mean) / real(self.count.max(1))
    }

    /// Returns true if the scores are from 0 to 1, and the difference exceeds their noise.
    fn differs_from(self, other: Self) -> bool {
        let is_share = [self, other]
            .iter()
            .all(|it| (0.0..=1.0).contains(&it.mean));
        let error = (self.variance() + other.variance()).sqrt();
        is_share && (self.mean - other.mean).abs() > SHOWN_ERRORS * error && error > 0.0
    }
}

/// Difference of a slice from that of the control if it exceeds noise, and true if it is an improvement.
pub(super) fn shown_difference(
    measure: &str,
    of: SliceMean,
    control: Option<SliceMean>,
) -> Option<(f64, bool)> {
    let control = control.filter(|control| of.differs_from(*control))?;
    let change = of.mean - control.mean;
    match Direction::of(measure) {
        Direction::Up => Some((change, change > 0.0)),
        Direction::Down => Some((change, change < 0.0)),
        Direction::Neither => None,
    }
}

/// Cell of a heat map, coloured by its difference from the control where that exceeds noise. It opens its
/// queries at `address`.
pub(super) fn heat(
    measure: &str,
    label: &str,
    (of, control): (Option<SliceMean>, Option<SliceMean>),
    address: Option<&str>,
) -> Markup {
    let Some(of) = of else {
        return html! { td data-label=(label) { span.name { "–" } } };
    };
    let difference = control.map(|control| of.mean - control.mean);
    let shown = shown_difference(measure, of, control);
    let level = match shown {
        None => "",
        Some((change, true)) if change.abs() < 0.15 => "better1",
        Some((_, true)) => "better2",
        Some((change, false)) if change.abs() < 0.15 => "worse1",
        Some((_, false)) => "worse2",
    };
    let arrow = match shown {
        None => "",
        Some((change, _)) if change > 0.0 => " ▲",
        Some(_) => " ▼",
    };
    let title = difference.map(|it| {
        format!(
            "difference from the control {}, {} searches",
            signed_text(it),
            of.count
        )
    });
    html! { td class=(level) data-label=(label) title=[title] {
        @match address {
            Some(address) => a.cell href=(address) { (score(of.mean)) (arrow) },
            None => span { (score(of.mean)) (arrow) },
        }
    } }
}

/// Shares of the searches of an experiment by arm, for the summary of a system.
pub(super) fn share_of(experiment: &ExperimentStatus, variant: &str) -> Markup {
    let arm = experiment.arms.iter().find(|arm| arm.variant == variant);
    html! { @if let Some(arm) = arm { (share(arm.share)) " of " (text(&experiment.id)) } }
}
