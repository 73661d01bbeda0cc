//! Partitions are independent: two engines that share the partitions expose together the same
//! samples as one engine that has all of them, rolling windows included.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::event::Kind;
use rankgauge_core::time::WallTime;

use super::log::{Record, Shape, in_order};
use super::{START, World, assign, difference, read, settings};

/// Reads the records of the partitions selected by `owns`.
fn feed(engine: &mut Engine, records: &[Record], owns: impl Fn(i32) -> bool) {
    let mut next: BTreeMap<(i32, Kind), i64> = BTreeMap::new();
    for record in records.iter().filter(|record| owns(record.partition)) {
        let offset = next.entry((record.partition, record.kind)).or_default();
        read(
            engine,
            record.kind,
            record.partition,
            *offset,
            &record.payload,
        );
        *offset += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn two_engines_with_disjoint_partitions_match_one_engine(
        records in in_order(Shape::default()),
    ) {
        // Late enough that no record is from the future.
        let wall = START + 300_000;
        let (split, whole) = (World::new(settings()), World::new(settings()));
        let mut engines = [split.engine(), split.engine(), whole.engine()];
        let owners: [&dyn Fn(i32) -> bool; 3] = [&|number| number == 0, &|number| number > 0, &|_| true];
        for (engine, owns) in engines.iter_mut().zip(owners) {
            engine.apply(Input::Tick { wall: WallTime(wall), others: None });
            for partition in (0..3).filter(|partition| owns(*partition)) {
                assign(engine, partition);
            }
            feed(engine, &records, owns);
        }
        let [first, second, alone] = &mut engines;
        let (of_first, of_second) = (first.progress(), second.progress());
        for (engine, others) in [(&mut *first, of_second), (&mut *second, of_first), (&mut *alone, None)] {
            engine.apply(Input::Tick { wall: WallTime(wall + 1_000), others });
        }
        let mut merged = first.snapshot();
        merged.merge(&second.snapshot());
        let found = split.samples(&merged);
        let expected = whole.samples(&alone.snapshot());
        let differences = difference(&found, &expected);
        prop_assert!(differences.is_empty(), "{differences:#?}");
    }
}
