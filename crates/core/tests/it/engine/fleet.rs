//! Baselines that workers of a fleet share: disjoint sums, before a drop, after the last reset.

use proptest::prelude::*;
use rankgauge_core::detection::{Baselines, QuerySums};
use rankgauge_core::engine::fleet::{FleetBaselines, Share, SharedBaselines};
use rankgauge_core::engine::incidents::EndReason;
use rankgauge_core::engine::read_model::{ReadModel, WatchedSeries};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::time::{EventTime, WallTime};

use super::START;
use super::evidence::{Reader, STEP, healthy, watching};
use super::recovery::{restored, write};

fn reader() -> Reader {
    Reader::new(watching(None, None))
}

fn fleet<'a>(shares: impl IntoIterator<Item = &'a Share>) -> FleetBaselines {
    let mut fleet = FleetBaselines::default();
    for share in shares {
        share.baselines.iter().for_each(|it| fleet.add(it));
        share.learned.iter().for_each(|it| fleet.add_learned(it));
    }
    fleet
}

fn inherit(reader: &mut Reader, shares: &[&Share]) {
    let fleet = fleet(shares.iter().copied());
    reader.engine.apply(Input::Inherited(&fleet));
}

/// Scores and mean of the shared baselines.
fn totals(share: &Share) -> Option<(u32, f64)> {
    let [shared] = &share.baselines[..] else {
        return None;
    };
    let mut all = QuerySums::default();
    for (_, sums) in &shared.queries {
        all.merge(sums);
    }
    Some((all.scores(), all.mean()?))
}

fn deploy(engine: &mut Engine, version: &str, reported: i64) {
    engine.apply(Input::Deployed {
        variant: "V1",
        version: Some(version),
        at: EventTime(START),
        reset: Some(WallTime(reported)),
    });
}

/// Searches of which a third is bad.
fn worse(number: usize) -> impl Iterator<Item = bool> {
    (0..number).map(|number| number % 3 != 0)
}

#[test]
fn a_worker_without_state_finds_a_drop_from_the_baselines_of_the_others() {
    let mut known = reader();
    known.searches(healthy(400));
    let share = known.engine.share();
    let mut fresh = reader();
    inherit(&mut fresh, &[&share]);
    assert_eq!(fresh.baseline(), known.baseline());
    let mut alone = reader();
    for it in [&mut fresh, &mut alone] {
        it.searches(worse(90));
    }
    // Its reference is that of the fleet. Alone, the same searches are the baseline.
    let incident = fresh.only();
    let lost = incident.measures[0].loss_at_alarm().expect("a loss").mean;
    assert!((0.1..0.6).contains(&lost), "{lost}");
    assert_eq!(alone.incidents(), []);
}

#[test]
fn a_worker_shares_what_it_learned_itself() {
    let mut known = reader();
    // The first search of each query is bad: no later one is below its baseline.
    known.searches((0..40).map(|number| number > 1));
    let share = known.engine.share();
    assert_eq!(totals(&share), Some((40, 0.95)));
    let mut other = reader();
    inherit(&mut other, &[&share]);
    assert_eq!(other.engine.share().baselines, []);
    other.searches((0..10).map(|_| true));
    assert_eq!(totals(&other.engine.share()), Some((10, 1.0)));
    // Both have the sums of both.
    inherit(&mut known, &[&other.engine.share()]);
    assert_eq!(known.baseline(), Some(48.0 / 50.0));
    assert_eq!(other.baseline(), known.baseline());
    assert_eq!(known.engine.share(), share);
    // A worker that is gone takes its sums with it.
    inherit(&mut known, &[]);
    assert_eq!(known.baseline(), Some(0.95));
    assert_eq!(known.engine.share(), share);
}

/// State of detection of the first series.
fn watched(reader: &Reader) -> WatchedSeries {
    let snapshot = reader.engine.snapshot();
    let (settings, registry) = (&reader.world.settings, &reader.world.registry);
    let mut watched = ReadModel::new(&snapshot, settings, registry).watched();
    watched.remove(0)
}

/// Searches in a day.
const DAY: i64 = 24 * 3_600_000 / STEP;

#[test]
fn a_worker_without_state_does_not_begin_the_warm_up_again() {
    let mut known = reader();
    known.searches(healthy(40));
    let share = known.engine.share();
    assert!(watched(&known).is_warm_up);
    let started = [Some(&share), None].map(|share| {
        let mut fresh = reader();
        fresh.read = 3 * DAY;
        if let Some(it) = share {
            inherit(&mut fresh, &[it]);
        }
        fresh.searches(healthy(40));
        (watched(&fresh), fresh.engine.share())
    });
    let [(continued, again), (alone, _)] = started;
    assert!(!continued.is_warm_up);
    assert_eq!(continued.warm_up_until, watched(&known).warm_up_until);
    assert!(alone.is_warm_up);
    // What it shares is what it continues: of both, the newest counts, and its successor has it.
    let mut third = reader();
    third.read = 4 * DAY;
    inherit(&mut third, &[&share, &again]);
    third.searches(healthy(4));
    assert_eq!(watched(&third).warm_up_until, continued.warm_up_until);
}

#[test]
fn a_season_is_continued_until_a_reset() {
    let seasonal = || {
        let mut settings = watching(None, None);
        settings.detection.measures[0].is_seasonal = true;
        Reader::new(settings)
    };
    let comparisons = |share: &Share| {
        let season = serde_json::to_value(&share.learned[0].learned).expect("JSON");
        let day = season["season"]["with_query"]["day"]
            .as_array()
            .expect("hours")
            .clone();
        let counts = day.iter().map(|cell| cell["count"].as_u64());
        counts.sum::<Option<u64>>().expect("numbers")
    };
    let mut known = seasonal();
    known.searches(healthy(40));
    let share = known.engine.share();
    assert!(comparisons(&share) > 10);
    let mut fresh = seasonal();
    inherit(&mut fresh, &[&share]);
    fresh.searches(healthy(10));
    assert!(comparisons(&fresh.engine.share()) > comparisons(&share));
    // A deployment begins a new season, and with it the warm-up.
    let mut deployed = seasonal();
    deployed.read = DAY;
    deploy(&mut deployed.engine, "2", START + 1);
    inherit(&mut deployed, &[&share]);
    deployed.searches(healthy(10));
    assert!(comparisons(&deployed.engine.share()) < comparisons(&share));
    assert!(watched(&deployed).warm_up_until > watched(&known).warm_up_until);
}

#[test]
fn the_searches_of_a_drop_are_not_shared() {
    let mut reader = reader();
    reader.searches(healthy(60));
    let before = totals(&reader.engine.share()).expect("baselines");
    reader.searches((0..24).map(|_| false));
    assert_eq!(reader.incidents().len(), 1);
    let (scores, mean) = totals(&reader.engine.share()).expect("baselines");
    assert!((mean - before.1).abs() < 1e-9, "{mean}");
    assert!(scores <= before.0, "{scores}");
}

#[test]
fn an_incident_outlives_the_worker_that_opened_it() {
    let mut known = reader();
    known.engine.identify(1);
    known.searches(healthy(400));
    known.searches((0..80).map(|number| number % 2 == 0));
    // A deployment that repairs nothing resets the baselines. The reference stays.
    let deployed = START + known.read * STEP;
    deploy(&mut known.engine, "2", deployed);
    let share = known.engine.share();
    assert_eq!(share.baselines, []);
    let before = share.incidents[0].incident.measures[0].before();
    let mut fresh = reader();
    fresh.engine.identify(2);
    fresh.read = known.read;
    deploy(&mut fresh.engine, "2", deployed);
    inherit(&mut fresh, &[&share]);
    let shown = |fresh: &Reader| {
        let mut evidence = fresh.engine.snapshot().totals.evidence;
        evidence.add_incidents(share.incidents.iter().map(|it| &it.incident));
        let incidents: Vec<_> = evidence.incidents().cloned().collect();
        let [incident] = &incidents[..] else {
            panic!("one incident: {incidents:?}");
        };
        incident.clone()
    };
    let read = |fresh: &mut Reader, is_good: bool| {
        fresh.searches([is_good]);
        fresh.engine.apply(Input::Incidents {
            others: &[],
            fleet: &share.incidents,
        });
    };
    fresh.engine.apply(Input::Incidents {
        others: &[],
        fleet: &share.incidents,
    });
    assert_eq!(shown(&fresh).ended, None);
    // It reads many searches before it follows the incident, and opens none of its own.
    fresh.searches((0..40).map(|number| number % 2 == 0));
    assert_eq!(fresh.incidents(), []);
    for number in 0..40 {
        read(&mut fresh, number % 2 == 0);
    }
    let open = shown(&fresh);
    assert_eq!(
        (open.ended.clone(), open.id),
        (None, share.incidents[0].incident.id)
    );
    assert_eq!(open.measures[0].before(), before);
    let lost = open.loss_now(&open.measures[0]).expect("a loss").mean;
    assert!((0.3..0.6).contains(&lost), "{lost}");
    for is_good in healthy(240) {
        read(&mut fresh, is_good);
    }
    let ended = shown(&fresh).ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
    assert!(ended.at.0 > deployed, "{ended:?}");
    // The end reaches the worker that opened it.
    let theirs = fresh.engine.share().incidents;
    known.engine.apply(Input::Incidents {
        others: &[],
        fleet: &theirs,
    });
    assert_eq!(known.only().ended, Some(ended));
}

#[test]
fn a_reset_leaves_out_what_was_learned_before_it() {
    let mut known = reader();
    known.searches(healthy(40));
    let before = known.engine.share();
    let mut other = reader();
    deploy(&mut other.engine, "2", START + 1);
    inherit(&mut other, &[&before]);
    assert_eq!(other.baseline(), None);
    // The other worker learns of the deployment, and shares what follows it.
    deploy(&mut known.engine, "2", START + 1);
    known.searches((0..10).map(|_| true));
    inherit(&mut other, &[&before, &known.engine.share()]);
    assert_eq!(other.baseline(), Some(1.0));
    other.engine.apply(Input::ResetBaselines {
        reported: WallTime(START + 2),
    });
    inherit(&mut other, &[&known.engine.share()]);
    assert_eq!(other.baseline(), None);
}

#[test]
fn a_command_that_arrives_again_resets_nothing() {
    let mut reader = reader();
    deploy(&mut reader.engine, "2", START + 5_000);
    reader.searches(healthy(40));
    let share = reader.engine.share();
    deploy(&mut reader.engine, "2", START + 5_000);
    deploy(&mut reader.engine, "1", START + 4_000);
    reader.engine.apply(Input::ResetBaselines {
        reported: WallTime(0),
    });
    assert_eq!(reader.engine.share(), share);
    // Another replica reports the same deployment with its own clock.
    deploy(&mut reader.engine, "2", START + 9_000);
    assert_eq!(reader.engine.share(), share);
    deploy(&mut reader.engine, "2", START + 3_000);
    let earlier = reader.engine.share();
    assert_eq!(earlier.baselines[0].reset_at, WallTime(START + 3_000));
    assert_eq!(totals(&earlier), totals(&share));
    deploy(&mut reader.engine, "3", START + 20_000);
    assert_eq!(reader.engine.share().baselines, []);
}

#[test]
fn a_checkpoint_keeps_the_id_and_what_is_inherited() {
    let mut known = reader();
    known.searches(healthy(40));
    let mut other = reader();
    other.engine.identify(7);
    inherit(&mut other, &[&known.engine.share()]);
    other.searches((0..10).map(|_| true));
    let share = other.engine.share();
    let (mut again, _) = restored(&other.world, &write(&other.engine));
    again.identify(8);
    assert_eq!(share.ids, [7]);
    assert_eq!(again.share(), share);
}

fn sums() -> impl Strategy<Value = Vec<(u8, QuerySums)>> {
    let of_query = (0.0..=1.0, 1_u32..200).prop_map(|(mean, scores)| QuerySums::of(mean, scores));
    proptest::collection::btree_map(0_u8..6, of_query, 0..6).prop_map(|it| it.into_iter().collect())
}

proptest! {
    #[test]
    fn own_sums_do_not_depend_on_what_was_inherited_since(
        scores in proptest::collection::vec((0_u8..6, 0.0..=1.0), 0..60),
        inherited in proptest::collection::vec(sums(), 0..5),
    ) {
        let mut baselines: Baselines<u8> = Baselines::default();
        for (minute, (query, score)) in (0..).zip(&scores) {
            baselines.add(query, |it| *it, (*score, 10 * minute), 5);
        }
        let own = baselines.own_sums(None, |_| None);
        let (count, mean) = (baselines.scores(), baselines.mean());
        for sums in inherited {
            baselines.inherit(sums.clone());
            prop_assert_eq!(&baselines.own_sums(None, |_| None), &own);
            let all: u64 = sums.iter().map(|(_, it)| u64::from(it.scores())).sum();
            prop_assert_eq!(baselines.scores(), count + all);
        }
        baselines.inherit([]);
        prop_assert_eq!((baselines.scores(), baselines.mean()), (count, mean));
        prop_assert_eq!(baselines.own_sums(None, |_| None), own);
    }

    #[test]
    fn sums_of_workers_add_in_any_order(parts in proptest::collection::vec(sums(), 1..5)) {
        let shared = |queries: &Vec<(u8, QuerySums)>| SharedBaselines {
            variant: "V".into(),
            queries: queries.iter().map(|(it, sums)| (it.to_string().into(), *sums)).collect(),
            ..SharedBaselines::default()
        };
        let add = |parts: &mut dyn Iterator<Item = &Vec<(u8, QuerySums)>>| {
            let mut fleet = FleetBaselines::default();
            parts.for_each(|it| fleet.add(&shared(it)));
            fleet
        };
        prop_assert_eq!(add(&mut parts.iter()), add(&mut parts.iter().rev()));
    }
}
