//! The seed documents' worked examples, formulas and file formats.
//!
//! Four documents define search quality for this project: the *methodology* of law search, an
//! evaluation *plan* of a multi-agent system, a design of measures for retrieval-augmented
//! generation (*rag*) and a *notebook* on ranked retrieval. The name of each test is the document
//! and the section it comes from; the test holds that section's own numbers and runs the commands
//! as a user with the section's data would. Where a document's number contradicts the document's
//! own formula, a comment states so and the test follows the formula.

mod methodology;
mod notebook;
mod plan;
mod rag;

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::harness::command::{Arguments, json_of, rankgauge};

/// Seed documents give two to four digits; formulas are computed to the digits asserted.
const TOLERANCE: f64 = 5e-5;

/// Components of the law-search documents.
const COMPONENTS: &str = "\
components:
  rne: {stages: [rne_]}
  a2a: {attrs: {source: a2a}}
  cross_domain: {differs: {attr: domain, field: domain}}
";

/// Path of a file of `tests/data/seeds`.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/seeds")
        .join(name)
}

/// Gold query: its key, its grades by document, and the other members in `more`.
fn gold(key: &str, grades: Value, more: Value) -> Value {
    let mut query = json!({"query_id": key, "query_text": key});
    query["ground_truth"] = grades;
    merged(query, more)
}

/// Search for the gold query `key`: its results and the other members in `more`.
fn search(key: &str, results: Value, more: Value) -> Value {
    let mut event = json!({
        "query_id": format!("search for {key}"),
        "query_key": key,
        "ts": "2025-11-17T09:00:00+09:00",
    });
    event["results"] = results;
    merged(event, more)
}

/// Results with nothing but their order.
fn listed(ids: &[&str]) -> Value {
    ids.iter().map(|id| json!({"id": id})).collect()
}

/// Grades of 1.
fn relevant(ids: &[&str]) -> Value {
    let grades: Map<String, Value> = ids.iter().map(|id| ((*id).to_owned(), json!(1))).collect();
    Value::Object(grades)
}

fn merged(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

/// Folder with a gold set, a configuration and runs.
struct Case {
    folder: TempDir,
    runs: Vec<String>,
}

impl Case {
    /// Native gold set of these queries.
    fn new(queries: &[Value]) -> Self {
        let set = json!({"version": "1.0", "created_at": "2025-11-17", "queries": queries});
        let case = Self {
            folder: TempDir::new().expect("a temporary folder"),
            runs: Vec::new(),
        };
        case.write("gold.json", &set.to_string());
        case.write("config.yaml", COMPONENTS);
        case
    }

    /// Gold set as the document has it, in `tests/data/seeds`.
    fn with_gold_file(name: &str) -> Self {
        let case = Self::new(&[]);
        let text = std::fs::read_to_string(data(name)).expect("a file of the seeds");
        case.write("gold.json", &text);
        case
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("the folder can be written");
    }

    /// Adds a run of native search events.
    fn run(mut self, name: &str, searches: &[Value]) -> Self {
        let lines: Vec<String> = searches.iter().map(Value::to_string).collect();
        let file = format!("{name}.jsonl");
        self.write(&file, &lines.join("\n"));
        self.runs.push(file);
        self
    }

    /// JSON that a command prints in the folder.
    #[track_caller]
    fn json<A: Arguments + ?Sized>(&self, arguments: &A) -> Value {
        json_of(&rankgauge(self.folder.path(), arguments), 0)
    }

    /// Output of `evaluate` for the runs.
    fn output(&self, measures: &str, more: &[&str]) -> Output {
        let mut arguments = vec!["evaluate", "--gold", "gold.json", "--config", "config.yaml"];
        for run in &self.runs {
            arguments.extend(["--run", run]);
        }
        arguments.extend(["--measures", measures]);
        arguments.extend(more);
        rankgauge(self.folder.path(), &arguments)
    }

    /// First run in the output of `evaluate --per-query`.
    #[track_caller]
    fn evaluated(&self, measures: &str) -> Run {
        self.evaluated_with(measures, &[])
    }

    /// First run, evaluated with more arguments.
    #[track_caller]
    fn evaluated_with(&self, measures: &str, more: &[&str]) -> Run {
        let mut arguments = vec!["--per-query", "--format", "json"];
        arguments.extend(more);
        Run(json_of(&self.output(measures, &arguments), 0)["runs"][0].clone())
    }
}

/// Output of `evaluate` for `searches`, a run judged by `queries`.
#[track_caller]
fn evaluated(queries: &[Value], searches: &[Value], measures: &str) -> Run {
    Case::new(queries).run("run", searches).evaluated(measures)
}

/// Run in the JSON of `evaluate`.
struct Run(Value);

impl Run {
    /// Asserts the scores of one query.
    #[track_caller]
    fn scores(&self, query: &str, expected: &[(&str, f64)]) {
        for (measure, score) in expected {
            assert_close(
                &format!("{measure} of {query}"),
                &self.0["per_query"][query][*measure],
                *score,
            );
        }
    }

    /// Asserts that a query has no score, which differs from a score of 0.
    #[track_caller]
    fn has_no_score(&self, query: &str, measures: &[&str]) {
        let scores = &self.0["per_query"][query];
        assert!(scores.is_object(), "{query} is missing in {}", self.0);
        for measure in measures {
            let score = &scores[*measure];
            assert!(score.is_null(), "{measure} of {query} is {score}");
        }
    }

    /// Asserts means over the queries.
    #[track_caller]
    fn means(&self, expected: &[(&str, f64)]) {
        for (measure, mean) in expected {
            assert_close(
                &format!("mean {measure}"),
                &self.0["means"][*measure],
                *mean,
            );
        }
    }

    /// Asserts that no query has a score, so that there is no mean.
    #[track_caller]
    fn has_no_mean(&self, measures: &[&str]) {
        for measure in measures {
            let means = self.0["means"].as_object().expect("means");
            assert_eq!(means.get(*measure), Some(&Value::Null), "mean {measure}");
        }
    }

    /// Asserts means over the queries with `label` = `value`, as selected by `--by`.
    #[track_caller]
    fn means_by(&self, label: &str, value: &str, expected: &[(&str, f64)]) {
        for (measure, mean) in expected {
            let found = &self.0["by"][label][value][*measure];
            assert_close(&format!("{measure} of {label}={value}"), found, *mean);
        }
    }

    /// Asserts micro averages.
    #[track_caller]
    fn micro(&self, expected: &[(&str, f64)]) {
        for (measure, average) in expected {
            assert_close(
                &format!("micro {measure}"),
                &self.0["micro"][*measure],
                *average,
            );
        }
    }
}

#[track_caller]
fn assert_close(what: &str, found: &Value, expected: f64) {
    let Some(found) = found.as_f64() else {
        panic!("{what} is {found}, not {expected}");
    };
    assert!(
        (found - expected).abs() < TOLERANCE,
        "{what} is {found}, not {expected}"
    );
}

/// Targets of `config/law-search.yaml` as (measure, tier, value).
fn targets() -> Vec<(String, String, f64)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let file = folder.join("law-search.yaml");
    let config = rankgauge::config::load(&[file], std::iter::empty(), &[]);
    let targets = config.expect("the profile is valid").targets;
    targets
        .into_iter()
        .map(|target| (target.measure.to_string(), target.tier, target.value))
        .collect()
}

/// Asserts that the law-search profile has these targets: measure, tier, lowest mean.
#[track_caller]
fn assert_targets(expected: &[(&str, &str, f64)]) {
    let targets = targets();
    for (measure, tier, value) in expected {
        let found = targets
            .iter()
            .find(|(name, of_tier, _)| name == measure && of_tier == tier)
            .map(|(_, _, value)| *value);
        assert_eq!(found, Some(*value), "{tier} {measure}");
    }
}
