//! Scenarios of the demo in event time: each alarm and each non-alarm, with the demo's own traffic and
//! configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rankgauge::config;
use rankgauge::demo::setting::{Library, Scenario};
use rankgauge::demo::{self, DemoOptions};
use rankgauge_core::decode::Formats;
use rankgauge_core::detection::DropClass;
use rankgauge_core::engine::evidence::Test;
use rankgauge_core::engine::family;
use rankgauge_core::engine::incidents::{EndReason, Incident};
use rankgauge_core::engine::series::Dimension;
use rankgauge_core::engine::snapshot::Snapshot;
use rankgauge_core::engine::{Engine, Input, Position};
use rankgauge_core::gold;
use rankgauge_core::measure::Subject;
use rankgauge_core::records;
use rankgauge_core::time::{EventTime, Millis, WallTime};
use rankgauge_serve::collect::Names;

use crate::harness::command::{json, rankgauge};

/// Event time of the start, on the border of a pane, and the length of the history.
const START: EventTime = EventTime(1_763_337_600_000);
const HISTORY: i64 = 120;

/// Searches per second of all systems.
const RATE: u32 = 50;

/// Results of a played demo.
struct Played {
    /// System and measure of each drop alarm.
    alarms: BTreeSet<(String, String)>,
    names: Names,
    snapshot: Snapshot,
}

impl Played {
    fn incidents(&self) -> Vec<&Incident> {
        self.snapshot.totals.evidence.incidents().collect()
    }

    /// Means of a measure since the start, by system.
    fn means(&self, measure: &str) -> BTreeMap<String, f64> {
        let model = self.names.read(&self.snapshot);
        let measure = model.measure(measure).expect("a measure of the profile");
        let means = model.variants().filter_map(|it| {
            let mean = model.tally(measure, it.series)?.mean()?;
            Some((it.variant.to_owned(), mean))
        });
        means.collect()
    }

    fn assert_alarms(&self, expected: &[(&str, &str)]) {
        let alarms = self.alarms.iter();
        let alarms: Vec<(&str, &str)> = alarms
            .map(|(system, measure)| (&**system, &**measure))
            .collect();
        assert_eq!(alarms, expected);
    }

    fn only_incident(&self) -> &Incident {
        let incidents = self.incidents();
        assert_eq!(incidents.len(), 1, "{incidents:#?}");
        incidents[0]
    }
}

/// Plays a scenario for some minutes after its history. The change begins after the first one.
fn play(library: Library, scenario: Scenario, minutes: u64) -> Played {
    let options = DemoOptions {
        rate: RATE,
        regress_after: Some(Duration::from_mins(1)),
        ..DemoOptions::new(library, scenario)
    };
    let names = demo::files(library).iter().map(|(name, _)| *name);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("config");
    let files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    let config = config::load(&files, std::iter::empty(), &[]).expect("the demo's configuration");
    let settings = Arc::new(config.engine);
    let registry = Arc::new(Engine::registry(&settings));
    let (traffic, gold, deployments) = demo::played(&options, START);
    let start = WallTime(START.0);
    let mut engine = Engine::new(Arc::clone(&settings), Arc::clone(&registry), start);
    let gold = gold::parse("gold.json", gold.as_bytes(), &gold::Options::default());
    engine.apply(Input::Gold(Arc::new(gold.expect("a gold set"))));
    let end = START
        .plus(Millis(HISTORY * 1_000))
        .plus(Duration::from_mins(minutes).into());
    let mut deployments = deployments.into_iter().peekable();
    let (mut offsets, mut alarms, mut second) = ([0; 2], BTreeSet::new(), 0);
    for record in traffic.take_while(|record| record.ts < end) {
        if let Some((at, version)) = deployments.next_if(|(at, _)| *at <= record.ts) {
            engine.apply(Input::Deployed {
                variant: library.changing(),
                version: Some(version),
                at,
                reset: Some(rankgauge_core::time::WallTime(at.0)),
            });
        }
        let offset = offsets[record.kind.index()];
        offsets[record.kind.index()] += 1;
        let at = Position {
            partition: 0,
            offset,
        };
        let payload = (record.kind, at, &*record.payload);
        let rejected = records::apply(&mut engine, &Formats::NATIVE, [payload], |_, _, _| ());
        assert_eq!(rejected, []);
        if record.ts.0 / 1_000 == second {
            continue;
        }
        second = record.ts.0 / 1_000;
        let wall = WallTime(record.ts.0);
        engine.apply(Input::Tick { wall, others: None });
        for alarm in engine.take_effects().alarms {
            let [variant, ..] = registry.series_labels(&family::SCORE)[alarm.series.index()];
            let variant = registry.values(Dimension::Variant)[variant.index()].to_string();
            let measure = settings.measures[alarm.measure].to_string();
            if alarm.test == Test::Drop {
                alarms.insert((variant, measure));
            }
        }
    }
    let snapshot = engine.snapshot();
    Played {
        alarms,
        names: Names {
            settings,
            registry,
            topics: vec!["search.log".into(), "feedback.log".into()],
        },
        snapshot,
    }
}

/// Wrong citations in the shop, whose ranking is healthy. Two tests compare with it.
static SHOP_ANSWERS: LazyLock<Played> = LazyLock::new(|| play(Library::Shop, Scenario::Answers, 4));

#[test]
fn drop_of_the_shop_is_one_incident_that_ends_with_its_repair_within_ten_minutes() {
    let played = play(Library::Shop, Scenario::Drop, 8);
    played.assert_alarms(&[("rerank", "nDCG@10")]);
    let incident = played.only_incident();
    assert_eq!(incident.subject(), Subject::Ranking);
    assert_eq!(incident.class, DropClass::Worse);
    let ended = incident.ended.as_ref().expect("an end");
    assert_eq!(ended.by, EndReason::Recovered);
    assert_eq!(ended.after.as_deref(), Some("2.4.2"));
    let means = played.means("nDCG@10");
    assert!(means["keyword"] + 0.05 < means["hybrid"], "{means:?}");
}

#[test]
fn drop_of_the_law_library_is_one_incident_of_documents_without_judgements() {
    let played = play(Library::Law, Scenario::Drop, 8);
    let systems: BTreeSet<&str> = played.alarms.iter().map(|(system, _)| &**system).collect();
    assert_eq!(systems, BTreeSet::from(["V5"]));
    assert_eq!(played.only_incident().class, DropClass::MoreUnjudged);
}

#[test]
fn outage_is_an_incident_on_every_system_that_ends_with_it() {
    let played = play(Library::Shop, Scenario::Outage, 6);
    let ranked: BTreeSet<&str> = played.alarms.iter().map(|(system, _)| &**system).collect();
    assert_eq!(ranked.len(), 3, "{ranked:?}");
    let incidents = played.incidents();
    assert_eq!(incidents.len(), 3);
    for incident in incidents {
        let ended = incident.ended.as_ref().expect("an end");
        assert_eq!(ended.by, EndReason::Recovered);
        assert_eq!(ended.after, None);
    }
}

#[test]
fn arm_that_was_always_worse_raises_no_alarm() {
    let played = play(Library::Shop, Scenario::Experiment, 4);
    played.assert_alarms(&[]);
    let means = played.means("nDCG@10");
    assert!(means["rerank"] + 0.06 < means["hybrid"], "{means:?}");
}

#[test]
fn new_products_are_a_warning_about_judgements() {
    let played = play(Library::Shop, Scenario::Unjudged, 5);
    played.assert_alarms(&[("rerank", "nDCG@10")]);
    let incident = played.only_incident();
    assert_eq!(incident.class, DropClass::MoreUnjudged);
    assert_eq!(incident.severity().name(), "warning");
}

#[test]
fn bot_moves_a_mean_and_raises_no_alarm() {
    let [shop, law] = [Library::Shop, Library::Law].map(|it| play(it, Scenario::Bots, 4));
    for played in [&shop, &law] {
        played.assert_alarms(&[]);
        assert_eq!(played.incidents().len(), 0);
    }
    let [bots, healthy] = [&shop, &*SHOP_ANSWERS].map(|it| it.means("nDCG@10")["rerank"]);
    assert!(bots + 0.03 < healthy, "{bots} with bots, {healthy} without");
}

#[test]
fn wrong_citations_are_an_incident_of_answers_while_the_ranking_is_healthy() {
    let law = play(Library::Law, Scenario::Answers, 4);
    for (library, played) in [(Library::Shop, &*SHOP_ANSWERS), (Library::Law, &law)] {
        let system = library.changing();
        played.assert_alarms(&[(system, "CitationF1")]);
        let incident = played.only_incident();
        assert_eq!(&*incident.variant, system);
        assert_eq!(incident.subject(), Subject::Answer);
        assert_eq!(incident.severity().name(), "critical");
    }
}

/// The command itself, with its broker, its sidecar and its clock: a minute and a half.
#[test]
fn the_command_names_an_incident_of_answers_in_the_law_library() {
    let demo = "demo --library law --scenario answers --regress-after 5s --for 80s --format json --set \
                metrics.listen=127.0.0.1:0 --set admin.listen=127.0.0.1:0";
    let summary = json(&rankgauge(Path::new("."), demo));
    let incidents = summary["incidents"].as_array().expect("incidents");
    assert_eq!(incidents.len(), 1, "{incidents:?}");
    for (member, value) in [
        ("variant", "V5"),
        ("measure", "CitationF1"),
        ("subject", "answer"),
        ("class", "worse"),
    ] {
        assert_eq!(incidents[0][member], value, "{incidents:?}");
    }
    let ranking = |name: &str| summary["variants"][name]["means"]["nDCG@10"].as_f64();
    assert!(ranking("V5") > Some(0.8), "{summary}");
    // Citations before the change are in the mean, too.
    let citations = |name: &str| summary["variants"][name]["means"]["CitationF1"].as_f64();
    assert!(citations("V5") < citations("V4"), "{summary}");
}
