//! Configuration of feedback weighting and experiments.

use super::judging::check_is_computed;
use super::keys;
use super::reader::Reader;
use rankgauge_core::engine::settings::{Experiment, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::measure::direction::Direction;

/// Weighting of user feedback.
pub(super) struct FeedbackWeights {
    pub(super) min_samples: u64,
    pub(super) click_weights: Vec<f64>,
    pub(super) expected_clicks: Vec<f64>,
}

pub(super) fn weights(reader: &mut Reader) -> FeedbackWeights {
    let max_weight = reader.get(&keys::MAX_CLICK_WEIGHT);
    let propensities = reader.values(&keys::PROPENSITIES).into_iter();
    FeedbackWeights {
        click_weights: propensities
            .map(|propensity| propensity.recip().min(max_weight))
            .collect(),
        expected_clicks: reader.values(&keys::EXPECTED_CLICKS),
        min_samples: u64::try_from(reader.get(&keys::MIN_SAMPLES)).unwrap_or(u64::MAX),
    }
}

pub(super) fn experiments(
    reader: &mut Reader,
    slices: &mut Vec<String>,
    measures: &[Measure],
) -> Vec<Experiment> {
    let mut experiments: Vec<Experiment> = Vec::new();
    for path in reader.sections(&keys::EXPERIMENTS) {
        let Some(experiment) = experiment(reader, &path, measures) else {
            continue;
        };
        if experiments.iter().any(|other| other.id == experiment.id) {
            let text = format!("experiment {} is declared twice", experiment.id);
            reader.problem(&path, text);
        } else {
            experiments.push(experiment);
        }
    }
    if !experiments.is_empty() {
        if slices.iter().any(|slice| slice == Experiment::SLICE) {
            let text = "\"experiment\" is reserved for the declared experiments; remove it";
            reader.problem(&keys::SLICES.path, text);
        }
        slices.push(Experiment::SLICE.to_owned());
    }
    experiments
}

fn experiment(reader: &mut Reader, path: &str, measures: &[Measure]) -> Option<Experiment> {
    let id = reader.required(&keys::EXPERIMENT_ID.of(path));
    let control_key = keys::EXPERIMENT_CONTROL.of(path);
    let control = reader.required(&control_key);
    let arms_key = keys::ARMS.of(path);
    let mut split: Vec<(String, f64)> = Vec::new();
    let arms = reader.sections(&arms_key);
    let count = arms.len();
    for arm in arms {
        let variant = reader.required(&keys::ARM_VARIANT.of(&arm));
        let share = reader.required(&keys::ARM_SHARE.of(&arm));
        let (Some(variant), Some(share)) = (variant, share) else {
            continue;
        };
        if split.iter().any(|(other, _)| *other == variant) {
            reader.problem(&arm, format!("{variant} is listed twice"));
        } else {
            split.push((variant, share));
        }
    }
    let assignment = reader.get(&keys::EXPERIMENT_ASSIGNMENT.of(path));
    let guardrails = guardrails(reader, path, measures);
    let sum: f64 = split.iter().map(|(_, share)| share).sum();
    if count < 2 {
        reader.problem(
            &arms_key.path,
            "needs at least two arms, each with its share",
        );
    } else if split.len() == count && (sum - 1.0).abs() > 1e-6 {
        let text = format!("the shares add up to {sum}; they must add up to 1");
        reader.problem(&arms_key.path, text);
    }
    let (id, control) = (id?, control?);
    if split.len() == count && !split.iter().any(|(variant, _)| *variant == control) {
        let text = format!("{control} is not one of the arms");
        reader.problem(&control_key.path, text);
    }
    Some(Experiment {
        id,
        control,
        assignment,
        split,
        guardrails,
    })
}

/// Reads the guardrail measures of an experiment.
fn guardrails(reader: &mut Reader, path: &str, measures: &[Measure]) -> Vec<usize> {
    let mut guardrails = Vec::new();
    for element in reader.set(&keys::GUARDRAILS.of(path), |it| it.value.to_string()) {
        let measure = element.value;
        let index = check_is_computed(reader, &element.path, &measure, measures);
        if index.is_some() && measure.descriptor().direction == Direction::Neither {
            let text = format!("{measure} has no better direction, and cannot be a guardrail");
            reader.problem(&element.path, text);
        }
        guardrails.extend(index);
    }
    guardrails
}

/// Guardrails of experiments that list none: the watched measures, or else all measures that have a
/// better direction.
pub(super) fn default_guardrails(reader: &Reader, engine: &mut Settings) {
    let watched = engine.detection.measures.iter().map(|it| it.index);
    let mut default: Vec<usize> = watched.collect();
    if default.is_empty() {
        default.extend(0..engine.measures.len());
    }
    default.retain(|index| engine.measures[*index].descriptor().direction != Direction::Neither);
    for (number, experiment) in engine.experiments.iter_mut().enumerate() {
        let key = keys::GUARDRAILS.of(&format!("{}[{number}]", keys::EXPERIMENTS.path));
        if !reader.is_written(&key.path) {
            experiment.guardrails.clone_from(&default);
        }
    }
}
