//! Properties of incidents over random runs: the reference is frozen, an incident ends once, and the
//! order in which records are merged does not matter.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::engine::incidents::{Incident, Level};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold;
use rankgauge_core::time::WallTime;

use super::evidence::{Reader, healthy};
use super::incidents::{bad, quiet};
use super::{GOLD, START, World};

/// Event of a run.
#[derive(Clone, Debug)]
enum Act {
    /// Searches of which one in ten is bad.
    Healthy(usize),
    /// Searches of which every second is bad.
    Bad(usize),
    Deployment(u8),
    Reset,
    Gold(u8),
    /// A gold set that judges one query differently.
    Judgement(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (20..300_usize).prop_map(Act::Healthy),
        4 => (20..160_usize).prop_map(Act::Bad),
        2 => (0..4_u8).prop_map(Act::Deployment),
        1 => Just(Act::Reset),
        1 => (1..3_u8).prop_map(Act::Gold),
        1 => (1..3_u8).prop_map(Act::Judgement),
    ]
}

fn load(reader: &mut Reader, gold: &str) {
    let gold = gold::parse("gold.json", gold.as_bytes(), &gold::Options::default());
    let gold = gold.expect("a gold set");
    reader.engine.apply(Input::Gold(Arc::new(gold)));
}

fn apply(reader: &mut Reader, act: &Act) {
    let reported = WallTime(reader.now());
    match act {
        Act::Healthy(number) => reader.searches(healthy(*number)),
        Act::Bad(number) => reader.searches(bad(*number)),
        Act::Deployment(version) => reader.deploy(&format!("5.{version}")),
        Act::Reset => reader.engine.apply(Input::ResetBaselines { reported }),
        Act::Gold(version) => {
            let judged = format!("\"ground_truth\": {{\"new-{version}\": 0, ");
            load(reader, &GOLD.replace("\"ground_truth\": {", &judged));
        }
        Act::Judgement(version) => {
            let judged = format!("\"d4\": 1, \"new-{version}\": 1");
            load(reader, &GOLD.replace("\"d4\": 1", &judged));
        }
    }
}

/// Part of an incident that nothing after the beginning changes: the beginning, and the means before it by
/// measure.
type Reference = (i64, BTreeMap<String, Option<Level>>);

fn reference(it: &Incident) -> Reference {
    let measures = it.measures.iter();
    let before = measures.map(|it| (format!("{:?}", it.name()), it.before()));
    (it.started.at, before.collect())
}

/// The record with its lists in an order of their own.
fn sorted(mut it: Incident) -> Incident {
    let key = |name: (&str, &str, &str)| [name.0, name.1, name.2].map(str::to_owned);
    it.measures.sort_by_key(|it| key(it.name()));
    it.queries.sort_by(|a, b| a.query.cmp(&b.query));
    it.deployments.sort_by(|a, b| {
        (a.deployed.at, &a.deployed.version).cmp(&(b.deployed.at, &b.deployed.version))
    });
    it
}

fn merged(one: &Incident, other: &Incident) -> Incident {
    let mut all = one.clone();
    all.merge(other);
    sorted(all)
}

/// Two workers of one process that exchange their incidents.
fn workers() -> [Reader; 2] {
    let mut settings = quiet();
    settings.detection.workers = 2;
    let world = World::new(settings);
    [(); 2].map(|()| Reader::of(&world))
}

fn receive(engine: &mut Engine, others: &[Incident]) {
    engine.apply(Input::Incidents { others, fleet: &[] });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_reference_is_frozen_and_an_incident_ends_once(acts in vec(act(), 1..8)) {
        let mut reader = Reader::new(quiet());
        reader.searches(healthy(200));
        let mut references: BTreeMap<u64, Reference> = BTreeMap::new();
        let mut ended: BTreeMap<u64, Incident> = BTreeMap::new();
        let mut news: BTreeMap<u64, Vec<bool>> = BTreeMap::new();
        for act in [&[Act::Bad(60)][..], &acts].concat() {
            apply(&mut reader, &act);
            for it in reader.engine.take_effects().incidents {
                news.entry(it.id).or_default().push(it.ended.is_some());
            }
            let incidents = reader.incidents();
            for it in &incidents {
                let now = reference(it);
                let before = references.entry(it.id).or_insert_with(|| now.clone());
                prop_assert_eq!(before.0, now.0);
                for (name, level) in &before.1 {
                    prop_assert_eq!(now.1.get(name), Some(level), "{}", name);
                }
                *before = now;
                if it.ended.is_some() {
                    prop_assert_eq!(ended.entry(it.id).or_insert_with(|| it.clone()), it);
                }
            }
            for id in ended.keys() {
                let open = incidents.iter().filter(|it| it.id == *id && it.ended.is_none());
                prop_assert_eq!(open.count(), 0, "an ended incident is open again");
            }
        }
        for (id, states) in &news {
            let expected: &[bool] = if ended.contains_key(id) { &[false, true] } else { &[false] };
            prop_assert_eq!(states.as_slice(), expected);
        }
        let snapshot = reader.engine.snapshot();
        let counted: u64 = snapshot.totals.evidence.ended_incidents().map(|it| it.2).sum();
        prop_assert_eq!(counted, u64::try_from(ended.len()).expect("few"));
    }

    #[test]
    fn the_order_of_merging_does_not_matter(
        first in (60..140_usize, 0..120_usize, 0..200_usize),
        second in (10..140_usize, 0..120_usize, 0..200_usize),
        version in 0..3_u8,
        exchanges in 0..3_usize,
    ) {
        let mut readers = workers();
        for (reader, (dropped, continued, repaired)) in readers.iter_mut().zip([first, second]) {
            reader.searches(healthy(400));
            reader.searches(bad(dropped));
            reader.deploy(&format!("5.{version}"));
            reader.searches(bad(continued));
            reader.searches(healthy(repaired));
        }
        for _ in 0..exchanges {
            let shares = [readers[0].incidents(), readers[1].incidents()];
            receive(&mut readers[0].engine, &shares[1]);
            receive(&mut readers[1].engine, &shares[0]);
            for reader in &mut readers {
                reader.searches(healthy(20));
            }
        }
        let [ours, theirs] = [readers[0].incidents(), readers[1].incidents()];
        for one in &ours {
            for other in theirs.iter().filter(|it| it.id == one.id) {
                prop_assert_eq!(merged(one, other), merged(other, one));
                let searches = |it: &Incident| -> u64 {
                    it.measures.iter().filter_map(|it| Some(it.before()?.searches)).sum()
                };
                let all = merged(one, other);
                prop_assert_eq!(searches(&all), searches(one) + searches(other));
            }
        }
        let snapshots = [readers[0].engine.snapshot(), readers[1].engine.snapshot()];
        let incidents = |[first, second]: [usize; 2]| -> Vec<Incident> {
            let mut all = snapshots[first].clone();
            all.merge(&snapshots[second]);
            let mut all: Vec<Incident> = all.totals.evidence.incidents().cloned().map(sorted).collect();
            all.sort_by_key(|it| it.id);
            all
        };
        prop_assert_eq!(incidents([0, 1]), incidents([1, 0]));
    }

    #[test]
    fn a_record_that_is_received_twice_counts_once(
        dropped in 60..140_usize,
        second in 10..140_usize,
        repaired in 0..400_usize,
    ) {
        let [mut first, mut other] = workers();
        for (reader, number) in [(&mut first, dropped), (&mut other, second)] {
            reader.searches(healthy(400));
            reader.searches(bad(number));
            reader.searches(healthy(repaired));
        }
        let theirs = first.incidents();
        receive(&mut other.engine, &theirs);
        other.engine.take_effects();
        let once = other.incidents();
        receive(&mut other.engine, &theirs);
        prop_assert_eq!(other.incidents(), once);
        prop_assert_eq!(other.engine.take_effects().incidents, []);
        prop_assert!(other.now() > START);
    }
}
