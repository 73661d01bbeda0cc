//! Units of experiments: users or sessions, which the search service assigns to arms at random, and
//! sessions with interleaved rankings.
//!
//! Searches of one unit depend on each other, so the observations are buckets of units (X) and units
//! (S); see [`crate::detection`]. Ids of units are hashed when they are read. The state of a worker
//! has no text of them.
//!
//! Buckets of workers add exactly. Counts of units do not, because the searches of a unit may be spread
//! over workers: the counts of the workers stay side by side, and their e-values are averaged.
//!
//! A team of an interleaved ranking gets credit for each distinct clicked result that it placed. A session
//! sums the credit over its searches, and is one observation when its last search is final.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::detection::{BucketArm, HourlyLimit, SplitTest, Unit, UnitBitmap, averaged};
use crate::engine::fixed::Nano;
use crate::engine::id::Id;
use crate::engine::remap::IdRemap;
use crate::engine::series::{Dimension, Label};
use crate::engine::settings::{Assignment, Experiment, Settings};
use crate::event::Search;
use crate::time::EventTime;

/// Milliseconds per hour.
const HOUR: i64 = 3_600_000;

/// Units of the declared experiments, in the order of the settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Units {
    experiments: Vec<ExperimentUnits>,
}

/// Units of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentUnits {
    id: Box<str>,
    assignment: Assignment,
    shares: Vec<f64>,
    /// In the order of the split.
    arms: Vec<ArmScores>,
    /// Numbers of units by arm: those of this worker first.
    counts: Vec<Vec<u64>>,
    /// State of the worker that reads the searches. `None` in a snapshot.
    reading: Option<Reading>,
}

/// State that only the reading of searches needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Reading {
    limit: HourlyLimit,
    /// Units that are counted, of all arms.
    counted: UnitBitmap,
}

/// Scores of one arm by score column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ArmScores {
    variant: Box<str>,
    columns: BTreeMap<usize, BucketArm>,
}

/// Bucket that counts the scores of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedBucket {
    experiment: u32,
    arm: u32,
    unit: Unit,
}

impl Assignment {
    /// Id of the unit of a search.
    fn unit(self, search: &Search<'_>) -> Unit {
        let user = match self {
            Self::User => search.user_id.as_deref(),
            Self::Session => None,
        };
        let stated = |id: &&str| !id.is_empty();
        let id = user
            .filter(stated)
            .or(search.session_id.as_deref().filter(stated));
        Unit::of(id.unwrap_or(&search.query_id))
    }
}

impl ExperimentUnits {
    fn new(of: &Experiment) -> Self {
        let arms = of.split.iter().map(|(variant, _)| ArmScores {
            variant: variant.as_str().into(),
            columns: BTreeMap::new(),
        });
        Self {
            id: of.id.as_str().into(),
            assignment: of.assignment,
            shares: of.split.iter().map(|(_, share)| *share).collect(),
            arms: arms.collect(),
            counts: vec![vec![0; of.split.len()]],
            reading: Some(Reading {
                limit: HourlyLimit::new(of.split.len()),
                counted: UnitBitmap::default(),
            }),
        }
    }

    /// Number of counted units of an arm, over all workers.
    pub fn units(&self, arm: usize) -> u64 {
        self.counts
            .iter()
            .filter_map(|counts| counts.get(arm))
            .sum()
    }

    /// Scores of an arm in a score column, by bucket.
    pub(crate) fn scores(&self, arm: usize, column: usize) -> Option<&BucketArm> {
        self.arms.get(arm)?.columns.get(&column)
    }

    /// Log evidence (ln) that units are not split as declared: the mean e-value of `workers`. `None`
    /// without units.
    pub fn split_evidence(&self, workers: u64) -> Option<f64> {
        let counts = self
            .counts
            .iter()
            .filter(|counts| counts.iter().any(|it| *it > 0));
        let evidence: Vec<f64> = counts
            .filter_map(|counts| SplitTest::log_evidence_of(counts, &self.shares))
            .collect();
        averaged(&evidence, workers)
    }

    fn bytes(&self) -> usize {
        let arms = self.arms.iter().flat_map(|arm| arm.columns.values());
        arms.map(BucketArm::bytes).sum::<usize>()
            + self
                .reading
                .as_ref()
                .map_or(0, |it| it.counted.bytes() + it.limit.bytes())
    }

    /// Adds the units of another worker, or of the same experiment before a restart.
    fn merge(&mut self, other: &Self) {
        let Self {
            id: _,
            assignment: _,
            shares: _,
            arms,
            counts,
            reading,
        } = other;
        for (mine, theirs) in self.arms.iter_mut().zip(arms) {
            for (column, scores) in &theirs.columns {
                mine.columns.entry(*column).or_default().merge(scores);
            }
        }
        let is_empty = |counts: &Vec<u64>| counts.iter().all(|it| *it == 0);
        if self.counts.iter().all(is_empty) {
            // This worker continues the saved counts.
            self.counts.clone_from(counts);
            if let (Some(mine), Some(theirs)) = (&mut self.reading, reading) {
                mine.limit.clone_from(&theirs.limit);
            }
        } else {
            self.counts
                .extend(counts.iter().filter(|it| !is_empty(it)).cloned());
        }
        if let (Some(mine), Some(theirs)) = (&mut self.reading, reading) {
            mine.counted.merge(&theirs.counted);
        }
    }
}

impl Units {
    /// Creates the state of the declared experiments.
    pub(super) fn new(settings: &Settings) -> Self {
        let experiments = settings.experiments.iter();
        Self {
            experiments: experiments.map(ExperimentUnits::new).collect(),
        }
    }

    /// Units of a declared experiment, by its position in the settings.
    pub fn of(&self, experiment: usize) -> Option<&ExperimentUnits> {
        self.experiments.get(experiment)
    }

    /// Counts the unit of a search of a declared experiment. Returns the bucket of its scores; `None`
    /// for other searches, and for searches beyond the hourly limit of their bucket.
    pub(super) fn add(
        &mut self,
        search: &Search<'_>,
        settings: &Settings,
    ) -> Option<CountedBucket> {
        let bucket = self.bucket(search, settings)?;
        let of = self.experiments.get_mut(bucket.experiment as usize)?;
        let arm = bucket.arm as usize;
        let Reading { limit, counted } = of.reading.as_mut()?;
        if counted.insert(bucket.unit)
            && let Some(count) = of.counts.first_mut().and_then(|it| it.get_mut(arm))
        {
            *count += 1;
        }
        let hour = search.ts.0.div_euclid(HOUR);
        limit.is_counted(hour, arm, bucket.unit).then_some(bucket)
    }

    /// Bucket of a search that was counted before, for its feedback.
    pub(super) fn bucket(&self, search: &Search<'_>, settings: &Settings) -> Option<CountedBucket> {
        let id = settings.experiment_of(search)?;
        let experiment = self.experiments.iter().position(|it| &*it.id == id)?;
        let of = &self.experiments[experiment];
        let variant = search.variant();
        let arm = of.arms.iter().position(|it| &*it.variant == variant)?;
        Some(CountedBucket {
            experiment: u32::try_from(experiment).ok()?,
            arm: u32::try_from(arm).ok()?,
            unit: of.assignment.unit(search),
        })
    }

    /// Adds scores of a search to its bucket.
    pub(super) fn add_scores(&mut self, bucket: CountedBucket, scores: &[(usize, Nano)]) {
        let of = self.experiments.get_mut(bucket.experiment as usize);
        let Some(arm) = of.and_then(|it| it.arms.get_mut(bucket.arm as usize)) else {
            return;
        };
        for (column, score) in scores {
            let bucket_arm = arm.columns.entry(*column).or_default();
            bucket_arm.add(bucket.unit, score.to_f64());
        }
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.experiments.iter().map(ExperimentUnits::bytes).sum()
    }

    /// Returns a copy for exposition.
    pub(super) fn summed(&self) -> Self {
        let experiments = self.experiments.iter().map(|it| ExperimentUnits {
            id: it.id.clone(),
            assignment: it.assignment,
            shares: it.shares.clone(),
            arms: it.arms.clone(),
            counts: it.counts.clone(),
            reading: None,
        });
        Self {
            experiments: experiments.collect(),
        }
    }

    /// Adds the units of another worker with the same settings.
    pub(super) fn merge(&mut self, other: &Self) {
        if self.experiments.is_empty() {
            self.clone_from(other);
            return;
        }
        for (mine, theirs) in self.experiments.iter_mut().zip(&other.experiments) {
            mine.merge(theirs);
        }
    }

    /// Returns saved units with the experiments and columns of this process. An experiment whose arms,
    /// shares or unit changed begins again.
    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let column = |of: usize| ids.columns.get(of).copied().flatten();
        let experiments = ids.settings.experiments.iter().map(|declared| {
            let new = ExperimentUnits::new(declared);
            let is_same = |saved: &&ExperimentUnits| {
                let arms = saved.arms.iter().map(|arm| &*arm.variant);
                saved.id == new.id
                    && saved.assignment == new.assignment
                    && saved.shares == new.shares
                    && arms.eq(new.arms.iter().map(|arm| &*arm.variant))
            };
            let Some(saved) = self.experiments.iter().find(is_same) else {
                return new;
            };
            let mut now = saved.clone();
            for arm in &mut now.arms {
                let columns = std::mem::take(&mut arm.columns).into_iter();
                arm.columns = columns
                    .filter_map(|(of, scores)| Some((column(of)?, scores)))
                    .collect();
            }
            now
        });
        Self {
            experiments: experiments.collect(),
        }
    }
}

/// Maximum number of sessions that are not finished.
const MAX_OPEN: usize = 65_536;

/// Credit of the teams, in the order of their labels.
pub(super) type Credits = Vec<(Label, u64)>;

/// Session of a partition, by its hash. A session is processed by partition.
pub(super) type OpenSession = (i32, Id);

/// Sessions that are not finished, by experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenSessions(BTreeMap<(OpenSession, Label), (EventTime, Credits)>);

/// Credit of the teams that placed results: the number of their distinct clicked results. `results` has
/// the served documents with their teams; of a document that was served twice, the last team applies.
pub(super) fn credits(
    results: impl Iterator<Item = (u64, Label)>,
    clicked: impl Iterator<Item = u64>,
) -> Credits {
    let mut placed: BTreeMap<u64, Label> = BTreeMap::new();
    let mut credits: BTreeMap<Label, u64> = BTreeMap::new();
    for (document, team) in results {
        placed.insert(document, team);
        if team != Label::EMPTY {
            credits.entry(team).or_default();
        }
    }
    for document in clicked {
        let team = placed.remove(&document);
        if let Some(credit) = team.and_then(|team| credits.get_mut(&team)) {
            *credit += 1;
        }
    }
    credits.into_iter().collect()
}

fn add(credits: &mut Credits, more: &Credits) {
    for (team, number) in more {
        match credits.binary_search_by_key(team, |(team, _)| *team) {
            Ok(place) => credits[place].1 = credits[place].1.saturating_add(*number),
            Err(place) => credits.insert(place, (*team, *number)),
        }
    }
}

impl OpenSessions {
    /// Returns true if there is no room for a further session.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_OPEN
    }

    /// Adds the credit of a search to its session. Returns false if there are too many sessions.
    pub(super) fn add(
        &mut self,
        session: OpenSession,
        experiment: Label,
        ts: EventTime,
        credits: &Credits,
    ) -> bool {
        if self.is_full() && !self.0.contains_key(&(session, experiment)) {
            return false;
        }
        let open = self.0.entry((session, experiment));
        let (last, sum) = open.or_insert((ts, Vec::new()));
        *last = ts.max(*last);
        add(sum, credits);
        true
    }

    /// Removes a session. Returns its credit by experiment.
    pub(super) fn end(&mut self, session: OpenSession) -> Vec<(Label, Credits)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let [first, last] = Label::RANGE.map(|experiment| (session, experiment));
        let ended: Vec<Label> = self
            .0
            .range(first..=last)
            .map(|((_, label), _)| *label)
            .collect();
        let ended = ended.into_iter().filter_map(|experiment| {
            let (_, credits) = self.0.remove(&(session, experiment))?;
            Some((experiment, credits))
        });
        ended.collect()
    }

    /// Removes the sessions without a search since `before` for whose partition `is_expired` returns true.
    /// Returns their credit by experiment.
    pub(super) fn expire(
        &mut self,
        before: EventTime,
        is_expired: impl Fn(i32) -> bool,
    ) -> Vec<(Label, Credits)> {
        let expired = self.0.extract_if(.., |((partition, _), _), (last, _)| {
            *last < before && is_expired(*partition)
        });
        expired
            .map(|((_, experiment), (_, credits))| (experiment, credits))
            .collect()
    }

    /// Approximate bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() * 128
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (key, (ts, credits)) in &other.0 {
            let (last, sum) = self.0.entry(*key).or_insert((*ts, Vec::new()));
            *last = (*last).max(*ts);
            add(sum, credits);
        }
    }

    pub(super) fn remap(&self, ids: &IdRemap<'_>) -> Self {
        let mut now = Self::default();
        for ((session, experiment), (ts, credits)) in &self.0 {
            let experiment = ids.label(Dimension::Experiment, *experiment);
            let teams = credits.iter();
            let teams = teams.map(|(team, number)| (ids.label(Dimension::Team, *team), *number));
            let mut sum = Vec::new();
            for team in teams {
                add(&mut sum, &vec![team]);
            }
            now.0.insert((*session, experiment), (*ts, sum));
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_without_a_further_search_make_room() {
        let mut sessions = OpenSessions::default();
        let credits: Credits = vec![(Label::EMPTY, 1)];
        let mut add = |number: usize, ts: i64| {
            let session = (0, Id::of(&number.to_string()));
            sessions.add(session, Label::EMPTY, EventTime(ts), &credits)
        };
        assert!((0..MAX_OPEN).all(|number| add(number, 1)));
        assert!(!add(MAX_OPEN, 2));
        assert!(add(0, 2), "a known session has room");
        assert!(sessions.is_full());
        let expired = sessions.expire(EventTime(2), |_| true);
        assert_eq!(expired.len(), MAX_OPEN - 1);
        assert!(!sessions.is_full());
    }
}
