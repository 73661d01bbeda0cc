//! Statistics of one gold query and one variant.

use std::collections::VecDeque;

use rankgauge_core::engine::effects::JudgedSearch;
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::scores::{Cell, SEARCHES};
use rankgauge_core::event::Feedback;
use rankgauge_core::time::EventTime;

use super::served::Served;
use super::{BASELINE_SEARCHES, MAX_LISTS, MAX_TREND, MAX_UNJUDGED, hash};

/// Statistics of a gold query and a variant.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(super) scores: Vec<Cell>,
    /// Sums of the scores of the first [`BASELINE_SEARCHES`] searches.
    pub(super) baseline: Vec<Cell>,
    /// The newest lists in event time, at most [`MAX_LISTS`], in unspecified order.
    pub(super) lists: Vec<Served>,
    /// List of the baseline with the highest score, or the newest list before the deployment: the
    /// list before a change of the system.
    reference: Option<Box<Reference>>,
    /// Last reported deployment of the variant.
    pub(super) deployed: Option<EventTime>,
    /// True if the baseline consists of the last lists before the deployment. Later searches do not
    /// extend it.
    pub(super) is_baseline_of_deployment: bool,
    /// Last scores in the trend column, in the order of reading.
    trend: VecDeque<(EventTime, Nano)>,
    /// Unjudged documents that users clicked, with the numbers of clicks; at most
    /// [`MAX_UNJUDGED`].
    pub(super) unjudged: Vec<(Box<str>, u64)>,
}

/// List of the baseline with its score in the trend column.
#[derive(Clone, Debug, Default)]
struct Reference {
    score: Option<Nano>,
    list: Served,
}

impl Row {
    /// Sums of the scores by column.
    pub fn scores(&self) -> &[Cell] {
        &self.scores
    }

    /// Sums of the scores in the baseline by column. The baseline is complete with
    /// [`BASELINE_SEARCHES`] searches.
    pub fn baseline(&self) -> &[Cell] {
        &self.baseline
    }

    /// List of the baseline with the highest score in the trend column, or the newest list before
    /// the deployment; `None` while it is among the last lists.
    pub fn reference(&self) -> Option<&Served> {
        let reference = &self.reference.as_deref()?.list;
        let is_kept = |list: &Served| list.query_id == reference.query_id;
        (!self.lists.iter().any(is_kept)).then_some(reference)
    }

    /// Last scores in the trend column, oldest first, at most [`MAX_TREND`].
    pub fn trend(&self) -> Vec<(EventTime, Nano)> {
        let mut trend: Vec<_> = self.trend.iter().copied().collect();
        trend.sort();
        trend
    }

    /// Unjudged documents that users clicked, with the numbers of clicks.
    pub fn unjudged(&self) -> &[(Box<str>, u64)] {
        &self.unjudged
    }

    /// Number of judged searches.
    pub fn searches(&self) -> u64 {
        count_of(&self.scores)
    }

    /// The last served lists, newest first.
    pub fn lists(&self) -> impl Iterator<Item = &Served> {
        let mut lists: Vec<&Served> = self.lists.iter().collect();
        lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        lists.into_iter()
    }

    /// Time of the last served list.
    pub(super) fn last(&self) -> Option<EventTime> {
        self.lists.iter().map(Served::at).max()
    }

    /// Adds a search. Returns the growth in bytes. Without room, only the scores are added. Sets
    /// `forgotten` to the hash of the search whose list is replaced.
    pub(super) fn record(
        &mut self,
        seen: &JudgedSearch<'_>,
        trend: Option<usize>,
        has_room: bool,
        forgotten: &mut Option<u64>,
    ) -> usize {
        let before = self.fixed_bytes();
        add_scores(&mut self.scores, seen.scores);
        let is_in_baseline = has_room
            && !self.is_baseline_of_deployment
            && count_of(&self.baseline) < BASELINE_SEARCHES;
        if is_in_baseline {
            add_scores(&mut self.baseline, seen.scores);
        }
        let trend = seen
            .scores
            .iter()
            .find(|(column, _)| Some(*column) == trend);
        if let Some((_, score)) = trend {
            if self.trend.len() >= MAX_TREND {
                self.trend.pop_front();
            }
            if has_room || self.trend.len() < self.trend.capacity() {
                self.trend.push_back((seen.judged.search.ts, *score));
            }
        }
        let mut grown = self.fixed_bytes() - before;
        if !has_room {
            return grown;
        }
        if is_in_baseline {
            grown += self.offer_reference(seen, trend.map(|(_, score)| *score));
        }
        if self.lists.len() < MAX_LISTS {
            let mut list = Served::default();
            list.fill(seen);
            grown += list.bytes();
            self.lists.push(list);
            return grown;
        }
        let lists = self.lists.iter_mut();
        let oldest = lists.min_by(|a, b| a.recency().cmp(&b.recency()));
        let Some(oldest) = oldest.filter(|oldest| oldest.is_older_than(seen)) else {
            return grown;
        };
        let before = oldest.bytes();
        *forgotten = Some(hash(&oldest.query_id));
        oldest.fill(seen);
        // Reused buffers never shrink.
        grown + oldest.bytes().saturating_sub(before)
    }

    /// Keeps the list of a search in the baseline if its score is the highest so far. Returns the
    /// growth in bytes.
    fn offer_reference(&mut self, seen: &JudgedSearch<'_>, score: Option<Nano>) -> usize {
        let before = self.reference.as_ref().map_or(0, |it| it.list.bytes());
        if self
            .reference
            .as_ref()
            .is_some_and(|kept| kept.score >= score)
        {
            return 0;
        }
        let reference = self.reference.get_or_insert_default();
        reference.score = score;
        reference.list.fill(seen);
        reference.list.bytes().saturating_sub(before)
    }

    /// Size of the parts that do not depend on the lists.
    fn fixed_bytes(&self) -> usize {
        (self.scores.capacity() + self.baseline.capacity()) * size_of::<Cell>()
            + self.trend.capacity() * size_of::<(EventTime, Nano)>()
    }

    /// Adds a user action to the kept list of its search. Returns the growth in bytes.
    pub(super) fn add_feedback(&mut self, feedback: &Feedback<'_>, has_room: bool) -> usize {
        let query_id = feedback.query_id.as_deref();
        let reference = self.reference.as_deref_mut().map(|it| &mut it.list);
        let kept = self.lists.iter_mut().chain(reference);
        let mut clicked = None;
        for list in kept.filter(|list| Some(&*list.query_id) == query_id) {
            if let Some(document) = list.add_feedback(feedback) {
                clicked.get_or_insert(document);
            }
        }
        let Some(document) = clicked else {
            return 0;
        };
        let mut unjudged = self.unjudged.iter_mut();
        if let Some((_, clicks)) = unjudged.find(|(known, _)| *known == document) {
            *clicks += 1;
            return 0;
        }
        if !has_room {
            return 0;
        }
        let bytes = size_of::<(Box<str>, u64)>() + document.len();
        if self.unjudged.len() < MAX_UNJUDGED {
            self.unjudged.push((document, 1));
            return bytes;
        }
        // The newcomer takes over the lowest number of clicks, so that a frequent document is never
        // lost (space-saving).
        if let Some(lowest) = self.unjudged.iter_mut().min_by_key(|(_, clicks)| *clicks) {
            *lowest = (document, lowest.1 + 1);
        }
        0
    }

    /// Starts a new baseline with the next search.
    pub(super) fn reset_baseline(&mut self) {
        self.baseline.clear();
        self.reference = None;
        self.deployed = None;
        self.is_baseline_of_deployment = false;
    }

    /// Makes the kept lists from before `at` the baseline, and the newest of them the reference.
    /// Without such a list or without room, the baseline stays as it is. Returns the growth in bytes.
    pub(super) fn deployed(&mut self, at: EventTime, has_room: bool) -> usize {
        self.deployed = self.deployed.max(Some(at));
        let before: Vec<Served> = self
            .lists
            .iter()
            .filter(|it| it.at() < at)
            .cloned()
            .collect();
        if before.is_empty() || !has_room {
            return 0;
        }
        let bytes = |row: &Self| {
            let reference = row.reference.as_ref().map_or(0, |it| it.list.bytes());
            row.fixed_bytes() + reference
        };
        let old = bytes(self);
        self.baseline.clear();
        for list in &before {
            add_scores(&mut self.baseline, list.scores());
        }
        self.is_baseline_of_deployment = true;
        let newest = before
            .into_iter()
            .max_by(|a, b| a.recency().cmp(&b.recency()));
        self.reference = newest.map(|list| Box::new(Reference { score: None, list }));
        bytes(self).saturating_sub(old)
    }

    /// Adds the row of another worker for the same query and variant.
    pub(super) fn merge(&mut self, other: Self) {
        merge_cells(&mut self.scores, &other.scores);
        merge_cells(&mut self.baseline, &other.baseline);
        self.lists.extend(other.lists);
        self.lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        self.lists.truncate(MAX_LISTS);
        let references = [self.reference.take(), other.reference];
        let references = references.into_iter().flatten();
        self.deployed = self.deployed.max(other.deployed);
        self.is_baseline_of_deployment |= other.is_baseline_of_deployment;
        let is_of_deployment = self.is_baseline_of_deployment;
        self.reference = references.max_by(|a, b| {
            if is_of_deployment {
                return a.list.recency().cmp(&b.list.recency());
            }
            let key = |it: &Reference| (it.score, std::cmp::Reverse(it.list.at()));
            key(a)
                .cmp(&key(b))
                .then_with(|| b.list.query_id.cmp(&a.list.query_id))
        });
        let mut trend: Vec<_> = self.trend.iter().chain(&other.trend).copied().collect();
        trend.sort();
        let last = trend.len().saturating_sub(MAX_TREND);
        self.trend = trend.into_iter().skip(last).collect();
        for (document, clicks) in other.unjudged {
            match self.unjudged.iter_mut().find(|(it, _)| *it == document) {
                Some((_, mine)) => *mine += clicks,
                None => self.unjudged.push((document, clicks)),
            }
        }
    }
}

/// Number of searches behind the cells of a row.
fn count_of(cells: &[Cell]) -> u64 {
    cells.get(SEARCHES).map_or(0, |cell| cell.count)
}

fn add_scores(cells: &mut Vec<Cell>, scores: &[(usize, Nano)]) {
    let columns = scores.iter().map(|(column, _)| column + 1).max();
    widen(cells, columns.unwrap_or(0));
    for (column, score) in scores {
        let cell = &mut cells[*column];
        cell.count += 1;
        cell.sum += i128::from(score.get());
    }
}

fn merge_cells(cells: &mut Vec<Cell>, others: &[Cell]) {
    widen(cells, others.len());
    for (cell, other) in cells.iter_mut().zip(others) {
        add(cell, other);
    }
}

fn widen(cells: &mut Vec<Cell>, columns: usize) {
    let columns = columns.max(cells.len());
    cells.resize(columns, Cell::default());
}

pub(super) fn add(cell: &mut Cell, other: &Cell) {
    cell.count += other.count;
    cell.sum += other.sum;
}
