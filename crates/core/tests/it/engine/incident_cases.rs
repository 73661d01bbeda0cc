//! Golden cases of incidents: whole runs, and the incidents at their end.
//!
//! A case is a file of `crates/core/tests/data/incidents`: a sentence about it, the variants, the steps of the run, and
//! the incidents that are expected. A new file is a new case. `UPDATE=1` writes the expected incidents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankgauge_core::engine::incidents::{EndReason, Incident, Level};
use rankgauge_core::engine::settings::{MonitoredMeasure, Settings};
use rankgauge_core::engine::{Engine, Input};
use rankgauge_core::gold;
use rankgauge_core::time::{EventTime, WallTime};
use serde::{Deserialize, Serialize};

use super::evidence::STEP;
use super::incidents::quiet;
use super::{GOLD, START, World, assign, read_search, tick};

/// One run, and the incidents at its end.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Case {
    about: String,
    variants: Vec<String>,
    steps: Vec<Step>,
    expected: Vec<Expected>,
}

/// Step of a run.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Step {
    /// A number of rounds, in which each variant that is not silent is searched once. Those that are
    /// broken serve worse results.
    Rounds {
        number: usize,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        broken: BTreeMap<String, Fault>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        silent: BTreeSet<String>,
        /// Seconds between two rounds; 30 without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<i64>,
    },
    /// A reported deployment of a variant.
    Deployment { variant: String, version: String },
    /// A reset of all baselines.
    Reset,
    /// A gold set of this version, which judges one more document of each query as not relevant.
    Gold { version: String },
}

/// Fault of a broken variant.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Fault {
    /// Another document is first.
    Reordered,
    /// All relevant documents but the first are missing.
    Cut,
    /// No relevant document is found.
    Nothing,
}

/// Incident at the end of a run. Means have three decimals; times are seconds since the beginning.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    variant: String,
    /// Measures, the primary one first.
    measures: Vec<String>,
    /// Lower bound, estimate and upper bound of the beginning.
    began: [i64; 3],
    /// Mean of the primary measure before the beginning, and its loss at the alarm and at the end.
    before: Option<String>,
    at_alarm: Option<String>,
    now: Option<String>,
    class: String,
    severity: String,
    /// Deployments with the state after them.
    deployments: Vec<String>,
    ended: Option<Ended>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Ended {
    at: i64,
    by: String,
    after: Option<String>,
}

fn seconds(ts: i64) -> i64 {
    (ts - START).div_euclid(1_000)
}

fn mean(level: Option<Level>) -> Option<String> {
    level.map(|it| format!("{:.3}", it.mean))
}

impl Expected {
    fn of(it: &Incident) -> Self {
        let primary = &it.measures[0];
        let measures = it.measures.iter().map(|it| match &*it.value {
            "" => it.measure.to_string(),
            value => format!("{} ({}={value})", it.measure, it.slice),
        });
        let deployments = it.deployments.iter().map(|mark| {
            let version = mark.deployed.version.as_deref().unwrap_or_default();
            let state = match (mark.is_during, it.continues_after(mark)) {
                (false, _) => "before",
                (true, None) => "testing",
                (true, Some(true)) => "continues",
                (true, Some(false)) => "improved",
            };
            format!("{version}: {state}")
        });
        let began = [it.started.lower, it.started.at, it.started.upper];
        Self {
            variant: it.variant.to_string(),
            measures: measures.collect(),
            began: began.map(seconds),
            before: mean(primary.before()),
            at_alarm: mean(primary.loss_at_alarm()),
            now: mean(it.loss_now(primary)),
            class: it.class.name().to_owned(),
            severity: it.severity().name().to_owned(),
            deployments: deployments.collect(),
            ended: it.ended.as_ref().map(|it| Ended {
                at: seconds(it.at.0),
                by: it.by.name().to_owned(),
                after: it.after.as_deref().map(str::to_owned),
            }),
        }
    }
}

/// P@1, R@5 and RR are watched, of all searches.
fn watched() -> Settings {
    let mut settings = quiet();
    let first = settings.detection.measures[0].clone();
    let others = [1, 3].map(|index| MonitoredMeasure {
        index,
        ..first.clone()
    });
    settings.detection.measures.extend(others);
    settings.detection.slices = Vec::new();
    settings
}

/// Documents of a search. Each system fails in one of five searches of a query.
fn results(number: usize, fault: Option<Fault>) -> Vec<&'static str> {
    let relevant = if number.is_multiple_of(2) {
        ["d0", "d1", "d2"]
    } else {
        ["d3", "d1", "d4"]
    };
    if number % 10 == 9 || number % 10 == 4 {
        return vec!["d6"];
    }
    match fault {
        None => relevant.to_vec(),
        Some(Fault::Reordered) => [&["d6"], relevant.as_slice()].concat(),
        Some(Fault::Cut) => relevant[..1].to_vec(),
        Some(Fault::Nothing) => vec!["d6"],
    }
}

/// State of a run.
struct Run {
    engine: Engine,
    rounds: usize,
    now: i64,
    offset: i64,
}

impl Run {
    fn new() -> Self {
        let mut engine = World::new(watched()).engine();
        assign(&mut engine, 0);
        Self {
            engine,
            rounds: 0,
            now: START,
            offset: 0,
        }
    }

    fn step(&mut self, variants: &[String], step: &Step) {
        let reported = WallTime(self.now);
        match step {
            Step::Rounds {
                number,
                broken,
                silent,
                seconds,
            } => {
                let pause = seconds.map_or(STEP, |seconds| seconds * 1_000);
                for _ in 0..*number {
                    tick(&mut self.engine, self.now);
                    for variant in variants.iter().filter(|it| !silent.contains(*it)) {
                        self.search(variant, broken.get(variant).copied());
                    }
                    self.rounds += 1;
                    self.now += pause;
                }
            }
            Step::Deployment { variant, version } => self.engine.apply(Input::Deployed {
                variant,
                version: Some(version),
                at: EventTime(self.now),
                reset: Some(reported),
            }),
            Step::Reset => self.engine.apply(Input::ResetBaselines { reported }),
            Step::Gold { version } => {
                let judged = format!("\"ground_truth\": {{\"new-{version}\": 0, ");
                let gold = GOLD.replace("\"ground_truth\": {", &judged);
                let gold = gold::parse("gold.json", gold.as_bytes(), &gold::Options::default());
                let gold = gold.expect("a gold set");
                self.engine.apply(Input::Gold(Arc::new(gold)));
            }
        }
    }

    fn search(&mut self, variant: &str, fault: Option<Fault>) {
        let ids = results(self.rounds, fault).into_iter();
        let ids: Vec<String> = ids.map(|id| format!(r#"{{"id": "{id}"}}"#)).collect();
        let (offset, ts) = (self.offset, self.now);
        let payload = format!(
            r#"{{"query_id": "q{offset}", "ts": {ts}, "query_key": "g{}", "variant": "{variant}",
                "session_id": "s{offset}", "results": [{}]}}"#,
            self.rounds % 2,
            ids.join(", ")
        );
        read_search(&mut self.engine, 0, offset, &payload);
        self.offset += 1;
    }
}

/// Incidents after a run, by variant, and in the order of their beginnings.
fn found(case: &Case) -> Vec<Expected> {
    let mut run = Run::new();
    for step in &case.steps {
        run.step(&case.variants, step);
    }
    tick(&mut run.engine, run.now);
    let snapshot = run.engine.snapshot();
    let mut found: Vec<Expected> = (snapshot.totals.evidence.incidents())
        .map(Expected::of)
        .collect();
    found.sort_by(|one, other| {
        let key = |it: &Expected| (it.variant.clone(), it.began[1]);
        key(one).cmp(&key(other))
    });
    found
}

fn cases() -> BTreeMap<PathBuf, Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/incidents");
    let files = fs::read_dir(folder).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a file");
        let case = serde_json::from_str(&text);
        let case = case.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, case)
    };
    files.map(read).collect()
}

#[test]
fn every_run_has_its_expected_incidents() {
    let mut failures = Vec::new();
    for (path, mut case) in cases() {
        let found = found(&case);
        if found == case.expected {
            continue;
        }
        if std::env::var_os("UPDATE").is_some() {
            case.expected = found;
            let text = serde_json::to_string_pretty(&case).expect("JSON");
            fs::write(&path, text + "\n").expect("the file can be written");
            continue;
        }
        let name = path.file_name().unwrap_or_default().display().to_string();
        let [found, expected] =
            [&found, &case.expected].map(|it| serde_json::to_string_pretty(it).expect("JSON"));
        failures.push(format!("{name}: found {found}\nexpected {expected}"));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn the_cases_cover_every_end_and_every_state_after_a_deployment() {
    let cases = cases();
    let incidents = || cases.values().flat_map(|it| &it.expected);
    for reason in EndReason::ALL {
        let name = reason.name();
        let is_covered = incidents().any(|it| it.ended.as_ref().is_some_and(|it| it.by == name));
        assert!(is_covered, "no case ends by {name}");
    }
    assert!(incidents().any(|it| it.ended.is_none()));
    let after = |it: &Expected| it.ended.as_ref().is_some_and(|it| it.after.is_some());
    assert!(incidents().any(after), "no case ends after a deployment");
    for state in ["before", "testing", "continues", "improved"] {
        let mut marks = incidents().flat_map(|it| &it.deployments);
        let is_covered = marks.any(|it| it.ends_with(&format!(": {state}")));
        assert!(
            is_covered,
            "no case has a deployment with the state {state}"
        );
    }
    let three_at_once = cases.values().any(|it| {
        let began: BTreeSet<i64> = it.expected.iter().map(|it| it.began[1] / 600).collect();
        it.variants.len() == 5 && it.expected.len() == 3 && began.len() == 1
    });
    assert!(three_at_once, "no case of three causes at once");
}
