//! Live estimate of the quality of all traffic from few labels, by variant and window of event time.
//!
//! A result with a known grade counts exactly. Any other counts with a prediction of its gain, and is
//! requested with a probability that was set before: its label corrects the prediction, divided by the
//! probability. So the expectation of each sum is the sum of the true gains, for any prediction. The state
//! depends on the searches and the labels alone; a label brings its circumstances back ([`Sampling`]).

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::detection::{BlockTest, NormalMixture};
use crate::engine::fixed::{Nano, units_to_f64};
use crate::engine::id::short;
use crate::engine::remap::IdRemap;
use crate::engine::series::{Dimension, Label};
use crate::engine::settings::Labelling;
use crate::event::Search;
use crate::gold::Grade;
use crate::labelling::{LabelOutcome, Part, STRATA, Sampling, uniform};
use crate::number::{real, real_length};
use crate::ranking::JudgeBy;
use crate::time::EventTime;

/// 1 in units of 10⁻⁹.
const ONE: i64 = 1_000_000_000;

/// Lowest probability of a request.
const MIN_PI: i64 = 100_000;

/// Number of unknown results a second that the first period expects.
const EXPECTED_RESULTS: f64 = 5.0;

/// Length of the first period with one probability, and of the longest, in milliseconds.
const FIRST_PERIOD: i64 = 60_000;
const MAX_PERIOD: i64 = 3_600_000;

/// Largest increase of the probability from one period to the next.
const MAX_INCREASE: f64 = 4.0;

/// Prediction of a gain before any is known.
const PRIOR: f64 = 0.5;

/// Assumed mean square of the error of a prediction, for the planned variance.
const PLANNED_ERROR: f64 = 0.2;

/// Ratio of the planned variance to the mixture variance of the interval, which is narrowest at the planned one.
const PLAN: f64 = 8.2;

/// Number of labels from which a window has an estimate.
const MIN_LABELS: usize = 30;

/// Maximum number of kept windows of a variant, and of labels of a window.
const MAX_WINDOWS: usize = 64;
const MAX_LABELS: usize = 100_000;

/// Probability that an interval at any time is wrong.
const ALPHA: f64 = 0.05;

/// Smallest fall of a mean that counts as a drop.
const TOLERANCE: f64 = 0.01;

/// Highest variance of the mean gain of a search.
const SEARCH_VARIANCE: f64 = 0.25;

const DAY: f64 = 86_400_000.0;

/// Labels and searches that the estimate needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Names of the measures, in the order of the settings.
    measures: Vec<Box<str>>,
    variants: BTreeMap<Label, OfVariant>,
    /// Known gains by measure and rank.
    gains: Vec<Vec<Gains>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Gains {
    sum: i128,
    number: u64,
}

impl Gains {
    fn add(&mut self, gain: f64) {
        self.sum += i128::from(Nano::from_f64(gain).get());
        self.number += 1;
    }

    /// Mean gain so far, as a prediction.
    fn prediction(self) -> i64 {
        // One gain of the prior keeps the first predictions away from 0 and 1.
        let sum = units_to_f64(self.sum, 9) + PRIOR;
        Nano::from_f64(sum / (real(self.number) + 1.0)).get()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OfVariant {
    /// By stratum, in the order of [`STRATA`].
    paces: [Pace; STRATA.len()],
    windows: BTreeMap<i64, Window>,
}

impl OfVariant {
    /// Number of labels a day of a stratum: an equal part of the variant's for each stratum with searches, and
    /// what a stratum with fewer unknown results leaves.
    fn per_day(&self, stratum: usize, of_variant: f64) -> f64 {
        let paces = self.paces.iter().enumerate();
        let others = paces.filter(|(place, it)| *place != stratum && it.started.is_some());
        let others: Vec<&Pace> = others.map(|(_, it)| it).collect();
        let part = of_variant / real_length(others.len() + 1);
        let used = others.iter().map(|it| it.a_day.min(part)).sum::<f64>();
        of_variant - used
    }
}

/// Probability of the requests of a stratum. It is set before a period, from the unknown results of the period
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pace {
    started: Option<i64>,
    length: i64,
    unknown: u64,
    /// Unknown results a day in the period before.
    a_day: f64,
    pi: i64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            started: None,
            length: FIRST_PERIOD,
            unknown: 0,
            a_day: EXPECTED_RESULTS * DAY / 1_000.0,
            pi: 0,
        }
    }
}

impl Pace {
    /// Probability at a moment, with a budget of labels a day.
    fn pi(&mut self, at: i64, per_day: f64) -> i64 {
        let pi = |a_day: f64| Nano::from_f64(per_day / a_day).get().clamp(MIN_PI, ONE);
        let Some(started) = self.started else {
            self.started = Some(at);
            self.pi = pi(self.a_day);
            return self.pi;
        };
        let elapsed = at.saturating_sub(started);
        if elapsed >= self.length {
            self.a_day = real(self.unknown.max(1)) * (DAY / real(elapsed.unsigned_abs()));
            let highest = Nano::from_f64(MAX_INCREASE * units_to_f64(self.pi.into(), 9)).get();
            self.pi = pi(self.a_day).min(highest);
            self.started = Some(at);
            self.length = (2 * self.length).min(MAX_PERIOD);
            self.unknown = 0;
        }
        self.pi
    }
}

/// Searches of a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Window {
    searches: u64,
    results: u64,
    known: u64,
    requests: u64,
    /// Event time of the newest search.
    newest: i64,
    /// Ids of the requests whose labels are counted.
    labels: BTreeSet<u64>,
    /// Sums by measure.
    sums: Vec<Sums>,
}

/// Sums of one measure, in units of 10⁻⁹.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    /// Gains of known results, predictions of the others, and corrections by labels.
    value: i128,
    /// Corrections by the labels that are missing, if all of them were 0, and if all were 1.
    low: i128,
    high: i128,
    /// Variance of the corrections.
    variance: i128,
    /// Variance that the requests so far can be expected to have.
    planned: i128,
    /// Mixture variance of the interval, which is set at the first label.
    mixture: i128,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        let Self {
            value,
            low,
            high,
            variance,
            planned,
            mixture,
        } = other;
        self.value += value;
        self.low += low;
        self.high += high;
        self.variance += variance;
        self.planned += planned;
        self.mixture += mixture;
    }

    /// Mean over `searches` with its interval at any time.
    fn interval(&self, searches: u64) -> [f64; 3] {
        let n = real(searches.max(1));
        let [low, value, high] = self.ends();
        let [variance, mixture] = [self.variance, self.mixture].map(|it| units_to_f64(it, 9));
        let width = NormalMixture::new(variance, mixture).half_width(ALPHA);
        [low - width, value, high + width].map(|it| (it / n).clamp(0.0, 1.0))
    }

    /// Sum if all missing labels were 0, with the predictions, and if all were 1.
    fn ends(&self) -> [f64; 3] {
        let [value, low, high] = [self.value, self.low, self.high].map(|it| units_to_f64(it, 9));
        // Rounding of the corrections can leave a few units.
        [value + low.min(0.0), value, value + high.max(0.0)]
    }

    /// Variances of the sum as a sample of all traffic: the corrections, and `searches` of which `planned` were
    /// expected.
    ///
    /// The variance of the corrections is the planned one at least: labels that are missing have none yet, and the
    /// service decides which ones are.
    fn sample(&self, searches: f64, planned: f64) -> NormalMixture {
        let [variance, mixture] =
            [self.variance.max(self.planned), self.mixture].map(|it| units_to_f64(it, 9));
        NormalMixture::new(
            variance + SEARCH_VARIANCE * searches,
            mixture + SEARCH_VARIANCE * planned / PLAN,
        )
    }
}

/// Correction by a label with this gain.
fn correction(part: &Part, pi: i64, gain: f64) -> i128 {
    let [c, f, pi] = [part.c, part.f, pi].map(|it| units_to_f64(it.into(), 9));
    Nano::from_f64(c * (gain - f) / pi).get().into()
}

/// Variance of that correction.
fn variance(part: &Part, pi: i64, error: f64) -> i128 {
    let [c, pi] = [part.c, pi].map(|it| units_to_f64(it.into(), 9));
    let weight = c * error / pi;
    Nano::from_f64(weight * weight * (1.0 - pi)).get().into()
}

/// Request for the label of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelRequest {
    /// Id of the request: the judgement of the same search and document.
    pub request_id: String,
    /// Time of the search.
    pub ts: i64,
    /// Search.
    pub query_id: String,
    /// Query text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Document.
    pub object_id: String,
    /// Text of the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Highest grade of the scale.
    pub scale_max: f64,
    /// Time until which the judgement counts, in milliseconds since 1970.
    pub deadline: i64,
    /// Circumstances of the request, for programs: an annotator must not see the variant.
    pub sampling: SamplingView,
    /// The same, signed: the judgement has to return it unchanged.
    pub request: String,
}

/// Circumstances of a request as numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SamplingView {
    /// Beginning of the window, in milliseconds since 1970.
    pub window: i64,
    /// Variant of the search.
    pub variant: String,
    /// `head` for a query of the gold set, else `tail`.
    pub stratum: &'static str,
    /// Probability of the request.
    pub pi: f64,
    /// Weight and prediction by measure.
    pub measures: BTreeMap<String, WeightView>,
}

/// Weight of a result in a measure, and the prediction of its gain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WeightView {
    /// Weight of the rank.
    pub c: f64,
    /// Predicted gain.
    pub f: f64,
}

/// Search whose results are drawn.
pub(super) struct Drawn<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) variant: Label,
    /// Grades of the results in served order, as far as they are known.
    pub(super) grades: &'a [Option<Grade>],
    pub(super) judge_by: JudgeBy,
    /// Position of its stratum in [`STRATA`].
    pub(super) stratum: usize,
}

impl Quality {
    /// Without searches.
    pub(super) fn new(labelling: Option<&Labelling>) -> Self {
        let measures = labelling.map_or(&[][..], |it| &it.measures);
        Self {
            measures: measures.iter().map(|it| it.to_string().into()).collect(),
            variants: BTreeMap::new(),
            gains: measures
                .iter()
                .map(|it| vec![Gains::default(); it.weights().len()])
                .collect(),
        }
    }

    /// Counts a search, and draws the results whose labels are requested.
    pub(super) fn draw(&mut self, labelling: &Labelling, drawn: &Drawn<'_>) -> Vec<LabelRequest> {
        let (search, at) = (drawn.search, drawn.search.ts.0);
        let variants = self.variants.len().max(1);
        let of = self.variants.entry(drawn.variant).or_default();
        let per_day = of.per_day(drawn.stratum, labelling.per_day / real_length(variants));
        let pace = &mut of.paces[drawn.stratum];
        let pi = pace.pi(at, per_day);
        let start = at.div_euclid(labelling.window.0) * labelling.window.0;
        let window = window_of(&mut of.windows, start, labelling);
        window.searches += 1;
        window.newest = window.newest.max(at);
        let mut requests = Vec::new();
        let mut seen = FxHashSet::default();
        let depth = labelling.measures.iter().map(|it| it.weights().len()).max();
        let query_id = &*search.query_id;
        for (rank, hit) in search.results.iter().take(depth.unwrap_or(0)).enumerate() {
            let document = drawn.judge_by.document(hit);
            if document.is_empty() || !seen.insert(document) {
                continue;
            }
            window.results += 1;
            let grade = drawn.grades.get(rank).copied().flatten();
            let mut parts = Vec::new();
            for (index, measure) in labelling.measures.iter().enumerate() {
                let Some(weight) = measure.weights().get(rank) else {
                    continue;
                };
                let (sums, gains) = (&mut window.sums[index], &mut self.gains[index][rank]);
                if let Some(grade) = grade {
                    let gain = measure.gain(grade.get(), labelling.scale_max);
                    gains.add(gain);
                    sums.value += i128::from(Nano::from_f64(weight * gain).get());
                    continue;
                }
                let part = Part {
                    measure: self.measures[index].to_string(),
                    c: Nano::from_f64(*weight).get(),
                    f: gains.prediction(),
                    rank: u32::try_from(rank).unwrap_or(u32::MAX),
                };
                let f = units_to_f64(part.f.into(), 9);
                sums.value += i128::from(Nano::from_f64(weight * f).get());
                sums.planned += expected(&part, pi);
                parts.push(part);
            }
            if grade.is_some() {
                window.known += 1;
                continue;
            }
            pace.unknown += 1;
            if uniform(labelling.seed, query_id, document) * real_of(ONE) >= real_of(pi) {
                continue;
            }
            window.requests += 1;
            for part in &parts {
                let index = self.measures.iter().position(|it| **it == *part.measure);
                if let Some(sums) = index.and_then(|it| window.sums.get_mut(it)) {
                    sums.low += correction(part, pi, 0.0);
                    sums.high += correction(part, pi, 1.0);
                }
            }
            let sampling = Sampling {
                id: id_of(query_id, document),
                window: start,
                deadline: start + labelling.window.0 + labelling.deadline.0,
                variant: search.variant().to_owned(),
                pi,
                measures: parts,
            };
            let details = hit.details();
            requests.push(request(
                labelling,
                drawn,
                sampling,
                (document, details.text.as_deref()),
            ));
        }
        requests
    }

    /// Counts the label of a request, at the time of its judgement. `variant` is that of the request.
    pub(super) fn count(
        &mut self,
        labelling: &Labelling,
        sampling: &Sampling,
        variant: Label,
        (grade, at): (f64, EventTime),
    ) -> LabelOutcome {
        if at.0 > sampling.deadline {
            return LabelOutcome::Late;
        }
        let of = self.variants.entry(variant).or_default();
        let window = window_of(&mut of.windows, sampling.window, labelling);
        if window.labels.len() >= MAX_LABELS || !window.labels.insert(sampling.id) {
            return LabelOutcome::Duplicate;
        }
        let passed = (window.newest - sampling.window).max(FIRST_PERIOD);
        let rest = real(labelling.window.0.unsigned_abs()) / real(passed.unsigned_abs());
        for part in &sampling.measures {
            let index = self.measures.iter().position(|it| **it == *part.measure);
            let Some(index) = index else { continue };
            let gain = labelling.measures[index].gain(grade, labelling.scale_max);
            let sums = &mut window.sums[index];
            if sums.mixture == 0 {
                let planned = units_to_f64(sums.planned, 9) * rest.max(1.0);
                sums.mixture = Nano::from_f64(planned / PLAN).get().into();
            }
            sums.low -= correction(part, sampling.pi, 0.0);
            sums.high -= correction(part, sampling.pi, 1.0);
            sums.value += correction(part, sampling.pi, gain);
            let error = gain - units_to_f64(part.f.into(), 9);
            sums.variance += variance(part, sampling.pi, error);
            let rank = usize::try_from(part.rank).unwrap_or(usize::MAX);
            if let Some(gains) = self.gains[index].get_mut(rank) {
                gains.add(gain);
            }
        }
        LabelOutcome::Counted
    }

    /// Current estimates of each variant and measure.
    pub fn estimates(&self) -> Vec<QualityEstimate> {
        let mut estimates = Vec::new();
        for (variant, of) in &self.variants {
            let usable: Vec<(&i64, &Window)> =
                of.windows.iter().filter(|(_, it)| it.is_usable()).collect();
            let settled = usable.iter().rposition(|(_, it)| it.is_settled());
            let Some(current) = settled.or_else(|| usable.len().checked_sub(1)) else {
                continue;
            };
            let (start, window) = usable[current];
            let before = usable[..current].iter().map(|(_, it)| *it);
            let before: Vec<&Window> = before.filter(|it| it.is_settled()).collect();
            for (index, measure) in self.measures.iter().enumerate() {
                let [lower, mean, upper] = window.sums[index].interval(window.searches);
                estimates.push(QualityEstimate {
                    variant: *variant,
                    measure: measure.clone(),
                    window: EventTime(*start),
                    searches: window.searches,
                    requests: window.requests,
                    labels: u64::try_from(window.labels.len()).unwrap_or(u64::MAX),
                    known: real(window.known) / real(window.results.max(1)),
                    lower,
                    mean,
                    upper,
                    drop_log_evidence: drop_log_evidence(window, &before, index),
                });
            }
        }
        estimates
    }

    /// Adds the searches and labels of another engine.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.measures.is_empty() {
            self.measures.clone_from(&other.measures);
            self.gains.clone_from(&other.gains);
        } else if self.measures == other.measures {
            for (mine, theirs) in self.gains.iter_mut().zip(&other.gains) {
                for (mine, theirs) in mine.iter_mut().zip(theirs) {
                    mine.sum += theirs.sum;
                    mine.number += theirs.number;
                }
            }
        } else {
            return;
        }
        for (variant, theirs) in &other.variants {
            let mine = self.variants.entry(*variant).or_default();
            for (mine, theirs) in mine.paces.iter_mut().zip(theirs.paces) {
                if mine.started.is_none() {
                    *mine = theirs;
                }
            }
            for (start, window) in &theirs.windows {
                mine.windows.entry(*start).or_default().merge(window);
            }
        }
    }

    /// Returns the saved state with the numbers of this process; nothing of it if the measures changed.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::new(ids.settings.labelling.as_ref());
        if now.measures != self.measures {
            return now;
        }
        now.gains.clone_from(&self.gains);
        for (variant, of) in &self.variants {
            let variant = ids.label(Dimension::Variant, *variant);
            now.variants.insert(variant, of.clone());
        }
        now
    }

    /// Removes a variant.
    pub(super) fn retire(&mut self, variant: Label) {
        self.variants.remove(&variant);
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        let windows = self.variants.values().flat_map(|it| it.windows.values());
        let windows = windows.map(|it| {
            size_of::<Window>() + it.labels.len() * 16 + it.sums.len() * size_of::<Sums>()
        });
        windows.sum()
    }
}

impl Window {
    fn merge(&mut self, other: &Self) {
        self.searches += other.searches;
        self.results += other.results;
        self.known += other.known;
        self.requests += other.requests;
        self.newest = self.newest.max(other.newest);
        self.labels.extend(&other.labels);
        self.sums
            .resize(self.sums.len().max(other.sums.len()), Sums::default());
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            mine.add(theirs);
        }
    }

    /// True if the window has enough labels for an estimate, or needs none.
    fn is_usable(&self) -> bool {
        let is_exact = self.known == self.results;
        self.searches > 0 && (is_exact || self.labels.len() >= MIN_LABELS)
    }

    /// True if at least half of the requests have labels.
    fn is_settled(&self) -> bool {
        u64::try_from(2 * self.labels.len()).unwrap_or(u64::MAX) >= self.requests
    }
}

/// Log evidence that a mean of a window is lower than that of the windows before, beyond the tolerance. `None`
/// without one before.
///
/// The mean before is the lower end of its interval at [`BlockTest::ALPHA`], and that of the window the
/// one with its missing labels at 1. The searches are a sample of the traffic, whose variance is the highest possible. The test begins with
/// the window: the windows before have their searches.
fn drop_log_evidence(window: &Window, before: &[&Window], measure: usize) -> Option<f64> {
    let (mut sums, mut searches) = (Sums::default(), 0);
    for it in before {
        sums.add(it.sums.get(measure)?);
        searches += it.searches;
    }
    if searches == 0 {
        return None;
    }
    let n = real(searches);
    let [low, ..] = sums.ends();
    let baseline = (low - sums.sample(n, n).half_width(BlockTest::ALPHA)) / n;
    let current = window.sums.get(measure)?;
    let (n, planned) = (real(window.searches), n / real_length(before.len()));
    let [_, _, high] = current.ends();
    let shortfall = n * (baseline - TOLERANCE) - high;
    current.sample(n, planned).log_evidence(shortfall)
}

/// Window with this beginning. The oldest one makes room.
fn window_of<'w>(
    windows: &'w mut BTreeMap<i64, Window>,
    start: i64,
    labelling: &Labelling,
) -> &'w mut Window {
    while windows.len() >= MAX_WINDOWS && !windows.contains_key(&start) {
        windows.pop_first();
    }
    let window = windows.entry(start).or_default();
    window
        .sums
        .resize(labelling.measures.len(), Sums::default());
    window
}

/// Variance that a result can be expected to add.
fn expected(part: &Part, pi: i64) -> i128 {
    let [c, pi] = [part.c, pi].map(|it| units_to_f64(it.into(), 9));
    Nano::from_f64(c * c * PLANNED_ERROR * (1.0 - pi) / pi)
        .get()
        .into()
}

fn real_of(units: i64) -> f64 {
    units_to_f64(units.into(), 0)
}

/// Id of the request for a result of a search.
pub(super) fn id_of(query_id: &str, document: &str) -> u64 {
    short(&format!("{query_id}\0{document}"))
}

fn request(
    labelling: &Labelling,
    drawn: &Drawn<'_>,
    sampling: Sampling,
    (document, text): (&str, Option<&str>),
) -> LabelRequest {
    let search = drawn.search;
    let query = search.query.as_deref().or(search.query_key.as_deref());
    let number = |units: i64| units_to_f64(units.into(), 9);
    let measures = sampling.measures.iter().map(|part| {
        let weight = WeightView {
            c: number(part.c),
            f: number(part.f),
        };
        (part.measure.clone(), weight)
    });
    LabelRequest {
        request_id: format!("{:016x}", sampling.id),
        ts: search.ts.0,
        query_id: search.query_id.to_string(),
        query: query.map(str::to_owned),
        object_id: document.to_owned(),
        text: text.map(str::to_owned),
        scale_max: labelling.scale_max,
        deadline: sampling.deadline,
        request: sampling.token(&labelling.key),
        sampling: SamplingView {
            window: sampling.window,
            stratum: STRATA[drawn.stratum],
            pi: number(sampling.pi),
            measures: measures.collect(),
            variant: sampling.variant,
        },
    }
}

/// Estimate of a measure for the searches of a variant in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityEstimate {
    /// Number of the variant.
    pub variant: Label,
    /// Name of the measure.
    pub measure: Box<str>,
    /// Beginning of the window.
    pub window: EventTime,
    /// Searches in the window.
    pub searches: u64,
    /// Requests for labels.
    pub requests: u64,
    /// Labels that are counted.
    pub labels: u64,
    /// Share of the results whose grade was known.
    pub known: f64,
    /// Lower end of the 95 % interval, which holds at any time.
    pub lower: f64,
    /// Estimate.
    pub mean: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Log evidence (ln) that the mean is lower than in the windows before, if there are some.
    pub drop_log_evidence: Option<f64>,
}
