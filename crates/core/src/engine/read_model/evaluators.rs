//! Evaluators: drift of their bias, and their part in the incidents of their values.

use super::model::ReadModel;
use crate::detection::{BiasShift, CorrectedMean, DropExtent};
use crate::engine::bias::VersionBias;
use crate::engine::family;
use crate::engine::fixed::units_to_f64;
use crate::engine::incidents::Incident;
use crate::engine::series::Label;
use crate::measure::Measure;
use crate::measure::user::UserMeasure;
use crate::statistics::kappa;
use crate::time::{EventTime, Millis};

/// Longest time between the change of an evaluator and the beginning of an incident that it explains.
const BEFORE_INCIDENT: Millis = Millis(60 * 60_000);

/// Share of the loss of an incident that a change of the evaluator has to explain.
const EXPLAINED: f64 = 0.5;

/// Drift of one version of an evaluator.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorDrift<'m> {
    /// Id; `__people__` for people without one.
    pub evaluator: &'m str,
    /// Version; empty if not stated.
    pub version: &'m str,
    /// Event times of the first and the last judged search.
    pub judged: [EventTime; 2],
    /// Number of searches that people judged as well.
    pub pairs: u64,
    /// Log evidence that the bias changed. `None` before the first comparison.
    pub log_evidence: Option<f64>,
    /// True while the evidence is sufficient.
    pub has_alarm: bool,
    /// Change of the bias since its estimated beginning; negative if the evaluator became lower. `None`
    /// while there is no change.
    pub change: Option<DropExtent>,
}

/// Agreement of a version of an evaluator with people in a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceAgreement<'m> {
    /// Id; `__people__` for people without one.
    pub evaluator: &'m str,
    /// Version; empty if not stated.
    pub version: &'m str,
    /// Variant; empty for searches without one.
    pub variant: &'m str,
    /// Name of the slice.
    pub slice: &'m str,
    /// Value of the slice.
    pub value: &'m str,
    /// Judgments that people made as well.
    pub pairs: u64,
    /// Mean difference from people.
    pub error: f64,
    /// Cohen's kappa, high or low. `None` if all are high, or all low.
    pub kappa: Option<f64>,
}

/// Mean value of a version of an evaluator for a property and a variant, corrected for its bias.
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectedValue<'m> {
    /// Id; `__people__` for people without one.
    pub evaluator: &'m str,
    /// Version; empty if not stated.
    pub version: &'m str,
    /// Variant; empty for searches without one.
    pub variant: &'m str,
    /// Judged property; empty for relevance.
    pub name: &'m str,
    /// Mean and corrected mean.
    pub mean: CorrectedMean,
}

/// Decision whether an incident is one of the evaluator or of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluatorVerdict {
    /// The bias of the evaluator fell by at least half of the loss.
    Drifted,
    /// A version judges that did not judge before the incident. Its values are not comparable.
    NewVersion,
    /// The bias did not fall by half of the loss: the system changed.
    Unchanged,
    /// Too few searches are judged by people since the beginning.
    Undecided,
}

impl EvaluatorVerdict {
    /// Name: `drifted`, `new_version`, `unchanged`, `undecided`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Drifted => "drifted",
            Self::NewVersion => "new_version",
            Self::Unchanged => "unchanged",
            Self::Undecided => "undecided",
        }
    }
}

/// Part of an evaluator in an incident of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorPart<'m> {
    /// Id of the evaluator.
    pub evaluator: String,
    /// Version that judges now; empty if not stated.
    pub version: &'m str,
    /// Decision.
    pub verdict: EvaluatorVerdict,
    /// Time of the change: of the first judgment of a new version, or the estimated beginning of a drift.
    pub at: Option<EventTime>,
    /// Bias before the incident and since. `None` if no person judged before or since.
    pub shift: Option<BiasShift>,
}

impl ReadModel<'_> {
    /// Versions of evaluators with their names.
    fn versions(&self) -> impl Iterator<Item = ([&str; 2], &VersionBias)> {
        let biases = &self.snapshot.totals.biases;
        biases.iter().map(|((evaluator, version), it)| {
            let mut keys = family::EVALUATOR_JUDGEMENTS.keys();
            let names = [evaluator, version].map(|label| {
                let name = keys.next();
                name.and_then(|name| self.label_value(name, label))
                    .unwrap_or(Label::OTHER_NAME)
            });
            (names, it)
        })
    }

    /// Cost of the judgments of evaluators since the start, with evaluator, version and currency.
    pub fn evaluator_costs(&self) -> Vec<([&str; 3], f64)> {
        let family = &family::EVALUATOR_COST;
        let costs = self.counts(family).map(|(_, labels, units)| {
            let mut keys = family.keys();
            let [evaluator, version, currency, ..] = labels;
            let names = [evaluator, version, currency].map(|label| {
                let name = keys.next();
                name.and_then(|name| self.label_value(name, *label))
                    .unwrap_or(Label::OTHER_NAME)
            });
            (names, units_to_f64(units, family.decimals))
        });
        costs.collect()
    }

    /// Drift of evaluators, in the order of their names.
    pub fn evaluator_drifts(&self) -> Vec<EvaluatorDrift<'_>> {
        let detection = &self.settings.detection;
        let drifts = self.versions().map(|([evaluator, version], it)| {
            let drift = it.drift();
            EvaluatorDrift {
                evaluator,
                version,
                judged: [it.first(), it.last()],
                pairs: it.pairs(),
                log_evidence: drift.log_evidence(),
                has_alarm: drift.has_alarm(detection.drop_threshold),
                change: drift.extent(detection.target_threshold_of_worker()),
            }
        });
        let mut drifts: Vec<EvaluatorDrift<'_>> = drifts.collect();
        drifts.sort_by_key(|it| (it.evaluator, it.version));
        drifts
    }

    /// Means of evaluators, corrected for their bias, where people judged at least `feedback.min_samples`
    /// searches.
    pub fn corrected_values(&self) -> Vec<CorrectedValue<'_>> {
        let versions = self.versions();
        let values = versions.flat_map(|([evaluator, version], it)| {
            it.kinds().filter_map(move |(variant, name, kind)| {
                let mean = kind.corrected()?;
                (mean.pairs >= self.settings.min_samples).then(|| CorrectedValue {
                    evaluator,
                    version,
                    variant: self.variant(variant),
                    name,
                    mean,
                })
            })
        });
        let mut values: Vec<CorrectedValue<'_>> = values.collect();
        values.sort_by_key(|it| (it.evaluator, it.version, it.variant, it.name));
        values
    }

    /// Agreement of evaluators with people by variant and slice, in the order of their names.
    pub fn evaluator_slices(&self) -> Vec<SliceAgreement<'_>> {
        let versions = self.versions();
        let slices = versions.flat_map(|([evaluator, version], it)| {
            it.slices().filter_map(move |(series, agreement)| {
                let names = self.names(series)?;
                let [both_low, above, below, both_high] = agreement.pairs;
                let items = [
                    (false, false, both_low),
                    (false, true, above),
                    (true, false, below),
                    (true, true, both_high),
                ];
                let items = items.into_iter().filter(|(_, _, count)| *count > 0);
                Some(SliceAgreement {
                    evaluator,
                    version,
                    variant: names.variant,
                    slice: names.slice,
                    value: names.value,
                    pairs: agreement.pairs.iter().sum(),
                    error: agreement.error()?,
                    kappa: kappa(items),
                })
            })
        });
        let mut slices: Vec<SliceAgreement<'_>> = slices.collect();
        slices.sort_by_key(|it| (it.evaluator, it.version, it.variant, it.slice, it.value));
        slices
    }

    /// Part of the evaluator in an incident. `None` unless all measures of the incident are values of one
    /// evaluator.
    pub fn evaluator_part(&self, incident: &Incident) -> Option<EvaluatorPart<'_>> {
        let by = incident.measures.iter().map(|it| {
            let measure = it.measure.parse::<Measure>().ok()?;
            match measure {
                Measure::User(UserMeasure::Evaluation { of }) => Some(of),
                _ => None,
            }
        });
        let by: Vec<_> = by.collect::<Option<_>>()?;
        let first = by.first()?;
        if by.iter().any(|it| it.evaluator != first.evaluator) {
            return None;
        }
        let versions = self.versions();
        let versions = versions.filter(|([id, _], _)| **id == *first.evaluator);
        let versions: Vec<_> = versions.collect();
        let evaluator = first.evaluator.to_string();
        let of_no_person = EvaluatorPart {
            evaluator,
            version: "",
            verdict: EvaluatorVerdict::Undecided,
            at: None,
            shift: None,
        };
        let newest = versions.iter().max_by_key(|(_, it)| it.last());
        let Some(([_, version], bias)) = newest else {
            return Some(of_no_person);
        };
        let (lower, upper) = (incident.started.lower, incident.started.upper);
        let earliest = EventTime(lower).minus(BEFORE_INCIDENT);
        let kinds = bias.kinds();
        let mut shifts = kinds.filter(|(variant, name, _)| {
            self.variant(*variant) == &*incident.variant && **name == *first.name
        });
        let shift = shifts.find_map(|(_, _, kind)| kind.shift_since(incident.started.at));
        let is_other = |it: &VersionBias| it.first() < bias.first();
        let is_new = versions.iter().any(|(_, it)| is_other(it))
            && (earliest.0..=upper).contains(&bias.first().0);
        let drifted = bias.drift().alarm().filter(|it| {
            let is_lower = it.direction == crate::detection::BiasDirection::Lower;
            is_lower && it.since >= earliest.0
        });
        let loss = incident.measures.first().map_or(0.0, |it| it.loss_at_alarm);
        let (verdict, at) = match (drifted, &shift) {
            _ if is_new => (EvaluatorVerdict::NewVersion, Some(bias.first())),
            (Some(alarm), _) => (EvaluatorVerdict::Drifted, Some(EventTime(alarm.since))),
            (None, Some(shift)) if -shift.change.upper >= EXPLAINED * loss => {
                let since = EventTime(incident.started.at);
                (EvaluatorVerdict::Drifted, Some(since))
            }
            (None, Some(shift)) if -shift.change.lower < EXPLAINED * loss => {
                (EvaluatorVerdict::Unchanged, None)
            }
            (None, _) => (EvaluatorVerdict::Undecided, None),
        };
        Some(EvaluatorPart {
            version,
            verdict,
            at,
            shift,
            ..of_no_person
        })
    }
}
