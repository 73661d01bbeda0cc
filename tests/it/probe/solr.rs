//! A real Apache Solr: `make test-solr`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{events, probe};
use crate::harness::command::{assert_exit, json, rankgauge};
use crate::harness::kafka::{broker, unique_name};
use crate::harness::sidecar::Sidecar;
use crate::harness::{free_port, wait_until};

const STARTED: Duration = Duration::from_mins(2);

/// Running Solr with an index of its own. It ends with the value.
struct Solr {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Drop for Solr {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry").path();
        let target = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).expect("a copy");
        }
    }
}

impl Solr {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .expect("target")
            .into();
        let jars = target.join("solr/libs");
        assert!(
            jars.is_dir(),
            "Solr is not in {}; run tests/setup.sh solr",
            jars.display()
        );
        let folder = tempfile::tempdir().expect("a folder");
        copy(&root.join("tests/solr/home"), &folder.path().join("home"));
        let port = free_port();
        let log = fs::File::create(folder.path().join("solr.log")).expect("a file");
        let child = Command::new("java")
            .args(["-Xmx256m", "-cp"])
            .arg(jars.join("*"))
            .arg(root.join("tests/solr/StartSolr.java"))
            .arg(port.to_string())
            .arg(folder.path().join("home"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("run tests/setup.sh solr, which installs Java");
        let solr = Self {
            child,
            port,
            folder,
        };
        wait_until(STARTED, "Solr answers", || {
            let url = format!("{}/select?q=*:*", solr.core());
            let (status, _) = crate::harness::http_get(&url).ok()?;
            (status == 200).then_some(())
        });
        solr
    }

    fn core(&self) -> String {
        format!("http://127.0.0.1:{}/solr/laws", self.port)
    }

    /// Indexes three documents: the title of one, and the text of another, contains a query.
    fn index(&self) {
        let documents = json!([
            {"id": "국토계획법::제36조", "law_type": "act", "title": "용도지역의 지정", "text": "지정할 수 있다"},
            {"id": "건축법::제55조", "law_type": "act", "title": "건폐율", "text": "건폐율은 대지면적에 대한 건축면적의 비율이다"},
            {"id": "용도지역::해설", "law_type": "guide", "title": "해설", "text": "용도지역 용도지역 용도지역 변경 건폐율 건폐율 건폐율 건폐율"},
        ]);
        let mut response = ureq::post(format!("{}/update?commit=true", self.core()))
            .header("content-type", "application/json")
            .send(documents.to_string())
            .expect("Solr indexes");
        assert_eq!(
            response.status(),
            200,
            "{:?}",
            response.body_mut().read_to_string()
        );
    }
}

const GOLD: &str = r#"{"queries": [
    {"query_id": "q1", "query_text": "용도지역", "ground_truth": {"국토계획법::제36조": 3}},
    {"query_id": "q2", "query_text": "건폐율: (\"대지\" AND", "ground_truth": {"건축법::제55조": 3}}
]}"#;

/// The release, and one with a planted change: it searches texts instead of titles.
fn configuration(solr: &Solr) -> String {
    format!(
        "probe:
  rate: 100
  targets:
    - {{variant: V4, preset: solr, url: '{0}/select?qf=title%5E10+text', attributes: {{law_type: /law_type}}}}
    - {{variant: V5, preset: solr, url: '{0}/select?qf=title+text%5E10', attributes: {{law_type: /law_type}}}}
",
        solr.core()
    )
}

fn means(folder: &Path) -> Vec<f64> {
    let run = |variant: &str| {
        let evaluate = format!(
            "evaluate --gold solr.json --measures RR --format json --run run-{variant}.jsonl"
        );
        let report = json(&rankgauge(folder, &evaluate));
        report["runs"][0]["means"]["RR"].as_f64().expect("a mean")
    };
    ["V4", "V5"].map(run).to_vec()
}

#[test]
#[ignore = "needs the jars of tests/setup.sh solr: run make test-solr"]
fn a_planted_change_of_the_ranking_is_found_in_a_file_and_through_kafka() {
    let solr = Solr::start();
    solr.index();
    let folder = solr.folder.path();
    fs::write(folder.join("solr.json"), GOLD).expect("a file");
    let configuration = configuration(&solr);
    let file = ["--gold", "solr.json", "--output", "run-{variant}.jsonl"];
    let output = super::command(folder, &configuration, &file)
        .output()
        .expect("the binary");
    assert_exit(&output, 0);
    let first = &events(folder, "run-V4.jsonl")[0];
    assert_eq!(first["results"][0]["id"], "국토계획법::제36조");
    assert_eq!(first["results"][0]["attrs"]["law_type"], "act");
    assert!(first["results"][0]["score"].as_f64().expect("a score") > 0.0);
    assert!(first["total_hits"].as_u64().expect("a number") >= 1);
    let [before, after] = means(folder)[..] else {
        panic!("two runs")
    };
    assert!(before > 0.99, "{before}");
    assert!((after - 0.75).abs() < 1e-9, "{after}");

    let (search, feedback) = broker().unique_topics("solr", 2);
    let settings = json!({
        "kafka": {"brokers": broker().bootstrap(), "group_id": unique_name("solr"),
            "search_topic": &search, "feedback_topic": &feedback, "start": "earliest"},
        "publish_interval": "100ms",
        "gold": {"paths": [folder.join("solr.json")]},
        "measures": ["RR"],
    });
    let sections = settings.as_object().expect("an object").iter();
    let lines: Vec<String> = sections
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    let lines = lines.join("\n");
    let sidecar = Sidecar::start(&lines, &[]);
    let output = super::command(folder, &format!("{configuration}{lines}\n"), &[]).output();
    let output = output.expect("the binary");
    assert_exit(&output, 0);
    let mean = |variant: &str| {
        let labels = [
            ("measure", "RR"),
            ("variant", variant),
            ("slice", "synthetic"),
            ("value", "true"),
        ];
        wait_until(STARTED, "the events of the probe are judged", || {
            let metrics = sidecar.metrics();
            let count = metrics.value("rankgauge_score_count_total", &labels)?;
            (count > 1.5).then(|| metrics.sum("rankgauge_score_sum_total", &labels) / count)
        })
    };
    assert!((mean("V4") - before).abs() < 1e-9);
    assert!((mean("V5") - after).abs() < 1e-9);
}

#[test]
#[ignore = "needs the jars of tests/setup.sh solr: run make test-solr"]
fn a_missing_core_is_a_failure_with_the_status() {
    let solr = Solr::start();
    let folder = solr.folder.path();
    let configuration = format!(
        "probe:\n  rate: 100\n  targets:\n    - {{variant: V4, preset: solr, url: 'http://127.0.0.1:{}/solr/none/select'}}\n",
        solr.port
    );
    let output = probe(folder, &configuration, &[]);
    assert_exit(&output, 1);
    for event in events(folder, "run.jsonl") {
        assert_eq!(event["error_type"], "http_404");
    }
}
