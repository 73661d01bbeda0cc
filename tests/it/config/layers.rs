//! Configuration merged from files, environment and flags, and its summary.

use std::time::Duration;

use rankgauge::config::{self, Config, LogFormat};
use rankgauge_core::columns::Columns;
use rankgauge_core::gold::Format;
use rankgauge_core::ranking::JudgeBy;
use rankgauge_kafka::settings::Start;

use super::{Files, load};

#[test]
fn later_layers_override_earlier_ones() {
    let first = "workers: 2\nkafka: {group_id: first, search_topic: s1}\n";
    let second = "kafka: {group_id: second}\n";
    let variable = [("RANKGAUGE__KAFKA__GROUP_ID", "variable")];
    let flag = [("kafka.group_id", "flag")];
    let group = |files: &[&str], environment: &[_], flags: &[_]| {
        load(files, environment, flags).unwrap().kafka.group_id
    };
    assert_eq!(group(&[], &[], &[]), "rankgauge");
    assert_eq!(group(&[first], &[], &[]), "first");
    assert_eq!(group(&[first, second], &[], &[]), "second");
    assert_eq!(group(&[second, first], &[], &[]), "first");
    assert_eq!(group(&[first, second], &variable, &[]), "variable");
    assert_eq!(group(&[first, second], &variable, &flag), "flag");

    let merged = load(&[first, second], &variable, &flag).unwrap();
    assert_eq!(
        (merged.workers, merged.kafka.search_topic.as_str()),
        (2, "s1")
    );
}

#[test]
fn a_list_replaces_the_list_of_the_layer_below() {
    let config = load(&["slices: [a, b, c]", "slices: [d]"], &[], &[]).unwrap();
    assert_eq!(config.engine.slices, ["d", "synthetic"]);
    let none = load(&["slices: [a]"], &[("RANKGAUGE__SLICES", "")], &[]).unwrap();
    assert_eq!(none.engine.slices, ["synthetic"]);
}

#[test]
fn lists_in_variables_and_flags_split_at_commas_outside_parentheses() {
    let variable = [("RANKGAUGE__MEASURES", "P@5, RBP(graded=true,p=0.5) ,RR")];
    let config = load(&[], &variable, &[("windows", "30s,2h")]).unwrap();
    assert_eq!(config.engine.measures.len(), 3);
    let windows: Vec<_> = config
        .engine
        .windows
        .iter()
        .map(|window| window.length)
        .collect();
    assert_eq!(windows, [Duration::from_secs(30), Duration::from_hours(2)]);
}

#[test]
fn brokers_are_given_as_a_string_or_a_list() {
    let text = load(&["kafka: {brokers: 'a:9092, b:9092'}"], &[], &[]).unwrap();
    let list = load(&["kafka:\n  brokers:\n  - a:9092\n  - b:9092"], &[], &[]).unwrap();
    assert_eq!(text.kafka.brokers, "a:9092,b:9092");
    assert_eq!(list.kafka.brokers, "a:9092,b:9092");
}

#[test]
fn every_kind_of_value_is_configurable() {
    let file = "
kafka: {start: earliest}
commit_interval: 500ms
gold: {paths: [판례/골드.json, qrels], format: qrels, relevance_level: 1.5, judge_by: group_id,
  columns: 'query=qid,document=2,grade=stars'}
engine: {feedback_window: 2h, memory: 7MiB}
latency: {buckets: [0.1, 1]}
metrics: {listen: '[::1]:80'}
log: {format: json, level: warn}
";
    let config = load(&[file], &[], &[]).unwrap();
    assert_eq!(config.kafka.start, Start::Earliest);
    assert_eq!(config.commit_interval, Duration::from_millis(500));
    assert_eq!(
        config
            .gold
            .paths
            .iter()
            .map(|path| path.ends_with("qrels"))
            .collect::<Vec<_>>(),
        [false, true]
    );
    // Paths are relative to the file.
    assert!(config.gold.paths[0].is_absolute() && config.gold.paths[0].ends_with("판례/골드.json"));
    assert_eq!(config.gold.options.format, Some(Format::Qrels));
    let columns = Columns::of_gold("query=qid,document=2,grade=stars");
    assert_eq!(config.gold.options.columns, columns.ok());
    assert!(
        config
            .gold
            .options
            .relevance_level
            .is_some_and(|level| level.get() > 1.4)
    );
    assert_eq!(config.engine.judging.judge_by, JudgeBy::GroupId);
    assert_eq!(config.engine.feedback_window, Duration::from_hours(2));
    assert_eq!(config.engine.memory, 7 << 20);
    assert_eq!(config.engine.latency_buckets.len(), 2);
    assert_eq!(config.metrics_listen.to_string(), "[::1]:80");
    assert_eq!(config.log.format, LogFormat::Json);
    assert_eq!(config.log.level.to_string(), "warn");
}

#[test]
fn properties_are_passed_through_from_every_layer() {
    let file = "kafka:\n  properties:\n    security.protocol: SASL_SSL\n    fetch.min.bytes: 10\n";
    let variable = [("RANKGAUGE__KAFKA__PROPERTIES__SASL_PASSWORD", "geheim")];
    let flag = [
        ("kafka.properties.client.rack", "r1"),
        ("kafka.properties.fetch.min.bytes", "20"),
    ];
    let config = load(&[file], &variable, &flag).unwrap();
    let properties: Vec<_> = config.kafka.properties.iter().collect();
    let expected = [
        ("client.rack", "r1"),
        ("fetch.min.bytes", "20"),
        ("sasl.password", "geheim"),
        ("security.protocol", "SASL_SSL"),
    ];
    assert_eq!(properties, expected);
}

#[test]
fn secrets_are_never_printed() {
    let names = [
        "sasl.password",
        "ssl.key.pem",
        "sasl.oauthbearer.client.secret",
        "my.token",
    ];
    let mut flags: Vec<(String, &str)> = names
        .iter()
        .map(|name| (format!("kafka.properties.{name}"), "geheim"))
        .collect();
    flags.push(("kafka.properties.client.rack".to_owned(), "r1"));
    let flags: Vec<(&str, &str)> = flags
        .iter()
        .map(|(key, value)| (key.as_str(), *value))
        .collect();
    let config = load(&[], &[], &flags).unwrap();
    for printed in [
        config.summary(),
        format!("{config:?}"),
        format!("{config:#?}"),
    ] {
        assert!(printed.contains("sasl.password=***"), "{printed}");
        assert!(printed.contains("client.rack=r1"), "{printed}");
        assert!(!printed.contains("geheim"), "{printed}");
    }
    let refused = load(&[], &[], &[("kafka.properties.group.id", "geheim")]).unwrap_err();
    assert!(!refused.concat().contains("geheim"), "{refused:?}");
}

#[test]
fn problems_of_all_layers_are_reported_together_in_order() {
    let files = Files::new();
    let error = files.load(
        &[
            "engine:\n  feedback_window: 10\nworkers: many\nlog: {level: loud}\n",
            "kafka: [x]\nwindow: [1m]\n",
        ],
        &[
            ("RANKGAUGE__ENGINE__MEMORY", "many"),
            ("RANKGAUGE__WINDOWS", "5m,1m"),
        ],
        &[("metrics.listen", "localhost")],
    );
    let expected = [
        "0.yaml:2: engine.feedback_window: \"10\" is not a duration; write a whole number and a \
         unit (ms, s, m, h or d), as 500ms, 30s, 10m, 24h",
        "0.yaml:3: workers: \"many\" is not a whole number",
        "0.yaml:4: log.level: \"loud\" is none of off, error, warn, info, debug, trace",
        "1.yaml:1: kafka: is a section of keys; give them, indented below it, or remove the key",
        "1.yaml:2: window: unknown key; did you mean windows?",
        "environment RANKGAUGE__ENGINE__MEMORY: \"many\" is not an amount of memory; write a whole number and a unit (KiB, MiB or GiB), as 256MiB",
        "environment RANKGAUGE__WINDOWS: \"1m\" is not longer than the window before; write the \
         shortest first",
        "command line metrics.listen: \"localhost\" is not an address and port, as 0.0.0.0:9468",
    ];
    assert_eq!(error.unwrap_err(), expected);
}

#[test]
fn the_error_has_a_heading_and_one_line_per_problem() {
    let flags = [
        ("workers".to_owned(), "0".to_owned()),
        ("windows".to_owned(), "0s".to_owned()),
    ];
    let error = config::load(&[], std::iter::empty(), &flags).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the configuration is not valid:\n  command line windows: \"0s\" is not between 1s and \
         744h\n  command line workers: \"0\" is not between 1 and 256"
    );
}

#[test]
fn the_summary_shows_the_configured_values() {
    let config = load(
        &["gold: {paths: [골드.json]}\nkafka: {brokers: 'k:1'}\n"],
        &[],
        &[],
    )
    .unwrap();
    let summary = config.summary();
    for expected in [
        "k:1, group rankgauge, topics search.log and search.feedback, starting at latest",
        "골드.json (any format), judged by id, checked every 10s",
        "21: P@1 P@5",
        "4: 1m 5m 1h 24h",
        "http://0.0.0.0:9468/metrics",
        "http://127.0.0.1:9469/api/v1/status",
    ] {
        assert!(summary.contains(expected), "{summary}");
    }
    assert!(
        Config::default()
            .summary()
            .contains("no search will be judged")
    );
}
