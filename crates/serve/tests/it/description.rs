//! The description of the API and the reference in its documentation follow from the table of
//! endpoints. `UPDATE=1 cargo test -p rankgauge-serve` writes both.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

/// Markers around the tables in the documentation.
const BEGIN: &str = "<!-- endpoints: begin -->\n";
const END: &str = "<!-- endpoints: end -->\n";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

fn is_update() -> bool {
    env::var_os("UPDATE").is_some_and(|update| update == "1")
}

#[test]
fn the_description_in_the_repository_is_that_of_the_table() {
    let path = repository("schemas/openapi.json");
    let described = Value::Object(rankgauge_serve::document().clone());
    if is_update() {
        let text = serde_json::to_string_pretty(&described).unwrap() + "\n";
        fs::write(&path, text).unwrap();
    }
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(
        written == described,
        "schemas/openapi.json is out of date: UPDATE=1 cargo test -p rankgauge-serve writes it"
    );
}

#[test]
fn the_documentation_lists_every_endpoint_and_parameter() {
    let path = repository("docs/api.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("a marked beginning");
    let (written, after) = rest.split_once(END).expect("a marked end");
    let expected = rankgauge_serve::reference();
    if is_update() {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert!(
            written == expected,
            "docs/api.md is out of date: UPDATE=1 cargo test -p rankgauge-serve writes it"
        );
    }
}

/// RFC 3339, the format `date-time`, is one of the forms that are read.
#[test]
fn the_time_of_a_reported_deployment_is_not_limited_to_one_form() {
    let described = rankgauge_serve::document();
    let ts = &described["components"]["schemas"]["DeploymentReport"]["properties"]["ts"];
    let ts = ts.to_string();
    assert!(ts.contains("ISO 8601 with an offset"), "{ts}");
    assert!(!ts.contains("date-time"), "{ts}");
}

/// Every member of the description has a schema of its own, and every parameter a text.
#[test]
fn every_reference_of_the_description_leads_to_a_schema() {
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    match member.as_str() {
                        Some(target) if name == "$ref" => found.push(target.to_owned()),
                        _ => references(member, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let described = Value::Object(rankgauge_serve::document().clone());
    let mut found = Vec::new();
    references(&described, &mut found);
    assert!(found.len() > 50, "{found:?}");
    for target in found {
        let pointer = target.strip_prefix('#').expect("a local reference");
        assert!(described.pointer(pointer).is_some(), "{target}");
    }
}
