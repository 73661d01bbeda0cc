//! Sessions in more than one partition, read by any of the workers, in bounded space.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_serve::live::session_partitions::{MAX_SESSIONS, RecentSessions, SessionPartitions};

/// Records a search of `session` from `partition`, by one worker.
fn record_search(all: &SessionPartitions, worker: usize, session: &str, partition: i32) {
    let mut recent = RecentSessions::new(worker);
    recent.note_search(session, partition);
    recent.record(all, true);
}

/// Records searches of `sessions` sessions from partition 0, by one worker.
fn fill(partitions: &SessionPartitions, worker: usize, sessions: usize) {
    for number in 0..sessions {
        record_search(partitions, worker, &format!("other-{worker}-{number}"), 0);
    }
}

#[test]
fn a_session_in_one_partition_is_not_split_when_several_workers_read_it() {
    let partitions = SessionPartitions::new(2, MAX_SESSIONS);
    for worker in [0, 1, 1, 0] {
        record_search(&partitions, worker, "s", 7);
    }
    assert_eq!(partitions.split(), 0);
}

#[test]
fn a_session_is_counted_once_within_a_worker_and_across_workers() {
    let partitions = SessionPartitions::new(3, MAX_SESSIONS);
    record_search(&partitions, 0, "within", 1);
    record_search(&partitions, 0, "within", 2);
    record_search(&partitions, 1, "across", 1);
    assert_eq!(partitions.split(), 1);
    record_search(&partitions, 2, "across", 2);
    assert_eq!(partitions.split(), 2);
    // Further searches in the same sessions change nothing.
    record_search(&partitions, 0, "within", 3);
    record_search(&partitions, 1, "within", 3);
    record_search(&partitions, 2, "within", 1);
    record_search(&partitions, 0, "across", 3);
    record_search(&partitions, 2, "across", 1);
    assert_eq!(partitions.split(), 2);
}

#[test]
fn sessions_that_a_worker_remembers_are_counted_as_others() {
    let partitions = SessionPartitions::new(2, MAX_SESSIONS);
    let mut workers = [0, 1].map(RecentSessions::new);
    for round in 0..3 {
        for number in 0..5_000 {
            let session = format!("s-{number}");
            workers[0].note_search(&session, 0);
            // One in ten is also in another partition, of either worker.
            if number % 10 == 0 {
                workers[number / 10 % 2].note_search(&session, 1);
            }
            for worker in &mut workers {
                worker.record(&partitions, number == 4_999);
            }
        }
        assert_eq!(partitions.split(), 500, "round {round}");
    }
}

#[test]
fn split_sessions_stay_counted_after_their_entries_are_dropped() {
    let partitions = SessionPartitions::new(2, 1_000);
    for session in ["a", "b", "c"] {
        record_search(&partitions, 0, session, 1);
        record_search(&partitions, 0, session, 2);
    }
    record_search(&partitions, 1, "across", 1);
    record_search(&partitions, 0, "across", 2);
    fill(&partitions, 1, 50_000);
    // The other worker has dropped the session, and this worker has not.
    assert_eq!(partitions.split(), 3);
    record_search(&partitions, 0, "d", 1);
    record_search(&partitions, 0, "d", 2);
    fill(&partitions, 0, 50_000);
    assert_eq!(partitions.split(), 4);
    record_search(&partitions, 0, "a", 1);
    assert_eq!(partitions.split(), 4);
}

#[test]
fn sessions_beyond_the_limit_are_dropped() {
    let partitions = SessionPartitions::new(1, 1_000);
    record_search(&partitions, 0, "s", 1);
    fill(&partitions, 0, 50_000);
    record_search(&partitions, 0, "s", 2);
    assert_eq!(partitions.split(), 0);
}

proptest! {
    #[test]
    fn several_workers_count_the_same_as_one_and_the_count_never_decreases(
        searches in vec((0..12_u8, 0..4_i32, 0..3_usize, any::<bool>()), 0..200),
    ) {
        let (several, one) = (
            SessionPartitions::new(3, MAX_SESSIONS),
            SessionPartitions::new(1, MAX_SESSIONS),
        );
        let mut seen: BTreeMap<u8, BTreeSet<i32>> = BTreeMap::new();
        let mut before = 0;
        for (session, partition, worker, is_read) in searches {
            let id = format!("세션-{session}");
            record_search(&several, worker, &id, partition);
            record_search(&one, 0, &id, partition);
            seen.entry(session).or_default().insert(partition);
            if is_read {
                let split = several.split();
                prop_assert!(split >= before);
                before = split;
            }
        }
        let expected = seen.values().filter(|partitions| partitions.len() > 1).count();
        prop_assert_eq!(several.split(), u64::try_from(expected).expect("a small number"));
        prop_assert_eq!(one.split(), several.split());
    }
}
