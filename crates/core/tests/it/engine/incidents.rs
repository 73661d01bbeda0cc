//! Incidents: one reference, one size, one end.

use std::sync::Arc;

use rankgauge_core::detection::DropClass;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::incidents::{EndReason, Incident, IncidentMeasure, Note, Severity};
use rankgauge_core::engine::settings::Settings;
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::time::{EventTime, WallTime};

use super::evidence::{Reader, STEP, healthy, watching};
use super::recovery::{read_back, restored, write};
use super::{GOLD, START, World, assign, read_feedback, read_search, settings, tick};

/// Every second search is bad: all those with the query g1.
pub(super) fn bad(number: usize) -> impl Iterator<Item = bool> {
    (0..number).map(|number| number % 2 == 0)
}

pub(super) fn quiet() -> Settings {
    watching(None, None)
}

impl Reader {
    pub(super) fn incidents(&self) -> Vec<Incident> {
        let snapshot = self.engine.snapshot();
        snapshot.totals.evidence.incidents().cloned().collect()
    }

    pub(super) fn only(&self) -> Incident {
        let [incident] = &self.incidents()[..] else {
            panic!("one incident: {:?}", self.incidents());
        };
        incident.clone()
    }

    pub(super) fn now(&self) -> i64 {
        START + self.read * STEP
    }

    pub(super) fn deploy(&mut self, version: &str) {
        self.deploy_with(version, Some(WallTime(self.now())));
    }

    fn deploy_with(&mut self, version: &str, reset: Option<WallTime>) {
        let at = EventTime(self.now());
        self.engine.apply(Input::Deployed {
            variant: "V1",
            version: Some(version),
            at,
            reset,
        });
    }
}

/// Reader with an open incident whose drop began after 400 searches.
fn dropped() -> Reader {
    let mut reader = Reader::new(quiet());
    reader.searches(healthy(400));
    assert_eq!(reader.incidents(), []);
    reader.searches(bad(80));
    reader
}

const BEGAN: i64 = START + 400 * STEP;

#[test]
fn a_drop_opens_one_incident_with_its_beginning_and_all_that_moved() {
    let reader = dropped();
    let incident = reader.only();
    assert_eq!(incident.variant.as_ref(), "V1");
    let began = incident.started;
    assert!(
        began.lower <= BEGAN + STEP && BEGAN <= began.upper,
        "{began:?}"
    );
    assert!((began.at - BEGAN).abs() <= 6 * STEP, "{began:?}");
    assert!(incident.alarmed_at.0 > began.at);
    assert_eq!(incident.ended, None);
    let names: Vec<_> = incident
        .measures
        .iter()
        .map(IncidentMeasure::name)
        .collect();
    assert!(names.contains(&("P@1", "all", "")), "{names:?}");
    assert_eq!(names.len(), incident.measures.len());
    assert!(names.len() > 1, "a slice fell as well: {names:?}");
    let primary = &incident.measures[0];
    let before = primary.before().expect("scores");
    assert!((before.mean - 0.9).abs() < 0.05, "{before:?}");
    assert!(before.lower < before.mean && before.mean < before.upper);
}

#[test]
fn the_reference_is_frozen_and_the_size_stays() {
    let mut reader = dropped();
    let first = reader.only();
    // Bad searches for a day: they join the baseline of the drop test, and not the reference.
    reader.searches(bad(2_800));
    let later = reader.only();
    assert_eq!((later.id, later.started), (first.id, first.started));
    let of = |it: &Incident| it.measures[0].before().expect("scores");
    assert_eq!(of(&first), of(&later));
    let loss = later.loss_now(&later.measures[0]).expect("searches");
    assert!((loss.mean - 0.4).abs() < 0.05, "{loss:?}");
    assert!(loss.lower > 0.2 && loss.upper < 0.6, "{loss:?}");
    let now = later.measures[0].level_of(loss).expect("a level");
    assert!((of(&later).mean - now.mean - loss.mean).abs() < 1e-12);
    let queries: Vec<&str> = later.largest_losses().iter().map(|it| &*it.query).collect();
    assert_eq!(queries, ["g1"]);
    let query = later.largest_losses()[0];
    assert!((query.loss().expect("searches").mean - 0.8).abs() < 0.1);
    assert!(query.now().expect("searches").upper < query.before());
}

#[test]
fn it_ends_when_the_scores_are_back_and_a_next_drop_is_another_incident() {
    let mut reader = dropped();
    reader.searches(healthy(2_000));
    let incident = reader.only();
    let ended = incident.ended.clone().expect("it has ended");
    assert_eq!((ended.by, &ended.after), (EndReason::Recovered, &None));
    let repaired = BEGAN + 80 * STEP;
    assert!(ended.at.0 >= repaired - 10 * STEP, "{ended:?}");
    let news = reader.engine.take_effects().incidents;
    let states: Vec<bool> = news.iter().map(|it| it.ended.is_some()).collect();
    assert_eq!(states, [false, true]);
    // The baselines are those before the drop, so the next one is found again.
    reader.searches(bad(120));
    let both = reader.incidents();
    assert_eq!(both.len(), 2);
    assert_eq!((both[0].ended.is_none(), both[1].id), (true, incident.id));
    assert_ne!(both[0].id, incident.id);
}

#[test]
fn its_size_at_the_end_has_no_search_of_the_recovery() {
    let mut reader = dropped();
    reader.searches(bad(400));
    let open = reader.only();
    let lost = open.loss_now(&open.measures[0]).expect("searches");
    reader.searches(healthy(2_000));
    let ended = reader.only();
    let at_end = ended.loss_now(&ended.measures[0]).expect("searches");
    assert!(
        (at_end.mean - lost.mean).abs() < 0.05,
        "{at_end:?}, {lost:?}"
    );
    // The queries that lost most have lost as much as before the repair.
    let query = |it: &Incident| it.largest_losses()[0].loss().expect("searches").mean;
    assert!(query(&ended) > 0.7, "{}", query(&ended));
    assert!((query(&ended) - query(&open)).abs() < 0.1);
}

#[test]
fn a_loss_is_the_mean_before_minus_the_mean_now_and_not_larger_than_it() {
    let mut reader = Reader::new(quiet());
    // Few searches: their bounds are wide.
    reader.searches(healthy(400));
    reader.searches((0..80).map(|_| false));
    let incident = reader.only();
    for measure in &incident.measures {
        let before = measure.before().expect("scores").mean;
        let loss = incident.loss_now(measure).expect("searches");
        assert!(loss.upper <= before && loss.lower <= loss.mean, "{loss:?}");
        let now = measure.level_of(loss).expect("a level");
        assert!((before - now.mean - loss.mean).abs() < 1e-12, "{loss:?}");
    }
    for query in incident.largest_losses() {
        let loss = query.loss().expect("searches");
        assert!(loss.upper <= query.before(), "{loss:?}");
    }
}

#[test]
fn a_drop_begins_after_the_last_search_before_it() {
    let began = dropped().only().started;
    assert!(began.lower < began.at, "{began:?}");
    assert!(began.lower <= BEGAN - STEP, "{began:?}");
}

#[test]
fn a_deployment_that_repairs_nothing_leaves_it_open_and_one_that_does_is_named() {
    let mut reader = dropped();
    let before = reader.only().measures[0].before();
    reader.deploy("5.1");
    reader.searches(bad(200));
    let incident = reader.only();
    assert_eq!(incident.ended, None);
    assert_eq!(incident.measures[0].before(), before);
    // A deployment during the incident is none before it.
    assert_eq!(incident.deployment_before(), None);
    let mark = &incident.deployments[0];
    assert_eq!(mark.deployed.version.as_deref(), Some("5.1"));
    assert_eq!(incident.continues_after(mark), Some(true));
    reader.deploy("5.2");
    reader.searches(healthy(2_000));
    let incident = reader.only();
    let ended = incident.ended.clone().expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
    assert_eq!(ended.after.as_deref(), Some("5.2"));
    assert_eq!(
        incident.continues_after(&incident.deployments[1]),
        Some(false)
    );
}

#[test]
fn a_drop_that_begins_with_a_deployment_is_found_if_the_baselines_are_kept() {
    for (reset, found) in [(None, 1), (Some(WallTime(START)), 0)] {
        let mut reader = Reader::new(quiet());
        reader.searches(healthy(400));
        reader.deploy_with("5.1", reset);
        reader.searches(bad(80));
        assert_eq!(reader.incidents().len(), found, "{reset:?}");
        if found == 1 {
            let incident = reader.only();
            let marks = incident.deployments.iter();
            let versions: Vec<_> = marks.map(|it| it.deployed.version.as_deref()).collect();
            assert_eq!(versions, [Some("5.1")]);
            let before = incident.deployment_before().expect("a deployment");
            assert_eq!(before.version.as_deref(), Some("5.1"));
            // The next version repairs it, and the baselines are those from before the drop.
            reader.deploy_with("5.2", reset);
            reader.searches(healthy(2_000));
            let ended = reader.only().ended.expect("it has ended");
            assert_eq!(ended.after.as_deref(), Some("5.2"));
        }
    }
}

#[test]
fn a_deployment_that_several_replicas_see_is_marked_once() {
    let mut reader = dropped();
    reader.deploy_with("5.1", None);
    reader.searches(bad(4));
    reader.deploy_with("5.1", None);
    assert_eq!(reader.only().deployments.len(), 1);
    // An operator who reports it as intended resets the baselines.
    let reported = WallTime(reader.now());
    reader.deploy_with("5.1", Some(reported));
    assert_eq!(reader.baseline(), None);
    assert_eq!(reader.only().deployments.len(), 1);
    reader.searches(bad(100));
    reader.deploy_with("5.1", None);
    assert_eq!(reader.only().deployments.len(), 2, "it is deployed again");
}

#[test]
fn it_ends_by_a_reset_of_the_baselines() {
    let mut reader = dropped();
    reader.engine.apply(Input::ResetBaselines {
        reported: WallTime(START),
    });
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(
        (ended.by, ended.at),
        (EndReason::Reset, EventTime(reader.now() - STEP))
    );
}

#[test]
fn it_expires_a_day_after_the_last_search() {
    let mut reader = dropped();
    let last = reader.only().last;
    let day = 86_400_000;
    // Without a partition, windows advance with the wall clock.
    reader.engine.apply(Input::Revoked { partition: 0 });
    tick(&mut reader.engine, last + day - 10_000);
    assert_eq!(reader.only().ended, None);
    tick(&mut reader.engine, last + day + 120_000);
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(
        (ended.by, ended.at),
        (EndReason::Expired, EventTime(last + day))
    );
}

#[test]
fn a_restart_continues_it() {
    let mut reader = dropped();
    let before = reader.only();
    reader.engine = restored(&reader.world, &write(&reader.engine)).0;
    assign(&mut reader.engine, 0);
    assert_eq!(reader.only(), before);
    reader.searches(healthy(2_000));
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
}

#[test]
fn a_drop_of_an_open_incident_raises_no_alarm_after_a_restart() {
    let mut settings = quiet();
    settings.detection.workers = 2;
    let world = World::new(settings);
    let (mut first, mut second) = (Reader::of(&world), Reader::of(&world));
    let drops = |reader: &mut Reader| {
        let alarms = reader.engine.take_effects().alarms.into_iter();
        alarms.filter(|it| it.test == Test::Drop).count()
    };
    for reader in [&mut first, &mut second] {
        reader.searches(healthy(400));
        assert_eq!(drops(reader), 0);
    }
    first.searches(bad(80));
    assert!(drops(&mut first) > 0);
    second.searches(bad(10));
    let theirs = first.incidents();
    second.engine.apply(Input::Incidents {
        others: &theirs,
        fleet: &[],
    });
    second.engine = restored(&second.world, &write(&second.engine)).0;
    assign(&mut second.engine, 0);
    assert_eq!(second.only().ended, None);
    // Its own evidence reaches the threshold after the same searches as that of the first one.
    second.searches(bad(70));
    assert_eq!(drops(&mut second), 0);
    assert_eq!(second.only().id, theirs[0].id);
}

#[test]
fn workers_agree_on_one_incident() {
    let mut settings = quiet();
    settings.detection.workers = 2;
    let world = World::new(settings);
    let (mut first, mut second) = (Reader::of(&world), Reader::of(&world));
    let share = |engine: &Engine| -> Vec<Incident> {
        let snapshot = engine.snapshot();
        snapshot.totals.evidence.incidents().cloned().collect()
    };
    first.searches(healthy(400));
    second.searches(healthy(400));
    first.searches(bad(80));
    // The second worker has too few bad searches for an alarm of its own.
    second.searches(bad(10));
    assert_eq!(share(&second.engine), []);
    let theirs = share(&first.engine);
    second.engine.apply(Input::Incidents {
        others: &theirs,
        fleet: &[],
    });
    let mine = share(&second.engine);
    assert_eq!(mine.len(), 1);
    assert_eq!(
        (mine[0].id, mine[0].started),
        (theirs[0].id, theirs[0].started)
    );
    assert_eq!(mine[0].measures.len(), theirs[0].measures.len());
    second.searches(bad(70));
    let merged = |first: &Reader, second: &Reader| {
        let mut all = first.engine.snapshot();
        all.merge(&second.engine.snapshot());
        let incidents: Vec<Incident> = all.totals.evidence.incidents().cloned().collect();
        assert_eq!(incidents.len(), 1, "{incidents:?}");
        incidents[0].clone()
    };
    let all = merged(&first, &second);
    let searches = |it: &Incident| it.measures[0].before().expect("scores").searches;
    let shares = [share(&first.engine), share(&second.engine)];
    assert_eq!(
        searches(&all),
        searches(&shares[0][0]) + searches(&shares[1][0])
    );
    for _ in 0..40 {
        first.searches(healthy(50));
        second.searches(healthy(50));
        let (one, other) = (share(&first.engine), share(&second.engine));
        first.engine.apply(Input::Incidents {
            others: &other,
            fleet: &[],
        });
        second.engine.apply(Input::Incidents {
            others: &one,
            fleet: &[],
        });
    }
    let all = merged(&first, &second);
    let ended = all.ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
    for worker in [&first, &second] {
        assert!(share(&worker.engine).iter().all(|it| it.ended.is_some()));
    }
}

#[test]
fn a_gold_set_with_the_same_judgements_keeps_the_incident_and_the_baselines() {
    let mut reader = dropped();
    let (first, baseline) = (reader.only(), reader.baseline());
    let same = GOLD.replace("\"version\": \"1\"", "\"version\":   \"2\"");
    reader.engine.apply(Input::Gold(gold_set(&same)));
    assert_eq!(reader.only(), first);
    assert_eq!(reader.baseline(), baseline);
    reader.searches(healthy(2_000));
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
}

fn gold_set(text: &str) -> Arc<GoldSet> {
    let gold = gold::parse("gold.json", text.as_bytes(), &gold::Options::default());
    Arc::new(gold.expect("a gold set"))
}

/// Gold set in which g1 has one more judgement.
fn one_more_judgement() -> Arc<GoldSet> {
    gold_set(&GOLD.replace("\"d4\": 1", "\"d4\": 1, \"d9\": 1"))
}

#[test]
fn one_more_judgement_restarts_the_baseline_of_its_query_alone() {
    let mut reader = dropped();
    let first = reader.only();
    assert_eq!(reader.first("baseline_queries", ""), Some(2.0));
    reader.engine.apply(Input::Gold(one_more_judgement()));
    // Of the query with the other judgement, nothing is known any more.
    let kept = reader.only();
    assert_eq!((kept.id, kept.started), (first.id, first.started));
    assert_eq!(kept.ended, None);
    assert!(kept.queries.iter().all(|it| *it.query != *"g1"));
    assert_eq!(reader.first("baseline_queries", ""), Some(1.0));
    // The searches of the other query end the incident: the slice of this one shows no loss any more.
    reader.searches(healthy(2_000));
    let ended = reader.only().ended.expect("it has ended within a day");
    assert_eq!(ended.by, EndReason::Recovered);
    assert_eq!(reader.first("baseline_queries", ""), Some(2.0));
}

/// Settings with these measures, of which the first is monitored.
fn measuring(measures: &str) -> Settings {
    Settings {
        measures: Measure::parse_list(measures).expect("measures"),
        ..quiet()
    }
}

#[test]
fn a_judgement_above_all_others_restarts_the_baseline_of_its_query_alone() {
    let gold = gold_set(&GOLD.replace("\"d4\": 1", "\"d4\": 1, \"d9\": 4"));
    for (measures, kept) in [("P@1", Some(1.0)), ("P@1,ERR@5", None)] {
        let mut reader = Reader::new(measuring(measures));
        reader.searches(healthy(100));
        assert_eq!(reader.first("baseline_queries", ""), Some(2.0));
        reader.engine.apply(Input::Gold(Arc::clone(&gold)));
        assert_eq!(reader.first("baseline_queries", ""), kept, "{measures}");
    }
}

#[test]
fn a_measure_of_the_scale_that_is_added_at_a_restart_keeps_the_baselines() {
    let mut reader = Reader::new(measuring("P@1"));
    reader.searches(healthy(100));
    assert_eq!(reader.first("baseline_queries", ""), Some(2.0));
    let saved = write(&reader.engine);
    let mut changed = Reader::new(measuring("P@1,ERR@5"));
    changed.engine = restored(&changed.world, &saved).0;
    changed.engine.apply(Input::Gold(gold_set(GOLD)));
    assert_eq!(changed.first("baseline_queries", ""), Some(2.0));
}

/// Reads searches of the query g1 alone.
fn searches_of_g1(reader: &mut Reader, pattern: impl Iterator<Item = bool>) {
    for is_good in pattern {
        reader.read |= 1;
        reader.searches([is_good]);
    }
}

#[test]
fn an_incident_of_which_every_compared_query_is_judged_differently_ends_at_once() {
    let mut reader = Reader::new(quiet());
    // The other query has a baseline, and no search in the drop.
    reader.searches(healthy(400));
    searches_of_g1(&mut reader, (0..80).map(|_| false));
    let first = reader.only();
    assert_eq!(first.ended, None);
    let one_worker = |reader: &mut Reader| {
        reader.engine.apply(Input::Incidents {
            others: &[],
            fleet: &[],
        });
    };
    // A reload of the same judgements changes nothing.
    let same = GOLD.replace("\"version\": \"1\"", "\"version\": \"2\"");
    reader.engine.apply(Input::Gold(gold_set(&same)));
    one_worker(&mut reader);
    assert_eq!(reader.only(), first);
    // The places of the compared queries are saved.
    reader.engine = restored(&reader.world, &write(&reader.engine)).0;
    assign(&mut reader.engine, 0);
    reader.engine.apply(Input::Gold(one_more_judgement()));
    one_worker(&mut reader);
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Reset);
    // The tests begin again: the same searches are no second drop.
    searches_of_g1(&mut reader, (0..80).map(|_| false));
    assert_eq!(reader.incidents().len(), 1);
}

#[test]
fn a_restart_with_one_more_judgement_keeps_the_other_baselines_and_the_incident() {
    let reader = dropped();
    let first = reader.only();
    for is_loaded_before in [true, false] {
        let mut world = World::new(quiet());
        world.gold = one_more_judgement();
        let (_, state) = read_back(&write(&reader.engine));
        let mut engine = if is_loaded_before {
            world.engine()
        } else {
            let registry = Arc::clone(&world.registry);
            Engine::new(Arc::clone(&world.settings), registry, WallTime(START))
        };
        engine.restore(&state);
        engine.apply(Input::Gold(Arc::clone(&world.gold)));
        let samples = world.samples(&engine.snapshot());
        let queries = samples
            .iter()
            .find(|(name, _)| name.starts_with("baseline_queries"));
        assert_eq!(queries.map(|(_, value)| value.as_str()), Some("1"));
        let snapshot = engine.snapshot();
        let open: Vec<&Incident> = snapshot.totals.evidence.incidents().collect();
        assert_eq!(open.len(), 1);
        assert_eq!((open[0].id, &open[0].ended), (first.id, &None));
    }
}

#[test]
fn a_gold_set_that_judges_no_query_as_before_ends_the_incident() {
    let mut reader = dropped();
    let all = GOLD.replace("\"ground_truth\": {", "\"ground_truth\": {\"d9\": 0, ");
    reader.engine.apply(Input::Gold(gold_set(&all)));
    assert_eq!(reader.baseline(), None);
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Reset);
}

#[test]
fn another_relevance_level_of_the_same_file_ends_the_incident() {
    let mut reader = dropped();
    let options = gold::Options {
        relevance_level: Some(gold::Grade::TWO),
        ..gold::Options::default()
    };
    let other = gold::parse("gold.json", GOLD.as_bytes(), &options).expect("a gold set");
    assert_eq!(other.sha256(), reader.world.gold.sha256());
    reader.engine.apply(Input::Gold(Arc::new(other)));
    assert_eq!(reader.baseline(), None);
    let ended = reader.only().ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Reset);
}

#[test]
fn the_scores_before_a_second_drop_are_those_before_the_first_one() {
    let mut reader = dropped();
    let before = |it: &Incident| it.measures[0].before().expect("scores").mean;
    let first = before(&reader.only());
    reader.searches(bad(600));
    reader.searches(healthy(2_000));
    assert!(reader.only().ended.is_some());
    reader.searches(bad(120));
    let second = before(&reader.incidents()[0]);
    assert!((second - first).abs() < 0.03, "{first} {second}");
}

#[test]
fn an_incident_of_all_searches_is_critical() {
    let after_drop = |judged: &str| {
        let mut reader = Reader::new(quiet());
        let gold = GOLD.replace("\"d1\": 1", judged);
        let gold = gold::parse("gold.json", gold.as_bytes(), &gold::Options::default());
        reader
            .engine
            .apply(Input::Gold(Arc::new(gold.expect("a gold set"))));
        reader.searches(healthy(400));
        reader.searches((0..80).map(|number| number % 5 == 0));
        reader.only()
    };
    // The results of bad searches are judged as not relevant.
    let worse = after_drop("\"d1\": 1, \"d6\": 0");
    assert_eq!(
        (worse.class, worse.severity()),
        (DropClass::Worse, Severity::Critical)
    );
    // They are unjudged: they may be as good.
    let unjudged = after_drop("\"d1\": 1");
    assert_eq!(
        (unjudged.class, unjudged.severity()),
        (DropClass::MoreUnjudged, Severity::Warning)
    );
    assert_eq!(worse.title(), "V1 got worse");
    assert_eq!(
        unjudged.title(),
        "V1 shows more results that are not judged"
    );
}

fn note(minute: i64, text: &str) -> Note {
    Note {
        at: WallTime(START + minute * 60_000),
        by: Some("alice".into()),
        text: text.into(),
    }
}

#[test]
fn notes_are_kept_in_the_order_of_their_times_up_to_a_limit() {
    let mut reader = dropped();
    let incident = reader.only().id;
    let add =
        |reader: &mut Reader, note: &Note| reader.engine.apply(Input::Noted { incident, note });
    add(&mut reader, &note(2, "second"));
    add(&mut reader, &note(1, "first"));
    add(&mut reader, &note(1, "first"));
    let texts =
        |it: &Incident| -> Vec<String> { it.notes.iter().map(|it| it.text.to_string()).collect() };
    assert_eq!(texts(&reader.only()), ["first", "second"]);
    let unknown = Input::Noted {
        incident: incident ^ 1,
        note: &note(3, "of another incident"),
    };
    reader.engine.apply(unknown);
    assert_eq!(reader.only().notes.len(), 2);
    // A restart and the end of the incident keep them.
    reader.engine = restored(&reader.world, &write(&reader.engine)).0;
    assign(&mut reader.engine, 0);
    reader.searches(healthy(2_000));
    add(&mut reader, &note(4, "after the end"));
    let ended = reader.only();
    assert!(ended.ended.is_some());
    assert_eq!(texts(&ended), ["first", "second", "after the end"]);
    for minute in 5..100 {
        add(&mut reader, &note(minute, "more"));
    }
    let full = reader.only();
    assert_eq!(full.notes.len(), Note::MAX_NUMBER);
    assert_eq!(texts(&full)[..3], texts(&ended));
}

#[test]
fn notes_of_two_workers_are_united() {
    let first = dropped().only();
    let with = |minutes: std::ops::Range<i64>| {
        let notes = minutes.map(|minute| note(minute, "seen"));
        Incident {
            notes: notes.collect(),
            ..first.clone()
        }
    };
    let (one, other) = (with(0..20), with(10..40));
    let merged = |one: &Incident, other: &Incident| {
        let mut all = one.clone();
        all.merge(other);
        all.notes
    };
    assert_eq!(merged(&one, &other), with(0..32).notes);
    assert_eq!(merged(&other, &one), merged(&one, &other));
    assert_eq!(merged(&one, &one), one.notes);
}

/// Sessions of people without a gold query, one in two minutes: on weekends fewer of them click.
struct Clicks {
    reader: Reader,
    sessions: i64,
}

impl Clicks {
    const STEP: i64 = 120_000;
    const DAY: i64 = 24 * 60 * 60_000;
    /// A Thursday at midnight, like that of 1970.
    const START: i64 = START.div_euclid(7 * Self::DAY) * 7 * Self::DAY;

    fn new() -> Self {
        let measures = settings().measures;
        let clicks = measures.iter().position(|it| it.to_string() == "CTR");
        Self {
            reader: Reader::new(watching(None, clicks)),
            sessions: 0,
        }
    }

    /// Reads the sessions up to the end of day `end`, of which a share of `lost` less than usual click.
    fn until(&mut self, end: i64, lost: f64) {
        while self.sessions * Self::STEP < end * Self::DAY {
            let number = self.sessions;
            let ts = Self::START + number * Self::STEP;
            let is_weekend = [2, 3].contains(&(number * Self::STEP / Self::DAY % 7));
            let share = if is_weekend { 0.4 } else { 0.7 } - lost;
            let engine = &mut self.reader.engine;
            tick(engine, ts);
            let payload = format!(
                r#"{{"query_id": "q{number}", "ts": {ts}, "query": "무엇", "variant": "V1",
                    "session_id": "s{number}", "results": [{{"id": "d1"}}]}}"#
            );
            read_search(engine, 0, number, &payload);
            // The golden ratio spreads the clicks evenly.
            if (f64::from(u32::try_from(number).expect("few")) * 0.618_034).fract() < share {
                let payload = format!(
                    r#"{{"event_id": "c{number}", "query_id": "q{number}", "ts": {ts}, "type": "click",
                        "object_id": "d1"}}"#
                );
                read_feedback(engine, 0, number, &payload);
            }
            self.sessions += 1;
        }
    }
}

#[test]
fn the_hours_of_the_week_learn_one_week_of_an_open_incident_at_most() {
    let mut clicks = Clicks::new();
    clicks.until(22, 0.0);
    clicks.until(31, 0.3);
    let incidents = clicks.reader.incidents();
    assert!(incidents.iter().any(|it| it.ended.is_none()));
    let seasons = |clicks: &Clicks| {
        let share = clicks.reader.engine.share();
        let learned = share.learned.iter();
        let learned = learned.map(|it| serde_json::to_value(&it.learned).expect("JSON"));
        learned
            .map(|it| it["season"].clone())
            .collect::<Vec<serde_json::Value>>()
    };
    let known = seasons(&clicks);
    assert!(known.iter().any(|it| !it.is_null()));
    clicks.until(33, 0.3);
    assert_eq!(seasons(&clicks), known);
}

#[test]
fn an_incident_of_user_behaviour_compares_a_weekend_with_weekends() {
    let mut clicks = Clicks::new();
    // Three weeks, up to a Thursday. The first weekend is a drop: nothing is known of weekends yet.
    clicks.until(22, 0.0);
    let known = clicks.reader.incidents();
    assert!(known.iter().all(|it| it.ended.is_some()), "{known:?}");
    // A drop from Friday on. It lasts over the weekend, and is repaired in the night to Sunday.
    clicks.until(24, 0.3);
    let last = |clicks: &Clicks| {
        let incidents = clicks.reader.incidents();
        let last = incidents.into_iter().max_by_key(|it| it.started.at);
        last.expect("an incident")
    };
    let incident = last(&clicks);
    assert!(incident.started.at > Clicks::START + 21 * Clicks::DAY);
    let loss = incident.loss_now(&incident.measures[0]);
    let loss = loss.expect("a loss").mean;
    assert!((loss - 0.3).abs() < 0.05, "{loss}");
    assert_eq!(incident.ended, None);
    clicks.until(25, 0.0);
    let ended = last(&clicks).ended.expect("it has ended");
    assert_eq!(ended.by, EndReason::Recovered);
    let late = (ended.at.0 - Clicks::START - 24 * Clicks::DAY) / 60_000;
    assert!((-60..12 * 60).contains(&late), "{late} minutes");
}
