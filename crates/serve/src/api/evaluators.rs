//! Evaluators: agreement with people, bias, and its drift.

use schemars::JsonSchema;
use serde::Serialize;

use super::timestamp::Timestamp;
use crate::http::Exposition;
use rankgauge_core::engine::read_model::EvaluatorDrift;
use rankgauge_core::time::EventTime;

/// Evaluators of results, answers and searches.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Evaluators {
    pub(crate) evaluators: Vec<EvaluatorEntry>,
}

/// Version of an evaluator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Evaluator")]
pub(crate) struct EvaluatorEntry {
    /// Id; `__people__` for people without one.
    pub(crate) evaluator: String,
    /// Version; empty if not stated. Nothing is compared with another version.
    pub(crate) version: String,
    /// Event time of the first judged search.
    pub(crate) first_at: Timestamp,
    /// Event time of the last judged search.
    pub(crate) last_at: Timestamp,
    /// Number of searches that people judged as well.
    pub(crate) pairs: u64,
    /// Cohen's kappa with people, high or low; null without both.
    pub(crate) kappa: Option<f64>,
    /// Bias by variant.
    pub(crate) variants: Vec<EvaluatorVariant>,
    /// Agreement by variant and slice, at most 200.
    pub(crate) slices: Vec<EvaluatorSlice>,
    /// Mean values minus the bias, where people judged enough searches.
    pub(crate) values: Vec<EvaluatorValue>,
    /// Cost of the judgments by currency, as their events state it. Empty if none states one.
    pub(crate) cost: Vec<EvaluatorCost>,
    /// Drift of the bias; null before the first comparison.
    pub(crate) drift: Option<Drift>,
}

/// Bias of an evaluator for the searches of a variant.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluatorVariant {
    pub(crate) variant: String,
    /// Judgments that people made as well.
    pub(crate) pairs: u64,
    /// Mean difference from people: above 0 it is too high. Of values from 0 to 1, or of grades.
    pub(crate) error: f64,
}

/// Agreement of an evaluator with people in a slice.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluatorSlice {
    pub(crate) variant: String,
    /// Name of the slice.
    pub(crate) slice: String,
    /// Value of the slice.
    pub(crate) value: String,
    /// Judgments that people made as well.
    pub(crate) pairs: u64,
    /// Mean difference from people.
    pub(crate) error: f64,
    /// Cohen's kappa, high or low; null if all are high, or all low.
    pub(crate) kappa: Option<f64>,
}

/// Mean value of an evaluator for a property, corrected for its bias.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluatorValue {
    pub(crate) variant: String,
    /// Judged property; empty for relevance.
    pub(crate) name: String,
    /// Mean of all values, from 0 to 1.
    pub(crate) mean: f64,
    /// Mean minus the bias. It holds if people judge a random share of the searches.
    pub(crate) corrected: f64,
    /// Ends of the 95 % interval of the corrected mean.
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// Searches with a value.
    pub(crate) searches: u64,
    /// Searches that people judged as well.
    pub(crate) pairs: u64,
}

/// Cost of the judgments of an evaluator.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvaluatorCost {
    pub(crate) amount: f64,
    pub(crate) currency: String,
}

/// Drift of the bias of an evaluator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EvaluatorDrift")]
pub(crate) struct Drift {
    /// Evidence (natural log e-value) that the bias changed.
    pub(crate) log_evidence: f64,
    /// Evidence from which it is an alarm.
    pub(crate) threshold: f64,
    /// True from the threshold on, until the evidence fell to half of it.
    pub(crate) has_alarm: bool,
    /// Change of the bias; null while there is none.
    pub(crate) change: Option<Change>,
}

/// Change of the bias of an evaluator.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EvaluatorChange")]
pub(crate) struct Change {
    /// Mean change, of values from 0 to 1: below 0 the evaluator is lower than before.
    pub(crate) estimate: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// Estimated beginning.
    pub(crate) since: Timestamp,
    /// Compared searches since then.
    pub(crate) pairs: u64,
}

/// Milliseconds per minute.
const MINUTE: i64 = 60_000;

fn drift(it: &EvaluatorDrift<'_>, threshold: f64) -> Option<Drift> {
    let change = it.change.map(|change| Change {
        estimate: change.estimate,
        lower: change.lower,
        upper: change.upper,
        since: Timestamp(EventTime(change.since.saturating_mul(MINUTE))),
        pairs: change.searches,
    });
    Some(Drift {
        log_evidence: it.log_evidence?,
        threshold,
        has_alarm: it.has_alarm,
        change,
    })
}

/// Returns the evaluators in the order of their names.
pub(crate) fn of(exposition: &Exposition) -> Evaluators {
    let snapshot = exposition.published.merged();
    let model = exposition.names.read(&snapshot);
    let threshold = model.settings().detection.drop_threshold;
    let kappas = model.evaluator_kappas();
    let agreements = model.evaluators();
    let all_slices = model.evaluator_slices();
    let all_values = model.corrected_values();
    let all_costs = model.evaluator_costs();
    let evaluators = model.evaluator_drifts().into_iter().map(|it| {
        let names = [it.evaluator, it.version];
        let kappa = kappas.iter().find(|(of, _)| *of == names);
        let of_variants = agreements
            .iter()
            .filter(|of| [of.evaluator, of.version] == names);
        let variants = of_variants.filter_map(|of| {
            Some(EvaluatorVariant {
                variant: of.variant.to_owned(),
                pairs: of.pairs.iter().sum(),
                error: of.error()?,
            })
        });
        let slices = all_slices
            .iter()
            .filter(|of| [of.evaluator, of.version] == names);
        let slices = slices.map(|of| EvaluatorSlice {
            variant: of.variant.to_owned(),
            slice: of.slice.to_owned(),
            value: of.value.to_owned(),
            pairs: of.pairs,
            error: of.error,
            kappa: of.kappa,
        });
        let values = all_values
            .iter()
            .filter(|of| [of.evaluator, of.version] == names);
        let values = values.map(|of| EvaluatorValue {
            variant: of.variant.to_owned(),
            name: of.name.to_owned(),
            mean: of.mean.mean,
            corrected: of.mean.corrected.mean,
            lower: of.mean.corrected.lower,
            upper: of.mean.corrected.upper,
            searches: of.mean.searches,
            pairs: of.mean.pairs,
        });
        let costs = all_costs
            .iter()
            .filter(|([evaluator, version, _], _)| [*evaluator, *version] == names);
        let costs = costs.map(|([_, _, currency], amount)| EvaluatorCost {
            amount: *amount,
            currency: (*currency).to_owned(),
        });
        EvaluatorEntry {
            slices: slices.collect(),
            values: values.collect(),
            cost: costs.collect(),
            evaluator: it.evaluator.to_owned(),
            version: it.version.to_owned(),
            first_at: Timestamp(it.judged[0]),
            last_at: Timestamp(it.judged[1]),
            pairs: it.pairs,
            kappa: kappa.map(|(_, kappa)| *kappa),
            variants: variants.collect(),
            drift: drift(&it, threshold),
        }
    });
    Evaluators {
        evaluators: evaluators.collect(),
    }
}
