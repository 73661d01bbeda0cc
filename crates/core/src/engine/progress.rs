//! Passing of time: watermarks, windows, searches whose feedback window has passed, and the memory
//! limit.

use super::family;
use super::join::{Join, Second, Work};
use super::machine::Engine;
use super::partition::Partition;
use super::window::Progress;
use crate::time::WallTime;

/// Share of the memory that remains for closed searches under pressure: one eighth.
const CLOSED_SHARE: usize = 8;

impl Engine {
    /// Continues to finalise searches whose feedback window has passed, a few milliseconds at a
    /// time. Returns true if some are left. A record or a tick finalises as many itself, which is
    /// enough unless hours of event time pass at once.
    pub fn catch_up(&mut self) -> bool {
        if let Some(index) = self.partition_with_backlog() {
            self.close(index, Work::STEP);
        }
        self.partition_with_backlog().is_some()
    }

    /// Finalises everything that is pending, as if every feedback window had passed. For the end of
    /// the input: records that are applied later are late. Windows end at the time of the last search.
    pub fn drain(&mut self) {
        for partition in &mut self.partitions {
            partition.join.close_before(Second(i64::MAX));
        }
        while self.catch_up() {}
        if let Some(progress) = self.progress() {
            self.totals.advance_to(Progress {
                watermark: Some(progress.newest),
                ..progress
            });
            self.counted = self.counted_bytes();
        }
    }

    /// Returns true if a second of event time is partly finalised. Then neither a snapshot nor a
    /// commit point describes a state from which another engine could continue.
    pub fn is_within_second(&self) -> bool {
        let mut joins = self.partitions.iter().map(|partition| &partition.join);
        joins.any(Join::is_within_second)
    }

    /// Counts the effects of a record, finalises the searches whose feedback window has passed, and
    /// enforces the memory limit. `before` is the number of bytes of the join before the record.
    pub(super) fn after_record(&mut self, partition: i32, before: usize) {
        let Some(index) = self.find(partition) else {
            return;
        };
        let state = &self.partitions[index];
        self.joined = self.joined + state.join.bytes() - before;
        self.count_effects(partition, state.watermark);
        self.advance(index, Work::AFTER_RECORD);
        self.enforce_memory_limit();
    }

    pub(super) fn tick(&mut self, wall: WallTime, others: Option<Progress>) {
        self.wall = wall;
        for index in 0..self.partitions.len() {
            self.advance(index, Work::STEP);
        }
        let known = match (self.progress(), others) {
            (Some(own), Some(others)) => Some(own.combine(others)),
            (own, others) => own.or(others),
        };
        let progress = match (known, self.windows_at) {
            (Some(progress), _) => progress,
            // Without a partition that has a watermark, windows advance with the wall clock and
            // drain.
            (None, Some((progress, then))) => progress.plus(wall.since(then)),
            (None, None) => return,
        };
        self.windows_at = Some((progress, wall));
        self.retire_idle_variants(progress, wall);
        self.end_lost_sessions(progress.watermark);
        self.drop_parked(progress);
        self.totals.advance_to(progress);
        if self.settings.detection.workers <= 1 && !self.totals.evidence.is_shared() {
            self.advance_incidents(&[], &[]);
        }
        self.counted = self.counted_bytes();
    }

    /// Drops searches that wait for conversions in partitions that this engine does not have, when their time
    /// has passed.
    fn drop_parked(&mut self, progress: Progress) {
        let (Some(watermark), Some(window)) = (progress.watermark, self.settings.conversion_window)
        else {
            return;
        };
        let end = watermark.minus(window.into()).minus(self.feedback_window);
        let mut lost = 0;
        self.parked.retain(|_, pending| {
            lost += pending.drop_before(end);
            !pending.is_empty()
        });
        if lost > 0 {
            let lost = i128::try_from(lost).unwrap_or(0);
            self.count(&family::CONVERSIONS_NOT_COUNTED, [], lost);
        }
    }

    /// Retires variants that are idle, and applies the retirements of all workers.
    fn retire_idle_variants(&mut self, progress: Progress, wall: WallTime) {
        let registry = self.names.shared();
        if let Some(now) = progress.watermark {
            registry.retire_idle(now.minus(self.retire_after), now);
        }
        let retired = registry.retirements.apply(&self.member);
        registry.free_retired(wall);
        self.effects.retired.clear();
        if retired.is_empty() {
            return;
        }
        for it in &retired {
            self.totals.retire(it);
            self.effects.retired.push(it.variant);
        }
        self.names.clear();
    }

    /// Updates the watermark of a partition and finalises the searches it has passed, as far as
    /// `work` allows.
    fn advance(&mut self, index: usize, work: Work) {
        let (clock, wall) = (self.clock, self.wall);
        let partition = &mut self.partitions[index];
        if !partition.is_catching_up() {
            let watermark = partition.clock.watermark(clock, wall);
            if watermark != partition.watermark {
                partition.watermark = watermark;
                if let Some(watermark) = watermark {
                    let frontier = Second::of(watermark.minus(self.feedback_window));
                    partition.join.close_before(frontier);
                }
            }
        }
        if partition.join.has_backlog() {
            self.close(index, work);
        }
    }

    /// Finalises searches of a partition whose feedback window has passed, as far as `work` allows.
    fn close(&mut self, index: usize, mut work: Work) {
        let partition = &mut self.partitions[index];
        let before = partition.join.bytes();
        let effects = &mut self.scratch.effects;
        partition.join.close_some(&mut work, effects);
        self.joined = self.joined + partition.join.bytes() - before;
        let (number, watermark) = (partition.number, partition.watermark);
        self.count_effects(number, watermark);
    }

    /// Memory that is left for the joins. At least half of the budget, because the limits on series
    /// bound the rest.
    fn memory_for_joins(&self) -> usize {
        let memory = self.settings.memory;
        memory.saturating_sub(self.counted).max(memory / 2)
    }

    /// Enforces the memory limit. Drops the oldest closed searches first, because pending events
    /// need the memory more; an eighth of the limit remains for closed searches. Then finalises the
    /// oldest searches early until the pending events fit.
    fn enforce_memory_limit(&mut self) {
        let limit = self.memory_for_joins();
        while self.joined > limit {
            let by_closed = |partition: &&mut Partition| partition.join.closed_bytes();
            let partitions = self.partitions.iter_mut();
            let Some(partition) = partitions.max_by_key(by_closed) else {
                return;
            };
            let before = partition.join.bytes();
            if partition.join.closed_bytes() <= limit / CLOSED_SHARE
                || !partition.join.drop_oldest_closed()
            {
                break;
            }
            self.joined = self.joined + partition.join.bytes() - before;
        }
        self.limit_conversions(limit);
        let mut work = Work::AFTER_RECORD;
        while self.joined > limit && !work.is_done() {
            work.spend(1);
            if let Some(index) = self.partition_with_backlog() {
                self.close(index, Work::AFTER_RECORD);
                continue;
            }
            let oldest = self
                .partitions
                .iter_mut()
                .filter(|partition| partition.join.oldest().is_some())
                .min_by_key(|partition| partition.join.oldest());
            let early = oldest.and_then(|partition| partition.join.close_oldest());
            let Some(early) = early else { return };
            self.count(&family::FINALISED_EARLY, [], early);
        }
    }

    /// Bytes of the searches that wait for conversions.
    pub fn conversion_bytes(&self) -> u64 {
        let joins = self.partitions.iter().map(|it| it.join.conversion_bytes());
        u64::try_from(joins.sum::<usize>()).unwrap_or(u64::MAX)
    }

    /// Counts the conversions of the oldest searches early while all that wait take more than half of the
    /// memory.
    fn limit_conversions(&mut self, limit: usize) {
        let bytes = |partitions: &[Partition]| -> usize {
            let joins = partitions.iter().map(|it| it.join.conversion_bytes());
            joins.sum()
        };
        while self.joined > limit && bytes(&self.partitions) > limit / 2 {
            let of_most = |partition: &&mut Partition| partition.join.conversion_bytes();
            let Some(partition) = self.partitions.iter_mut().max_by_key(of_most) else {
                return;
            };
            let before = partition.join.bytes();
            let effects = &mut self.scratch.effects;
            let early = partition.join.close_oldest_conversions(effects);
            self.joined = self.joined + partition.join.bytes() - before;
            let (number, watermark) = (partition.number, partition.watermark);
            self.count_effects(number, watermark);
            self.count(
                &family::FINALISED_EARLY,
                [],
                i128::try_from(early).unwrap_or(0),
            );
        }
    }

    fn partition_with_backlog(&self) -> Option<usize> {
        let mut partitions = self.partitions.iter();
        partitions.position(|partition| partition.join.has_backlog())
    }
}
