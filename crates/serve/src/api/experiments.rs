//! Experiments: arms against the control, with anytime-valid confidence intervals.
//!
//! The numbers are samples of `/metrics`.

use serde::Serialize;

use super::systems::{Difference, interval_of, whole};
use crate::collect::LabelPair;
use crate::http::Exposition;
use rankgauge_core::engine::family;
use rankgauge_core::engine::settings::EXPERIMENT;
use rankgauge_core::measure::direction::Direction;

/// Experiments of the configuration.
#[derive(Debug, Serialize)]
pub(crate) struct Experiments {
    pub(crate) experiments: Vec<ExperimentStatus>,
}

/// One experiment.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentStatus {
    pub(crate) id: String,
    pub(crate) control: String,
    /// Probability of an interval that ever misses the true difference.
    pub(crate) alpha: f64,
    /// Evidence (natural log e-value) that sessions are not split as configured; null without
    /// sessions.
    pub(crate) split_log_evidence: Option<f64>,
    /// Evidence from which the split counts as wrong.
    pub(crate) split_threshold: f64,
    /// Measures of which at least one arm has a difference.
    pub(crate) measures: Vec<ExperimentMeasure>,
    pub(crate) arms: Vec<ArmStatus>,
}

/// Measure of an experiment.
#[derive(Debug, Serialize)]
pub(crate) struct ExperimentMeasure {
    pub(crate) measure: String,
    /// Direction in which scores improve: `up`, `down` or `neither`.
    pub(crate) direction: &'static str,
}

/// One arm.
#[derive(Debug, Serialize)]
pub(crate) struct ArmStatus {
    pub(crate) variant: String,
    pub(crate) is_control: bool,
    /// Configured share of the sessions.
    pub(crate) share: f64,
    /// Sessions since the start whose last search is final.
    pub(crate) sessions: u64,
    /// Searches since the start.
    pub(crate) searches: u64,
    /// Differences from the control; empty for the control.
    pub(crate) differences: Vec<ArmDifference>,
}

/// Difference of a measure.
#[derive(Debug, Serialize)]
pub(crate) struct ArmDifference {
    pub(crate) measure: String,
    #[serde(flatten)]
    pub(crate) difference: Difference,
    /// `better` or `worse` if the interval excludes 0, else `undecided`.
    pub(crate) verdict: &'static str,
    /// Approximate number of searches of each arm that would exclude 0 if the difference is the
    /// estimated one; null if it is excluded already, or above a billion.
    pub(crate) searches_to_decide: Option<u64>,
}

/// Returns all experiments.
pub(crate) fn of(exposition: &Exposition) -> Experiments {
    let settings = &exposition.names.settings;
    let families = [
        &family::SEARCHES,
        &family::EXPERIMENT_SESSIONS,
        &family::EXPERIMENT_DIFFERENCE,
        &family::SPLIT_LOG_EVIDENCE,
    ];
    let is_selected = |family: &str, labels: &[LabelPair<'_>]| {
        let is_slice = |(name, value): &LabelPair<'_>| *name != "slice" || *value == EXPERIMENT;
        families.iter().any(|known| known.name == family) && labels.iter().all(is_slice)
    };
    let snapshot = exposition.published.merged();
    let samples = exposition.samples(&snapshot, &is_selected);
    let experiments = settings.experiments.iter().map(|experiment| {
        let id = experiment.id.as_str();
        let arms: Vec<ArmStatus> = experiment
            .split
            .iter()
            .map(|(variant, share)| {
                let labels = [("variant", variant.as_str()), ("value", id)];
                let searches = samples.value(&family::SEARCHES, &labels);
                let labels = [("variant", variant.as_str()), ("experiment", id)];
                let sessions = samples.value(&family::EXPERIMENT_SESSIONS, &labels);
                let differences = settings.measures.iter().filter_map(|measure| {
                    let measure = measure.to_string();
                    let difference = interval_of(&|bound| {
                        let labels = [
                            ("experiment", id),
                            ("measure", measure.as_str()),
                            ("variant", variant),
                            ("bound", bound),
                        ];
                        samples.value(&family::EXPERIMENT_DIFFERENCE, &labels)
                    })?;
                    Some(ArmDifference {
                        verdict: verdict(difference, Direction::of(&measure)),
                        searches_to_decide: searches_to_decide(difference, searches),
                        measure,
                        difference,
                    })
                });
                ArmStatus {
                    variant: variant.clone(),
                    is_control: *variant == experiment.control,
                    share: *share,
                    sessions: sessions.map_or(0, whole),
                    searches: searches.map_or(0, whole),
                    differences: differences.collect(),
                }
            })
            .collect();
        let has_difference = |name: &String| {
            let mut differences = arms.iter().flat_map(|arm| &arm.differences);
            differences.any(|it| it.measure == *name)
        };
        ExperimentStatus {
            id: id.to_owned(),
            control: experiment.control.clone(),
            alpha: settings.detection.alpha,
            split_log_evidence: samples.value(&family::SPLIT_LOG_EVIDENCE, &[("experiment", id)]),
            split_threshold: settings.detection.split_threshold,
            measures: settings
                .measures
                .iter()
                .map(ToString::to_string)
                .filter(has_difference)
                .map(|measure| ExperimentMeasure {
                    direction: name_of(Direction::of(&measure)),
                    measure,
                })
                .collect(),
            arms,
        }
    });
    Experiments {
        experiments: experiments.collect(),
    }
}

/// Name of a direction.
pub(super) fn name_of(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "up",
        Direction::Down => "down",
        Direction::Neither => "neither",
    }
}

fn verdict(difference: Difference, direction: Direction) -> &'static str {
    let is_higher = difference.lower > 0.0;
    let is_lower = difference.upper < 0.0;
    match direction {
        Direction::Up if is_higher => "better",
        Direction::Up if is_lower => "worse",
        Direction::Down if is_lower => "better",
        Direction::Down if is_higher => "worse",
        Direction::Neither if is_higher => "higher",
        Direction::Neither if is_lower => "lower",
        Direction::Up | Direction::Down | Direction::Neither => "undecided",
    }
}

/// The half width of an interval shrinks with the root of the number of searches.
fn searches_to_decide(difference: Difference, searches: Option<f64>) -> Option<u64> {
    let half_width = (difference.upper - difference.lower) / 2.0;
    let size = difference.estimate.abs();
    let enough = searches? * (half_width / size).powi(2);
    (size < half_width && enough.is_finite() && enough < 1e9).then(|| whole(enough.ceil()))
}
