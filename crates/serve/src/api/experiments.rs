//! Experiments: arms against the control, with anytime-valid confidence intervals.

use schemars::JsonSchema;
use serde::Serialize;

use super::systems::Difference;
use crate::http::Exposition;
use rankgauge_core::detection::SplitTest;
use rankgauge_core::engine::read_model::{ArmReading, MeasuredDifference};
use rankgauge_core::measure::direction::Direction;
use rankgauge_core::number::real;

/// Experiments of the configuration.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Experiments {
    pub(crate) experiments: Vec<ExperimentStatus>,
    /// Pairs of teams of interleaved rankings.
    pub(crate) interleaving: Vec<Interleaving>,
}

/// Two teams of interleaved rankings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Interleaving {
    /// Id of the experiment; empty without one.
    pub(crate) experiment: String,
    pub(crate) team: String,
    pub(crate) against: String,
    /// Sessions in which more distinct results of `team` were clicked.
    pub(crate) wins: u64,
    pub(crate) losses: u64,
    pub(crate) ties: u64,
    /// (wins + ties / 2) / sessions - 1/2.
    pub(crate) delta: f64,
    /// Evidence (natural log e-value) that users prefer one of the teams: of this replica, or of the
    /// fleet with `state.topic`.
    pub(crate) log_evidence: f64,
    /// Evidence from which a team counts as preferred.
    pub(crate) threshold: f64,
}

/// One experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Experiment")]
pub(crate) struct ExperimentStatus {
    pub(crate) id: String,
    pub(crate) control: String,
    /// Probability of an interval that ever misses the true difference.
    pub(crate) alpha: f64,
    /// Unit that is assigned to an arm: `user` or `session`.
    #[schemars(extend("enum" = ["user", "session"]))]
    pub(crate) assignment: &'static str,
    /// Evidence (natural log e-value) that units are not split as configured: of this replica, or of
    /// the fleet with `state.topic`; null without units.
    pub(crate) split_log_evidence: Option<f64>,
    /// Evidence from which the split counts as wrong.
    pub(crate) split_threshold: f64,
    /// Evidence of a guardrail measure from which an arm counts as worse.
    pub(crate) worse_threshold: f64,
    /// Measures of which at least one arm has a difference.
    pub(crate) measures: Vec<ExperimentMeasure>,
    pub(crate) arms: Vec<ArmStatus>,
}

/// Measure of an experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExperimentMeasure {
    pub(crate) measure: String,
    /// Direction in which scores improve: `up`, `down` or `neither`.
    #[schemars(with = "String", extend("enum" = ["up", "down", "neither"]))]
    pub(crate) direction: Direction,
}

/// One arm.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Arm")]
pub(crate) struct ArmStatus {
    pub(crate) variant: String,
    pub(crate) is_control: bool,
    /// Configured share of the units.
    pub(crate) share: f64,
    /// Units since the start: users, or sessions with `assignment: session`. A search without a user id
    /// counts by its session, and without both by itself.
    pub(crate) sessions: u64,
    /// Searches since the start.
    pub(crate) searches: u64,
    /// Differences from the control; empty for the control.
    pub(crate) differences: Vec<ArmDifference>,
}

/// Difference of a measure.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ArmDifference {
    pub(crate) measure: String,
    #[serde(flatten)]
    pub(crate) difference: Difference,
    /// `better` or `worse` if the interval excludes 0, else `undecided`.
    #[schemars(extend("enum" = ["better", "worse", "higher", "lower", "undecided"]))]
    pub(crate) verdict: &'static str,
    /// Evidence (natural log e-value) that the arm is worse: of this replica, or of the fleet with
    /// `state.topic`; null if the measure is no guardrail.
    pub(crate) log_evidence: Option<f64>,
    /// Approximate number of searches of each arm that would exclude 0 if the difference is the
    /// estimated one; null if it is excluded already, or above a billion.
    pub(crate) searches_to_decide: Option<u64>,
}

/// Returns all experiments.
pub(crate) fn of(exposition: &Exposition) -> Experiments {
    let settings = &exposition.names.settings;
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let experiments = settings.experiments.iter().map(|experiment| {
        let arms = model.arms(experiment);
        let status = |arm: &ArmReading<'_>| {
            let searches = arm.series.map_or(0, |series| model.searches(series));
            let measures = settings.measures.iter().enumerate();
            let differences = measures.filter_map(|(index, measure)| {
                let found = model.difference(index, arm, experiment)?;
                let difference = Difference::from(found);
                let is_guardrail = experiment.guardrails.contains(&index);
                Some(ArmDifference {
                    measure: measure.to_string(),
                    verdict: verdict(difference, measure.descriptor().direction),
                    log_evidence: found.log_evidence_worse.filter(|_| is_guardrail),
                    searches_to_decide: searches_to_decide(&found, searches),
                    difference,
                })
            });
            ArmStatus {
                variant: arm.variant.to_owned(),
                is_control: arm.is_control,
                share: arm.share,
                sessions: arm.sessions,
                searches,
                differences: differences.collect(),
            }
        };
        let statuses: Vec<ArmStatus> = arms.iter().map(status).collect();
        let has_difference = |measure: &str| {
            let mut differences = statuses.iter().flat_map(|arm| &arm.differences);
            differences.any(|it| it.measure == measure)
        };
        let measures = settings.measures.iter().map(|it| (it.to_string(), it));
        let measures = measures.filter(|(name, _)| has_difference(name));
        ExperimentStatus {
            id: experiment.id.clone(),
            control: experiment.control.clone(),
            alpha: settings.detection.alpha,
            assignment: experiment.assignment.name(),
            split_log_evidence: model.split_evidence(experiment),
            split_threshold: model.split_threshold(),
            worse_threshold: experiment.threshold(settings.detection.alpha)
                + model.replicas_margin(),
            measures: measures
                .map(|(name, measure)| ExperimentMeasure {
                    measure: name,
                    direction: measure.descriptor().direction,
                })
                .collect(),
            arms: statuses,
        }
    });
    let pairs = model.team_pairs();
    let interleaving = pairs.iter().map(|it| {
        let [team, against] = it.teams;
        Interleaving {
            experiment: it.experiment.to_owned(),
            team: team.to_owned(),
            against: against.to_owned(),
            wins: it.preference.wins,
            losses: it.preference.losses,
            ties: it.preference.ties,
            delta: it.preference.delta(),
            log_evidence: model.preference_evidence(it),
            threshold: SplitTest::threshold() + model.replicas_margin(),
        }
    });
    Experiments {
        experiments: experiments.collect(),
        interleaving: interleaving.collect(),
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

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is from 0 to a billion"
)]
fn searches_to_decide(found: &MeasuredDifference, searches: u64) -> Option<u64> {
    let enough = real(searches) * found.factor_to_decide?;
    (enough < 1e9).then(|| enough.ceil() as u64)
}
