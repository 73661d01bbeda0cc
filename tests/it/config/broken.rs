//! Broken configuration: unknown keys, invalid files and arbitrary text.

use std::time::Instant;

use proptest::prelude::*;
use rankgauge::config::{self, Config};

use super::{Files, assert_problem, load, problems};

#[test]
fn unknown_keys_are_errors_that_suggest_the_nearest_known_key() {
    assert_problem(
        "engine:\n  feedback_windw: 5m\n",
        "0.yaml:2: engine.feedback_windw: unknown key; did you mean engine.feedback_window?",
    );
    assert_problem(
        "workers: 1\nmemory: 64MiB\n",
        "0.yaml:2: memory: unknown key; did you mean engine.memory?",
    );
    assert_problem("# 한글\n\n질의: 1\n", "0.yaml:3: 질의: unknown key");
    assert_problem(
        "targets:\n- {measure: P@1, tier: a, value: 1}\n- {measure: P@5, teir: x, tier: a, value: 1}\n",
        "0.yaml:3: targets[1].teir: unknown key; did you mean targets[1].tier?",
    );
    assert_eq!(
        load(&[], &[("RANKGAUGE__ENGINE__MEMORI", "1")], &[]),
        Err(vec![
            "environment RANKGAUGE__ENGINE__MEMORI: unknown key; did you mean \
             RANKGAUGE__ENGINE__MEMORY?"
                .to_owned()
        ])
    );
    assert_eq!(
        load(&[], &[], &[("worker", "1")]),
        Err(vec![
            "command line worker: unknown key; did you mean workers?".to_owned()
        ])
    );
}

#[test]
fn variables_with_an_underscore_too_few_are_problems_that_name_the_right_variable() {
    for (name, meant) in [
        ("RANKGAUGE_WORKERS", "RANKGAUGE__WORKERS"),
        ("RANKGAUGE_KAFKA_BROKERS", "RANKGAUGE__KAFKA__BROKERS"),
        ("RANKGAUGE_KAFKA__BROKERS", "RANKGAUGE__KAFKA__BROKERS"),
        ("RANKGAUGE_ENGINE_MEMORY", "RANKGAUGE__ENGINE__MEMORY"),
        ("RANKGAUGE_LOG_LEVEL", "RANKGAUGE__LOG__LEVEL"),
        (
            "RANKGAUGE_KAFKA_PROPERTIES_SASL_PASSWORD",
            "RANKGAUGE__KAFKA__PROPERTIES__SASL_PASSWORD",
        ),
    ] {
        let expected = format!(
            "environment {name}: is not read, because levels are separated by two underscores; \
             write {meant}"
        );
        assert_eq!(load(&[], &[(name, "secret")], &[]), Err(vec![expected]));
    }
    for (name, meant) in [
        ("RANKGAUGE__KAFKA_BROKERS", "RANKGAUGE__KAFKA__BROKERS"),
        ("RANKGAUGE__ENGINE_MEMORY", "RANKGAUGE__ENGINE__MEMORY"),
    ] {
        let expected = format!("environment {name}: unknown key; did you mean {meant}?");
        assert_eq!(load(&[], &[(name, "1")], &[]), Err(vec![expected]));
    }
}

#[test]
fn other_variables_of_the_same_prefix_are_ignored() {
    let others = [
        ("RANKGAUGE_LOG", "debug"),
        // Kubernetes sets these for a Service of the name `rankgauge`.
        ("RANKGAUGE_SERVICE_HOST", "10.0.0.1"),
        ("RANKGAUGE_PORT", "tcp://10.0.0.1:9468"),
        ("RANKGAUGE_PORT_9468_TCP_ADDR", "10.0.0.1"),
        ("RANKGAUGE_KAFKA_PROPERTIES_", "x"),
        ("RANKGAUGE_", "x"),
        ("rankgauge_workers", "x"),
    ];
    assert_eq!(load(&[], &others, &[]), Ok(Config::default()));
}

#[test]
fn a_whole_unknown_section_is_one_problem() {
    assert_problem(
        "workers: 1\nkafak:\n  brokers: x\n  group_id: y\n",
        "0.yaml:2: kafak: unknown key; did you mean kafka?",
    );
}

#[test]
fn keys_in_path_notation_are_rejected() {
    assert_problem(
        "kafka.brokers: x\n",
        "0.yaml:1: kafka.brokers: unknown key; keys nest as sections, `kafka: {brokers: …}`, not \
         `kafka.brokers: …`",
    );
    assert_problem(
        "a[99999999999999999]: x\n",
        "0.yaml:1: a[99999999999999999]: one element of a list cannot be set; give the whole list",
    );
    let flag = load(&[], &[], &[("latency.buckets[0]", "1")]).unwrap_err();
    assert_eq!(
        flag,
        [
            "command line latency.buckets[0]: one element of a list cannot be set; give the whole list"
        ]
    );
    assert!(load(&[], &[("RANKGAUGE__", "x")], &[]).is_err());
    assert!(load(&["'': 1"], &[], &[]).is_err());
}

#[test]
fn unreadable_files_are_reported_with_the_line() {
    for (content, expected) in [
        ("a: [1\nb: 2\n", "0.yaml:2: is not YAML: "),
        ("workers: 1\n\tx: 1\n", "0.yaml:2: is not YAML: "),
        (
            "- a\n",
            "0.yaml:1: the file must be a mapping of keys to values",
        ),
        (
            "just text\n",
            "0.yaml:1: the file must be a mapping of keys to values",
        ),
        (
            "workers: 1\nlog: {}\nworkers: 2\n",
            "0.yaml:3: workers: already given in line 1",
        ),
        (
            "kafka: &k {}\n",
            "0.yaml:1: anchors and aliases are not supported; write the value out",
        ),
        (
            "workers: !!int 1\n",
            "0.yaml:1: YAML tags (`!…`) are not supported; remove it",
        ),
        (
            "? [a]\n: 1\n",
            "0.yaml:1: a key must be a word, not a list or a section",
        ),
        (
            "workers: 1\n---\nworkers: 2\n",
            "0.yaml:2: a second YAML document begins here",
        ),
        (
            "workers: 1\n...\nworkers: 2\n",
            "0.yaml:3: a second YAML document begins here",
        ),
    ] {
        let found = problems(content);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{content}: {found:?}"
        );
    }
    let files = Files::new();
    let latin = files.write("latin.yaml", b"workers: 1\n# caf\xe9\n");
    assert_eq!(
        files.load_files(&[latin], &[], &[]).unwrap_err(),
        ["latin.yaml:2: not UTF-8; save the file as UTF-8"]
    );
    let missing = files.0.path().join("missing.yaml");
    let found = files.load_files(&[missing], &[], &[]).unwrap_err();
    assert!(
        found[0].starts_with("missing.yaml: cannot be read: "),
        "{found:?}"
    );
    let large = files.write("large.yaml", vec![b'#'; 2_000_000]);
    let found = files.load_files(&[large], &[], &[]).unwrap_err();
    assert!(
        found[0].starts_with("large.yaml: is 2000000 bytes long"),
        "{found:?}"
    );
}

#[test]
fn an_empty_file_changes_nothing() {
    for content in [
        "",
        "# nothing\n",
        "---\n{}\n",
        "\u{feff}workers: 1\n",
        "%YAML 1.2\n---\nworkers: 1\n...\n",
    ] {
        assert_eq!(
            load(&[content], &[], &[]).unwrap(),
            Config::default(),
            "{content:?}"
        );
    }
}

#[test]
fn excessive_nesting_is_rejected() {
    let deep = [
        "[".repeat(500_000),
        "- ".repeat(400_000),
        "? ".repeat(400_000),
        "{a: ".repeat(200_000),
    ];
    for content in &deep {
        assert_eq!(
            load(&[&format!("a: 1\nb:\n {content}")], &[], &[])
                .unwrap_err()
                .len(),
            1
        );
    }
    let mut stairs = String::new();
    for depth in 0..1_000 {
        stairs.push_str(&" ".repeat(depth));
        stairs.push_str("a:\n");
    }
    assert_problem(&stairs, "0.yaml:66: is indented by more than 64 columns");
}

/// `count` numbered elements, separated by commas, in a mebibyte.
fn numbered(count: usize, element: impl Fn(usize) -> String) -> String {
    let elements: Vec<String> = (1..=count).map(element).collect();
    elements.join(",")
}

#[test]
fn checking_many_windows_measures_or_keys_takes_no_time() {
    let windows = numbered(100_000, |number| format!("{number}s"));
    let measures = numbered(100_000, |number| format!("P@{number}"));
    let prices = numbered(60_000, |_| "{model: m}".to_owned());
    let properties = numbered(80_000, |number| format!("p{number}: 1"));
    let unknown = numbered(80_000, |number| format!("key{number}: 1"));
    for (file, expected) in [
        (
            format!("windows: [{windows}]"),
            "0.yaml:1: windows: has 100000 windows; between 1 and 8 are possible",
        ),
        (
            format!("windows: '{windows}'"),
            "0.yaml:1: windows: has 100000 windows; between 1 and 8 are possible",
        ),
        (
            format!("measures: [{measures}]"),
            "0.yaml:1: measures: has 100000 measures; between 0 and 1000 are possible",
        ),
        (
            format!("detection: {{measures: [{measures}]}}"),
            "0.yaml:1: detection.measures: has 100000 measures; between 0 and 1000 are possible",
        ),
        (
            format!("prices: [{prices}]"),
            "0.yaml:1: prices: has 60000 prices; between 0 and 1000 are possible",
        ),
        (
            format!("kafka: {{properties: {{{properties}}}}}"),
            "0.yaml:1: kafka.properties: has 80000 properties; between 0 and 1000 are possible",
        ),
        (
            format!("engine: {{{unknown}}}"),
            "0.yaml:1: engine.key1: unknown key",
        ),
    ] {
        let start = Instant::now();
        let found = problems(&file);
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(found[0], expected);
        // Quadratic work takes minutes.
        assert!(seconds < 20.0, "{expected}: {seconds} s");
    }
}

/// Text that resembles a configuration, so that code behind the YAML parser is reached.
fn yaml_like() -> impl Strategy<Value = String> {
    let words = config::keys()
        .into_iter()
        .flat_map(|key| key.path.split('.').map(str::to_owned))
        .chain(
            [
                "P@5",
                "1m",
                "-1",
                "1e999",
                "~",
                "''",
                "{}",
                "[]",
                "[",
                "{",
                "}",
                "]",
                "---",
                "...",
                "&a",
                "*a",
                "!!x",
                "|",
                ">",
                "?",
                "- ",
                ": ",
                ":\n",
                "\n",
                "\n  ",
                "\n    ",
                ", ",
                "#",
                "\"",
                "'",
                "%",
                "@",
                "법령",
                "\t",
                "\u{feff}",
                "\0",
                "99999999999999999999h",
            ]
            .map(str::to_owned),
        )
        .collect::<Vec<_>>();
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn arbitrary_input_never_panics(text in ".{0,200}", structured in yaml_like(), bytes in any::<Vec<u8>>()) {
        let files = Files::new();
        let paths = [
            files.write("a.yaml", &text),
            files.write("b.yaml", &structured),
            files.write("c.yaml", &bytes),
        ];
        let results = [
            files.load_files(&paths, &[], &[]),
            files.load_files(&[], &[(&format!("RANKGAUGE__{text}"), &structured)], &[]),
            files.load_files(&[], &[], &[(&structured, &text)]),
        ];
        for problems in results.into_iter().filter_map(Result::err) {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn arbitrary_values_of_known_keys_never_panic(
        key in prop::sample::select(config::keys()),
        value in "[0-9a-zA-Z@.,:+() -]{0,30}|\\PC{0,20}",
    ) {
        for problem in load(&[], &[], &[(key.path, &value)]).err().into_iter().flatten() {
            prop_assert!(problem.starts_with("command line "), "{}", problem);
        }
    }
}

#[test]
fn settings_of_detection_and_experiments_are_refused_with_their_remedy() {
    let watched = "measures: [nDCG@10]\ndetection:\n  measures: [nDCG@10]\n";
    assert_problem(
        &format!("{watched}  seasonal: [RR]\n"),
        "0.yaml:4: detection.seasonal[0]: RR is not watched; add it to detection.measures, or give \
         it a target",
    );
    assert_problem(
        &format!("{watched}  seasnal: [nDCG@10]\n"),
        "0.yaml:4: detection.seasnal: unknown key; did you mean detection.seasonal?",
    );
    assert_problem(
        "detection:\n  local: maybe\n",
        "0.yaml:2: detection.local: \"maybe\" is none of true, false",
    );
    assert_problem(
        "detection:\n  warm_up_tolerance: 0.9\n",
        "0.yaml:2: detection.warm_up_tolerance: \"0.9\" is not a number above 0, up to 0.5",
    );
    assert_problem(
        "detection:\n  replicas: 0\n",
        "0.yaml:2: detection.replicas: \"0\" is not between 1 and 1000000",
    );
    assert_problem(
        "measures: [P@1]\nexperiments:\n- {id: e, control: A, assignment: cookie, \
         arms: [{variant: A, share: 0.5}, {variant: B, share: 0.5}]}\n",
        "0.yaml:3: experiments[0].assignment: \"cookie\" is none of user, session",
    );
}

#[test]
fn keys_of_a_long_section_are_not_suggested_for_each_other() {
    assert_problem(
        "detection:\n  epsilon: 1\n",
        "0.yaml:2: detection.epsilon: unknown key",
    );
}

#[test]
fn a_tab_is_reported_in_its_line() {
    for (text, line) in [
        ("kafka:\n  brokers: a:9092\n\tgroup_id: x\n", 3),
        ("workers: 1\nkafka:\n\tbrokers: a:9092\n", 3),
        ("workers: 1\nkafka:\n  - a\n \t- b\n", 4),
    ] {
        assert_problem(
            text,
            &format!(
                "0.yaml:{line}: is not YAML: the line is indented with a tab; indent it with blanks"
            ),
        );
    }
}
