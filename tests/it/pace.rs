//! Pace of a worker's loop: batches, periodic work, stalls and backoff, with simulated time.

use std::time::Duration;

use proptest::prelude::*;
use rankgauge::ingest::backoff::{Backoff, MAX_WAIT, MIN_WAIT};
use rankgauge::ingest::boot_time::BootTime;
use rankgauge::ingest::pace::{Batch, MAX_BATCH_TIME, MAX_POLLS, Schedule, StallCheck};

const START: BootTime = BootTime(Duration::from_secs(1_000));

/// Rates of the sidecars of one search service, in records per second.
const RATES: [u32; 7] = [15, 30, 60, 120, 250, 500, 1_000];

/// Runs the loop of a worker for `length`. Records arrive at these gaps, repeatedly, and each takes
/// `cost`. Returns the times of the periodic work.
fn rounds(
    gaps: &[Duration],
    cost: Duration,
    interval: Duration,
    length: Duration,
) -> Vec<Duration> {
    let mut now = START;
    let mut schedule = Schedule::starting_at(now, interval);
    let mut gaps = gaps.iter().cycle();
    let mut next_gap = || *gaps.next().expect("there are gaps");
    let mut arrival = now + next_gap();
    let mut done = Vec::new();
    while now.since(START) < length {
        let mut batch = Batch::starting_at(now);
        while let Some(wait) = batch.next_poll(now) {
            if arrival > now + wait {
                now = now + wait;
                break;
            }
            now = now.max(arrival) + cost;
            arrival = arrival + next_gap();
        }
        if schedule.is_due(now) {
            done.push(now.since(START));
        }
    }
    done
}

/// Asserts that the interval is kept: no run is late by more than a batch and the cost of a record,
/// and delays do not add up.
fn assert_kept(done: &[Duration], cost: Duration, interval: Duration) {
    for (number, at) in (0..).zip(done) {
        let due = interval * number;
        assert!(
            *at >= due && *at <= due + MAX_BATCH_TIME + cost,
            "run {number} is due at {due:?} and was at {at:?}"
        );
    }
}

#[test]
fn publish_interval_is_kept_at_every_record_rate() {
    let interval = Duration::from_secs(1);
    for rate in RATES {
        let gap = Duration::from_secs(1) / rate;
        let length = Duration::from_mins(1);
        let done = rounds(&[gap], Duration::from_micros(100), interval, length);
        assert!(
            (60..=61).contains(&done.len()),
            "{rate} records per second: {}",
            done.len()
        );
        assert_kept(&done, Duration::from_micros(100), interval);
    }
}

proptest! {
    #[test]
    fn periodic_work_is_never_late_by_more_than_a_batch(
        gaps in prop::collection::vec(0_u64..200_000, 1..50),
        cost in 1_u64..2_000,
        interval in 100_u64..2_000,
    ) {
        let gaps: Vec<Duration> = gaps.into_iter().map(Duration::from_micros).collect();
        let cost = Duration::from_micros(cost);
        let interval = Duration::from_millis(interval);
        let done = rounds(&gaps, cost, interval, Duration::from_secs(20));
        prop_assert!(done.len() >= 9);
        assert_kept(&done, cost, interval);
    }

    #[test]
    fn backoff_waits_between_its_limits_and_grows(randoms in prop::collection::vec(any::<u64>(), 12)) {
        let mut backoff = Backoff::default();
        let waits: Vec<Duration> = randoms.iter().map(|it| backoff.next_wait(*it)).collect();
        for wait in &waits {
            prop_assert!((MIN_WAIT..=MAX_WAIT).contains(wait), "{wait:?}");
        }
        // The range of a wait begins where the previous one ends, up to half of the longest wait.
        prop_assert!(waits[..4].is_sorted(), "{waits:?}");
        prop_assert!(waits[4..].iter().all(|wait| *wait >= MAX_WAIT / 2), "{waits:?}");
    }
}

#[test]
fn jitter_spreads_the_attempts_of_several_workers() {
    let first = |random| Backoff::default().next_wait(random);
    let waits: std::collections::BTreeSet<Duration> = (0..500).map(first).collect();
    assert!(waits.len() > 100, "{waits:?}");
}

#[test]
fn batch_of_a_backlog_ends_after_its_maximum_number_of_polls() {
    let mut batch = Batch::starting_at(START);
    for _ in 0..MAX_POLLS {
        assert_eq!(batch.next_poll(START), Some(MAX_BATCH_TIME));
    }
    assert_eq!(batch.next_poll(START), None);
}

#[test]
fn late_run_skips_missed_times_and_keeps_the_interval_afterwards() {
    let interval = Duration::from_secs(1);
    let mut schedule = Schedule::starting_at(START, interval);
    assert!(schedule.is_due(START));
    assert!(schedule.is_due(START + interval * 10));
    assert!(!schedule.is_due(START + interval * 10));
    assert!(schedule.is_due(START + interval * 11));
}

#[test]
fn suspension_of_the_machine_is_a_stall() {
    let limit = Duration::from_secs(36);
    let mut check = StallCheck::starting_at(START, limit);
    assert_eq!(check.runs(START + limit), None);
    // The clock of the boot time continues during a suspension.
    let woken = START + limit * 2 + Duration::from_secs(1);
    assert_eq!(check.runs(woken), Some(limit + Duration::from_secs(1)));
    // The stall is reported once.
    assert_eq!(check.runs(woken + limit), None);
    assert_eq!(check.awake(), woken + limit);
}

#[test]
fn boot_time_includes_the_time_before_this_process_and_never_decreases() {
    let uptime = std::fs::read_to_string("/proc/uptime").expect("Linux has it");
    let seconds = uptime.split('.').next().expect("a number");
    let uptime = Duration::from_secs(seconds.parse().expect("a number"));
    let now = BootTime::now();
    // The kernel reports the time since the boot, including suspensions, in /proc/uptime.
    assert!(
        now.0 >= uptime && now.0 < uptime + Duration::from_mins(1),
        "{now:?} {uptime:?}"
    );
    assert!(BootTime::now() >= now);
}
