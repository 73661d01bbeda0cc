//! Read model: answers by type about hand-made snapshots.

use std::sync::Arc;
use std::time::Duration;

use rankgauge_core::decode::Formats;
use rankgauge_core::engine::money::PriceTable;
use rankgauge_core::engine::partition::Resume;
use rankgauge_core::engine::position::Topics;
use rankgauge_core::engine::read_model::ReadModel;
use rankgauge_core::engine::settings::{
    Assignment, Detection, Experiment, JoinLimits, MonitoredMeasure, Objective, Quantity, Ranges,
    Rolling, Settings, WindowSpec,
};
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position, Registry, family};
use rankgauge_core::event::{Kind, Limits};
use rankgauge_core::gold::{self, GoldSet};
use rankgauge_core::measure::Measure;
use rankgauge_core::ranking::Rules;
use rankgauge_core::records;
use rankgauge_core::time::WallTime;

const START: i64 = 1_750_000_000_000;

const GOLD: &str = r#"{"version": "1", "queries": [
    {"query_id": "g", "query_text": "건폐율", "query_type": "question",
     "ground_truth": {"d1": 1, "d2": 1}}
]}"#;

/// Positions of the measures P@1, RR, CTR and ZeroResult.
const P_AT_1: usize = 0;
const RR: usize = 1;
const CTR: usize = 2;

fn settings() -> Settings {
    Settings {
        conversion_window: None,
        topics: Topics::default(),
        measures: Measure::parse_list("P@1 RR CTR ZeroResult").expect("known measures"),
        slices: vec!["query_type".into(), Experiment::SLICE.into()],
        version_labels: Vec::new(),
        labelling: None,
        judging: Rules::default(),
        windows: vec![WindowSpec {
            name: "1m".into(),
            length: Duration::from_mins(1),
        }],
        rolling: Rolling::All,
        ranges: Ranges::All,
        out_of_orderness: Duration::ZERO,
        feedback_window: Duration::from_secs(10),
        idle_timeout: Duration::from_secs(10),
        max_future_skew: Duration::from_mins(10),
        memory: 256 << 20,
        join_limits: JoinLimits {
            feedback_per_search: 10,
            searches_per_session: 10,
            interactions_per_session: 10,
        },
        latency_buckets: vec![0.1, 0.5],
        prices: PriceTable::default(),
        click_weights: Vec::new(),
        expected_clicks: Vec::new(),
        min_samples: 3,
        experiments: Vec::new(),
        detection: Detection::default(),
        objectives: Vec::new(),
        series_per_family: 1_000,
        values_per_label: 100,
        record_limits: Limits {
            record_bytes: 1 << 20,
            results_per_search: 100,
        },
    }
}

/// Engine with its settings and registry.
struct World {
    settings: Arc<Settings>,
    registry: Arc<Registry>,
    engine: Engine,
    offsets: [i64; 2],
}

impl World {
    fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        let registry = Arc::new(Engine::registry(&settings));
        Self::beside(settings, registry)
    }

    /// Another worker of the same process.
    fn beside(settings: Arc<Settings>, registry: Arc<Registry>) -> Self {
        let wall = WallTime(START);
        let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), wall);
        let gold = gold::parse("gold.json", GOLD.as_bytes(), &gold::Options::default());
        let gold: GoldSet = gold.expect("a valid gold set");
        engine.apply(Input::Gold(Arc::new(gold)));
        engine.apply(Input::Assigned {
            partition: 0,
            resume: Resume::default(),
        });
        Self {
            settings,
            registry,
            engine,
            offsets: [0; 2],
        }
    }

    fn next(&mut self, kind: Kind) -> Position {
        let offset = &mut self.offsets[kind.index()];
        *offset += 1;
        Position {
            partition: 0,
            offset: *offset,
        }
    }

    /// Reads a search with the id `id`, one second after the start, with further fields.
    fn search(&mut self, id: &str, variant: &str, documents: &[&str], fields: &str) {
        let at = self.next(Kind::Search);
        let results: Vec<String> = documents
            .iter()
            .map(|id| format!("{{\"id\": \"{id}\"}}"))
            .collect();
        let text = format!(
            "{{\"query_id\": \"{id}\", \"ts\": {}, \"query\": \"건폐율\", \"variant\": \"{variant}\", \
             \"results\": [{}] {fields}}}",
            START + 1_000,
            results.join(",")
        );
        self.read_search(at, &text);
    }

    fn read_search(&mut self, at: Position, text: &str) {
        let record = (Kind::Search, at, text.as_bytes());
        records::apply(&mut self.engine, &Formats::NATIVE, [record], |_, _, _| ());
    }

    fn click(&mut self, id: &str, document: &str) {
        let at = self.next(Kind::Feedback);
        let click = format!(
            "{{\"event_id\": \"{id} {document}\", \"ts\": {}, \"query_id\": \"{id}\", \
             \"object_id\": \"{document}\", \"type\": \"click\"}}",
            START + 2_000
        );
        let record = (Kind::Feedback, at, click.as_bytes());
        records::apply(&mut self.engine, &Formats::NATIVE, [record], |_, _, _| ());
    }

    /// Finalises all searches. They stay in the window, which ends with the idle topics.
    fn snapshot(&mut self) -> Snapshot {
        self.engine.drain();
        for seconds in [2, 30] {
            for kind in Kind::ALL {
                self.engine.apply(Input::Lag {
                    kind,
                    partition: 0,
                    records: 0,
                });
            }
            self.engine.apply(Input::Tick {
                wall: WallTime(START + seconds * 1_000),
                others: None,
            });
        }
        self.engine.snapshot()
    }

    fn read<'a>(&'a self, snapshot: &'a Snapshot) -> ReadModel<'a> {
        ReadModel::new(snapshot, &self.settings, &self.registry)
    }

    /// Number of exposed series of interleaved experiments.
    fn interleaved(&self, snapshot: &Snapshot) -> usize {
        let model = self.read(snapshot);
        model.counts(&family::INTERLEAVING_WINS).count()
    }

    /// Reads and finalises a search whose results are of two teams.
    fn interleave(&mut self, id: &str) {
        let at = self.next(Kind::Search);
        let text = format!(
            "{{\"query_id\": \"{id}\", \"ts\": {}, \"query\": \"-\", \
             \"results\": [{{\"id\": \"d1\", \"team\": \"A\"}}, {{\"id\": \"d2\", \"team\": \"B\"}}], \
             \"experiment\": {{\"id\": \"{id}\"}}}}",
            START + 1_000
        );
        self.read_search(at, &text);
        self.engine.drain();
    }
}

/// Two searches of V1 with the scores 1 and 0 in P@1, and one of V2 without results.
fn searched() -> World {
    let mut world = World::new(settings());
    world.search("a", "V1", &["d1"], ", \"latency_ms\": 80");
    world.search("b", "V1", &["x", "d1"], ", \"latency_ms\": 200");
    world.search("c", "V2", &[], ", \"error_type\": \"timeout\"");
    world
}

#[test]
fn scores_are_found_by_measure_variant_slice_and_window() {
    let mut world = searched();
    world.click("a", "d1");
    let snapshot = world.snapshot();
    let model = world.read(&snapshot);
    assert_eq!(model.measures(), ["P@1", "RR", "CTR", "ZeroResult"]);
    assert_eq!(model.measure("RR"), Some(RR));
    assert_eq!(model.measure("AP"), None);
    let variants: Vec<_> = model.variants().map(|it| it.variant).collect();
    assert_eq!(variants, ["V1", "V2"]);
    let whole = model
        .find("V1", Settings::ALL_SEARCHES, "")
        .expect("searches of V1");
    let slice = model.find("V1", "query_type", "question");
    for series in [whole, slice.expect("a slice of V1")] {
        assert_eq!(model.searches(series), 2);
        assert_eq!(model.mean(P_AT_1, series, 0), Some(0.5));
        assert_eq!(model.mean(RR, series, 0), Some(0.75));
        let tally = model.tally(P_AT_1, series).expect("scores since the start");
        assert_eq!((tally.count, tally.mean()), (2, Some(0.5)));
        assert_eq!(model.gold_coverage(series, 0), Some(1.0));
        assert_eq!(model.searches_per_second(series, 0), Some(2.0 / 60.0));
        assert_eq!(model.mean(P_AT_1, series, 1), None, "no second window");
    }
    assert_eq!(model.find("V1", "query_type", "keyword"), None);
    assert_eq!(model.find("V3", Settings::ALL_SEARCHES, ""), None);
}

#[test]
fn a_mean_of_user_behaviour_needs_enough_searches() {
    for (searches, mean) in [(2_u32, None), (3, Some(1.0 / 3.0))] {
        let mut world = World::new(settings());
        for number in 0..searches {
            world.search(&format!("s{number}"), "V1", &["d1"], "");
        }
        world.click("s0", "d1");
        let snapshot = world.snapshot();
        let model = world.read(&snapshot);
        let whole = model
            .find("V1", Settings::ALL_SEARCHES, "")
            .expect("searches of V1");
        assert_eq!(model.mean(CTR, whole, 0), mean);
        let cell = model
            .rolling(CTR, whole, 0)
            .expect("searches in the window");
        let expected = f64::from(searches).recip();
        assert_eq!((cell.count, cell.mean()), (searches.into(), Some(expected)));
    }
}

#[test]
fn an_empty_window_has_no_values() {
    let mut world = searched();
    let at = world.next(Kind::Search);
    let later = START + 3_600_000;
    world.engine.apply(Input::Tick {
        wall: WallTime(later),
        others: None,
    });
    let text =
        format!("{{\"query_id\": \"z\", \"ts\": {later}, \"query\": \"-\", \"results\": []}}");
    world.read_search(at, &text);
    let snapshot = world.snapshot();
    let model = world.read(&snapshot);
    let whole = model
        .find("V1", Settings::ALL_SEARCHES, "")
        .expect("searches of V1");
    assert_eq!(model.mean(P_AT_1, whole, 0), None);
    assert_eq!(model.searches_per_second(whole, 0), None);
    assert_eq!(model.gold_coverage(whole, 0), None);
    assert_eq!(model.searches(whole), 2);
}

#[test]
fn outcomes_and_pending_events_add_up_to_those_received() {
    let mut world = searched();
    world.click("a", "d1");
    world.click("unknown", "d1");
    let at = world.next(Kind::Search);
    world.read_search(at, "");
    let before = world.engine.snapshot();
    let after = world.snapshot();
    for (snapshot, pending) in [(&before, [3, 1]), (&after, [0, 0])] {
        let model = world.read(snapshot);
        assert_eq!(Kind::ALL.map(|kind| model.received(kind)), [4, 2]);
        assert_eq!(Kind::ALL.map(|kind| model.pending(kind)), pending);
        let invalid: u64 = model.invalid(Kind::Search).map(|(_, count)| count).sum();
        assert_eq!(invalid, 1);
        // Searches have their outcome at the end of their feedback window.
        assert_eq!(model.eligible_searches() + pending[0], 3);
    }
}

#[test]
fn errors_feedback_and_latencies_belong_to_their_variant() {
    let mut world = searched();
    world.click("a", "d1");
    let snapshot = world.snapshot();
    let model = world.read(&snapshot);
    let labels: Vec<_> = model.variants().map(|it| it.label).collect();
    let errors: Vec<u64> = labels.iter().map(|label| model.errors(*label)).collect();
    assert_eq!(errors, [0, 1]);
    let feedback: Vec<_> = model.feedback(labels[0]).collect();
    assert_eq!(feedback, [("click", 1)]);
    assert_eq!(model.feedback(labels[1]).count(), 0);
    let latencies: Vec<_> = model.latencies(0).collect();
    let of_searches = latencies.iter().filter(|it| it.is_whole());
    let maxima: Vec<_> = of_searches
        .filter_map(|it| Some((it.variant, it.seconds(1.0)?)))
        .collect();
    assert_eq!(maxima.len(), 1);
    assert_eq!(maxima[0].0, labels[0]);
    assert!((maxima[0].1 - 0.2).abs() < 0.002, "{}", maxima[0].1);
}

#[test]
fn failures_of_objectives_are_counted_by_variant() {
    let mut settings = settings();
    let objective = |quantity, target| Objective {
        name: "objective".into(),
        quantity,
        tiers: vec![("good".into(), target)],
    };
    let stage = "all".to_owned();
    settings.objectives = vec![
        objective(
            Quantity::LatencyQuantile {
                stage,
                quantile: 0.95,
            },
            0.1,
        ),
        objective(Quantity::ErrorRate, 0.01),
        objective(Quantity::ZeroResultRate, 0.01),
    ];
    let settings = Arc::new(settings);
    let mut world = searched();
    let snapshot = world.snapshot();
    let model = ReadModel::new(&snapshot, &settings, &world.registry);
    let of = |place: usize, variant: &str| {
        let failures = model.failures(&settings.objectives[place]);
        failures.get(variant).map(|it| (it.searches, it.failures))
    };
    assert_eq!([of(0, "V1"), of(0, "V2")], [Some((2, 1)), None]);
    assert_eq!([of(1, "V1"), of(1, "V2")], [Some((2, 0)), Some((1, 1))]);
    assert_eq!([of(2, "V1"), of(2, "V2")], [Some((2, 0)), Some((1, 1))]);
}

#[test]
fn arms_are_compared_with_their_control() {
    let mut settings = settings();
    settings.experiments = vec![Experiment {
        id: "e".into(),
        control: "V1".into(),
        assignment: Assignment::User,
        split: vec![("V1".into(), 0.5), ("V2".into(), 0.5)],
        guardrails: Vec::new(),
    }];
    settings.detection.alpha = 0.05;
    let mut world = World::new(settings);
    for number in 0..600 {
        let variant = ["V1", "V2"][number % 2];
        let document = ["d1", "x"][number % 2];
        let fields = format!(
            ", \"user_id\": \"u{number}\", \"experiment\": {{\"id\": \"e\", \"variant\": \"{variant}\"}}"
        );
        world.search(&format!("s{number}"), variant, &[document], &fields);
    }
    let snapshot = world.snapshot();
    let model = world.read(&snapshot);
    let experiment = &world.settings.experiments[0];
    let arms = model.arms(experiment);
    let facts: Vec<_> = arms
        .iter()
        .map(|arm| (arm.variant, arm.is_control))
        .collect();
    assert_eq!(facts, [("V1", true), ("V2", false)]);
    // Users whose hashes share a bit of the bitmap count once.
    let is_near = |sessions: u64| (295..=300).contains(&sessions);
    assert!(arms.iter().all(|arm| is_near(arm.sessions)), "{arms:?}");
    let searches = arms
        .iter()
        .map(|arm| arm.series.map(|it| model.searches(it)));
    assert_eq!(searches.collect::<Vec<_>>(), [Some(300), Some(300)]);
    assert!(model.split_evidence(experiment).is_some_and(|it| it < 0.0));
    assert_eq!(model.difference(P_AT_1, &arms[0], experiment), None);
    let found = model.difference(P_AT_1, &arms[1], experiment);
    let found = found.expect("300 users in each arm");
    assert!((found.estimate + 1.0).abs() < 1e-9, "{found:?}");
    assert!(found.interval[1] < 0.0, "{found:?}");
    let threshold = experiment.threshold(world.settings.detection.alpha);
    assert!(
        found.log_evidence_worse.is_some_and(|it| it > threshold),
        "{found:?}"
    );
    assert_eq!(found.factor_to_decide, None);
}

#[test]
fn a_missed_target_is_an_alarm_of_its_series() {
    let mut settings = settings();
    settings.detection = Detection {
        measures: vec![MonitoredMeasure {
            index: P_AT_1,
            target: Some(0.9),
            is_lower_better: false,
            is_user_measure: false,
            is_seasonal: false,
        }],
        tolerance: 0.05,
        alpha: 0.05,
        target_threshold: 3.0,
        drop_threshold: 5.0,
        warm_up_tolerance: 0.05,
        local: true,
        workers: 1,
        replicas: 1,
        ..Detection::default()
    };
    let mut world = World::new(settings);
    for number in 0..400_i64 {
        let ts = START + number * 60_000;
        let at = world.next(Kind::Search);
        let text = format!(
            "{{\"query_id\": \"s{number}\", \"ts\": {ts}, \"query\": \"건폐율\", \
             \"variant\": \"V1\", \"results\": [{{\"id\": \"x\"}}]}}"
        );
        world.engine.apply(Input::Tick {
            wall: WallTime(ts),
            others: None,
        });
        world.read_search(at, &text);
    }
    let snapshot = world.engine.snapshot();
    let model = world.read(&snapshot);
    let series = model
        .find("V1", Settings::ALL_SEARCHES, "")
        .expect("searches of V1");
    let watched = model.watched_series(P_AT_1, series).expect("is watched");
    assert_eq!(model.watched(), std::slice::from_ref(&watched));
    assert_eq!(watched.has_alarm[0], Some(true));
    assert!(watched.bounds.is_some_and(|[_, upper]| upper < 0.9));
    assert_eq!(model.watched_series(RR, series), None);
    let variant = model.names(series).expect("a known series").label;
    assert!(model.baseline(P_AT_1, variant).is_some());
    assert!(model.baseline(RR, variant).is_none());
}

#[test]
fn a_series_named_after_the_snapshot_is_not_exposed_at_zero() {
    let mut first = World::new(settings());
    first.interleave("one");
    let mut other = World::beside(Arc::clone(&first.settings), Arc::clone(&first.registry));
    let (before, state) = (first.engine.snapshot(), first.engine.state());
    // Another worker names series that are in no state of the first.
    other.interleave("two");
    let shown = first.interleaved(&before);
    assert_eq!(shown, 3, "two teams and their ties");
    let mut merged = Snapshot::default();
    merged.merge(&before);
    assert_eq!(first.interleaved(&merged), shown);
    // After a kill, the same series are shown as before.
    let mut restarted = World::new(settings());
    restarted.engine.restore(&state);
    let restored = restarted.engine.snapshot();
    assert_eq!(restarted.interleaved(&restored), shown);
    merged.merge(&other.engine.snapshot());
    assert_eq!(first.interleaved(&merged), 2 * shown);
}

#[test]
fn a_counter_with_fixed_labels_is_exposed_before_the_first_snapshot() {
    let world = World::new(settings());
    let empty = Snapshot::default();
    let model = world.read(&empty);
    let counts: Vec<_> = model.counts(&family::FINALISED_EARLY).collect();
    assert_eq!(counts.len(), 1);
    assert_eq!(model.counts(&family::CLICKS).count(), 0);
    assert_eq!(model.finalised_early(), 0);
}
