//! Programs of docs/connect: the pages show them as they are, and all of them lead to the same
//! counters.
//!
//! The programs need the toolchains of five languages, so the test that runs them is part of
//! `make test-connect`, not of `make test`.

mod gateway;
mod opentelemetry;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rankgauge_core::decode::native;
use rankgauge_core::decode::ubi::Dialect;
use rankgauge_core::event::{Action, Kind};
use serde_json::{Value, json};

use crate::harness::kafka::{Broker, broker, unique_name};
use crate::harness::sidecar::{Exposition, Sidecar};
use crate::harness::wait_until;

/// Maximum number of lines of a program.
const MAX_LINES: usize = 60;

/// Time limit of a program on a busy machine.
const DONE: Duration = Duration::from_mins(2);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Pages of docs/connect.
fn pages() -> Vec<PathBuf> {
    let pages = fs::read_dir(root().join("docs/connect")).expect("docs/connect");
    let mut pages: Vec<PathBuf> = pages.map(|page| page.expect("a page").path()).collect();
    pages.sort();
    pages
}

/// Blocks of a page that show a file: its name and the shown text. A comment
/// `<!-- file: PATH -->` stands above each.
fn shown(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("<!-- file: ") {
        let (name, after) = after.split_once(" -->\n```").expect("a block follows");
        let (_, after) = after.split_once('\n').expect("a block has lines");
        let (text, after) = after.split_once("```\n").expect("a block ends");
        blocks.push((name.to_owned(), text.to_owned()));
        rest = after;
    }
    blocks
}

#[test]
fn pages_show_the_programs_that_are_tested() {
    let update = std::env::var_os("UPDATE").is_some_and(|update| update == "1");
    let mut programs = 0;
    for path in pages() {
        let mut page = fs::read_to_string(&path).expect("a page");
        for (name, text) in shown(&page.clone()) {
            let file = fs::read_to_string(root().join(&name)).expect("a file that a page shows");
            let lines = file.lines().count();
            assert!(lines <= MAX_LINES, "{name} has {lines} lines");
            if update {
                page = page.replacen(&text, &file, 1);
                fs::write(&path, &page).expect("the page can be written");
            } else {
                assert!(
                    text == file,
                    "{} shows another {name}; `UPDATE=1 cargo test --test it connect::` writes it",
                    path.display()
                );
            }
            programs += 1;
        }
    }
    assert!(programs >= 10, "{programs} files are shown");
}

#[test]
fn each_page_explains_keys_feedback_and_the_check() {
    for path in pages() {
        let page = fs::read_to_string(&path).expect("a page");
        for word in ["query_id", "key", "feedback", "rankgauge check --live"] {
            assert!(page.contains(word), "{}: {word}", path.display());
        }
    }
}

/// Topics of one program, and the sidecar that judges them.
struct Judged {
    topics: [String; 2],
    partitions: usize,
    sidecar: Sidecar,
}

impl Judged {
    fn start(broker: &Broker, partitions: usize, format: &str) -> Self {
        let (search, feedback) = broker.unique_topics("connect", partitions);
        let mut settings = json!({
            "kafka": {
                "brokers": broker.bootstrap(),
                "group_id": unique_name("connect"),
                "search_topic": &search,
                "feedback_topic": &feedback,
                "search_format": format,
                "feedback_format": format,
                "start": "earliest",
            },
            "publish_interval": "100ms",
            "gold": {"paths": [root().join("examples/connect/gold.json")]},
            "engine": {"out_of_orderness": "1s", "feedback_window": "1m", "idle_timeout": "24h"},
        });
        if format == "native" {
            settings["gateway"] = json!({"listen": "127.0.0.1:0"});
        }
        let sections = settings.as_object().expect("an object").iter();
        let lines: Vec<String> = sections
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        Self {
            topics: [search, feedback],
            partitions,
            sidecar: Sidecar::start(&lines.join("\n"), &[]),
        }
    }

    /// Closes the feedback windows of ten searches and this many clicks, and returns the counters of the
    /// searches of V1.
    fn counters(&self, broker: &Broker, format: &str, clicks: f64) -> BTreeMap<String, String> {
        self.close(broker, format, [10.0, clicks]);
        wait_until(DONE, "ten searches are judged", || {
            let metrics = self.sidecar.metrics();
            let judged = [("kind", "search"), ("outcome", "judged")];
            let judged = metrics.sum("rankgauge_events_total", &judged);
            (judged > 9.5).then(|| counted(&metrics))
        })
    }

    /// Waits for this many searches and this much feedback, and closes their feedback windows with one later
    /// event in each partition.
    fn close(&self, broker: &Broker, format: &str, [searches, feedback]: [f64; 2]) {
        wait_until(DONE, "the searches and their feedback are read", || {
            let metrics = self.sidecar.metrics();
            let read = |kind: Kind| {
                let labels = [("kind", kind.name())];
                metrics.sum("rankgauge_events_total", &labels)
                    + metrics.sum("rankgauge_events_pending", &labels)
            };
            let is_read =
                read(Kind::Search) > searches - 0.5 && read(Kind::Feedback) > feedback - 0.5;
            is_read.then_some(())
        });
        // Some programs send events of the present, others those of a file. The closing events follow
        // soon after either: a variant that is idle for a year is retired.
        let delays = self.sidecar.metrics();
        let delays = delays.matching("rankgauge_watermark_delay_seconds", &[]);
        let delay = delays
            .map(|sample| sample.value)
            .fold(f64::INFINITY, f64::min);
        let delay =
            Duration::try_from_secs_f64(delay.max(0.0)).expect("a partition has a watermark");
        let delay = i64::try_from(delay.as_millis()).expect("a few years");
        let later = rankgauge_serve::clock::wall_now().as_event_time().0 - delay + 200_000;
        for (topic, is_search) in self.topics.iter().zip([true, false]) {
            let events = (0..self.partitions).map(|partition| {
                let id = format!("closing-{partition}");
                let event = match (format, is_search) {
                    ("ubi", true) => json!({"query_id": id, "timestamp": later, "user_query": "-", "query_response_hit_ids": []}),
                    ("ubi", false) => json!({"query_id": id, "timestamp": later, "action_name": "view"}),
                    (_, true) => json!({"query_id": id, "ts": later, "query": "-", "results": []}),
                    (_, false) => json!({"query_id": id, "ts": later, "event_id": id, "type": "impression"}),
                };
                let partition = i32::try_from(partition).expect("few partitions");
                (id, event.to_string(), Some(partition))
            });
            broker.produce(topic, events);
        }
    }
}

/// Counters of the variant V1 that depend on the events and not on their times, and outcomes.
fn counted(metrics: &Exposition) -> BTreeMap<String, String> {
    let is_counted = |name: &str| {
        name.ends_with("_total") && name.starts_with("rankgauge_")
            || name.starts_with("rankgauge_search_latency_seconds_")
    };
    let samples = metrics.samples.iter().filter(|sample| {
        let variant = sample.labels.get("variant").map(String::as_str);
        let outcome = sample.labels.get("outcome").map(String::as_str);
        is_counted(&sample.name)
            && (variant == Some("V1")
                || sample.name == "rankgauge_events_total"
                    && matches!(outcome, Some("judged" | "invalid" | "late" | "duplicate")))
    });
    samples
        .map(|sample| {
            (
                format!("{}{:?}", sample.name, sample.labels),
                sample.text.clone(),
            )
        })
        .collect()
}

/// Folder with the toolchains that `tests/setup.sh connect` prepares.
fn tools() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target.expect("the target directory").join("connect")
}

/// Runs a program with the broker and the topics as its arguments.
fn run(name: &str, command: &mut Command, judged: &Judged, more: &[&str]) {
    let output = command
        .arg(broker().bootstrap())
        .args(&judged.topics)
        .args(more)
        .output()
        .unwrap_or_else(|error| panic!("{name} cannot start: {error}; run tests/setup.sh connect"));
    assert!(
        output.status.success(),
        "{name}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Kafka Connect, which is killed at the end of the test.
struct ConnectWorker(Child);

impl Drop for ConnectWorker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts Kafka Connect with the files of the page, for the topics and files of this test.
fn kafka_connect(judged: &Judged, folder: &Path) -> ConnectWorker {
    let examples = root().join("examples/connect");
    let jars = tools().join("kafka-connect/libs");
    let port = crate::harness::free_port();
    let [searches, feedback] = &judged.topics;
    let file = |name: &str| {
        let text = fs::read_to_string(examples.join(name)).expect("a file");
        let text = text
            .replace("localhost:9092", broker().bootstrap())
            .replace(
                "/var/lib/kafka-connect/offsets",
                &folder.join("offsets").display().to_string(),
            )
            .replace("127.0.0.1:8083", &format!("127.0.0.1:{port}"))
            .replace(
                "libs/connect-file-4.1.0.jar",
                &jars.join("connect-file-4.1.0.jar").display().to_string(),
            )
            .replace("/var/log/search", &examples.display().to_string())
            .replace("topic=search.log", &format!("topic={searches}"))
            .replace("topic=search.feedback", &format!("topic={feedback}"));
        let path = folder.join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let log = fs::File::create(folder.join("connect.log")).expect("a file");
    let child = Command::new("java")
        .arg("-Xmx256m")
        .arg("-cp")
        .arg(jars.join("*"))
        .arg("org.apache.kafka.connect.cli.ConnectStandalone")
        .args(
            [
                "connect-standalone.properties",
                "searches.properties",
                "feedback.properties",
            ]
            .map(file),
        )
        .stdout(log.try_clone().expect("a file"))
        .stderr(log)
        .stdin(Stdio::null())
        .spawn()
        .expect("run tests/setup.sh connect");
    ConnectWorker(child)
}

#[test]
#[ignore = "needs the toolchains of tests/setup.sh connect: run make test-connect"]
fn all_programs_lead_to_the_same_counters() {
    let (tools, examples) = (tools(), root().join("examples/connect"));
    let python = tools.join("python/bin/python");
    let kafka = tools.parent().expect("a folder").join("kafka/libs/*");
    let example = |name: &str| examples.join(name);
    let with = |program: &Path, arguments: &[&std::ffi::OsStr]| {
        let mut command = Command::new(program);
        command.args(arguments);
        command
    };
    let [ubi_queries, ubi_events] =
        ["ubi_queries.jsonl", "ubi_events.jsonl"].map(|name| example(name).display().to_string());
    let mut results: Vec<(&str, BTreeMap<String, String>)> = Vec::new();
    for name in [
        "python",
        "java",
        "javascript",
        "go",
        "rust",
        "ubi",
        "access log",
        "kafka connect",
    ] {
        let format = if name == "ubi" { "ubi" } else { "native" };
        // Records of the file connector have no key.
        let partitions = if name == "kafka connect" { 1 } else { 2 };
        let judged = Judged::start(broker(), partitions, format);
        let folder = tempfile::tempdir().expect("a folder");
        let _worker = match name {
            "python" => {
                let mut command = with(&python, &[example("produce.py").as_os_str()]);
                run(name, &mut command, &judged, &[]);
                None
            }
            "java" => {
                let program = example("Produce.java");
                let mut command = with(
                    Path::new("java"),
                    &["-cp".as_ref(), kafka.as_os_str(), program.as_os_str()],
                );
                run(name, &mut command, &judged, &[]);
                None
            }
            "javascript" => {
                let mut command = with(Path::new("node"), &[example("produce.mjs").as_os_str()]);
                run(name, &mut command, &judged, &[]);
                None
            }
            "go" | "rust" => {
                run(
                    name,
                    &mut Command::new(tools.join(name).join("connect")),
                    &judged,
                    &[],
                );
                None
            }
            "ubi" => {
                let mut command = with(&python, &[example("ubi.py").as_os_str()]);
                run(name, &mut command, &judged, &[&ubi_queries, &ubi_events]);
                None
            }
            "access log" => {
                let mut command = with(&python, &[example("access_log.py").as_os_str()]);
                let log = fs::File::open(example("access.log")).expect("a file");
                run(name, command.stdin(log), &judged, &[]);
                None
            }
            _ => Some(kafka_connect(&judged, folder.path())),
        };
        results.push((name, judged.counters(broker(), format, 5.0)));
    }
    assert_equal_counters(&results);
}

/// A broker that accepts no batch: no program may end as if its events were stored.
#[test]
#[ignore = "needs the toolchains of tests/setup.sh connect: run make test-connect"]
fn programs_fail_when_their_events_are_not_delivered() {
    let (tools, examples) = (tools(), root().join("examples/connect"));
    let python = tools.join("python/bin/python");
    let kafka = tools.parent().expect("a folder").join("kafka/libs/*");
    let topics = Kind::ALL.map(|kind| unique_name(&format!("refusing-{}", kind.name())));
    for topic in &topics {
        broker().create_topic_with(topic, 2, &[("max.message.bytes", "1")]);
    }
    let file = |name: &str| examples.join(name).display().to_string();
    let program = |name: &str| tools.join(name).join("connect").display().to_string();
    let (python, kafka) = (python.display().to_string(), kafka.display().to_string());
    let programs: [(Vec<String>, &[&str]); 7] = [
        (vec![python.clone(), file("produce.py")], &[]),
        (
            vec![python.clone(), file("ubi.py")],
            &["ubi_queries.jsonl", "ubi_events.jsonl"],
        ),
        (vec![python, file("access_log.py")], &[]),
        (
            vec!["java".into(), "-cp".into(), kafka, file("Produce.java")],
            &[],
        ),
        (vec!["node".into(), file("produce.mjs")], &[]),
        (vec![program("go")], &[]),
        (vec![program("rust")], &[]),
    ];
    for (command, files) in programs {
        let log = fs::File::open(examples.join("access.log")).expect("a file");
        let output = Command::new(&command[0])
            .args(&command[1..])
            .arg(broker().bootstrap())
            .args(&topics)
            .args(files.iter().map(|name| examples.join(name)))
            .stdin(log)
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}; run tests/setup.sh connect"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command:?} lost its events");
        assert!(!said.trim().is_empty(), "{command:?} does not say why");
    }
}

/// Checks that every program sent ten searches and five clicks, which are counted equally.
fn assert_equal_counters(results: &[(&str, BTreeMap<String, String>)]) {
    let (_, expected) = results.first().expect("a program").clone();
    let of = |name: &str, labels: &[(&str, &str)]| {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        expected
            .get(&format!("{name}{labels:?}"))
            .map(String::as_str)
    };
    let all = |name: &str| of(name, &[("slice", "all"), ("value", ""), ("variant", "V1")]);
    assert_eq!(all("rankgauge_searches_total"), Some("10"), "{expected:#?}");
    assert_eq!(
        of("rankgauge_clicks_total", &[("variant", "V1")]),
        Some("5"),
        "{expected:#?}"
    );
    let joined = [("type", "click"), ("variant", "V1")];
    assert_eq!(
        of("rankgauge_feedback_total", &joined),
        Some("5"),
        "{expected:#?}"
    );
    for (name, counters) in results {
        assert_eq!(counters, &expected, "{name}");
    }
}

#[test]
fn the_files_of_the_pages_hold_valid_events() {
    let limits = rankgauge::config::Config::default().engine.record_limits;
    let lines = |name: &str| {
        let text = fs::read_to_string(root().join("examples/connect").join(name)).expect("a file");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let searches = lines("search.jsonl");
    assert_eq!(searches.len(), 10);
    for (native_line, ubi_line) in searches.iter().zip(lines("ubi_queries.jsonl")) {
        let search = native::search(native_line.as_bytes(), &limits).expect("a search");
        let same = Dialect::search(ubi_line.as_bytes(), &limits).expect("a search");
        let ids = |search: &rankgauge_core::event::Search<'_>| {
            let ids = search.results.iter().map(|hit| hit.id.to_string());
            ids.collect::<Vec<_>>()
        };
        assert_eq!(ids(&search), ids(&same));
        assert_eq!(
            (search.query, search.latency_ms),
            (same.query, same.latency_ms)
        );
    }
    for line in lines("feedback.jsonl") {
        native::feedback(line.as_bytes(), &limits).expect("feedback");
    }
    let fields = lines("access.log");
    assert!(
        fields
            .iter()
            .all(|line| serde_json::from_str::<Value>(line).is_ok())
    );
}

#[test]
#[ignore = "needs the toolchains of tests/setup.sh connect: run make test-connect"]
fn an_evaluator_writes_a_judgment_of_each_answer() {
    let (searches, feedback) = broker().unique_topics("evaluator", 2);
    let events = [
        ("a", json!({"text": "제36조에 따른다"})),
        ("b", json!({"text": "모른다"})),
        ("c", Value::Null),
    ];
    let records = events.map(|(id, answer)| {
        let event = json!({
            "query_id": id, "ts": 1_763_337_600_000_i64, "query": "용도지역", "answer": answer,
            "results": [{"id": "법_36", "text": "변경은 제36조에 의한다"}, {"id": "법_30"}],
        });
        (id, event.to_string(), None)
    });
    broker().produce(&searches, records);
    let output = Command::new(tools().join("python/bin/python"))
        .arg(root().join("examples/connect/evaluator.py"))
        .args([broker().bootstrap(), &searches, &feedback, "2"])
        .output()
        .expect("run tests/setup.sh connect");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let limits = rankgauge::config::Config::default().engine.record_limits;
    let mut judged: Vec<String> = Vec::new();
    for record in broker().consume(&feedback) {
        let event = native::feedback(&record.payload, &limits).expect("a valid judgment");
        let id = event.query_id.expect("a search");
        assert_eq!(record.key, id.as_bytes());
        let evaluation = event.evaluation.expect("an evaluator");
        judged.push(format!(
            "{} {:?} {} {}={:?}",
            &*id, evaluation.target, &*evaluation.evaluator, &*evaluation.name, event.action
        ));
    }
    judged.sort();
    let expected = [("a", 0.5), ("b", 0.0)].map(|(id, value)| {
        let action = Action::Judgment { grade: value };
        format!("{id} Answer words overlap={action:?}")
    });
    assert_eq!(judged, expected);
}
