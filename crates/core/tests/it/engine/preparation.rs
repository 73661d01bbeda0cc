//! The sizes of groups change nothing that is counted or exposed, and a gold set that arrives between
//! two groups judges the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::{Input, Position};
use rankgauge_core::event::Kind;
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::records;

use super::log::{Record, Shape, in_order};
use super::{START, Samples, World, assign, difference, settings, tick};

/// Records that are applied together.
#[derive(Clone, Copy, Debug)]
struct Group {
    size: usize,
    /// True if the gold set changes before them.
    changes_gold: bool,
}

fn group() -> impl Strategy<Value = Group> {
    let parts = (1..40_usize, any::<bool>());
    parts.prop_map(|(size, changes_gold)| Group { size, changes_gold })
}

/// Gold set with other grades.
fn other_gold() -> Arc<GoldSet> {
    let text = r#"{"version": "other", "queries": [
        {"query_id": "g0", "query_text": "other", "ground_truth": {"d1": 1, "d3": 2}},
        {"query_id": "g2", "query_text": "others", "ground_truth": {"d0": 1}}
    ]}"#;
    let gold = gold::parse("other.json", text.as_bytes(), &gold::Options::default());
    Arc::new(gold.expect("a valid gold set"))
}

/// Samples that are exposed after `records` are applied: in groups, or one by one.
fn outcome_of(records: &[Record], groups: &[Group], is_together: bool) -> Samples {
    let world = World::new(settings());
    let mut engine = world.engine();
    tick(&mut engine, START + 600_000);
    for partition in 0..3 {
        assign(&mut engine, partition);
    }
    let gold = [Arc::clone(&world.gold), other_gold()];
    let mut changes = 0;
    let mut next: BTreeMap<(i32, Kind), i64> = BTreeMap::new();
    let mut rest = records;
    for group in groups.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (taken, others) = rest.split_at(group.size.min(rest.len()));
        rest = others;
        let placed = taken.iter().map(|record| {
            let offset = next.entry((record.partition, record.kind)).or_default();
            let at = Position {
                partition: record.partition,
                offset: *offset,
            };
            *offset += 1;
            (record.kind, at, record.payload.as_bytes())
        });
        let placed: Vec<_> = placed.collect();
        if group.changes_gold {
            changes += 1;
            engine.apply(Input::Gold(Arc::clone(&gold[changes % 2])));
        }
        let size = if is_together { placed.len() } else { 1 };
        for records in placed.chunks(size.max(1)) {
            records::apply(
                &mut engine,
                &Formats::NATIVE,
                records.iter().copied(),
                |_, _, _| (),
            );
        }
    }
    tick(&mut engine, START + 601_000);
    world.samples(&engine.snapshot())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn groups_change_nothing(
        records in in_order(Shape::default()),
        groups in vec(group(), 1..8),
    ) {
        let expected = outcome_of(&records, &groups, false);
        let found = outcome_of(&records, &groups, true);
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}
