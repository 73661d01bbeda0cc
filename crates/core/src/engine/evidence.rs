//! Evidence that scores fell, or are below what is asked of them: what is usual, how far from it the
//! searches are, and the tests that decide.
//!
//! A search is compared with what is usual for its query, so that a change of what is asked is no change
//! of quality, and one query that is asked a thousand times is not a thousand surprises. What is usual is
//! learned from the first searches of a variant and then stays, until somebody asks to learn anew or
//! the gold set changes. Of what people did, a session is one observation, compared with the mean.
//!
//! Every detector can be merged with that of another worker; the tests themselves are
//! [`crate::detection`]'s.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{Bounds, DropDetector, Histogram, Hypothesis, TargetTest, against_baseline};
use crate::engine::fixed::{NANO_DECIMALS, Nano, count_to_f64, units_to_f64};
use crate::engine::registry::{Dimension, Family, Label, Series};
use crate::engine::scores::column_of;
use crate::engine::settings::{Detection, Watched};
use crate::engine::state::Renumbering;
use crate::engine::window::Progress;

/// Most queries of which it is known what is usual, of one variant and measure. Others are not
/// compared.
const MOST_QUERIES: usize = 20_000;

/// Most minutes that pass at once: a longer pause has no searches that could tell anything.
const MOST_MINUTES: i64 = 1_440;

/// Searches over which the present is averaged, of a series and of a query, for people to read.
const RECENT: f64 = 100.0;
const RECENT_OF_QUERY: f64 = 4.0;

/// A score column of a variant, or of a series.
type OfVariant = (Label, usize);
type OfSeries = (Series, usize);

/// What one worker knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Evidence {
    usual: BTreeMap<OfVariant, Usual>,
    detectors: BTreeMap<OfSeries, Detector>,
    /// The minute of event time that was counted last.
    minute: Option<i64>,
    /// The gold set that what is usual was learned with.
    gold: String,
}

/// What is usual for the searches of a variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usual {
    /// Searches it was learned from.
    pub searches: u64,
    /// The sum of their scores in units of 10⁻⁹.
    sum: i128,
    /// Whether it has been learned, and stays.
    pub is_learned: bool,
    queries: BTreeMap<Box<str>, UsualOfQuery>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct UsualOfQuery {
    searches: u32,
    /// The sum of the scores that were learned from, in units of 10⁻⁹.
    sum: i64,
    /// A moving mean since then, and of how many searches.
    recent: f64,
    recent_searches: u32,
}

impl Usual {
    /// The mean score; `None` without any.
    pub fn mean(&self) -> Option<f64> {
        let count = count_to_f64(self.searches);
        (self.searches > 0).then(|| units_to_f64(self.sum, NANO_DECIMALS) / count)
    }

    fn learn(&mut self, query: &str, score: Nano, enough: u64) {
        self.searches += 1;
        self.sum += i128::from(score.get());
        self.is_learned = self.searches >= enough;
        if query.is_empty()
            || (self.queries.len() >= MOST_QUERIES && !self.queries.contains_key(query))
        {
            return;
        }
        let of_query = self.queries.entry(query.into()).or_default();
        of_query.searches += 1;
        of_query.sum = of_query.sum.saturating_add(score.get());
    }

    /// What is usual for a query, and for a search that has none.
    fn of(&self, query: &str) -> Option<f64> {
        if query.is_empty() {
            return self.mean();
        }
        self.queries.get(query).map(UsualOfQuery::mean)
    }

    fn see(&mut self, query: &str, score: f64) {
        if let Some(of_query) = self.queries.get_mut(query) {
            let seen = &mut of_query.recent_searches;
            *seen = seen.saturating_add(1);
            let weight = f64::from(*seen).min(RECENT_OF_QUERY).recip();
            of_query.recent += weight * (score - of_query.recent);
        }
    }

    /// The queries whose scores are furthest below what is usual for them.
    fn fallen(&self, sign: f64) -> Vec<Fallen> {
        let seen = self.queries.iter().filter(|(_, it)| it.recent_searches > 0);
        let mut fallen: Vec<Fallen> = seen
            .map(|(query, it)| Fallen {
                query: query.clone(),
                usual: it.mean(),
                recent: it.recent,
            })
            .filter(|it| sign * (it.usual - it.recent) > 0.0)
            .collect();
        fallen.sort_by(|a, b| {
            let by = |it: &Fallen| sign * (it.usual - it.recent);
            by(b).total_cmp(&by(a)).then_with(|| a.query.cmp(&b.query))
        });
        fallen.truncate(5);
        fallen
    }

    fn merge(&mut self, other: &Self) {
        self.searches += other.searches;
        self.sum += other.sum;
        self.is_learned |= other.is_learned;
        for (query, theirs) in &other.queries {
            let mine = self.queries.entry(query.clone()).or_default();
            mine.searches = mine.searches.saturating_add(theirs.searches);
            mine.sum = mine.sum.saturating_add(theirs.sum);
            if theirs.recent_searches > mine.recent_searches {
                mine.recent = theirs.recent;
                mine.recent_searches = theirs.recent_searches;
            }
        }
    }

    /// What is exposed: without single queries.
    fn total(&self) -> Self {
        Self {
            queries: BTreeMap::new(),
            ..*self
        }
    }
}

impl UsualOfQuery {
    fn mean(&self) -> f64 {
        let sum = units_to_f64(i128::from(self.sum), NANO_DECIMALS);
        sum / f64::from(self.searches.max(1))
    }
}

/// The tests of one series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detector {
    target: TargetTest,
    drop: DropDetector,
    scores: Histogram,
    bounds: Option<(Bounds, u64)>,
    /// A moving mean, and of how many searches.
    recent: f64,
    searches: u64,
    /// Searches that were compared with what is usual.
    compared: u64,
    /// By test, whether its threshold was reached and that was told.
    told: [bool; 2],
}

impl Detector {
    /// Between what the mean lies, as it was last worked out, and of how many searches.
    pub fn bounds(&self) -> Option<(Bounds, u64)> {
        self.bounds
    }

    /// Whether anything was compared with what is usual.
    pub fn is_comparing(&self) -> bool {
        self.compared > 0
    }

    /// ln of the evidence of a test.
    pub fn log_evidence(&self, test: Test) -> f64 {
        match test {
            Test::Target => self.target.log_evidence(),
            Test::Drop => self.drop.log_evidence(),
        }
    }

    /// Works the bounds out anew, when there are so many more scores that they have moved.
    fn bound(&mut self, alpha: f64) {
        let known = self.bounds.map_or(0, |(_, searches)| searches);
        if self.searches > known + known / 20 {
            self.bounds = Some((self.scores.bounds(alpha), self.searches));
        }
    }

    fn merge(&mut self, other: &Self) {
        self.target.merge(&other.target);
        self.drop.merge(&other.drop);
        self.scores.merge(&other.scores);
        // Each is of its own part of the searches: the whole lies between, by their numbers.
        self.bounds = match (self.bounds, other.bounds) {
            (Some((mine, m)), Some((theirs, n))) => {
                let share = count_to_f64(n) / count_to_f64((m + n).max(1));
                let between = |a: f64, b: f64| a + share * (b - a);
                let bounds = Bounds {
                    lower: between(mine.lower, theirs.lower),
                    upper: between(mine.upper, theirs.upper),
                };
                Some((bounds, m + n))
            }
            (mine, theirs) => mine.or(theirs),
        };
        if other.searches > self.searches {
            self.recent = other.recent;
        }
        self.searches += other.searches;
        self.compared += other.compared;
        for (mine, theirs) in self.told.iter_mut().zip(other.told) {
            *mine |= theirs;
        }
    }
}

/// What evidence is against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// The mean is at least what is asked of it.
    Target,
    /// The scores are what they usually were.
    Drop,
}

impl Test {
    /// Both, in the order of their numbers.
    pub const ALL: [Self; 2] = [Self::Target, Self::Drop];

    /// The label value: `target`, `drop`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Drop => "drop",
        }
    }
}

/// Evidence that has just reached its threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Which.
    pub test: Test,
    /// The series of [`Family::Scores`].
    pub series: Series,
    /// The measure, by its place among those of the settings.
    pub measure: usize,
    /// ln of the evidence.
    pub log_evidence: f64,
    /// What it had to reach.
    pub threshold: f64,
    /// The mean that was usual, or the target.
    pub expected: f64,
    /// A moving mean of the last searches.
    pub recent: f64,
    /// The queries that fell furthest, at most five; none for a target that is missed.
    pub fallen: Vec<Fallen>,
}

/// A query whose scores fell.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fallen {
    /// Its key in the gold set.
    pub query: Box<str>,
    /// The mean that was usual.
    pub usual: f64,
    /// A moving mean of its last searches.
    pub recent: f64,
}

/// What is observed of one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    pub(super) variant: Label,
    /// The series that are watched.
    pub(super) series: &'a [Series],
    /// By column.
    pub(super) scores: &'a [(usize, Nano)],
    /// The gold query; empty for what people did.
    pub(super) query: &'a str,
}

impl Evidence {
    /// Takes in the scores of a search. Returns what has reached its threshold by them.
    pub(super) fn observe(&mut self, of: Observed<'_>, settings: &Detection) -> Vec<Crossing> {
        let mut crossings = Vec::new();
        for watched in &settings.measures {
            let column = column_of(watched.index);
            let Some((_, score)) = of.scores.iter().find(|(it, _)| *it == column) else {
                continue;
            };
            let value = units_to_f64(i128::from(score.get()), NANO_DECIMALS);
            let usual = self.usual.entry((of.variant, column)).or_default();
            let compared = if usual.is_learned {
                usual.see(of.query, value);
                usual.of(of.query)
            } else {
                usual.learn(of.query, *score, settings.baseline_searches);
                None
            };
            let upwards = |score: f64| {
                if watched.is_downwards {
                    1.0 - score
                } else {
                    score
                }
            };
            for series in of.series {
                let detector = self.detectors.entry((*series, column)).or_default();
                detector.searches += 1;
                let weight = count_to_f64(detector.searches).min(RECENT).recip();
                detector.recent += weight * (value - detector.recent);
                detector.scores.add(value);
                if let Some(target) = watched.target
                    && let Some(hypothesis) = Hypothesis::at_least(upwards(target))
                {
                    detector.target.add(upwards(value), hypothesis);
                }
                if let Some(compared) = compared
                    && let Some(hypothesis) = Hypothesis::fell_at_most(settings.tolerance)
                {
                    let difference = against_baseline(upwards(value), upwards(compared));
                    detector.compared += 1;
                    detector.drop.add(difference, hypothesis);
                    detector.drop.limit(settings.ceiling);
                }
                let place = (*series, watched);
                crossings.extend(cross(detector, place, usual, settings));
            }
        }
        crossings
    }

    /// Lets the minutes pass that event time has gone on.
    pub(super) fn follow(&mut self, progress: Progress, settings: &Detection) {
        for detector in self.detectors.values_mut() {
            detector.bound(settings.alpha);
        }
        let Some(watermark) = progress.watermark else {
            return;
        };
        let minute = watermark.0.div_euclid(60_000);
        let passed = self.minute.map_or(0, |last| minute - last);
        if passed < 0 {
            return;
        }
        self.minute = Some(minute);
        for _ in 0..passed.min(MOST_MINUTES) {
            // Time counts from when there is something to compare with.
            let comparing = self.detectors.values_mut().filter(|it| it.compared > 0);
            for detector in comparing {
                detector.drop.tick();
                detector.drop.limit(settings.ceiling);
            }
        }
    }

    /// Forgets what is usual, and all evidence: a new deployment begins.
    pub(super) fn learn_anew(&mut self) {
        self.usual.clear();
        self.detectors.clear();
    }

    /// Searches are judged by this gold set from now on. Scores by another one cannot be compared.
    pub(super) fn judge_by(&mut self, gold: &str, settings: &Detection) {
        if self.gold == gold {
            return;
        }
        let is_first = self.gold.is_empty();
        gold.clone_into(&mut self.gold);
        if is_first {
            return;
        }
        let is_of_people = |column: usize| {
            let mut watched = settings.measures.iter();
            watched.any(|it| it.is_of_people && column_of(it.index) == column)
        };
        self.usual.retain(|(_, column), _| is_of_people(*column));
        self.detectors
            .retain(|(_, column), _| is_of_people(*column));
    }

    /// What is exposed.
    pub(super) fn totals(&self) -> EvidenceTotals {
        let usual = self.usual.iter().map(|(of, usual)| (*of, usual.total()));
        EvidenceTotals {
            usual: usual.collect(),
            detectors: self.detectors.clone(),
        }
    }

    /// Adds what an earlier process knew.
    pub(super) fn restore(&mut self, saved: &Self, renumbering: &Renumbering) {
        let column = |column: usize| renumbering.columns.get(column).copied().flatten();
        for ((variant, of), usual) in &saved.usual {
            if let Some(column) = column(*of) {
                let variant = renumbering.label(Dimension::Variant, *variant);
                self.usual
                    .entry((variant, column))
                    .or_default()
                    .merge(usual);
            }
        }
        for ((series, of), detector) in &saved.detectors {
            let series = renumbering.series(Family::Scores, *series);
            if let (Some(series), Some(column)) = (series, column(*of)) {
                match self.detectors.entry((series, column)) {
                    std::collections::btree_map::Entry::Vacant(place) => {
                        place.insert(detector.clone());
                    }
                    std::collections::btree_map::Entry::Occupied(mut mine) => {
                        mine.get_mut().merge(detector);
                    }
                }
            }
        }
        self.minute = self.minute.max(saved.minute);
        if self.gold.is_empty() {
            self.gold.clone_from(&saved.gold);
        }
    }
}

/// What a detector says for the first time.
fn cross(
    detector: &mut Detector,
    (series, watched): (Series, &Watched),
    usual: &Usual,
    settings: &Detection,
) -> Vec<Crossing> {
    let mut crossings = Vec::new();
    for test in Test::ALL {
        let (threshold, expected) = match test {
            Test::Target => (settings.target_threshold, watched.target),
            Test::Drop => (settings.drop_threshold, usual.mean()),
        };
        let log_evidence = detector.log_evidence(test);
        let told = &mut detector.told[test as usize];
        if log_evidence < threshold {
            // It is told again when it comes again, not each time it passes to and fro.
            *told &= log_evidence >= threshold / 2.0;
            continue;
        }
        if std::mem::replace(told, true) {
            continue;
        }
        let sign = if watched.is_downwards { -1.0 } else { 1.0 };
        crossings.push(Crossing {
            test,
            series,
            measure: watched.index,
            log_evidence,
            threshold,
            expected: expected.unwrap_or_default(),
            recent: detector.recent,
            fallen: match test {
                Test::Target => Vec::new(),
                Test::Drop => usual.fallen(sign),
            },
        });
    }
    crossings
}

/// What is exposed of the evidence. That of workers adds up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EvidenceTotals {
    /// What is usual, by variant and score column.
    pub usual: BTreeMap<OfVariant, Usual>,
    /// The tests, by series of [`Family::Scores`] and score column.
    pub detectors: BTreeMap<OfSeries, Detector>,
}

impl EvidenceTotals {
    /// Adds another worker's.
    pub fn merge(&mut self, other: &Self) {
        for (of, theirs) in &other.usual {
            match self.usual.get_mut(of) {
                // Not learned before everybody has.
                Some(mine) => {
                    let is_learned = mine.is_learned && theirs.is_learned;
                    mine.merge(theirs);
                    mine.is_learned = is_learned;
                }
                None => {
                    self.usual.insert(*of, theirs.clone());
                }
            }
        }
        for (of, theirs) in &other.detectors {
            match self.detectors.get_mut(of) {
                Some(mine) => mine.merge(theirs),
                None => {
                    self.detectors.insert(*of, theirs.clone());
                }
            }
        }
    }
}
