//! Table of the alerts in docs/operations.md, from the rules. The other copies of the rules are compared in
//! `deploy::kustomize`: the chart and the overlay contain them. The mixin imports them.

use std::fmt::Write as _;
use std::{env, fs};

use super::{Alert, OF_THE_INCIDENT, alerts, expanded, rule_files};
use crate::dashboards::folder;

const PAGE: &str = "docs/operations.md";
const BEGIN: &str = "<!-- Written by `UPDATE=1 cargo test --test it rules::derived`. -->\n";
const END: &str = "<!-- End of the alerts. -->\n";

/// Summary of an alert with the names of its labels in the place of their values.
fn sentence(summary: &str) -> String {
    let mut text = summary.to_owned();
    // `.` of a `with` is its label.
    while let Some(start) = text.find("{{ . }}") {
        let label = text[..start]
            .rsplit_once("{{ with $labels.")
            .and_then(|(_, rest)| rest.split_once(" }}"))
            .map(|(label, _)| label.to_owned())
            .expect("a label");
        text.replace_range(
            start..start + "{{ . }}".len(),
            &format!("{{{{ $labels.{label} }}}}"),
        );
    }
    let text = expanded(&text, true);
    let mut parts = text.split("{{ ");
    let mut sentence = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" }}").expect("the end of a template");
        let name = name.split(" | ").next().unwrap_or(name);
        let name = name.trim_start_matches("$labels.").trim_start_matches('$');
        write!(sentence, "*{name}*{rest}").expect("invariant: a string");
    }
    sentence.replace('|', "\\|")
}

fn table() -> String {
    let mut alerts = alerts();
    alerts.sort_by(|one, other| {
        let place = |alert: &Alert| match alert.severity.as_str() {
            "critical" => 0,
            OF_THE_INCIDENT => 1,
            "warning" => 2,
            _ => 3,
        };
        let key = |alert: &Alert| (place(alert), alert.name.clone());
        key(one).cmp(&key(other))
    });
    let mut text =
        "\n| alert | severity | concern | after | it says |\n|---|---|---|---|---|\n".to_owned();
    for alert in alerts {
        let (name, anchor) = (&alert.name, alert.name.to_lowercase());
        let severity = match alert.severity.as_str() {
            OF_THE_INCIDENT => "that of the incident",
            severity => severity,
        };
        writeln!(
            text,
            "| [`{name}`](runbooks.md#{anchor}) | {} | {} | {} | {} |",
            severity,
            alert.concern,
            alert.waits_for.as_deref().unwrap_or("at once"),
            sentence(&alert.summary)
        )
        .expect("invariant: a string");
    }
    text.push('\n');
    text
}

#[test]
fn the_page_on_operations_lists_the_alerts() {
    let path = folder(PAGE);
    let page = fs::read_to_string(&path).expect("the page exists");
    let (before, rest) = page.split_once(BEGIN).expect("the table begins");
    let (written, after) = rest.split_once(END).expect("the table ends");
    let expected = table();
    if env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}"))
            .expect("it can be written");
    } else {
        assert!(
            written == expected,
            "{PAGE} does not list the alerts; run UPDATE=1 cargo test --test it rules::derived. It should be\n{expected}"
        );
    }
}

#[test]
fn the_mixin_imports_every_file_of_rules_and_every_dashboard() {
    let mixin =
        fs::read_to_string(folder("deploy/mixin/mixin.libsonnet")).expect("the mixin exists");
    for file in rule_files() {
        let import = format!("read(importstr '../prometheus/{file}')");
        assert!(
            mixin.contains(&import),
            "deploy/mixin/mixin.libsonnet lacks {file}"
        );
    }
    for file in fs::read_dir(folder("grafana/dashboards")).expect("the folder exists") {
        let file = file.expect("it can be listed").file_name();
        let import = format!(
            "import '../../grafana/dashboards/{}'",
            file.to_string_lossy()
        );
        assert!(
            mixin.contains(&import),
            "deploy/mixin/mixin.libsonnet lacks {}",
            file.display()
        );
    }
}

#[test]
fn a_summary_names_its_labels() {
    assert_eq!(
        sentence(
            "{{ $labels.measure }} of {{ $labels.slice }}{{ with $labels.value }}={{ . }}{{ end }} is {{ $value | humanize }}"
        ),
        "*measure* of *slice*=*value* is *value*"
    );
}
