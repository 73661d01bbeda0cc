//! Faults that `rankgauge check` finds beyond the configuration itself, and `--version`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// The built binary, without settings from the environment of the developer.
fn rankgauge() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RANKGAUGE_") {
            command.env_remove(name);
        }
    }
    command
}

/// Output of `check` and its exit code, for a configuration in a folder.
fn check(folder: &Path, configuration: &str, environment: &[(&str, &str)]) -> (String, i32) {
    fs::write(folder.join("rankgauge.yaml"), configuration).expect("a file can be written");
    let output = rankgauge()
        .args(["check", "--config", "rankgauge.yaml"])
        .envs(environment.iter().copied())
        .current_dir(folder)
        .output()
        .expect("the built binary runs");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("UTF-8");
    (text, output.status.code().expect("an exit code"))
}

/// Checks that `check` rejects the configuration with this line.
#[track_caller]
fn assert_finds(folder: &Path, configuration: &str, environment: &[(&str, &str)], line: &str) {
    let (text, code) = check(folder, configuration, environment);
    assert_eq!(code, 2, "{text}");
    assert!(text.lines().any(|found| found.trim() == line), "{text}");
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn check_accepts_librdkafka_properties_without_a_connection() {
    let (text, code) = check(
        folder().path(),
        "kafka:\n  properties:\n    security.protocol: SASL_SSL\n    \
         sasl.mechanism: SCRAM-SHA-512\n    sasl.username: a\n    sasl.password: b\n    \
         session.timeout.ms: 6000\n    group.instance.id: replica-1\n",
        &[],
    );
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("the configuration is valid"), "{text}");
}

#[test]
fn check_refuses_properties_that_the_group_protocol_of_the_brokers_excludes() {
    let folder = folder();
    for property in ["session.timeout.ms", "heartbeat.interval.ms"] {
        let kafka =
            format!("kafka:\n  group_protocol: consumer\n  properties:\n    {property}: 6000\n");
        let problem = format!(
            "rankgauge.yaml:4: kafka.properties.{property}: has no effect with kafka.group_protocol: \
             consumer, where the brokers decide (group.consumer.* in their configuration); remove it"
        );
        assert_finds(folder.path(), &kafka, &[], &problem);
    }
    let kafka = "kafka: {group_protocol: consumer, properties: {group.instance.id: replica-1}}";
    let (text, code) = check(folder.path(), kafka, &[]);
    assert_eq!(code, 0, "{text}");
}

#[test]
fn check_warns_of_judgments_of_answers_that_the_key_of_the_gateway_rejects() {
    let folder = folder();
    let with = |more: &str| {
        let configuration = format!(
            "otlp:\n  session: trace\n  feedback: {{faithfulness: judgment, clarity: judgment search}}\n{more}\n"
        );
        let (text, code) = check(folder.path(), &configuration, &[]);
        assert_eq!(code, 0, "{text}");
        text
    };
    let text = with("gateway: {listen: \"127.0.0.1:4318\"}");
    let warning = "gateway.key: with query_id, the gateway rejects the judgments of answers of otlp.feedback \
                   (faithfulness)";
    assert!(text.contains(warning), "{text}");
    assert!(text.contains("set gateway.key: session_id"), "{text}");
    for accepted in ["", "gateway: {listen: \"127.0.0.1:4318\", key: session_id}"] {
        let text = with(accepted);
        assert!(!text.contains("gateway.key"), "{text}");
    }
}

#[test]
fn check_finds_an_unknown_librdkafka_property() {
    let folder = folder();
    assert_finds(
        folder.path(),
        "kafka:\n  properties:\n    session.timeout: 6000\n",
        &[],
        "rankgauge.yaml:3: kafka.properties.session.timeout: librdkafka has no such property; see \
         its CONFIGURATION.md",
    );
    assert_finds(
        folder.path(),
        "{}",
        &[("RANKGAUGE__KAFKA__PROPERTIES__SASL_PASWORD", "geheim")],
        "environment RANKGAUGE__KAFKA__PROPERTIES__SASL_PASWORD: librdkafka has no such property; \
         see its CONFIGURATION.md",
    );
}

#[test]
fn check_finds_a_value_that_librdkafka_rejects() {
    let folder = folder();
    assert_finds(
        folder.path(),
        "kafka:\n  properties:\n    security.protocol: TLS\n    session.timeout.ms: soon\n",
        &[],
        "rankgauge.yaml:3: kafka.properties.security.protocol: librdkafka rejects the value: \
         Invalid value \"TLS\" for configuration property \"security.protocol\"",
    );
    let (text, code) = check(
        folder.path(),
        "kafka: {properties: {sasl.oauthbearer.client.secret: geheim, ssl.key.pem: geheim, \
         session.timeout.ms: soon}}\n",
        &[],
    );
    assert_eq!(code, 2, "{text}");
    assert!(!text.contains("geheim"), "{text}");
}

#[test]
fn check_finds_properties_that_contradict_each_other_and_missing_files() {
    let folder = folder();
    for properties in [
        "{session.timeout.ms: 600000, max.poll.interval.ms: 10000}",
        "{security.protocol: ssl, ssl.ca.location: missing.pem}",
    ] {
        let configuration = format!("kafka:\n  properties: {properties}\n");
        let (text, code) = check(folder.path(), &configuration, &[]);
        assert_eq!(code, 2, "{properties}: {text}");
        assert!(
            text.contains("rankgauge.yaml:2: kafka.properties: librdkafka rejects the properties"),
            "{text}"
        );
    }
}

#[test]
fn check_finds_sasl_credentials_that_the_protocol_does_not_use() {
    let folder = folder();
    let credentials = "sasl.mechanism: SCRAM-SHA-512, sasl.username: u, sasl.password: geheim";
    for (protocol, shown) in [
        ("", "plaintext"),
        ("security.protocol: PLAINTEXT, ", "PLAINTEXT"),
        ("security.protocol: ssl, ", "ssl"),
    ] {
        let configuration = format!("kafka:\n  properties: {{{protocol}{credentials}}}\n");
        let expected = format!(
            "rankgauge.yaml:2: kafka.properties.sasl.mechanism: has no effect with security.protocol \
             {shown}; write security.protocol: SASL_SSL, or SASL_PLAINTEXT without TLS"
        );
        assert_finds(folder.path(), &configuration, &[], &expected);
    }
    for protocol in ["SASL_SSL", "sasl_plaintext"] {
        let configuration =
            format!("kafka:\n  properties: {{security.protocol: {protocol}, {credentials}}}\n");
        let (text, code) = check(folder.path(), &configuration, &[]);
        assert_eq!(code, 0, "{text}");
    }
}

#[test]
fn check_finds_an_unusable_checkpoint_folder() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").expect("a file can be written");
    assert_finds(
        folder.path(),
        "workers: 1\ncheckpoint: {folder: file}\n",
        &[],
        "rankgauge.yaml:2: checkpoint.folder: file is not usable as a folder for checkpoints: \
         file is not a folder; name a folder that the process can write to",
    );
    assert_finds(
        folder.path(),
        "checkpoint: {folder: file/below/it}\n",
        &[],
        "rankgauge.yaml:1: checkpoint.folder: file/below/it cannot be created in file: file is \
         not a folder; name a folder that the process can write to",
    );
    // Not even root can create a file there.
    let (text, code) = check(
        folder.path(),
        "checkpoint: {folder: /proc/rankgauge}\n",
        &[],
    );
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("checkpoint.folder: /proc/rankgauge cannot be created in /proc: "),
        "{text}"
    );
    let (text, code) = check(folder.path(), "checkpoint: {folder: /proc}\n", &[]);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("/proc is not usable as a folder for checkpoints: "),
        "{text}"
    );
}

#[test]
fn check_accepts_a_checkpoint_folder_and_leaves_no_trace() {
    let folder = folder();
    fs::create_dir(folder.path().join("present")).expect("a folder can be made");
    for name in ["present", "absent/below", "./absent"] {
        let configuration = format!("checkpoint: {{folder: {name}}}\n");
        let (text, code) = check(folder.path(), &configuration, &[]);
        assert_eq!(code, 0, "{name}: {text}");
    }
    let names = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names
            .map(|name| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(folder.path()), ["present", "rankgauge.yaml"]);
    assert!(names(&folder.path().join("present")).is_empty());
}

#[test]
fn check_finds_a_variable_with_an_underscore_too_few() {
    assert_finds(
        folder().path(),
        "{}",
        &[("RANKGAUGE_KAFKA_BROKERS", "kafka:9092")],
        "environment RANKGAUGE_KAFKA_BROKERS: is not read, because levels are separated by two \
         underscores; write RANKGAUGE__KAFKA__BROKERS",
    );
}

#[test]
fn the_version_names_revision_compiler_librdkafka_and_features() {
    let output = rankgauge().arg("--version").output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    let [name, revision, compiler, librdkafka, features] = lines.as_slice() else {
        panic!("five lines: {text}");
    };
    assert_eq!(*name, format!("rankgauge {}", env!("CARGO_PKG_VERSION")));
    assert!(revision.starts_with("revision "), "{text}");
    assert!(compiler.starts_with("compiler rustc 1."), "{text}");
    assert!(librdkafka.starts_with("librdkafka 2."), "{text}");
    // TLS and SCRAM need these.
    assert!(
        librdkafka.contains("ssl") && librdkafka.contains("sasl_scram"),
        "{text}"
    );
    assert_eq!(*features, "features demo");
    let short = rankgauge().arg("-V").output().expect("it runs");
    assert_eq!(
        String::from_utf8(short.stdout).expect("UTF-8"),
        format!("{name}\n")
    );
}

#[test]
fn exit_codes_are_listed_in_the_help() {
    let output = rankgauge().arg("--help").output().expect("it runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    for code in ["Exit codes:\n  0  success", "\n  3  a gate that is missed"] {
        assert!(help.contains(code), "{help}");
    }
    assert_eq!(
        rankgauge()
            .arg("--nothing")
            .output()
            .expect("it runs")
            .status
            .code(),
        Some(2)
    );
}

/// Gold set of two queries with ten and four relevant documents: R@3 is at most (3/10 + 3/4) / 2.
fn write_gold(folder: &Path) {
    let query = |key: &str, documents: u32| {
        let grades: Vec<String> = (0..documents).map(|it| format!("\"d{it}\": 2")).collect();
        format!(
            "{{\"query_id\": \"{key}\", \"query_text\": \"{key}\", \"ground_truth\": {{{}}}}}",
            grades.join(", ")
        )
    };
    let gold = format!("{{\"queries\": [{}, {}]}}", query("a", 10), query("b", 4));
    fs::write(folder.join("gold.json"), gold).expect("a file can be written");
}

#[test]
fn check_refuses_targets_that_no_ranking_can_reach() {
    let folder = folder();
    write_gold(folder.path());
    let configuration = |measure: &str, value: &str| {
        format!(
            "gold: {{paths: [gold.json]}}\nmeasures: [\"{measure}\"]\ntargets:\n  \
             - {{measure: \"{measure}\", tier: good, value: {value}}}\n"
        )
    };
    assert_finds(
        folder.path(),
        &configuration("R@3", "0.65"),
        &[],
        "rankgauge.yaml:4: targets[0].value: R@3 cannot reach 0.65: on this gold set (2 queries with \
         7.0 relevant documents on average), its mean is at most 0.525, with ideal rankings; lower \
         the target, or choose a measure that can reach it",
    );
    assert_finds(
        folder.path(),
        &configuration("FacetR(law_type=시행령)", "0.1"),
        &[],
        "rankgauge.yaml:4: targets[0].value: no query of the gold set has what FacetR(law_type=시행령) \
         needs, so that no search has a score; remove the target, or extend the gold set",
    );
    for (measure, value) in [
        ("R@3", "0.525"),
        ("P@10", "0.7"),
        ("nDCG@10", "1"),
        ("AP", "1"),
        ("RR", "1"),
        ("Judged@10", "1"),
        ("SAT", "1"),
    ] {
        let (text, code) = check(folder.path(), &configuration(measure, value), &[]);
        assert_eq!(code, 0, "{measure} {value}: {text}");
    }
    for (measure, value) in [("P@10", "0.71"), ("F1@3", "0.7")] {
        let (text, code) = check(folder.path(), &configuration(measure, value), &[]);
        assert_eq!(code, 2, "{measure} {value}: {text}");
    }
}

#[test]
fn check_prints_in_which_direction_a_target_is_reached() {
    let configuration = "measures: [RR, FP@10]\ntargets:\n  - {measure: RR, tier: good, value: 0.7}\n  \
                         - {measure: FP@10, tier: good, value: 2}\n";
    let (text, code) = check(folder().path(), configuration, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("RR>=0.7 (good)"), "{text}");
    assert!(text.contains("FP@10<=2 (good)"), "{text}");
}

#[test]
fn check_warns_of_targets_that_are_not_watched() {
    let configuration = |detection: &str| {
        format!(
            "measures: [RR, R@10, RecallGain(a2a)]\n\
             components: {{a2a: {{attrs: {{source: a2a}}}}}}\n\
             targets:\n  - {{measure: RR, tier: good, value: 0.7}}\n  \
             - {{measure: R@10, tier: good, value: 0.7}}\n  \
             - {{measure: RecallGain(a2a), tier: good, value: 0.1}}\n{detection}"
        )
    };
    let folder = folder();
    let (text, code) = check(folder.path(), &configuration(""), &[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("detection   2: RR R@10\n"), "{text}");
    assert!(
        text.contains("warning: no alarm is raised for the targets of RecallGain(a2a), because"),
        "{text}"
    );
    let (text, _) = check(
        folder.path(),
        &configuration("detection: {measures: [RR]}\n"),
        &[],
    );
    assert!(
        text.contains(
            "warning: no alarm is raised for the targets of R@10, because detection.measures"
        ),
        "{text}"
    );
    let (text, _) = check(
        folder.path(),
        &configuration("detection: {measures: []}\n"),
        &[],
    );
    assert!(
        text.contains("warning: no alarm is raised for the targets of RR R@10, because"),
        "{text}"
    );
}

#[test]
fn check_warns_of_tests_that_the_stated_traffic_cannot_decide() {
    let folder = folder();
    write_gold(folder.path());
    let configuration = "gold: {paths: [gold.json]}\nmeasures: [RR, AP]\ntargets:\n  \
                         - {measure: RR, tier: good, value: 0.7}\ndetection: {series: 1}\n";
    fs::write(folder.path().join("rankgauge.yaml"), configuration).expect("a file");
    let checked = |rate: &str, variants: &str| {
        let output = rankgauge()
            .args([
                "check",
                "--config",
                "rankgauge.yaml",
                "--searches-per-second",
                rate,
            ])
            .args(["--variants", variants])
            .current_dir(folder.path())
            .output()
            .expect("the built binary runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let slow = checked("0.00004", "2");
    for expected in [
        "baselines are not learned within a day",
        "the traffic does not reach the threshold of a drop within a day",
        "the traffic does not reach the threshold of a missed target within a day",
        "2 series are watched (1 measure, 2 variants, 0 slices), more than detection.series (1)",
    ] {
        assert!(slow.contains(expected), "{expected}: {slow}");
    }
    let fast = checked("10", "1");
    assert!(!fast.contains("warning: the traffic"), "{fast}");
    assert!(!fast.contains("warning: baselines"), "{fast}");
}

#[test]
fn check_warns_of_an_admin_listener_that_other_machines_reach() {
    let folder = folder();
    let warning = "admin.listen: other machines reach the admin listener without authentication";
    for (admin, is_open) in [
        ("{listen: '0.0.0.0:9469'}", true),
        ("{listen: '[::]:9469'}", true),
        ("{listen: '127.0.0.1:9469'}", false),
        ("{listen: none}", false),
        (
            "{listen: '0.0.0.0:9469', allow_unauthenticated: true}",
            false,
        ),
    ] {
        let configuration = format!("kafka: {{brokers: x:9092}}\nadmin: {admin}\n");
        let (text, code) = check(folder.path(), &configuration, &[]);
        assert_eq!(code, 0, "{text}");
        assert_eq!(text.contains(warning), is_open, "{admin}: {text}");
    }
}

/// Times in minutes that `check` states for drops of 0.02, 0.05, 0.1 and 0.2 of all queries.
fn stated_minutes(text: &str) -> Vec<f64> {
    let line = text
        .lines()
        .find(|line| line.contains("are found after about"));
    let line = line.unwrap_or_else(|| panic!("no times: {text}"));
    let times = line.split("about ").nth(1).expect("times").split(" / ");
    times
        .map(|time| match time.split_once(' ') {
            Some((number, unit)) => {
                let minutes = match unit {
                    "min" => 1.0,
                    "h" => 60.0,
                    "d" => 1440.0,
                    _ => panic!("{unit}"),
                };
                number.parse::<f64>().expect("a number") * minutes
            }
            None => f64::INFINITY,
        })
        .collect()
}

#[test]
fn check_states_the_drops_that_are_found_and_proposes_settings() {
    let folder = folder();
    let queries = |number: usize| {
        let queries: Vec<String> = (0..number)
            .map(|id| format!(r#"{{"query_id": "q{id}", "ground_truth": {{"d1": 1}}}}"#))
            .collect();
        format!(r#"{{"queries": [{}]}}"#, queries.join(","))
    };
    let configuration = "gold: {paths: [gold.json]}\nmeasures: [nDCG@10, P@10, RR, SAT]\n\
                         slices: [query_type]\n\
                         detection: {measures: [nDCG@10, P@10, RR, SAT], series: 50, replicas: 4}\n";
    let path = folder.path().join("rankgauge.yaml");
    let checked = |rate: &str, number: usize| {
        fs::write(folder.path().join("gold.json"), queries(number)).expect("a file");
        let flags = [
            "check",
            "--config",
            "rankgauge.yaml",
            "--searches-per-second",
            rate,
        ];
        let output = rankgauge().args(flags).current_dir(folder.path()).output();
        let output = output.expect("the built binary runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    // The simulated delays of docs/detection.md, within a factor of two.
    for (rate, number, simulated) in [
        ("1", 5_000, [99.0, 5.2, 2.3, 1.0]),
        ("0.001157", 200, [f64::INFINITY, 5_798.0, 1_530.0, 823.0]),
    ] {
        fs::write(&path, configuration).expect("a file");
        let text = checked(rate, number);
        let stated = stated_minutes(&text);
        for (stated, simulated) in stated.iter().zip(simulated) {
            let is_never = stated.is_infinite() && simulated.is_infinite();
            let is_near = is_never || (0.5..2.0).contains(&(stated / simulated));
            assert!(is_near, "{stated} is not about {simulated}: {text}");
        }
        for part in [
            "in the warm-up, the first 2 days",
            "series: 50 cost",
            "slices: ",
            "seasonal: ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The proposal is a valid configuration, and finds drops sooner.
        let proposal = text
            .lines()
            .find_map(|line| line.split_once("): detection: "));
        let (_, proposal) = proposal.expect("a proposal");
        let (before, _) = configuration.split_once("detection:").expect("the section");
        fs::write(&path, format!("{before}detection: {proposal}\n")).expect("a file");
        let proposed = stated_minutes(&checked(rate, number));
        assert!(proposed[2] <= stated[2], "{proposal}");
    }
    // Each rate has its proposal.
    fs::write(&path, configuration).expect("a file");
    assert!(checked("0.001", 200).contains("false_alarms: 4, local: false}"));
    assert!(checked("100", 200).contains("false_alarms: 0.25}"));
}

#[test]
fn a_gold_table_with_other_names_is_read_with_its_stated_columns() {
    let folder = folder();
    fs::write(
        folder.path().join("stars.csv"),
        "qid,product,stars\nq1,d1,3\nq1,d2,0\nq2,d1,1\n",
    )
    .expect("a file can be written");
    let (text, code) = check(folder.path(), "gold: {paths: [stars.csv]}\n", &[]);
    assert_eq!(code, 2, "{text}");
    let configuration =
        "gold: {paths: [stars.csv], columns: 'query=qid,document=product,grade=stars'}\n";
    let (text, code) = check(folder.path(), configuration, &[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("2 queries, 3 judgements"), "{text}");
    let configuration =
        "gold: {paths: [stars.csv], columns: 'query=qid,document=item,grade=stars'}\n";
    let (text, code) = check(folder.path(), configuration, &[]);
    assert_eq!(code, 2, "{text}");
    let expected = "no column is called `item`; the columns are qid, product, stars";
    assert!(text.contains(expected), "{text}");
}
