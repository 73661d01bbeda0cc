//! Configuration of feedback weighting and experiments.

use super::judging::finite;
use super::reader::Reader;
use rankgauge_core::engine::settings::{EXPERIMENT, Experiment, Settings};
use rankgauge_core::measure::Measure;
use rankgauge_core::measure::direction::Direction;

/// Weighting of user feedback.
pub(super) struct FeedbackWeights {
    pub(super) min_samples: u64,
    pub(super) click_weights: Vec<f64>,
    pub(super) expected_clicks: Vec<f64>,
}

pub(super) fn weighing(reader: &mut Reader) -> FeedbackWeights {
    let min_samples = reader.whole("feedback.min_samples", 30, 0..=1_000_000_000);
    let max_weight = reader
        .parsed("feedback.max_click_weight", |text| {
            finite(text)
                .filter(|weight| (1.0..=1e6).contains(weight))
                .ok_or("is not a number from 1 to 1000000")
        })
        .unwrap_or(10.0);
    let propensities = shares(reader, "feedback.propensities");
    let weight = |propensity: f64| propensity.recip().min(max_weight);
    FeedbackWeights {
        min_samples: min_samples.try_into().unwrap_or(u64::MAX),
        click_weights: propensities.into_iter().map(weight).collect(),
        expected_clicks: shares(reader, "feedback.expected_clicks"),
    }
}

/// Reads a list of numbers above 0, up to 1.
fn shares(reader: &mut Reader, path: &str) -> Vec<f64> {
    let mut shares = Vec::new();
    for (element, text) in reader.list(path, &[]) {
        match finite(&text).filter(|share| *share > 0.0 && *share <= 1.0) {
            Some(share) => shares.push(share),
            None => reader.problem(&element, format!("\"{text}\" is not above 0, up to 1")),
        }
    }
    shares
}

pub(super) fn experiments(
    reader: &mut Reader,
    slices: &mut Vec<String>,
    measures: &[Measure],
) -> Vec<Experiment> {
    let mut experiments: Vec<Experiment> = Vec::new();
    for path in reader.sections("experiments") {
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
        if slices.iter().any(|slice| slice == EXPERIMENT) {
            let text = "\"experiment\" is reserved for the declared experiments; remove it";
            reader.problem("slices", text);
        }
        slices.push(EXPERIMENT.to_owned());
    }
    experiments
}

fn experiment(reader: &mut Reader, path: &str, measures: &[Measure]) -> Option<Experiment> {
    let id = named(reader, &format!("{path}.id"));
    let control_key = format!("{path}.control");
    let control = named(reader, &control_key);
    let arms_key = format!("{path}.arms");
    let mut split: Vec<(String, f64)> = Vec::new();
    let arms = reader.sections(&arms_key);
    let count = arms.len();
    for arm in arms {
        let variant = named(reader, &format!("{arm}.variant"));
        let share_key = format!("{arm}.share");
        let share = reader.required(&share_key).and_then(|text| {
            let share = finite(&text).filter(|share| *share > 0.0 && *share < 1.0);
            if share.is_none() {
                let text = format!("\"{text}\" is not a share above 0 and below 1");
                reader.problem(&share_key, text);
            }
            share
        });
        let (Some(variant), Some(share)) = (variant, share) else {
            continue;
        };
        if split.iter().any(|(other, _)| *other == variant) {
            reader.problem(&arm, format!("{variant} is listed twice"));
        } else {
            split.push((variant, share));
        }
    }
    let guardrails = guardrails(reader, &format!("{path}.guardrails"), measures);
    let sum: f64 = split.iter().map(|(_, share)| share).sum();
    if count < 2 {
        reader.problem(&arms_key, "needs at least two arms, each with its share");
    } else if split.len() == count && (sum - 1.0).abs() > 1e-6 {
        let text = format!("the shares add up to {sum}; they must add up to 1");
        reader.problem(&arms_key, text);
    }
    let (id, control) = (id?, control?);
    if split.len() == count && !split.iter().any(|(variant, _)| *variant == control) {
        reader.problem(&control_key, format!("{control} is not one of the arms"));
    }
    Some(Experiment {
        id,
        control,
        split,
        guardrails,
    })
}

/// Reads the guardrail measures of an experiment.
fn guardrails(reader: &mut Reader, path: &str, measures: &[Measure]) -> Vec<usize> {
    let elements = reader.list(path, &[]);
    let mut guardrails = Vec::new();
    for (element, measure) in reader.parse_all::<Measure>(elements) {
        let Some(index) = measures.iter().position(|it| *it == measure) else {
            let text = format!("{measure} is not computed; add it to measures");
            reader.problem(&element, text);
            continue;
        };
        if measure.descriptor().direction == Direction::Neither {
            let text = format!("{measure} has no better direction, and cannot be a guardrail");
            reader.problem(&element, text);
        } else if guardrails.contains(&index) {
            reader.problem(&element, format!("{measure} is listed twice"));
        } else {
            guardrails.push(index);
        }
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
        if !reader.is_written(&format!("experiments[{number}].guardrails")) {
            experiment.guardrails.clone_from(&default);
        }
    }
}

/// Reads a required name.
fn named(reader: &mut Reader, path: &str) -> Option<String> {
    let name = reader.required(path)?;
    if name.is_empty() {
        reader.problem(path, "is empty; write it as it appears in events");
        return None;
    }
    Some(name)
}
