//! Regression of the demo with its own configuration: the drop of V5 is detected soon, without
//! other alarms.

use std::path::PathBuf;
use std::sync::Arc;

use rankgauge::config::{self, Config};
use rankgauge_core::decode::Formats;
use rankgauge_core::engine::evidence::{Alarm, Test};
use rankgauge_core::engine::incidents::EndReason;
use rankgauge_core::engine::series::Dimension;
use rankgauge_core::engine::settings::{Rolling, Settings};
use rankgauge_core::engine::{Engine, Input, Position, Registry, family};
use rankgauge_core::event::Kind;
use rankgauge_core::gold;
use rankgauge_core::records;
use rankgauge_core::time::{EventTime, Millis, WallTime};
use rankgauge_lab::corpus::Corpus;
use rankgauge_lab::traffic::{Traffic, TrafficSettings};
use rankgauge_serve::collect::{Names, collect};
use rankgauge_serve::text::Text;
use serde_json::{Value, json};

/// Number of searches of all variants within which the drop of V5 must be detected after its start:
/// 90 seconds, because a query counts once a minute.
const SOON: u64 = 9_000;
const PER_SECOND: f64 = 100.0;

fn demo() -> Config {
    let files = ["law-search.yaml", "demo.yaml"].map(|name| {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("config")
            .join(name)
    });
    config::load(&files, std::iter::empty(), &[]).expect("the demo's configuration")
}

/// Detected regression: variant, measure, alarm, and number of searches until then.
type Evident = (String, String, Alarm, u64);

/// Processes `searches` searches of the traffic of the demo. Returns the regressions and the engine
/// with its registry.
fn play(
    seed: u64,
    searches: u64,
    regress_after: Option<Millis>,
) -> (Vec<Evident>, Engine, Arc<Registry>) {
    play_with(seed, searches, Story::dropped(regress_after), |_, _| {
        Vec::new()
    })
}

/// Changes of V5, in times after the start of the traffic.
#[derive(Clone, Copy, Default)]
struct Story {
    dropped: Option<Millis>,
    repaired: Option<Millis>,
    /// A deployment that changes nothing.
    deployed: Option<Millis>,
}

impl Story {
    fn dropped(dropped: Option<Millis>) -> Self {
        Self {
            dropped,
            ..Self::default()
        }
    }
}

/// The same with further searches after each one: those that `beside` returns for its number and payload.
fn play_with(
    seed: u64,
    searches: u64,
    story: Story,
    beside: impl Fn(u64, &[u8]) -> Vec<Vec<u8>>,
) -> (Vec<Evident>, Engine, Arc<Registry>) {
    let config = demo();
    let corpus = Arc::new(Corpus::generate(seed, 200));
    let settings = Arc::new(config.engine);
    let registry = Arc::new(Engine::registry(&settings));
    let traffic = TrafficSettings {
        seed,
        searches_per_second: PER_SECOND,
        regress_after: story.dropped,
        repair_after: story.repaired,
        ..TrafficSettings::default()
    };
    let start = WallTime(traffic.start.0);
    let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), start);
    let json = corpus.gold_json();
    let gold = gold::parse("gold.json", json.as_bytes(), &gold::Options::default());
    engine.apply(Input::Gold(Arc::new(gold.expect("a gold set"))));
    let (mut offsets, mut evident, mut second) = ([0; 2], Vec::new(), 0);
    let mut played = 0;
    let mut deployed = story.deployed.map(|after| traffic.start.plus(after));
    for record in Traffic::new(corpus, traffic) {
        let kind = record.kind;
        if kind == Kind::Search && played == searches {
            break;
        }
        if let Some(at) = deployed.take_if(|at| record.ts >= *at) {
            engine.apply(Input::Deployed {
                variant: "V5",
                version: Some("5.1"),
                at,
                reset: Some(WallTime(at.0)),
            });
        }
        let mut payloads = vec![record.payload.clone()];
        if kind == Kind::Search {
            payloads.extend(beside(played, &record.payload));
            played += 1;
        }
        for payload in payloads {
            let offset = &mut offsets[kind.index()];
            let at = Position {
                partition: 0,
                offset: *offset,
            };
            *offset += 1;
            let payload = (kind, at, &*payload);
            let rejected = records::apply(&mut engine, &Formats::NATIVE, [payload], |_, _, _| ());
            assert_eq!(rejected, []);
        }
        if record.ts.0 / 1_000 != second {
            second = record.ts.0 / 1_000;
            let wall = WallTime(record.ts.0);
            engine.apply(Input::Tick { wall, others: None });
        }
        for alarm in engine.take_effects().alarms {
            let [variant, ..] = registry.series_labels(&family::SCORE)[alarm.series.index()];
            let variants = registry.values(Dimension::Variant);
            let variant = variants[variant.index()].to_string();
            let measure = settings.measures[alarm.measure].to_string();
            evident.push((variant, measure, alarm, played));
        }
    }
    evident.retain(|(_, _, alarm, _)| alarm.test == Test::Drop);
    (evident, engine, registry)
}

/// Regressions that the traffic of the demo shows.
fn watch(seed: u64, searches: u64, regress_after: Option<Millis>) -> Vec<Evident> {
    play(seed, searches, regress_after).0
}

#[test]
fn drop_of_v5_is_detected_and_explained_without_other_alarms() {
    for seed in 1..=3 {
        let after = Millis(60_000);
        let evident = watch(seed, 16_000, Some(after));
        let strangers = evident.iter().filter(|(variant, ..)| variant != "V5");
        assert_eq!(strangers.count(), 0, "seed {seed}: {evident:#?}");
        let ndcg = evident.iter().find(|(_, measure, ..)| measure == "nDCG@10");
        let (_, _, alarm, seen) = ndcg.unwrap_or_else(|| panic!("seed {seed}: not found"));
        let before = 6_000;
        assert!(*seen < before + SOON, "seed {seed}: after {seen}");
        assert_eq!(alarm.worst_regressions.len(), 5, "seed {seed}: {alarm:?}");
        assert!(alarm.recent < alarm.expected, "seed {seed}: {alarm:?}");
    }
}

/// Longest distance of the estimated beginning of the demo's drop.
const NEAR: Millis = Millis(20_000);

#[test]
fn the_drop_of_v5_is_one_incident_that_ends_when_it_is_repaired() {
    for seed in 1..=3 {
        let (dropped, repaired) = (Millis(180_000), Millis(300_000));
        let story = Story {
            dropped: Some(dropped),
            repaired: Some(repaired),
            deployed: None,
        };
        // Six minutes of 100 searches a second after the repair.
        let (_, engine, _) = play_with(seed, 66_000, story, |_, _| Vec::new());
        let snapshot = engine.snapshot();
        let incidents: Vec<_> = snapshot.totals.evidence.incidents().collect();
        let [incident] = incidents.as_slice() else {
            panic!("seed {seed}: {incidents:#?}");
        };
        let start = TrafficSettings::default().start;
        let (began, true_beginning) = (EventTime(incident.started.at), start.plus(dropped));
        let distance = began.since(true_beginning).0.abs();
        assert!(distance <= NEAR.0, "seed {seed}: {distance} ms");
        let measures: Vec<_> = incident.measures.iter().map(|it| &*it.measure).collect();
        assert!(measures.contains(&"nDCG@10"), "seed {seed}: {measures:?}");
        let ended = incident.ended.as_ref();
        let ended = ended.unwrap_or_else(|| panic!("seed {seed}: open: {incident:#?}"));
        assert_eq!(ended.by, EndReason::Recovered, "seed {seed}");
        let distance = ended.at.since(start.plus(repaired)).0;
        assert!(distance.abs() <= 120_000, "seed {seed}: {distance} ms");
    }
}

#[test]
fn a_deployment_that_repairs_nothing_leaves_the_incident_of_v5_open() {
    let story = Story {
        dropped: Some(Millis(180_000)),
        repaired: None,
        deployed: Some(Millis(300_000)),
    };
    let (_, engine, _) = play_with(1, 60_000, story, |_, _| Vec::new());
    let snapshot = engine.snapshot();
    let incidents: Vec<_> = snapshot.totals.evidence.incidents().collect();
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    let incident = incidents[0];
    assert_eq!(incident.ended, None);
    let mark = &incident.deployments[0];
    assert_eq!(mark.deployed.version.as_deref(), Some("5.1"));
    assert_eq!(incident.continues_after(mark), Some(true));
}

#[test]
fn unchanged_traffic_raises_no_alarm() {
    // The next test has a sixth stream.
    for seed in 1..=5 {
        let evident = watch(seed, 30_000, None);
        assert!(evident.is_empty(), "seed {seed}: {evident:#?}");
    }
}

/// Second page or filtered list of a search, in the same session, with results that no query wants.
fn other_list(payload: &[u8], name: &str) -> Vec<u8> {
    let mut search: Value = serde_json::from_slice(payload).expect("a JSON event");
    let id = search["query_id"].as_str().expect("an id").to_owned();
    search["query_id"] = json!(format!("{id}-{name}"));
    search["results"] = json!([{"id": "nowhere-1"}, {"id": "nowhere-2"}]);
    match name {
        "page" => search["page"] = json!(2),
        _ => search["filters"] = json!({"law_type": ["시행령"]}),
    }
    search.to_string().into_bytes()
}

/// Lines of the exposition about scores, baselines and evidence.
fn judged(engine: &Engine, registry: &Arc<Registry>) -> Vec<String> {
    let names = Names {
        settings: Arc::new(demo().engine),
        registry: Arc::clone(registry),
        topics: demo().kafka.names(),
    };
    let mut sink = Text::with_capacity(1 << 20);
    collect(&engine.snapshot(), &names, WallTime(0), &mut sink);
    let families = [
        "score",
        "baseline_",
        "drop_",
        "target_",
        "incident",
        "gold_coverage",
    ];
    let is_judged = |line: &&str| {
        let name = line.strip_prefix("rankgauge_").unwrap_or_default();
        families.iter().any(|family| name.starts_with(family))
    };
    let text = sink.into_string();
    text.lines().filter(is_judged).map(str::to_owned).collect()
}

#[test]
fn further_pages_and_filtered_lists_change_no_score_and_raise_nothing() {
    const SEARCHES: u64 = 30_000;
    // Every fourth search has a second page, and three of ten are filtered afterwards.
    let shares = |number: u64, page: u64, filtered: u64, payload: &[u8]| {
        let mut lists = Vec::new();
        if number % 100 < page {
            lists.push(other_list(payload, "page"));
        }
        if number % 97 < filtered {
            lists.push(other_list(payload, "filtered"));
        }
        lists
    };
    let (evident, engine, registry) = play(7, SEARCHES, None);
    assert!(evident.is_empty(), "{evident:#?}");
    let expected = judged(&engine, &registry);
    let evidence = expected.iter().filter(|it| it.contains("log_evidence"));
    assert!(evidence.count() > 4, "evidence is exposed");
    let constant = |number: u64, payload: &[u8]| shares(number, 25, 29, payload);
    // The share rises from 1 in 100 to 9 in 10.
    let shifted = |number: u64, payload: &[u8]| {
        let page = if number < SEARCHES / 2 { 1 } else { 90 };
        shares(number, page, 0, payload)
    };
    let played = [
        play_with(7, SEARCHES, Story::default(), constant),
        play_with(7, SEARCHES, Story::default(), shifted),
    ];
    for (evident, engine, registry) in played {
        assert!(evident.is_empty(), "{evident:#?}");
        let snapshot = engine.snapshot();
        let outcomes = snapshot.totals.events.outcomes(Kind::Search);
        let left_out = outcomes.iter().find(|(name, _)| *name == "not_eligible");
        assert!(left_out.is_some_and(|(_, number)| *number > SEARCHES / 4));
        let found = judged(&engine, &registry);
        let different = found.iter().zip(&expected).find(|(found, it)| found != it);
        assert_eq!(different, None);
        assert_eq!(found.len(), expected.len());
    }
}

/// Series and bytes of a scrape of the demo before rolling scores of slices were switched off by
/// default.
const SERIES_BEFORE: usize = 37_486;
const BYTES_BEFORE: usize = 4_200_000;

#[test]
fn exposition_of_the_demo_is_at_most_half_of_that_with_rolling_scores_of_slices() {
    let config = demo();
    let (_, engine, registry) = play(1, 15_000, Some(Millis(60_000)));
    let snapshot = engine.snapshot();
    let exposition = |rolling| {
        let names = Names {
            settings: Arc::new(Settings {
                rolling,
                ..config.engine.clone()
            }),
            registry: Arc::clone(&registry),
            topics: ["search.log", "search.feedback"]
                .map(str::to_owned)
                .to_vec(),
        };
        let mut sink = Text::with_capacity(1 << 20);
        collect(&snapshot, &names, WallTime(0), &mut sink);
        let text = sink.into_string();
        let series = text.lines().filter(|line| !line.starts_with('#')).count();
        (series, text.len())
    };
    let (series, bytes) = exposition(config.engine.rolling);
    assert!(series <= SERIES_BEFORE / 2, "{series} series");
    assert!(bytes <= BYTES_BEFORE / 2, "{bytes} bytes");
    let (all, _) = exposition(Rolling::All);
    assert!(all > SERIES_BEFORE * 9 / 10, "{all} series with all");
    let (none, _) = exposition(Rolling::None);
    assert!(
        none < series,
        "{none} series with none, {series} with whole"
    );
}
