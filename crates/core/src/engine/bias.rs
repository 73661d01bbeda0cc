//! Bias of evaluators by version, and the evidence that it changed.
//!
//! One observation is a search: the mean difference of an evaluator from people, over the judgments of one
//! property. A version of an evaluator has a test and baselines of its own: nothing is compared with the
//! differences of another version. Whether a version is new follows from the time of its first judgment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{BiasDrift, BiasKind, BiasRules};
use crate::engine::family;
use crate::engine::fixed::Nano;
use crate::engine::remap::IdRemap;
use crate::engine::retirement::Retired;
use crate::engine::series::{Dimension, Label, Series};
use crate::engine::settings::Detection;
use crate::number::real;
use crate::time::EventTime;

/// Maximum number of versions of evaluators with a test, and of kinds of differences of each. Others are
/// only counted.
const MAX_VERSIONS: usize = 256;
const MAX_KINDS: usize = 32;

/// Maximum number of slices of a version whose agreement is counted.
const MAX_SLICES: usize = 200;

/// Evaluator and its version.
type Version = (Label, Label);

/// Variant and judged property.
type Kind = (Label, Box<str>);

/// Bias of all evaluators.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Biases(BTreeMap<Version, VersionBias>);

/// Bias of one version of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionBias {
    /// Event times of the first and the last judged search.
    first: EventTime,
    last: EventTime,
    /// Number of searches that people judged as well.
    pairs: u64,
    kinds: BTreeMap<Kind, BiasKind>,
    drift: BiasDrift,
    /// Agreement by series of [`family::SCORE`] with a slice.
    slices: BTreeMap<Series, Agreement>,
}

/// Agreement of an evaluator with people in a slice of the searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Agreement {
    /// Judgments by outcome: both low, the evaluator above people, below them, both high.
    pub pairs: [u64; 4],
    /// Sum of the differences from people, in units of 10⁻⁹.
    error: i128,
}

impl Agreement {
    /// Mean difference from people. `None` without a pair.
    pub(super) fn error(&self) -> Option<f64> {
        let pairs: u64 = self.pairs.iter().sum();
        (pairs > 0).then(|| Nano::sum_to_f64(self.error) / real(pairs))
    }

    fn add(&mut self, outcome: usize, difference: Nano) {
        if let Some(pairs) = self.pairs.get_mut(outcome) {
            *pairs += 1;
            self.error += i128::from(difference.get());
        }
    }

    fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.pairs.iter_mut().zip(other.pairs) {
            *mine += theirs;
        }
        self.error += other.error;
    }
}

/// Difference of an evaluator from people in one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference<'a> {
    pub(super) version: Version,
    pub(super) variant: Label,
    /// Judged property.
    pub(super) name: &'a str,
    /// Evaluator minus people, from -1 to 1. `None` if no person judged the same.
    pub(super) from_people: Option<f64>,
    /// Value from 0 to 1. `None` for a grade without a scale.
    pub(super) value: Option<f64>,
    /// Outcomes of the comparison of its judgments with people, and differences from them.
    pub(super) judgments: &'a [(usize, Nano)],
    /// Series of the slices of the search.
    pub(super) slices: &'a [Series],
}

impl Detection {
    /// Rules of the drift test of evaluators.
    pub(super) fn bias_rules(&self) -> BiasRules {
        BiasRules {
            threshold: self.drop_threshold,
            tolerance: self.tolerance,
            warm_up_tolerance: self.warm_up_tolerance,
        }
    }
}

impl VersionBias {
    fn new(ts: EventTime) -> Self {
        Self {
            first: ts,
            last: ts,
            pairs: 0,
            kinds: BTreeMap::new(),
            drift: BiasDrift::default(),
            slices: BTreeMap::new(),
        }
    }

    /// Event time of the first judged search.
    pub fn first(&self) -> EventTime {
        self.first
    }

    /// Event time of the last judged search.
    pub fn last(&self) -> EventTime {
        self.last
    }

    /// Number of searches that people judged as well.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Drift test.
    pub fn drift(&self) -> &BiasDrift {
        &self.drift
    }

    /// Differences by variant and judged property.
    pub fn kinds(&self) -> impl Iterator<Item = (Label, &str, &BiasKind)> {
        let kinds = self.kinds.iter();
        kinds.map(|((variant, name), it)| (*variant, &**name, it))
    }

    /// Agreement by series with a slice.
    pub(super) fn slices(&self) -> impl Iterator<Item = (Series, &Agreement)> {
        self.slices.iter().map(|(series, it)| (*series, it))
    }

    fn add_slice(&mut self, slice: Series, judgments: &[(usize, Nano)]) {
        if self.slices.len() >= MAX_SLICES && !self.slices.contains_key(&slice) {
            return;
        }
        let agreement = self.slices.entry(slice).or_default();
        for (outcome, difference) in judgments {
            agreement.add(*outcome, *difference);
        }
    }

    fn add(&mut self, ts: EventTime, of: &Difference<'_>, rules: &BiasRules) {
        self.first = self.first.min(ts);
        self.last = self.last.max(ts);
        for slice in of.slices.iter().filter(|_| !of.judgments.is_empty()) {
            self.add_slice(*slice, of.judgments);
        }
        self.pairs += u64::from(of.from_people.is_some());
        let kind: Kind = (of.variant, of.name.into());
        if self.kinds.len() >= MAX_KINDS && !self.kinds.contains_key(&kind) {
            return;
        }
        let kind = self.kinds.entry(kind).or_default();
        if let Some(value) = of.value {
            kind.add_value(value);
        }
        if let Some(difference) = of.from_people {
            self.drift.add(ts.0, kind, difference, rules);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.pairs += other.pairs;
        for (kind, theirs) in &other.kinds {
            self.kinds.entry(kind.clone()).or_default().merge(theirs);
        }
        self.drift.merge(&other.drift);
        for (slice, theirs) in &other.slices {
            self.slices.entry(*slice).or_default().merge(theirs);
        }
    }

    fn bytes(&self) -> usize {
        let kinds = self.kinds.iter();
        let kinds: usize = kinds.map(|((_, name), it)| name.len() + it.bytes()).sum();
        let slices = self.slices.len() * size_of::<(Series, Agreement)>();
        size_of::<(Version, Self)>() + kinds + slices + self.drift.bytes()
    }
}

impl Biases {
    /// Adds the judgments of a search by one evaluator. Judgments of evaluators beyond the limit are
    /// not compared.
    pub(super) fn add(&mut self, ts: EventTime, of: &Difference<'_>, settings: &Detection) {
        let known = self.0.contains_key(&of.version);
        let is_named = of.version.0.position().is_some() || of.version.0 == Label::EMPTY;
        if !known && (self.0.len() >= MAX_VERSIONS || !is_named) {
            return;
        }
        let version = self.0.entry(of.version);
        let version = version.or_insert_with(|| VersionBias::new(ts));
        version.add(ts, of, &settings.bias_rules());
    }

    /// Versions with their evaluator.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Version, &VersionBias)> {
        self.0.iter().map(|(version, it)| (*version, it))
    }

    /// Versions of all evaluators.
    pub fn versions(&self) -> impl Iterator<Item = &VersionBias> {
        self.0.values()
    }

    /// Starts all tests and baselines again.
    pub(super) fn reset(&mut self) {
        for it in self.0.values_mut() {
            it.drift = BiasDrift::default();
            it.kinds.clear();
        }
    }

    /// Forgets the baselines of a variant whose answers changed with a deployment.
    pub(super) fn deployed(&mut self, variant: Label) {
        let kinds = self.0.values_mut().flat_map(|it| it.kinds.iter_mut());
        for ((of, _), kind) in kinds {
            if *of == variant {
                kind.reset();
            }
        }
    }

    /// Removes the differences of a retired variant.
    pub(super) fn retire(&mut self, retired: &Retired) {
        let is_retired = |series: &Series| {
            let mut of_scores = retired.series.iter();
            of_scores.any(|(table, it)| it == series && Some(*table) == family::SCORE.table())
        };
        for it in self.0.values_mut() {
            it.kinds.retain(|(of, _), _| *of != retired.variant);
            it.slices.retain(|series, _| !is_retired(series));
        }
    }

    /// Adds other evaluators with the same numbers.
    pub(super) fn merge(&mut self, other: &Self) {
        for (version, theirs) in &other.0 {
            match self.0.get_mut(version) {
                Some(mine) => mine.merge(theirs),
                None => {
                    self.0.insert(*version, theirs.clone());
                }
            }
        }
    }

    /// Returns saved evaluators with the numbers of this process.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        for ((evaluator, version), it) in &self.0 {
            let evaluator = ids.label(Dimension::Evaluator, *evaluator);
            let version = ids.label(Dimension::EvaluatorVersion, *version);
            let kinds = it.kinds.iter().map(|((variant, name), kind)| {
                let variant = ids.label(Dimension::Variant, *variant);
                ((variant, name.clone()), kind.clone())
            });
            let slices = it.slices.iter().filter_map(|(series, agreement)| {
                let series = ids.series(family::SCORE.table()?, *series)?;
                Some((series, *agreement))
            });
            let renumbered = VersionBias {
                kinds: kinds.collect(),
                slices: slices.collect(),
                drift: it.drift.clone(),
                ..*it
            };
            now.merge(&Self([((evaluator, version), renumbered)].into()));
        }
        now
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.values().map(VersionBias::bytes).sum()
    }
}
