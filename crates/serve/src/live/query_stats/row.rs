//! Statistics of one gold query and one variant.

use std::collections::VecDeque;

use rankgauge_core::engine::JudgedSearch;
use rankgauge_core::engine::fixed::Nano;
use rankgauge_core::engine::score_column::SEARCHES;
use rankgauge_core::engine::scores::Cell;
use rankgauge_core::event::Feedback;
use rankgauge_core::time::EventTime;

use super::limits::{BASELINE_SEARCHES, MAX_LISTS, MAX_TREND, MAX_UNJUDGED};
use super::moments::{self, Moments};
use super::served::Served;

/// Statistics of a gold query and a variant.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(super) scores: Vec<Cell>,
    /// Sums of the scores of the first [`BASELINE_SEARCHES`] searches.
    baseline: Vec<Moments>,
    /// Sums of the searches since the baseline: those of a block that is being filled, and of the full
    /// block before it. A block has [`BASELINE_SEARCHES`] searches.
    now: [Vec<Moments>; 2],
    /// The newest lists in event time, at most [`MAX_LISTS`], and those of a baseline that is not
    /// complete, in unspecified order.
    pub(super) lists: Vec<Served>,
    /// Lists of the baseline with the median score, one of each worker: the list before a change of
    /// the system. Empty until the baseline is complete.
    references: Vec<Served>,
    /// Last reported deployment of the variant.
    pub(super) deployed: Option<EventTime>,
    /// True if the baseline consists of the last searches before the deployment. Later searches do not
    /// extend it.
    pub(super) is_baseline_of_deployment: bool,
    /// Last scores in the trend column, in the order of reading.
    trend: VecDeque<(EventTime, Nano)>,
    /// Unjudged documents that users clicked, with the numbers of clicks; at most
    /// [`MAX_UNJUDGED`].
    pub(super) unjudged: Vec<(Box<str>, u64)>,
    /// Time of the newest search.
    last: Option<EventTime>,
}

impl Row {
    /// Sums of the scores by column.
    pub fn scores(&self) -> &[Cell] {
        &self.scores
    }

    /// Sums of the scores in the baseline by column. The baseline is complete with
    /// [`BASELINE_SEARCHES`] searches.
    pub fn baseline(&self) -> &[Moments] {
        &self.baseline
    }

    /// Sum of the scores of a column in the baseline.
    pub(super) fn baseline_of(&self, column: usize) -> Moments {
        self.baseline.get(column).copied().unwrap_or_default()
    }

    /// Sum of the scores of a column since the baseline.
    pub(super) fn now_of(&self, column: usize) -> Moments {
        let mut now = Moments::default();
        for block in &self.now {
            now.merge(&block.get(column).copied().unwrap_or_default());
        }
        now
    }

    /// Sums of the scores since the baseline by column: of the last [`BASELINE_SEARCHES`] searches or
    /// more, less than twice as many.
    fn now(&self) -> Vec<Moments> {
        let [current, full] = &self.now;
        let mut now = current.clone();
        moments::merge(&mut now, full);
        now
    }

    /// List of the baseline with the median score in the trend column. It may be among the last lists.
    pub fn reference(&self) -> Option<&Served> {
        median(self.references.iter()).or_else(|| self.median_of_baseline())
    }

    fn median_of_baseline(&self) -> Option<&Served> {
        median(self.lists.iter().filter(|list| list.is_in_baseline))
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
        self.scores.get(SEARCHES).map_or(0, |cell| cell.count)
    }

    /// The last served lists, newest first.
    pub fn lists(&self) -> impl Iterator<Item = &Served> {
        let mut lists: Vec<&Served> = self.lists.iter().collect();
        lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        lists.into_iter().take(MAX_LISTS)
    }

    /// Time of the newest search.
    pub(super) fn last(&self) -> Option<EventTime> {
        self.last
    }

    /// Adds a search. Without room, only the scores are added. Calls `forget` with the ids of the
    /// searches whose lists are dropped.
    pub(super) fn record(
        &mut self,
        seen: &JudgedSearch<'_>,
        trend: Option<usize>,
        has_room: bool,
        forget: &mut impl FnMut(&str),
    ) {
        let ts = seen.judged.search.ts;
        self.last = self.last.max(Some(ts));
        add_scores(&mut self.scores, seen.scores);
        let found = seen.scores.iter();
        let score = found
            .filter(|(column, _)| Some(*column) == trend)
            .map(|(_, score)| *score)
            .next();
        if let Some(score) = score {
            if self.trend.len() >= MAX_TREND {
                self.trend.pop_front();
            }
            if has_room || self.trend.len() < self.trend.capacity() {
                self.trend.push_back((ts, score));
            }
        }
        if !has_room {
            return;
        }
        let is_in_baseline = !self.is_baseline_complete();
        if is_in_baseline {
            moments::add_scores(&mut self.baseline, seen.scores);
        } else {
            self.add_to_now(seen.scores);
        }
        let list = self.room_for_list(seen, is_in_baseline, forget);
        if let Some(list) = list {
            list.fill(seen, score);
            list.is_in_baseline = is_in_baseline;
        }
        if is_in_baseline && self.is_baseline_complete() {
            let reference = self.median_of_baseline().cloned();
            self.references = reference.into_iter().collect();
            self.end_baseline(forget);
        }
    }

    fn is_baseline_complete(&self) -> bool {
        self.is_baseline_of_deployment || count_of(&self.baseline) >= BASELINE_SEARCHES
    }

    fn add_to_now(&mut self, scores: &[(usize, Nano)]) {
        let [current, full] = &mut self.now;
        if count_of(current) >= BASELINE_SEARCHES {
            std::mem::swap(current, full);
            current.fill(Moments::default());
        }
        moments::add_scores(current, scores);
    }

    /// List to be filled with that of a search: a further one, or the oldest one, if it is older. A list
    /// of a baseline that is not complete is kept in any case: its median is known at the end only.
    fn room_for_list(
        &mut self,
        seen: &JudgedSearch<'_>,
        is_in_baseline: bool,
        forget: &mut impl FnMut(&str),
    ) -> Option<&mut Served> {
        let others = self.lists.iter().filter(|list| !list.is_in_baseline);
        let others = others.count();
        if others == 0 || (!is_in_baseline && others < MAX_LISTS) {
            self.lists.push(Served::default());
            return self.lists.last_mut();
        }
        let others = self.lists.iter_mut().filter(|list| !list.is_in_baseline);
        let oldest = others.min_by(|a, b| a.recency().cmp(&b.recency()))?;
        if !is_in_baseline && !oldest.is_older_than(seen) {
            return None;
        }
        forget(&oldest.query_id);
        Some(oldest)
    }

    /// Keeps only the newest lists.
    fn end_baseline(&mut self, forget: &mut impl FnMut(&str)) {
        for list in &mut self.lists {
            list.is_in_baseline = false;
        }
        self.lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        for list in self.lists.iter().skip(MAX_LISTS) {
            let mut references = self.references.iter();
            if !references.any(|reference| reference.query_id == list.query_id) {
                forget(&list.query_id);
            }
        }
        self.lists.truncate(MAX_LISTS);
        self.lists.shrink_to_fit();
    }

    /// Ids of the searches whose lists are kept.
    pub(super) fn kept_searches(&self) -> impl Iterator<Item = &str> {
        let lists = self.lists.iter().chain(&self.references);
        lists.map(|list| list.query_id.as_str())
    }

    /// Size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let lists = self.lists.iter().chain(&self.references).map(Served::bytes);
        let unjudged = self.unjudged.iter().map(|(document, _)| document.len());
        let columns = [&self.baseline, &self.now[0], &self.now[1]];
        let columns: usize = columns.iter().map(|columns| columns.capacity()).sum();
        size_of::<Self>()
            + self.scores.capacity() * size_of::<Cell>()
            + columns * size_of::<Moments>()
            + self.trend.capacity() * size_of::<(EventTime, Nano)>()
            + self.unjudged.capacity() * size_of::<(Box<str>, u64)>()
            + lists.chain(unjudged).sum::<usize>()
    }

    /// Adds a user action to the kept list of its search.
    pub(super) fn add_feedback(&mut self, feedback: &Feedback<'_>, has_room: bool) {
        let query_id = feedback.query_id.as_deref();
        let kept = self.lists.iter_mut().chain(&mut self.references);
        let mut clicked = None;
        for list in kept.filter(|list| Some(&*list.query_id) == query_id) {
            if let Some(document) = list.add_feedback(feedback) {
                clicked.get_or_insert(document);
            }
        }
        let Some(document) = clicked else {
            return;
        };
        let mut unjudged = self.unjudged.iter_mut();
        if let Some((_, clicks)) = unjudged.find(|(known, _)| *known == document) {
            *clicks += 1;
            return;
        }
        if !has_room {
            return;
        }
        if self.unjudged.len() < MAX_UNJUDGED {
            self.unjudged.push((document, 1));
            return;
        }
        // The newcomer takes over the lowest number of clicks, so that a frequent document is never
        // lost (space-saving).
        if let Some(lowest) = self.unjudged.iter_mut().min_by_key(|(_, clicks)| *clicks) {
            *lowest = (document, lowest.1 + 1);
        }
    }

    /// Starts a new baseline with the next search.
    pub(super) fn reset_baseline(&mut self) {
        self.baseline.clear();
        self.now.iter_mut().for_each(Vec::clear);
        self.references.clear();
        for list in &mut self.lists {
            list.is_in_baseline = false;
        }
        self.deployed = None;
        self.is_baseline_of_deployment = false;
    }

    /// Makes the last searches before `at` the baseline, and the list with their median score the
    /// reference. Without a kept list from before `at`, the baseline stays as it is.
    pub(super) fn deployed(&mut self, at: EventTime, forget: &mut impl FnMut(&str)) {
        self.deployed = self.deployed.max(Some(at));
        let (before, since): (Vec<&Served>, Vec<&Served>) =
            self.lists.iter().partition(|it| it.at() < at);
        let Some(reference) = median(before.into_iter()) else {
            return;
        };
        // The kept lists are the newest ones. One of them is from before, so all since then are kept.
        let mut last = self.now();
        if count_of(&last) <= u64::try_from(since.len()).unwrap_or(u64::MAX) {
            moments::merge(&mut last, &self.baseline);
        }
        let mut now = Vec::new();
        for list in since {
            moments::remove_scores(&mut last, list.scores());
            moments::add_scores(&mut now, list.scores());
        }
        self.references = vec![reference.clone()];
        self.baseline = last;
        self.now = [now, Vec::new()];
        self.is_baseline_of_deployment = true;
        self.end_baseline(forget);
    }

    /// Adds the row of another worker for the same query and variant.
    pub(super) fn merge(&mut self, mut other: Self) {
        for row in [&mut *self, &mut other] {
            if row.references.is_empty()
                && let Some(list) = row.median_of_baseline()
            {
                row.references = vec![list.clone()];
            }
        }
        for (cell, other) in widened(&mut self.scores, other.scores.len())
            .iter_mut()
            .zip(&other.scores)
        {
            cell.merge(other);
        }
        moments::merge(&mut self.baseline, &other.baseline);
        for (mine, other) in self.now.iter_mut().zip(&other.now) {
            moments::merge(mine, other);
        }
        self.lists.extend(other.lists);
        self.lists.sort_by(|a, b| b.recency().cmp(&a.recency()));
        self.lists.truncate(MAX_LISTS);
        self.references.extend(other.references);
        self.last = self.last.max(other.last);
        self.deployed = self.deployed.max(other.deployed);
        self.is_baseline_of_deployment |= other.is_baseline_of_deployment;
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

/// List with the median score in the trend column, the lower one of two. Lists without a score count
/// only if none has one; of equal scores, the older list comes first.
fn median<'a>(lists: impl Iterator<Item = &'a Served>) -> Option<&'a Served> {
    let mut lists: Vec<_> = lists.collect();
    if lists.iter().any(|list| list.score.is_some()) {
        lists.retain(|list| list.score.is_some());
    }
    lists.sort_by(|a, b| (a.score, a.recency()).cmp(&(b.score, b.recency())));
    let middle = lists.len().checked_sub(1)? / 2;
    lists.get(middle).copied()
}

/// Number of searches behind the sums of a row.
fn count_of(columns: &[Moments]) -> u64 {
    columns.get(SEARCHES).map_or(0, Moments::count)
}

fn add_scores(cells: &mut Vec<Cell>, scores: &[(usize, Nano)]) {
    let columns = scores.iter().map(|(column, _)| column + 1).max();
    let cells = widened(cells, columns.unwrap_or(0));
    for (column, score) in scores {
        let cell = &mut cells[*column];
        cell.count += 1;
        cell.sum += i128::from(score.get());
    }
}

fn widened(cells: &mut Vec<Cell>, columns: usize) -> &mut [Cell] {
    let columns = columns.max(cells.len());
    cells.resize(columns, Cell::default());
    cells
}
