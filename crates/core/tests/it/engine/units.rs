//! Experiments as streams of searches: users and sessions are the units, a bot is one of them, and the split
//! counts each once.

use rankgauge_core::engine::Engine;
use rankgauge_core::engine::read_model::{MeasuredDifference, ReadModel};
use rankgauge_core::engine::settings::{Assignment, Experiment, Settings};
use rankgauge_core::engine::snapshot::Snapshot;

use super::recovery::{restored, write};
use super::{START, World, assign, read_search, settings, tick};

/// P@1 is the first of the measures.
const P_AT_1: usize = 0;
const HOUR: i64 = 3_600_000;

fn experiment(assignment: Assignment) -> Settings {
    let mut settings = settings();
    settings.slices.push(Experiment::SLICE.into());
    settings.experiments = vec![Experiment {
        id: "e".into(),
        control: "V1".into(),
        assignment,
        split: vec![("V1".into(), 0.5), ("V2".into(), 0.5)],
        guardrails: vec![P_AT_1],
    }];
    settings.detection.alpha = 0.001;
    settings.detection.split_threshold = 1000.0_f64.ln();
    settings
}

/// Numbers that look random, from a seed (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Searches of one experiment in the order of time.
struct Stream {
    world: World,
    engine: Engine,
    read: i64,
    ts: i64,
}

impl Stream {
    fn new(settings: Settings) -> Self {
        let world = World::new(settings);
        let mut engine = world.engine();
        assign(&mut engine, 0);
        Self {
            world,
            engine,
            read: 0,
            ts: START,
        }
    }

    /// Reads a search with these ids, as JSON members.
    fn search(&mut self, ids: &str, arm: usize, is_good: bool) {
        let variant = ["V1", "V2"][arm];
        let first = if is_good { "d0" } else { "d6" };
        let payload = format!(
            r#"{{"query_id": "q{0}", "ts": {1}, "query_key": "g0"{ids},
                "experiment": {{"id": "e", "variant": "{variant}"}}, "results": [{{"id": "{first}"}}]}}"#,
            self.read, self.ts
        );
        read_search(&mut self.engine, 0, self.read, &payload);
        self.read += 1;
        tick(&mut self.engine, self.ts);
    }

    fn user(&mut self, user: u64, arm: usize, is_good: bool) {
        self.search(&format!(r#", "user_id": "u{user}""#), arm, is_good);
    }

    fn sample(&self, family: &str) -> Option<f64> {
        let samples = self.world.samples(&self.engine.snapshot());
        let name = samples.keys().find(|name| name.starts_with(family))?;
        samples[name].parse().ok()
    }

    fn difference(&self) -> Option<MeasuredDifference> {
        let snapshot = self.engine.snapshot();
        difference(&self.world, &snapshot)
    }
}

fn difference(world: &World, snapshot: &Snapshot) -> Option<MeasuredDifference> {
    let model = ReadModel::new(snapshot, &world.settings, &world.registry);
    let experiment = &world.settings.experiments[0];
    let arms = model.arms(experiment);
    model.difference(P_AT_1, &arms[1], experiment)
}

fn sessions(world: &World, snapshot: &Snapshot) -> Vec<u64> {
    let model = ReadModel::new(snapshot, &world.settings, &world.registry);
    let arms = model.arms(&world.settings.experiments[0]);
    arms.iter().map(|arm| arm.sessions).collect()
}

#[test]
fn a_user_counts_once_in_the_split_and_is_never_stored() {
    let mut stream = Stream::new(experiment(Assignment::User));
    for _ in 0..40 {
        stream.search(
            r#", "user_id": "secret-user-42", "session_id": "s1""#,
            0,
            true,
        );
        stream.search(
            r#", "user_id": "secret-user-42", "session_id": "s2""#,
            0,
            true,
        );
        stream.search(r#", "session_id": "s3""#, 1, true);
        stream.search("", 1, true);
    }
    // Searches without a user count by their session, and without both by themselves.
    let snapshot = stream.engine.snapshot();
    assert_eq!(sessions(&stream.world, &snapshot), [1, 41]);
    let saved = write(&stream.engine);
    let text = b"secret-user";
    assert!(!saved.windows(text.len()).any(|window| window == text));
    let samples = stream.world.samples(&snapshot);
    assert!(samples.keys().all(|name| !name.contains("secret")));
}

#[test]
fn with_assignment_by_session_a_session_is_the_unit() {
    let mut stream = Stream::new(experiment(Assignment::Session));
    for session in 0..30 {
        for _ in 0..3 {
            let ids = format!(r#", "user_id": "u", "session_id": "s{session}""#);
            stream.search(&ids, session % 2, true);
        }
    }
    assert_eq!(sessions(&stream.world, &stream.engine.snapshot()), [15, 15]);
}

#[test]
fn a_bot_of_one_arm_is_no_evidence_and_a_worse_arm_is() {
    let mut stream = Stream::new(experiment(Assignment::User));
    let mut chance = Numbers(11);
    for hour in 0..6 {
        for number in 0..500_u64 {
            stream.ts = START + hour * HOUR + i64::try_from(number).expect("small") * 7_000;
            let user = chance.below(4_000);
            let is_good = chance.below(10) < 7;
            stream.user(user, usize::from(user % 2 == 1), is_good);
            // One user of V2 sends as many searches as all others together, and all fail.
            if hour == 2 {
                stream.user(1_000_001, 1, false);
            }
        }
    }
    let experiment = &stream.world.settings.experiments[0];
    let threshold = experiment.threshold(stream.world.settings.detection.alpha);
    let split = stream.sample("split_log_evidence").expect("units");
    assert!(split < 0.0, "the bot is one user: {split}");
    let found = stream.difference().expect("enough users");
    assert!(
        found.interval[0] < 0.0 && 0.0 < found.interval[1],
        "{found:?}"
    );
    let evidence = stream
        .sample("experiment_log_evidence")
        .expect("enough users");
    assert!(evidence < threshold, "{evidence}");

    for number in 0..6_000_u64 {
        stream.ts += 2_000;
        let user = 10_000 + chance.below(40_000);
        let arm = usize::from(user % 2 == 1);
        let is_good = chance.below(10) < [7, 5][arm];
        stream.user(user, arm, is_good || number % 1_000 == 999);
    }
    let evidence = stream
        .sample("experiment_log_evidence")
        .expect("enough users");
    assert!(evidence >= threshold, "{evidence}");
    assert_eq!(
        stream.sample("experiment_evidence_threshold"),
        Some(threshold)
    );
    assert!(stream.difference().expect("enough users").interval[1] < 0.0);
}

#[test]
fn units_that_are_lost_in_one_arm_are_found() {
    let mut stream = Stream::new(experiment(Assignment::User));
    for user in 0..3_000_u64 {
        // A fifth of the users of V2 is lost.
        if user % 10 != 1 {
            stream.user(user, usize::from(user % 2 == 1), true);
        }
        stream.ts += 100;
    }
    let split = stream.sample("split_log_evidence").expect("units");
    assert!(split >= 1000.0_f64.ln(), "{split}");
}

#[test]
fn units_survive_a_restart() {
    let mut stream = Stream::new(experiment(Assignment::User));
    for user in 0..1_000 {
        stream.user(user, usize::from(user % 2 == 1), user % 3 == 0);
    }
    let before = (
        stream.difference(),
        sessions(&stream.world, &stream.engine.snapshot()),
    );
    assert!(before.0.is_some());
    assert!(
        before.1.iter().all(|it| (495..=500).contains(it)),
        "{before:?}"
    );
    let world = World::new(experiment(Assignment::User));
    let (engine, _) = restored(&world, &write(&stream.engine));
    (stream.world, stream.engine) = (world, engine);
    assert_eq!(stream.difference(), before.0);
    assign(&mut stream.engine, 0);
    for user in 0..1_000 {
        stream.user(user, usize::from(user % 2 == 1), user % 3 == 0);
    }
    assert_eq!(sessions(&stream.world, &stream.engine.snapshot()), before.1);
}

/// Over two steps of a ramp, an arm has more searches of the later hours.
#[test]
fn an_experiment_with_other_shares_begins_again() {
    let mut stream = Stream::new(experiment(Assignment::User));
    for user in 0..1_000 {
        stream.user(user, usize::from(user % 2 == 1), user % 3 == 0);
    }
    assert!(stream.difference().is_some());
    let mut next = experiment(Assignment::User);
    next.experiments[0].split = vec![("V1".into(), 0.9), ("V2".into(), 0.1)];
    let world = World::new(next);
    let (engine, _) = restored(&world, &write(&stream.engine));
    (stream.world, stream.engine) = (world, engine);
    assert_eq!(stream.difference(), None);
    assert_eq!(sessions(&stream.world, &stream.engine.snapshot()), [0, 0]);
}

#[test]
fn buckets_of_workers_add_and_their_split_evidence_is_averaged() {
    let mut settings = experiment(Assignment::User);
    settings.detection.workers = 2;
    let mut both = Stream::new(settings.clone());
    let mut workers = [Stream::new(settings.clone()), Stream::new(settings)];
    workers[1].world = workers[0].world.clone();
    workers[1].engine = workers[0].world.engine();
    assign(&mut workers[1].engine, 0);
    for user in 0..1_200_u64 {
        let arm = usize::from(user % 2 == 1 && user < 1_000);
        both.user(user, arm, user % 3 == 0);
        workers[usize::from(user % 4 >= 2)].user(user, arm, user % 3 == 0);
    }
    let alone = workers
        .each_ref()
        .map(|it| it.sample("split_log_evidence").expect("units"));
    let [mut merged, other] = workers.each_ref().map(|it| it.engine.snapshot());
    merged.merge(&other);
    let world = &workers[0].world;
    assert_eq!(difference(world, &merged), both.difference());
    let counted = sessions(world, &merged);
    let is_near = |(found, users): (&u64, u64)| found.abs_diff(users) <= 5;
    assert!(counted.iter().zip([700, 500]).all(is_near), "{counted:?}");
    let model = ReadModel::new(&merged, &world.settings, &world.registry);
    let split = model
        .split_evidence(&world.settings.experiments[0])
        .expect("units");
    // Each worker alone already counts 0 for the other one.
    let expected = (alone[0].exp() + alone[1].exp()).ln();
    assert!((split - expected).abs() < 1e-9, "{split}, not {expected}");
}
