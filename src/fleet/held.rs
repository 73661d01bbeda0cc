//! Records of the state topic that this process holds: the newest of each key, within a limit.

use std::collections::{BTreeMap, BTreeSet};

use super::key::Key;
use super::value::{MAX_FOLDED, Value, parts};
use rankgauge_core::engine::fleet::{
    FleetBaselines, FleetEvidence, SharedBaselines, SharedIncident,
};
use rankgauge_core::time::{Millis, WallTime};
use rankgauge_serve::history::{ScoreHistory, SharedHistory};
use rankgauge_serve::live::ReportedCommand;

/// Maximum size of all records, decompressed. Further keys are refused.
const MAX_BYTES: usize = 128 << 20;

/// Maximum size of the score histories, decompressed. Of more, those written longest ago are dropped.
const MAX_HISTORY_BYTES: usize = 32 << 20;

/// Maximum number of records.
const MAX_RECORDS: usize = 50_000;

/// Time of event time without a search after which the share of a worker is not current.
const MAX_SILENCE: Millis = Millis(10 * 60_000);

/// Time without a search after which an open incident of a worker that ended is not passed on. Incidents
/// expire as early.
const MAX_OPEN: Millis = Millis(24 * 3_600_000);

/// Id of the sums of workers that were folded.
const FOLDED: u64 = 0;

/// Time after which a worker that writes nothing is folded. Live workers write every day.
const SILENT_AFTER: Millis = Millis(7 * 24 * 3_600_000);

/// Time of event time without a search after which sums are not folded but removed: those of a former gold
/// set or of a variant that is gone would fill the topic.
const MAX_UNUSED_MINUTES: i64 = 30 * 24 * 60;

/// Maximum number of commands. The oldest are removed from the topic.
pub(super) const MAX_COMMANDS: usize = 200;

/// Parts of the baselines of a worker, with the times at which they were written.
type Parts<'a> = Vec<(WallTime, &'a SharedBaselines)>;

/// Parts in the order in which they count: the newest first.
fn newest_first<'a>(parts: &Parts<'a>) -> Vec<&'a SharedBaselines> {
    let mut parts = parts.clone();
    parts.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
    parts.into_iter().map(|(_, it)| it).collect()
}

/// Records of the topic.
#[derive(Debug, Default)]
pub(super) struct Held {
    records: BTreeMap<Key, (Value, usize)>,
    bytes: usize,
    /// Size of the score histories.
    history_bytes: usize,
    changes: Changes,
}

/// Number of changes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Of what workers learned, and of their incidents.
    pub(super) shares: u64,
    /// Of the evidence.
    pub(super) evidence: u64,
    /// Of the score histories.
    pub(super) history: u64,
}

impl Held {
    /// Replaces the record of a key. Returns false without room for a further one.
    pub(super) fn put(&mut self, key: Key, value: Value, bytes: usize) -> bool {
        let before = self.records.get(&key).map_or(0, |(_, bytes)| *bytes);
        let is_new = before == 0;
        let is_full =
            self.bytes - before + bytes > MAX_BYTES || is_new && self.records.len() >= MAX_RECORDS;
        if is_full {
            return false;
        }
        self.remove(&key);
        self.bytes += bytes;
        if matches!(key, Key::History { .. }) {
            self.history_bytes += bytes;
        }
        self.note_change(&key);
        self.records.insert(key, (value, bytes));
        while self.history_bytes > MAX_HISTORY_BYTES {
            let histories = self.histories();
            let Some((oldest, ..)) = histories.min_by_key(|(_, _, written, _)| *written) else {
                break;
            };
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
        true
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some((_, bytes)) = self.records.remove(key) {
            self.bytes -= bytes;
            if matches!(key, Key::History { .. }) {
                self.history_bytes -= bytes;
            }
            self.note_change(key);
        }
    }

    fn note_change(&mut self, key: &Key) {
        match key {
            Key::Baselines { .. } | Key::Incident { .. } | Key::Learned { .. } => {
                self.changes.shares += 1;
            }
            Key::Evidence { .. } => self.changes.evidence += 1,
            Key::History { .. } => self.changes.history += 1,
            Key::Command { .. } => {}
        }
    }

    /// Size of all records, decompressed.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of changes so far.
    pub(super) fn changes(&self) -> Changes {
        self.changes
    }

    /// Workers with baselines or incidents.
    pub(super) fn workers(&self) -> BTreeSet<u64> {
        let keys = self.records.keys();
        let shares = keys.filter(|key| !key.is_of_process());
        shares.filter_map(Key::worker).collect()
    }

    /// Evidence of all processes but those whose id is in `except`.
    pub(super) fn evidence(&self, except: &[u64]) -> FleetEvidence {
        let mut fleet = FleetEvidence::default();
        for (key, (value, _)) in &self.records {
            if let (Key::Evidence { id, .. }, Value::Evidence(written, shared)) = (key, value)
                && !except.contains(id)
            {
                fleet.add(*id, *written, shared);
            }
        }
        fleet
    }

    /// Score histories: key, id of the process, time of writing, and part.
    fn histories(&self) -> impl Iterator<Item = (&Key, u64, WallTime, &SharedHistory)> {
        self.records.iter().filter_map(|(key, (value, _))| {
            let Value::History(written, shared) = value else {
                return None;
            };
            Some((key, key.worker()?, *written, shared))
        })
    }

    /// Score history of the processes whose ids `is_meant` selects.
    pub(super) fn history(&self, is_meant: impl Fn(u64) -> bool, now: WallTime) -> ScoreHistory {
        let mut parts: BTreeMap<u64, Vec<(WallTime, &SharedHistory)>> = BTreeMap::new();
        for (_, id, written, shared) in self.histories().filter(|it| is_meant(it.1)) {
            parts.entry(id).or_default().push((written, shared));
        }
        let mut all = ScoreHistory::default();
        for mut of_process in parts.into_values() {
            of_process.sort_by_key(|(written, _)| std::cmp::Reverse(*written));
            let newest_first = of_process.into_iter().map(|(_, shared)| shared);
            all.merge(&ScoreHistory::of_parts(newest_first, now));
        }
        all
    }

    /// Keys of the records of a worker.
    pub(super) fn keys_of(&self, worker: u64) -> Vec<Key> {
        let keys = self.records.keys();
        let of_worker = keys.filter(|key| key.worker() == Some(worker));
        of_worker.cloned().collect()
    }

    /// Shares of all workers but those in `except` in incidents.
    pub(super) fn incidents(&self, except: &[u64]) -> Vec<SharedIncident> {
        let shares = self
            .records
            .iter()
            .filter_map(|(key, (value, _))| match value {
                Value::Incident(_, shared) if !except.contains(&key.worker()?) => Some(shared),
                Value::Incident(..)
                | Value::Baselines(..)
                | Value::Learned(..)
                | Value::Evidence(..)
                | Value::History(..)
                | Value::Command(_) => None,
            });
        let mut shares: Vec<SharedIncident> = shares.cloned().collect();
        let mut newest: BTreeMap<u64, i64> = BTreeMap::new();
        for it in shares.iter().map(|it| &it.incident) {
            let known = newest.entry(it.id).or_insert(it.last);
            *known = it.last.max(*known);
        }
        let baselines = self.records.values().filter_map(|(value, _)| match value {
            Value::Baselines(_, of) => Some(of.newest.saturating_mul(60_000)),
            Value::Incident(..)
            | Value::Learned(..)
            | Value::Evidence(..)
            | Value::History(..)
            | Value::Command(_) => None,
        });
        let last_of_all = newest.values().copied().chain(baselines).max();
        let last_of_all = last_of_all.unwrap_or_default();
        for shared in &mut shares {
            let incident = &mut shared.incident;
            let newest = newest.get(&incident.id).copied().unwrap_or_default();
            // The share of a worker that has ended says nothing about the present.
            if newest.saturating_sub(incident.last) > MAX_SILENCE.0 {
                incident.remove_current();
            }
        }
        shares.retain(|it| {
            it.incident.ended.is_some() || last_of_all.saturating_sub(it.incident.last) < MAX_OPEN.0
        });
        shares
    }

    /// Folds the baselines of workers that have been silent for a week into those of [`FOLDED`]. Returns the
    /// records to write, and then the keys to remove; none unless one of `own` is the first of the live
    /// workers, so that one process folds. Sums of groups without a search for a month are only removed.
    pub(super) fn fold(&self, own: &[u64], now: WallTime) -> (Vec<(Key, Value)>, Vec<Key>) {
        let mut newest: BTreeMap<u64, WallTime> = BTreeMap::new();
        for (key, (value, _)) in &self.records {
            if let (Some(id), Some(written)) = (key.worker(), value.written()) {
                let known = newest.entry(id).or_insert(written);
                *known = written.max(*known);
            }
        }
        newest.remove(&FOLDED);
        let is_silent = |written: &WallTime| now.since(*written) > SILENT_AFTER;
        let first = newest.iter().find(|(_, written)| !is_silent(written));
        if !first.is_some_and(|(id, _)| own.contains(id)) {
            return Default::default();
        }
        let silent = newest.iter().filter(|(_, written)| is_silent(written));
        let silent: Vec<u64> = silent.map(|(id, _)| *id).take(MAX_FOLDED).collect();
        if silent.is_empty() {
            return Default::default();
        }
        let others = newest.keys().filter(|id| !silent.contains(id));
        let kept: Vec<u64> = others.copied().collect();
        let newest = self.newest_minutes();
        let oldest = newest.values().max().map(|it| it - MAX_UNUSED_MINUTES);
        let mut records = Vec::new();
        for mut shared in self.baselines(&kept).shared() {
            if newest.get(&Key::group_of(&shared)).copied() < oldest {
                continue;
            }
            shared.folded.clone_from(&silent);
            records.extend((0..).zip(parts(&shared)).map(|(part, shared)| {
                let key = Key::of_baselines(FOLDED, &shared, part);
                (key, Value::Baselines(now, shared))
            }));
        }
        let written: BTreeSet<&Key> = records.iter().map(|(key, _)| key).collect();
        let left = self.keys_of(FOLDED).into_iter();
        let left = left.filter(|key| !written.contains(key));
        let removed = silent.iter().flat_map(|id| self.keys_of(*id)).chain(left);
        let removed = removed.collect();
        (records, removed)
    }

    /// Newest minute of event time of each group of baselines, of all workers.
    fn newest_minutes(&self) -> BTreeMap<u64, i64> {
        let mut newest: BTreeMap<u64, i64> = BTreeMap::new();
        for (key, (value, _)) in &self.records {
            if let (Key::Baselines { group, .. }, Value::Baselines(_, shared)) = (key, value) {
                let known = newest.entry(*group).or_insert(shared.newest);
                *known = shared.newest.max(*known);
            }
        }
        newest
    }

    /// Commands, oldest first.
    pub(super) fn commands(&self) -> Vec<(&Key, &ReportedCommand)> {
        let records = self.records.iter();
        let mut commands: Vec<_> = records
            .filter_map(|(key, (value, _))| match value {
                Value::Command(command) => Some((key, command)),
                Value::Baselines(..)
                | Value::Incident(..)
                | Value::Learned(..)
                | Value::Evidence(..)
                | Value::History(..) => None,
            })
            .collect();
        commands.sort_by_key(|(_, command)| command.reported);
        commands
    }

    /// Sums of the baselines of all workers but those in `except`, and what they learned.
    pub(super) fn baselines(&self, except: &[u64]) -> FleetBaselines {
        let mut fleet = FleetBaselines::default();
        let mut parts: BTreeMap<(u64, u64), Parts<'_>> = BTreeMap::new();
        for (key, (value, _)) in &self.records {
            if let (Key::Learned { id, .. }, Value::Learned(_, learned)) = (key, value)
                && !except.contains(id)
            {
                for it in learned {
                    fleet.add_learned(it);
                }
            }
            if let (Key::Baselines { id, group, .. }, Value::Baselines(written, shared)) =
                (key, value)
                && !except.contains(id)
            {
                parts
                    .entry((*id, *group))
                    .or_default()
                    .push((*written, shared));
            }
        }
        // A process can end between the two steps of folding: the records of workers that are folded
        // already do not count again.
        let workers: BTreeSet<u64> = parts.keys().map(|(id, _)| *id).collect();
        let of_folded = || parts.iter().filter(|((id, _), _)| *id == FOLDED);
        let names_workers = |(_, it): &(WallTime, &SharedBaselines)| {
            it.folded.iter().any(|id| workers.contains(id))
        };
        let mut folded: BTreeMap<(u64, &str), &[u64]> = BTreeMap::new();
        if of_folded().any(|(_, parts)| parts.iter().any(names_workers)) {
            for ((_, group), parts) in of_folded() {
                for it in newest_first(parts) {
                    for (query, _) in &it.queries {
                        folded.entry((*group, &**query)).or_insert(&it.folded);
                    }
                }
            }
        }
        for ((id, group), parts) in &parts {
            // While a worker replaces its parts, a query can be in two of them: the newer one has its
            // sums.
            let mut seen = BTreeSet::new();
            let several = parts.len() > 1;
            for shared in newest_first(parts) {
                let mut is_counted = |query: &str| {
                    let ids = folded.get(&(*group, query));
                    let is_folded = ids.is_some_and(|ids| ids.contains(id));
                    !is_folded && (!several || seen.insert(query.to_owned()))
                };
                if several || !folded.is_empty() {
                    let mut once = shared.clone();
                    once.queries.retain(|(query, _)| is_counted(query));
                    fleet.add(&once);
                } else {
                    fleet.add(shared);
                }
            }
        }
        fleet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankgauge_core::detection::QuerySums;
    use rankgauge_core::engine::scores::Cell;
    use rankgauge_serve::history::{HistorySpan, ScoreName};

    const DAY: i64 = 24 * 3_600_000;

    fn put(held: &mut Held, id: u64, written: i64, mean: f64) {
        let shared = SharedBaselines {
            variant: "V5".into(),
            measure: "RR".into(),
            queries: vec![("q".into(), QuerySums::of(mean, 10))],
            ..SharedBaselines::default()
        };
        let key = Key::of_baselines(id, &shared, 0);
        assert!(held.put(key, Value::Baselines(WallTime(written), shared), 100));
    }

    fn sums(held: &Held) -> Vec<(u32, Option<f64>)> {
        let all: Vec<SharedBaselines> = held.baselines(&[]).shared().collect();
        let queries = all.iter().flat_map(|it| &it.queries);
        queries.map(|(_, it)| (it.scores(), it.mean())).collect()
    }

    #[test]
    fn workers_that_are_silent_for_a_week_are_folded_by_the_first_live_one() {
        let mut held = Held::default();
        put(&mut held, 3, 0, 1.0);
        put(&mut held, 5, 9 * DAY, 1.0);
        put(&mut held, 7, DAY, 0.5);
        put(&mut held, 9, 9 * DAY, 1.0);
        let before = sums(&held);
        let now = WallTime(10 * DAY);
        // Another process folds, and nothing is silent yet after six days.
        assert_eq!(held.fold(&[9], now), (Vec::new(), Vec::new()));
        assert_eq!(held.fold(&[5], WallTime(7 * DAY)), (Vec::new(), Vec::new()));
        let (written, removed) = held.fold(&[5, 9], now);
        let ids = |keys: &[Key]| keys.iter().filter_map(Key::worker).collect::<Vec<_>>();
        assert_eq!(ids(&removed), [3, 7]);
        for (key, value) in written {
            held.put(key, value, 100);
        }
        for key in &removed {
            held.remove(key);
        }
        assert_eq!(sums(&held), before);
        assert_eq!(held.workers(), BTreeSet::from([FOLDED, 5, 9]));
        assert_eq!(held.fold(&[5], now), (Vec::new(), Vec::new()));
    }

    #[test]
    fn sums_without_a_search_for_a_month_are_removed_instead_of_folded() {
        let mut held = Held::default();
        for (id, gold, newest, written) in [
            (3, "former", 0, 0),
            (3, "present", 0, 0),
            (5, "present", 40 * DAY / 60_000, 40 * DAY),
        ] {
            let shared = SharedBaselines {
                gold: gold.into(),
                newest,
                queries: vec![("q".into(), QuerySums::of(1.0, 10))],
                ..SharedBaselines::default()
            };
            let key = Key::of_baselines(id, &shared, 0);
            assert!(held.put(key, Value::Baselines(WallTime(written), shared), 100));
        }
        let (written, removed) = held.fold(&[5], WallTime(40 * DAY));
        let golds = written.iter().filter_map(|(_, value)| {
            let Value::Baselines(_, shared) = value else {
                return None;
            };
            Some(&*shared.gold)
        });
        assert_eq!(golds.collect::<Vec<_>>(), ["present"]);
        assert_eq!(removed.len(), 2);
    }

    #[test]
    fn sums_count_once_if_a_process_ends_between_the_steps_of_folding() {
        let mut held = Held::default();
        put(&mut held, 3, 0, 1.0);
        put(&mut held, 5, 9 * DAY, 1.0);
        put(&mut held, 7, DAY, 0.5);
        let before = sums(&held);
        let now = WallTime(10 * DAY);
        // The sums are written, and the records of the folded workers stay.
        for (key, value) in held.fold(&[5], now).0 {
            held.put(key, value, 100);
        }
        assert_eq!(sums(&held), before);
        // The next fold does not add them again.
        let (written, removed) = held.fold(&[5], now);
        for (key, value) in written {
            held.put(key, value, 100);
        }
        assert_eq!(sums(&held), before);
        for key in &removed {
            held.remove(key);
        }
        assert_eq!(sums(&held), before);
        assert_eq!(held.workers(), BTreeSet::from([FOLDED, 5]));
    }

    #[test]
    fn records_beyond_the_limit_are_refused() {
        let mut held = Held::default();
        put(&mut held, 1, 0, 1.0);
        let key = Key::Incident { id: 1, incident: 2 };
        let (_, (value, _)) = held.records.first_key_value().expect("a record");
        let value = value.clone();
        assert!(!held.put(key.clone(), value.clone(), MAX_BYTES));
        assert!(held.put(key.clone(), value.clone(), MAX_BYTES - 100));
        assert_eq!(held.bytes(), MAX_BYTES);
        held.remove(&key);
        assert_eq!(held.bytes(), 100);
    }

    fn put_history(held: &mut Held, (id, part): (u64, u32), written: i64, searches: u64) {
        let name = ScoreName {
            measure: "RR".into(),
            variant: "V5".into(),
        };
        let mut history = ScoreHistory::default();
        let sums = Cell {
            count: searches,
            sum: 1,
        };
        history.add(&name, WallTime(written), sums);
        let shared = history.parts().remove(0);
        let value = Value::History(WallTime(written), shared);
        assert!(held.put(Key::History { id, part }, value, 1 << 20));
    }

    fn searches(held: &Held, now: i64) -> u64 {
        let history = held.history(|_| true, WallTime(now));
        let slots = history
            .series(HistorySpan::Week)
            .flat_map(|(_, slots)| slots);
        slots.map(|(_, sums)| sums.count).sum()
    }

    #[test]
    fn a_history_that_is_received_twice_counts_once() {
        let mut held = Held::default();
        for searches in [1, 2, 2] {
            put_history(&mut held, (3, 0), DAY, searches);
        }
        put_history(&mut held, (5, 0), DAY, 10);
        // A part that is not removed yet.
        put_history(&mut held, (5, 1), DAY - 1, 20);
        assert_eq!(searches(&held, DAY), 12);
        assert_eq!(held.workers(), BTreeSet::new());
        let of_one = held.history(|id| id == 3, WallTime(DAY));
        assert_eq!(of_one.series(HistorySpan::Hour).count(), 1);
        held.remove(&Key::History { id: 5, part: 0 });
        assert_eq!(searches(&held, DAY), 22);
        assert_eq!(searches(&held, 9 * DAY), 0);
    }

    #[test]
    fn the_oldest_histories_make_room_for_new_ones() {
        let mut held = Held::default();
        put(&mut held, 1, 0, 1.0);
        for id in 2..42 {
            put_history(
                &mut held,
                (id, 0),
                DAY + i64::try_from(id).expect("a number"),
                1,
            );
        }
        assert_eq!(held.bytes(), MAX_HISTORY_BYTES + 100);
        assert_eq!(searches(&held, DAY), 32);
        assert_eq!(
            held.history(|id| id < 10, WallTime(DAY)),
            ScoreHistory::default()
        );
        assert_eq!(held.workers(), BTreeSet::from([1]));
    }

    #[test]
    fn the_history_of_a_silent_process_is_removed_with_its_baselines() {
        let mut held = Held::default();
        put_history(&mut held, (3, 0), 0, 1);
        put(&mut held, 5, 9 * DAY, 1.0);
        let (_, removed) = held.fold(&[5], WallTime(10 * DAY));
        assert_eq!(removed, [Key::History { id: 3, part: 0 }]);
    }
}
