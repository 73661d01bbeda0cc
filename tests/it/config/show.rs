//! Settings in effect, with the source of each value.

use std::collections::BTreeMap;
use std::process::Command;

use rankgauge::config::{self, NAME};
use serde_json::Value;

use super::Files;

/// Output of `config show` with these arguments, and its exit code.
fn show(files: &Files, arguments: &[&str], environment: &[(&str, &str)]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rankgauge"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RANKGAUGE_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["config", "show"])
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(files.0.path())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code())
}

/// Lines of the text output by key.
fn lines(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().map(|line| line.split_once(" = ").unwrap());
    lines.collect()
}

#[test]
fn every_setting_is_shown_with_its_source() {
    let files = Files::new();
    files.write(
        "base.yaml",
        "workers: 2\nkafka:\n  group_id: judge\n  brokers: [a:1, b:2]\nslices: [domain]\n\
         targets:\n- {measure: P@5, tier: good, value: 0.7}\n",
    );
    files.write("site.yaml", "\nkafka:\n\n  group_id: site\n");
    let environment = [("RANKGAUGE__ENGINE__MEMORY", "7MiB")];
    let arguments = [
        "--config",
        "base.yaml",
        "--config",
        "site.yaml",
        "--set",
        "windows=1m,2m",
    ];
    let (text, code) = show(&files, &arguments, &environment);
    assert_eq!(code, Some(0), "{text}");
    let lines = lines(&text);
    for (key, expected) in [
        ("workers", "2  # base.yaml:1"),
        ("kafka.brokers", "[a:1, b:2]  # base.yaml:4"),
        ("kafka.group_id", "site  # site.yaml:4"),
        ("kafka.search_topic", "search.log  # default"),
        ("slices", "[domain]  # base.yaml:5"),
        ("targets[0].measure", "P@5  # base.yaml:7"),
        ("prices", "[]  # default"),
        ("checkpoint", "{}  # default"),
        ("windows", "1m,2m  # command line windows"),
        (
            "engine.memory",
            "7MiB  # environment RANKGAUGE__ENGINE__MEMORY",
        ),
        ("ubi.actions.click", "click  # default"),
    ] {
        assert_eq!(lines.get(key), Some(&expected), "{key}\n{text}");
    }
    assert!(!lines.contains_key("slices[0]"), "{text}");
    assert!(!lines.contains_key("targets"), "{text}");

    let json = [&arguments[..], &["--format", "json"]].concat();
    let (text, code) = show(&files, &json, &environment);
    assert_eq!(code, Some(0), "{text}");
    let shown: Value = serde_json::from_str(&text).unwrap();
    let shown = shown["settings"].as_array().unwrap();
    assert_eq!(shown.len(), lines.len());
    let setting = |key: &str| {
        let found = shown.iter().find(|setting| setting["key"] == key);
        found.cloned().unwrap_or_default()
    };
    assert_eq!(
        setting("kafka.brokers"),
        serde_json::json!({
            "key": "kafka.brokers",
            "value": ["a:1", "b:2"],
            "source": {"kind": "file", "file": "base.yaml", "line": 4},
        })
    );
    assert_eq!(
        setting("windows")["source"],
        serde_json::json!({"kind": "command_line", "key": "windows"})
    );
    assert_eq!(
        setting("engine.memory")["source"],
        serde_json::json!({
            "kind": "environment",
            "variable": "RANKGAUGE__ENGINE__MEMORY",
        })
    );
    assert_eq!(
        setting("workers")["value"],
        "2",
        "values are shown as written"
    );
    assert_eq!(
        setting("log.level"),
        serde_json::json!({"key": "log.level", "value": "info", "source": {"kind": "default"}})
    );
}

#[test]
fn every_known_key_with_a_default_is_shown() {
    let settings = config::settings(&[], std::iter::empty(), &[]).unwrap();
    let shown: Vec<&str> = settings
        .iter()
        .map(|setting| setting.key.as_str())
        .collect();
    for key in config::keys() {
        let is_example = key.path.contains("[]") || key.path.contains(NAME);
        assert!(
            key.default.is_none() || is_example || shown.iter().any(|it| it.starts_with(key.path)),
            "{}: {shown:?}",
            key.path
        );
    }
}

#[test]
fn secrets_are_masked() {
    let files = Files::new();
    files.write(
        "secret.yaml",
        "kafka: {properties: {sasl.password: geheim, ssl.key.pem: geheim, client.rack: r1}}\n",
    );
    for format in ["text", "json"] {
        let arguments = [
            "--config",
            "secret.yaml",
            "--format",
            format,
            "--set",
            "kafka.properties.sasl.oauthbearer.client.secret=geheim",
        ];
        let variable = ("RANKGAUGE__KAFKA__PROPERTIES__SSL_KEY_PASSWORD", "geheim");
        let (text, code) = show(&files, &arguments, &[variable]);
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains("geheim"), "{text}");
        assert_eq!(text.matches("***").count(), 4, "{text}");
        assert!(text.contains("r1"), "{text}");
    }
}

#[test]
fn an_invalid_configuration_is_reported_as_by_check() {
    let (text, code) = show(&Files::new(), &["--set", "workers=0"], &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("command line workers: \"0\" is not between 1 and 256"),
        "{text}"
    );
}
