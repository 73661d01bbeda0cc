//! Evidence of a fleet: nothing counts twice, in any order of the records.

use proptest::prelude::*;

use super::{FleetEvidence, SharedEvidence, SharedTest, TestEvidence, TestName, test_name};
use crate::time::WallTime;

const MINUTE: i64 = 60_000;
const REPLICAS: u64 = 2;

fn name(test: SharedTest) -> TestName {
    test_name(test, "", &["RR", "V1", "all", ""])
}

/// A replica writes its evidence in both tests at a minute.
fn write(fleet: &mut FleetEvidence, id: u64, minute: i64, log: f64) {
    write_since(fleet, id, (minute, 0), log);
}

fn write_since(fleet: &mut FleetEvidence, id: u64, (minute, reset_at): (i64, i64), log: f64) {
    let reset_at = WallTime(reset_at);
    let of = |test| TestEvidence::new(name(test), reset_at, log);
    let tests = [of(SharedTest::Drop), of(SharedTest::Target)];
    let written = WallTime(minute * MINUTE);
    // It counts itself among the replicas.
    for _ in 0..2 {
        let parts = SharedEvidence::parts(&tests, fleet);
        fleet.put(id, written, &parts);
    }
}

fn found(fleet: &FleetEvidence, test: SharedTest) -> Option<f64> {
    let all = fleet.combined(REPLICAS);
    all.log_evidence(&name(test), WallTime(0))
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-5
}

#[test]
fn drops_add_and_other_tests_are_averaged_over_the_configured_replicas() {
    let mut fleet = FleetEvidence::default();
    assert_eq!(found(&fleet, SharedTest::Drop), None);
    write(&mut fleet, 7, 0, 5.0);
    assert_eq!(found(&fleet, SharedTest::Drop), Some(5.0));
    // The missing replica counts 0.
    let alone = found(&fleet, SharedTest::Target).expect("evidence");
    assert!(close(alone, 5.0 - 2.0_f64.ln()), "{alone}");
    write(&mut fleet, 8, 0, 5.0);
    let drop = found(&fleet, SharedTest::Drop).expect("evidence");
    assert!(close(drop, 5.0 + 2.0_f64.ln()), "{drop}");
    let target = found(&fleet, SharedTest::Target).expect("evidence");
    assert!(close(target, 5.0), "{target}");
}

#[test]
fn evidence_from_before_a_reset_is_left_out() {
    let mut fleet = FleetEvidence::default();
    write(&mut fleet, 7, 0, 15.0);
    write_since(&mut fleet, 8, (1, 30), 1.0);
    let all = fleet.combined(REPLICAS);
    assert_eq!(
        all.log_evidence(&name(SharedTest::Drop), WallTime(0)),
        Some(1.0)
    );
    // A reader that knows of a later reset uses neither.
    assert_eq!(
        all.log_evidence(&name(SharedTest::Drop), WallTime(31)),
        None
    );
}

#[test]
fn numbers_of_hostile_records_are_refused() {
    let fleet = FleetEvidence::default();
    let of = |labels: &[&str]| {
        let name = test_name(SharedTest::Drop, "", labels);
        let tests = [TestEvidence::new(name, WallTime(0), f64::NAN)];
        SharedEvidence::parts(&tests, &fleet).remove(0)
    };
    assert!(of(&["a"]).is_possible(10));
    assert!(!of(&["a longer name"]).is_possible(10));
    assert!(!of(&["a", "b", "c", "d", "e"]).is_possible(10));
    let text = serde_json::to_string(&of(&["a"])).expect("JSON");
    let hostile = text.replace("\"log\":0", "\"log\":1000000000001");
    let hostile: SharedEvidence = serde_json::from_str(&hostile).expect("JSON");
    assert!(!hostile.is_possible(10));
}

proptest! {
    #[test]
    fn the_sum_does_not_depend_on_the_order_of_the_records(
        logs in proptest::collection::vec(-20.0..40.0_f64, 1..8),
        seed in any::<prop::sample::Index>(),
    ) {
        let tests = |log| [TestEvidence::new(name(SharedTest::Drop), WallTime(0), log)];
        let put = |order: &[usize]| {
            let mut fleet = FleetEvidence::default();
            for number in order {
                let id = u64::try_from(*number).expect("a small number");
                let parts = SharedEvidence::parts(&tests(logs[*number]), &FleetEvidence::default());
                fleet.put(id, WallTime(0), &parts);
            }
            fleet.combined(REPLICAS)
        };
        let mut order: Vec<usize> = (0..logs.len()).collect();
        let first = put(&order);
        order.rotate_left(seed.index(logs.len()));
        order.reverse();
        prop_assert_eq!(first, put(&order));
    }

    #[test]
    fn a_record_of_a_replica_replaces_its_earlier_ones(
        logs in proptest::collection::vec(-20.0..40.0_f64, 1..8),
        other in -20.0..40.0_f64,
    ) {
        let mut fleet = FleetEvidence::default();
        write(&mut fleet, 2, 0, other);
        // It is read back, and a process that continues the state elsewhere writes it again.
        for log in &logs {
            write(&mut fleet, 1, 0, *log);
        }
        let mut once = FleetEvidence::default();
        write(&mut once, 2, 0, other);
        write(&mut once, 1, 0, *logs.last().expect("a record"));
        for test in [SharedTest::Drop, SharedTest::Target] {
            prop_assert_eq!(found(&fleet, test), found(&once, test));
        }
    }

    #[test]
    fn replicas_leave_without_the_evidence_of_the_others_rising(
        logs in proptest::collection::vec(-20.0..40.0_f64, 2..8),
        is_removed in any::<bool>(),
    ) {
        let mut fleet = FleetEvidence::default();
        // All know each other after two rounds.
        for minute in 0..2 {
            for (id, log) in (0..).zip(&logs) {
                write(&mut fleet, id, minute, *log);
            }
        }
        let tests = [SharedTest::Drop, SharedTest::Target];
        let before = tests.map(|test| found(&fleet, test).expect("evidence"));
        if is_removed {
            fleet.remove(0);
        }
        for minute in (5..120).step_by(5) {
            for (id, log) in (0..).zip(&logs).skip(1) {
                write(&mut fleet, id, minute, *log);
            }
            for (test, before) in tests.into_iter().zip(before) {
                let now = found(&fleet, test).expect("evidence");
                prop_assert!(now <= before + 1e-9, "{now} {before}");
            }
        }
        let rest = logs[1..].iter().map(|log| (log - 40.0).exp()).sum::<f64>().ln() + 40.0;
        let [drop, target] = tests.map(|test| found(&fleet, test).expect("evidence"));
        prop_assert!(close(drop, rest), "{drop} {rest}");
        let replicas = f64::from(u32::try_from(logs.len()).expect("a small number"));
        prop_assert!(close(target, rest - replicas.ln()), "{target}");
    }
}
