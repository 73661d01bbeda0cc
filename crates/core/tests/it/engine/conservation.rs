//! Every record has an outcome that is counted: at any moment, for each kind, outcomes and pending
//! records add up to the number of records received.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;

use super::log::{Draft, draft, write_feedback};
use super::{START, World, accounted, lag, read, settings, tick};

/// Event that can happen to an engine. Times are relative to its wall time.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Search {
        partition: i32,
        id: u8,
        at: i64,
        draft: Draft,
    },
    Feedback {
        partition: i32,
        event: u8,
        query: u8,
        at: i64,
        action: u8,
    },
    OfSession {
        partition: i32,
        event: u8,
        at: i64,
    },
    Garbage {
        kind: Kind,
        partition: i32,
        which: usize,
    },
    Again {
        kind: Kind,
        partition: i32,
    },
    Tick {
        after: i64,
    },
    Lag {
        kind: Kind,
        partition: i32,
        records: u64,
    },
    /// The partition is revoked and assigned again, with or without its committed positions.
    /// Nothing is reread.
    Moved {
        partition: i32,
        resumes: bool,
    },
}

const GARBAGE: [&str; 4] = [
    "",
    "{",
    "[]",
    r#"{"query_id": "q", "event_id": "e", "ts": 5}"#,
];

fn kind() -> impl Strategy<Value = Kind> {
    any::<bool>().prop_map(|search| Kind::ALL[usize::from(search)])
}

/// Event times: mostly in order, sometimes late, sometimes from the future.
fn at() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -6_000..0_i64, 2 => -60_000..0_i64, 1 => 0..200_000_i64]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let partition = || 0..3_i32;
    let step = prop_oneof![
        8 => (partition(), 0..12_u8, at(), draft())
            .prop_map(|(partition, id, at, draft)| Step::Search { partition, id, at, draft }),
        8 => (partition(), 0..40_u8, 0..14_u8, at(), any::<u8>()).prop_map(
            |(partition, event, query, at, action)| Step::Feedback { partition, event, query, at, action }
        ),
        1 => (partition(), any::<u8>(), at())
            .prop_map(|(partition, event, at)| Step::OfSession { partition, event, at }),
        1 => (kind(), partition(), 0..GARBAGE.len())
            .prop_map(|(kind, partition, which)| Step::Garbage { kind, partition, which }),
        1 => (kind(), partition()).prop_map(|(kind, partition)| Step::Again { kind, partition }),
        5 => (0..9_000_i64).prop_map(|after| Step::Tick { after }),
        2 => (kind(), partition(), prop_oneof![Just(0_u64), 1..100_u64])
            .prop_map(|(kind, partition, records)| Step::Lag { kind, partition, records }),
        1 => (partition(), any::<bool>())
            .prop_map(|(partition, resumes)| Step::Moved { partition, resumes }),
    ];
    vec(step, 1..150)
}

/// Applies steps and tracks the expected counts.
pub(crate) struct Walk {
    pub engine: Engine,
    wall: i64,
    next: [[i64; 2]; 3],
    received: [u64; 2],
    /// True where the engine has the position up to which a partition was counted.
    known: [[bool; 2]; 3],
    /// Pending records of revoked partitions.
    lost: [u64; 2],
}

impl Walk {
    pub(crate) fn new(world: &World) -> Self {
        Self {
            engine: world.engine(),
            wall: 0,
            next: [[0; 2]; 3],
            received: [0; 2],
            known: [[false; 2]; 3],
            lost: [0; 2],
        }
    }

    fn read(&mut self, kind: Kind, partition: i32, payload: &str) {
        let index = usize::try_from(partition).expect("three partitions");
        let offset = &mut self.next[index][kind.index()];
        read(&mut self.engine, kind, partition, *offset, payload);
        *offset += 1;
        self.received[kind.index()] += 1;
        self.known[index][kind.index()] = true;
    }

    pub(crate) fn take(&mut self, step: &Step) {
        match *step {
            Step::Search {
                partition,
                id,
                at,
                ref draft,
            } => {
                // Each id belongs to one partition, as a key does.
                let id = format!("q{partition}-{id}");
                let payload = draft.write(&id, self.wall + at);
                self.read(Kind::Search, partition, &payload);
            }
            Step::Feedback {
                partition,
                event,
                query,
                at,
                action,
            } => {
                let (event, query) = (format!("e{event}"), format!("q{partition}-{query}"));
                let payload = write_feedback(&event, &query, self.wall + at, action);
                self.read(Kind::Feedback, partition, &payload);
            }
            Step::OfSession {
                partition,
                event,
                at,
            } => {
                let ts = START + self.wall + at;
                let payload = format!(
                    r#"{{"event_id":{event},"session_id":"s1","ts":{ts},"type":"rating","value":3}}"#
                );
                self.read(Kind::Feedback, partition, &payload);
            }
            Step::Garbage {
                kind,
                partition,
                which,
            } => {
                self.read(kind, partition, GARBAGE[which]);
            }
            Step::Again { kind, partition } => {
                // A counted offset is not counted again, regardless of its present content.
                let index = usize::try_from(partition).expect("three partitions");
                if self.known[index][kind.index()] {
                    let last = self.next[index][kind.index()] - 1;
                    read(&mut self.engine, kind, partition, last, "{");
                }
            }
            Step::Tick { after } => {
                self.wall += after;
                tick(&mut self.engine, START + self.wall);
            }
            Step::Lag {
                kind,
                partition,
                records,
            } => {
                lag(&mut self.engine, kind, partition, records);
            }
            Step::Moved { partition, resumes } => self.move_partition(partition, resumes),
        }
    }

    fn move_partition(&mut self, partition: i32, resumes: bool) {
        let index = usize::try_from(partition).expect("three partitions");
        self.known[index] = self.known[index].map(|known| known && resumes);
        let mut resume = Resume::default();
        for point in self.engine.commit_points() {
            if point.partition == partition && resumes {
                resume.add(&point);
            }
        }
        let before = self.engine.snapshot().pending;
        self.engine.apply(Input::Revoked { partition });
        let after = self.engine.snapshot().pending;
        for (lost, (before, after)) in self.lost.iter_mut().zip(before.iter().zip(after)) {
            *lost += before - after;
        }
        self.engine.apply(Input::Assigned { partition, resume });
    }

    fn assert_conserved(&self, snapshot: &Snapshot) -> Result<(), TestCaseError> {
        for kind in Kind::ALL {
            prop_assert_eq!(
                accounted(snapshot, kind) + self.lost[kind.index()],
                self.received[kind.index()],
                "{:?}: {:?}, {} pending, {} lost",
                kind,
                snapshot.totals.events.outcomes(kind),
                snapshot.pending[kind.index()],
                self.lost[kind.index()]
            );
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_record_has_one_outcome_or_is_pending(steps in steps(), few in any::<bool>()) {
        let mut settings = settings();
        if few {
            settings.memory = 4_000;
        }
        let settings_memory = u64::try_from(settings.memory).expect("small");
        let mut walk = Walk::new(&World::new(settings));
        for step in &steps {
            walk.take(step);
            let snapshot = walk.engine.snapshot();
            walk.assert_conserved(&snapshot)?;
            prop_assert!(!few || snapshot.memory.joins <= settings_memory);
        }
    }

    #[test]
    fn invalid_records_are_counted_by_reason(steps in steps()) {
        let mut walk = Walk::new(&World::new(settings()));
        for step in &steps {
            walk.take(step);
        }
        let events = walk.engine.snapshot().totals.events;
        for kind in Kind::ALL {
            let by_reason: u64 = events.invalid_by_reason(kind).iter().sum();
            let invalid = events.outcomes(kind).iter().find(|(name, _)| *name == "invalid").map(|(_, count)| *count);
            prop_assert_eq!(Some(by_reason), invalid);
        }
    }
}
