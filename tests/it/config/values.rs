//! Rejected configuration values and their error messages.

use rankgauge_core::engine::money::Money;
use rankgauge_core::time::EventTime;

use super::{assert_problem, load, problems};

#[test]
fn reserved_properties_are_rejected_with_the_reason() {
    let refused = [
        (
            "enable.auto.commit",
            "only offsets of records that have been counted",
        ),
        (
            "enable.auto.offset.store",
            "only offsets of records that have been counted",
        ),
        ("auto.offset.reset", "see kafka.start"),
        (
            "partition.assignment.strategy",
            "must reach the same worker",
        ),
        ("bootstrap.servers", "kafka.brokers"),
        ("metadata.broker.list", "kafka.brokers"),
        ("group.id", "kafka.group_id"),
        ("group.protocol", "kafka.group_protocol"),
        ("enable.partition.eof", "an idle topic is detected"),
    ];
    for (name, reason) in refused {
        let file = format!("kafka:\n  properties:\n    {name}: x\n");
        let found = problems(&file);
        let start = format!("0.yaml:3: kafka.properties.{name}: cannot be set: ");
        assert!(
            found.len() == 1 && found[0].starts_with(&start),
            "{found:?}"
        );
        assert!(found[0].contains(reason), "{found:?}");
    }
    assert_problem(
        "kafka:\n  properties:\n    sasl:\n      password: x\n",
        "0.yaml:3: kafka.properties.sasl: is a section of keys; one value is expected",
    );
}

#[test]
fn invalid_scalars_are_rejected() {
    for (file, expected) in [
        (
            "workers: 1.5",
            "workers: \"1.5\" is not a whole number between 1 and 256",
        ),
        ("workers: 257", "workers: \"257\" is not between 1 and 256"),
        ("workers: [1]", "workers: is a list; one value is expected"),
        (
            "workers: {}",
            "workers: is a section of keys; one value is expected",
        ),
        (
            "workers: {a: {b: 1}}",
            "workers: is a section of keys; one value is expected",
        ),
        (
            "workers:",
            "workers: has no value; give one, or remove the key to get its default",
        ),
        (
            "gold:",
            "gold: is a section of keys; give them, indented below it, or remove the key",
        ),
        (
            "limits: {record_bytes: 1}",
            "limits.record_bytes: \"1\" is not between 1024 and 1073741824",
        ),
        (
            "kafka: {group_id: ''}",
            "kafka.group_id: \"\" is not a group id",
        ),
        (
            "kafka: {search_topic: ^search}",
            "kafka.search_topic: \"^search\" is not a topic; use up to 249 of a-z A-Z 0-9 . _ -",
        ),
        (
            "kafka: {brokers: ''}",
            "kafka.brokers: names no broker; write at least one host:port",
        ),
        (
            "kafka: {start: now}",
            "kafka.start: \"now\" is none of earliest, latest",
        ),
        (
            "kafka: {properties: x}",
            "kafka.properties: a section of keys with values is expected",
        ),
        (
            "gold: {relevance_level: high}",
            "gold.relevance_level: \"high\" is not a grade; write a number from -1000 to 1000",
        ),
        (
            "gold: {columns: 'query=qid,document=pid'}",
            "gold.columns: \"query=qid,document=pid\" states no columns of judgements: the column of the grade is \
             missing; write for example `query,document,grade`, or `query=qid,document=pid,grade=3`",
        ),
        (
            "gold: {paths: ['']}",
            "gold.paths[0]: is empty; name a file or a folder",
        ),
    ] {
        assert_problem(file, &format!("0.yaml:1: {expected}"));
    }
}

#[test]
fn invalid_lists_are_rejected() {
    for (file, expected) in [
        (
            "slices: {a: 1}",
            "slices: is a section of keys; a list is expected",
        ),
        (
            "slices:",
            "slices: has no value; write [] for an empty list, or remove the key",
        ),
        (
            "slices: [all]",
            "slices[0]: \"all\" is reserved for all searches; choose another label",
        ),
        ("slices: [a, a]", "slices[1]: \"a\" is listed twice"),
        (
            "slices: [1a]",
            "slices[0]: \"1a\" is not a name; use letters, digits and _, and no digit first",
        ),
        (
            "measures: [P@5, R@5, P@5]",
            "measures[2]: P@5 is listed twice",
        ),
        (
            "measures: [P@5, precision@5]",
            "measures[1]: P@5 is listed twice",
        ),
        (
            "{measures: [nDCG@10], detection: {measures: [ndcg@10, ndcg_cut_10]}}",
            "detection.measures[1]: nDCG@10 is listed twice",
        ),
        (
            "windows: []",
            "windows: has 0 windows; between 1 and 8 are possible",
        ),
        (
            "windows: [999h]",
            "windows[0]: \"999h\" is not between 1s and 744h",
        ),
        (
            "windows: [60s, 1m]",
            "windows[1]: \"1m\" is not longer than the window before; write the shortest first",
        ),
        (
            "windows: [1s,2s,3s,4s,5s,6s,7s,8s,9s]",
            "windows: has 9 windows; between 1 and 8 are possible",
        ),
        (
            "latency: {buckets: [1, 0.5]}",
            "latency.buckets[1]: \"0.5\" is not above the bucket before; write the smallest first",
        ),
        (
            "latency: {buckets: [0]}",
            "latency.buckets[0]: \"0\" is not a number of seconds above 0, as 0.25",
        ),
        (
            "latency: {buckets: [.nan]}",
            "latency.buckets[0]: \".nan\" is not a number of seconds above 0, as 0.25",
        ),
        (
            "latency: {buckets: []}",
            "latency.buckets: has 0 buckets; between 1 and 50 are possible",
        ),
    ] {
        assert_problem(file, &format!("0.yaml:1: {expected}"));
    }
}

#[test]
fn invalid_targets_are_rejected() {
    for (file, expected) in [
        (
            "targets: P@5",
            "targets: a list of sections is expected; it can only be written in a file",
        ),
        ("targets: [P@5]", "targets[0]: is not a section of keys"),
        (
            "targets: [{measure: P@5, tier: good}]",
            "targets[0].value: is missing",
        ),
        (
            "targets: [{measure: P@5, tier: good, value: .inf}]",
            "targets[0].value: \".inf\" is not a number",
        ),
        (
            "targets: [{measure: P@7, tier: good, value: 1}]",
            "targets[0].measure: P@7 is not computed; add it to measures",
        ),
        (
            "targets: [{measure: P@5, tier: a, value: 1}, {measure: P@5, tier: a, value: 0}]",
            "targets[1]: P@5 has two targets of the tier a",
        ),
    ] {
        assert_problem(file, &format!("0.yaml:1: {expected}"));
    }
}

#[test]
fn components_without_a_usable_rule_are_rejected() {
    for (file, expected) in [
        (
            "components: {rne: {}}",
            "components.rne: has no rule; give it stages, attrs or differs",
        ),
        (
            "components: {r-e: {stages: [x]}}",
            "components.r-e: \"r-e\" is not a name; use letters, digits and _, and no digit first",
        ),
        (
            "components: {c: {stages: [a], differs: {attr: domain}}}",
            "components.c.differs.field: is missing; differs needs attr and field",
        ),
        (
            "components: {c: {stages: [''], attrs: {a: b}}}",
            "components.c.stages[0]: is empty; every stage begins with an empty text",
        ),
    ] {
        assert_problem(file, &format!("0.yaml:1: {expected}"));
    }
}

#[test]
fn an_unknown_gold_format_error_lists_the_known_formats() {
    let found = problems("gold: {format: csv}");
    assert!(
        found.len() == 1 && found[0].contains("\"csv\" is neither auto nor a format"),
        "{found:?}"
    );
    assert!(found[0].contains("qrels"), "{found:?}");
}

#[test]
fn measures_are_accepted_under_their_aliases() {
    let file = "\
measures: [ndcg_cut_10, MRR, recall@5]
targets: [{measure: mrr, tier: good, value: 0.5}]
detection: {measures: [NDCG@10]}
";
    let config = load(&[file], &[], &[]).expect("aliases name measures");
    let names: Vec<String> = config
        .engine
        .measures
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["nDCG@10", "RR", "R@5"]);
    assert_eq!(config.targets[0].measure, config.engine.measures[1]);
    let watched: Vec<usize> = config
        .engine
        .detection
        .measures
        .iter()
        .map(|watched| watched.index)
        .collect();
    assert_eq!(watched, [0]);
}

#[test]
fn measures_with_targets_are_watched_unless_switched_off() {
    let watched = |detection: &str| {
        let file = format!(
            "measures: [R@3, P@5, RR, RecallGain(a2a)]\ncomponents: {{a2a: {{attrs: {{source: a2a}}}}}}\n\
             targets:\n  - {{measure: RR, tier: good, value: 0.7}}\n  \
             - {{measure: P@5, tier: good, value: 0.7}}\n  - {{measure: P@5, tier: fair, value: 0.5}}\n  \
             - {{measure: RecallGain(a2a), tier: good, value: 0.1}}\n{detection}"
        );
        let config = load(&[&file], &[], &[]).expect("a configuration");
        let measures = config.engine.detection.measures.iter();
        let found = measures.map(|it| (it.index, it.target.map(|target| (target * 100.0).round())));
        found.collect::<Vec<_>>()
    };
    // Scores of RecallGain can be negative.
    assert_eq!(watched(""), [(1, Some(50.0)), (2, Some(70.0))]);
    assert_eq!(watched("detection: {measures: []}\n"), []);
    assert_eq!(watched("detection: {measures: [R@3]}\n"), [(0, None)]);
}

#[test]
fn a_watched_target_outside_the_range_of_scores_is_rejected_with_its_line() {
    for (value, written) in [("65", "65"), ("1.01", "1.01"), ("-0.5", "-0.5")] {
        let file = format!(
            "measures: [R@3, P@5]\ntargets:\n  - {{measure: P@5, tier: good, value: 0.5}}\n  - measure: R@3\n    \
             tier: good\n    value: {value}\ndetection: {{measures: [R@3]}}\n"
        );
        assert_problem(
            &file,
            &format!(
                "0.yaml:6: targets[1].value: {written} is not between 0 and 1, but R@3 always \
                 is, so that no score can reach it; write a share such as 0.65"
            ),
        );
    }
    for value in ["0", "1"] {
        let file = format!(
            "{{measures: [R@3], targets: [{{measure: R@3, tier: good, value: {value}}}], detection: {{measures: [R@3]}}}}"
        );
        let config = load(&[&file], &[], &[]).expect("a target that a score can reach");
        let target = config.engine.detection.measures[0]
            .target
            .expect("a target");
        assert!((target - value.parse::<f64>().expect("a number")).abs() < 1e-12);
    }
}

#[test]
fn the_length_of_bursts_determines_blocks_and_repeats() {
    for (burst, minutes, block) in [
        ("1m", 1, 300_000),
        ("5m", 5, 1_500_000),
        ("90s", 2, 450_000),
        ("10s", 1, 300_000),
    ] {
        let file = format!("detection: {{burst: {burst}, replicas: 3, alpha: 0.01}}\nworkers: 4");
        let detection = load(&[&file], &[], &[]).expect(burst).engine.detection;
        assert_eq!(detection.burst.repeat_window(), minutes, "{burst}");
        assert_eq!(detection.burst.block(), block, "{burst}");
        assert_eq!((detection.workers, detection.replicas), (4, 3));
        let one_worker = detection.target_threshold_of_worker();
        assert!(
            (one_worker - 1_200.0_f64.ln()).abs() < 1e-12,
            "{one_worker}"
        );
    }
    assert_problem(
        "detection: {burst: 48h}",
        "0.yaml:1: detection.burst: \"48h\" is not between 1s and 24h",
    );
    let removed = problems("detection: {baseline_searches: 400}");
    assert!(
        removed[0].starts_with("0.yaml:1: detection.baseline_searches: unknown key"),
        "{removed:?}"
    );
}

#[test]
fn an_invalid_measure_is_reported_with_its_line() {
    let found = problems("measures:\n  - P@5\n  - P@0\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("0.yaml:3: measures[1]: "), "{found:?}");
    assert!(found[0].contains("P@0"), "{found:?}");
}

#[test]
fn prices_are_exact_and_complete() {
    let file = "
prices:
  - {model: m, currency: KRW, input: 0.000000001, output: 2, valid_from: 2025-01-01T09:00:00+09:00}
  - {model: m, currency: KRW, input: 1, output: 3, cache_read: 0.5, reasoning: 4}
";
    let config = load(&[file], &[], &[]).unwrap();
    let new_year = EventTime(1_735_689_600_000);
    let price = config.engine.prices.find("m", new_year).unwrap();
    assert_eq!(Some(price.input), Money::from_decimal("0.000000001"));
    assert_eq!(
        (price.cache_read, price.reasoning),
        (price.input, price.output)
    );
    let before = config
        .engine
        .prices
        .find("m", EventTime(new_year.0 - 1))
        .unwrap();
    assert_eq!(Some(before.cache_read), Money::from_decimal("0.5"));
    assert_eq!(Some(before.reasoning), Money::from_decimal("4"));
}

#[test]
fn invalid_prices_are_rejected() {
    let amount = "is not a price per million tokens; write a plain decimal of at most nine places, \
                  as 0.15";
    let moment =
        "is not a date (2025-01-31) or an ISO 8601 time with an offset (2025-01-31T09:00:00+09:00)";
    let currency = "is not a currency; write its three letters, as USD";
    for (price, key, text) in [
        (
            "model: m, currency: usd, input: 1, output: 1",
            "currency",
            format!("\"usd\" {currency}"),
        ),
        (
            "model: m, currency: USD, input: -1, output: 1",
            "input",
            format!("\"-1\" {amount}"),
        ),
        (
            "model: m, currency: USD, input: 1e3, output: 1",
            "input",
            format!("\"1e3\" {amount}"),
        ),
        (
            "model: m, currency: USD, input: 1",
            "output",
            "is missing".to_owned(),
        ),
        (
            "currency: USD, input: 1, output: 1",
            "model",
            "is missing".to_owned(),
        ),
        (
            "model: '', currency: USD, input: 1, output: 1",
            "model",
            "is empty; write it as it appears in events".to_owned(),
        ),
        (
            "model: m, currency: USD, input: 1, output: 1, valid_from: 2025-02-30",
            "valid_from",
            format!("\"2025-02-30\" {moment}"),
        ),
        (
            "model: m, currency: USD, input: 1, output: 1, valid_from: 2025-01-31T09:00:00",
            "valid_from",
            format!("\"2025-01-31T09:00:00\" {moment}"),
        ),
    ] {
        assert_problem(
            &format!("prices:\n- {{{price}}}\n"),
            &format!("0.yaml:2: prices[0].{key}: {text}"),
        );
    }
    let twice = "{model: m, currency: USD, input: 1, output: 1}";
    assert_problem(
        &format!("prices:\n- {twice}\n- {twice}\n"),
        "0.yaml:3: prices[1]: m has two prices with the same valid_from",
    );
}

#[test]
fn inconsistent_values_are_rejected_with_their_line() {
    assert_problem(
        "engine:\n  feedback_windows: {conversion: 5m}\n",
        "0.yaml:2: engine.feedback_windows.conversion: 5m is not longer than engine.feedback_window \
         (10m); remove it",
    );
    assert_problem(
        "engine:\n  feedback_windows: {click: 5h}\n",
        "0.yaml:2: engine.feedback_windows.click: \"click\" has no window of its own, only conversion \
         has; remove it, or raise engine.feedback_window",
    );
    assert_problem(
        "engine:\n  out_of_orderness: 10m\n",
        "0.yaml:2: engine.out_of_orderness: engine.feedback_window (10m) must be longer than \
         engine.out_of_orderness (10m): otherwise feedback that is in order is late",
    );
    assert_problem(
        "limits:\n  series_per_family: 10\n",
        "0.yaml:2: limits.series_per_family: 21 measures over 4 windows are 84 series for every \
         variant, more than limits.series_per_family (10)",
    );
}

#[test]
fn the_admin_listener_is_a_separate_address_or_none() {
    let listen = |text: &str| {
        let file = format!("admin: {{listen: '{text}'}}\n");
        load(&[&file], &[], &[]).unwrap().admin_listen
    };
    assert_eq!(listen("[::1]:80"), Some("[::1]:80".parse().unwrap()));
    assert_eq!(listen("none"), None);
    assert_eq!(listen(""), None);
    assert_problem(
        "admin: {listen: localhost}",
        "0.yaml:1: admin.listen: \"localhost\" is neither none nor an address and port, as \
         127.0.0.1:9469",
    );
    assert_problem(
        "metrics: {listen: '127.0.0.1:9469'}",
        "0.yaml:1: metrics.listen: \"127.0.0.1:9469\" is used by both listeners; give each \
         its own port",
    );
}

#[test]
fn brokers_are_hosts_with_ports_and_protocols_of_kafka() {
    let brokers = |text: &str| load(&[&format!("kafka: {{brokers: '{text}'}}\n")], &[], &[]);
    for text in [
        "localhost:9092",
        "kafka",
        "SASL_SSL://kafka-1.example:9093",
        "plaintext://kafka_1:9092",
        "[::1]:9092",
        "10.0.0.1:9092",
    ] {
        assert_eq!(brokers(text).expect(text).kafka.brokers, text);
    }
    for text in [
        "http://localhost:9092",
        "localhost:9092/",
        "localhost:",
        "localhost:0",
        "localhost:99999",
        "localhost:+1",
        ":9092",
        "user@kafka:9092",
        "::1",
    ] {
        let problems = brokers(text).expect_err(text);
        assert_eq!(
            problems,
            [format!(
                "0.yaml:1: kafka.brokers[0]: \"{text}\" is not a broker; write host:port, as kafka-1:9092, with a \
                 protocol of Kafka before it if needed, as SASL_SSL://kafka-1:9093"
            )]
        );
    }
}

#[test]
fn the_address_of_each_listener_has_its_own_example() {
    for (section, example) in [
        ("admin", "127.0.0.1:9469"),
        ("gateway", "0.0.0.0:4318"),
        ("probe", "0.0.0.0:9470"),
    ] {
        assert_problem(
            &format!("{section}: {{listen: foo}}"),
            &format!(
                "0.yaml:1: {section}.listen: \"foo\" is neither none nor an address and port, as {example}"
            ),
        );
    }
}
