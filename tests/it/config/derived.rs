//! Files that follow from the table of keys: the reference, the JSON schema for editors, and the
//! schema of the values of the chart. `UPDATE=1` writes them.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::ops::Bound;
use std::path::Path;

use marked_yaml::Node;
use rankgauge::config::{self, Entry, NAME, Shape};
use serde_json::{Map, Value, json};

use super::shipped::shipped;

/// Beginning of the reference.
const INTRODUCTION: &str = "\
# yaml-language-server: $schema=../schemas/config.schema.json
#
# Reference configuration of rankgauge: every key with its default. It is written from the table of
# keys (src/config/keys.rs).
#
# Without any file, the sidecar behaves exactly as with this one. A configuration file needs only
# the keys that differ. Layers, later over earlier:
#
#   built-in defaults < files (--config a.yaml --config b.yaml) < environment < command line
#
#   environment    RANKGAUGE__KAFKA__BROKERS=a:9092,b:9092    two underscores between levels
#   command line   --set kafka.brokers=a:9092,b:9092
#
# Sections merge key by key; a list replaces the list of the layer below. A list is written as a list
# or with commas, in variables and flags always with commas; lists of sections (targets, prices) can
# only be written in files. Unknown keys are errors. Durations are a whole number with a unit: 500ms,
# 30s, 10m, 24h; amounts of memory have KiB, MiB or GiB.
#
# Comments with a space after the \"#\" are explanations. Those without one are examples of keys
# without a default: to use them, remove the \"#\", and the {} or [] above. `rankgauge check --config
# FILE` prints a summary of the result.
";

/// Width of the lines of the reference.
const WIDTH: usize = 100;

#[track_caller]
fn assert_is_written(path: &Path, expected: &str) {
    if env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(path, expected).expect("the file can be written");
        return;
    }
    let written = fs::read_to_string(path).expect("the file can be read");
    let line = written.lines().zip(expected.lines()).find(|(a, b)| a != b);
    assert!(
        written == expected,
        "{} does not follow from src/config/keys.rs; `UPDATE=1 cargo test` writes it. First \
         difference: {line:?}",
        path.display()
    );
}

#[test]
fn the_reference_follows_from_the_keys() {
    assert_is_written(&shipped("rankgauge.yaml"), &reference(&config::keys()));
}

fn reference(keys: &[Entry]) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut section = "";
    let is_outside = |key: &&Entry| !key.path.contains("[]") && !key.path.contains(NAME);
    for key in keys.iter().filter(is_outside) {
        let (outer, name) = key.path.split_once('.').unwrap_or(("", key.path));
        let is_section = key.shape == Shape::Section;
        if outer.is_empty() || outer != section {
            text.push('\n');
        }
        let is_header = is_section || (!outer.is_empty() && outer != section);
        if is_section {
            comment(&mut text, "", &key.help.concat(), 0);
        }
        if is_header {
            section = if is_section { key.path } else { outer };
            let mut inside = keys
                .iter()
                .filter(|it| it.path.starts_with(&format!("{section}.")) && it.default.is_some());
            let empty = if inside.next().is_some() { "" } else { " {}" };
            writeln!(text, "{section}:{empty}").expect("writing to a string does not fail");
        }
        if !is_section {
            let indent = if outer.is_empty() { "" } else { "  " };
            comment(&mut text, indent, &explanation(key), 0);
            for inner in inside(keys, key.path) {
                let name = &inner.path[key.path.len()..];
                let name = name.trim_start_matches("[].").trim_start_matches(".NAME.");
                let line = format!(" {name}: {}", explanation(inner).trim_start());
                comment(&mut text, &format!("{indent}#  "), &line, 2);
            }
            text.push_str(&value(key, name, indent));
        }
    }
    text
}

/// Keys with help in the elements of a list or in sections with names.
fn inside<'a>(keys: &'a [Entry], path: &str) -> impl Iterator<Item = &'a Entry> {
    let beginnings = [format!("{path}[]."), format!("{path}.{NAME}.")];
    keys.iter().filter(move |key| {
        let mut beginnings = beginnings.iter();
        !key.help.is_empty() && beginnings.any(|it| key.path.starts_with(it))
    })
}

/// Help with the range of values.
fn explanation(key: &Entry) -> String {
    format!("{}{}", key.help.concat(), range(&key.shape))
}

fn range(shape: &Shape) -> String {
    match shape {
        Shape::Whole(min, max) => format!(" {min} to {max}."),
        Shape::Bytes(min, max) => {
            let [min, max] = [min, max].map(|bytes| config::format_bytes(*bytes));
            format!(" {min} to {max}.")
        }
        Shape::Duration(min, max) => {
            let [min, max] = [min, max].map(|it| config::format_duration(*it));
            format!(" {min} to {max}.")
        }
        Shape::Number(min, max) => {
            let min = match min {
                Bound::Included(min) => format!("From {min}"),
                Bound::Excluded(min) => format!("Above {min}"),
                Bound::Unbounded => return String::new(),
            };
            match max {
                Bound::Included(max) => format!(" {min}, up to {max}."),
                Bound::Excluded(max) => format!(" {min}, below {max}."),
                Bound::Unbounded => format!(" {min}."),
            }
        }
        Shape::Words(words) => {
            format!(" One of {}.", words.join(", "))
        }
        Shape::List(element, min, max) if *min > 0 => {
            format!(
                " {min} to {max} of them.{}",
                range(element).replace(" One", " Each one")
            )
        }
        Shape::List(..)
        | Shape::Names(_)
        | Shape::Text
        | Shape::Section
        | Shape::Sections
        | Shape::NamedSections
        | Shape::Free => String::new(),
    }
}

/// Writes a comment in lines of at most [`WIDTH`] characters, with further lines indented.
fn comment(text: &mut String, indent: &str, content: &str, hanging: usize) {
    let mut begin = format!("{indent}{}", if indent.contains('#') { "" } else { "#" });
    let further = format!("{begin}{}", " ".repeat(hanging));
    let mut line = String::new();
    for word in content.split_whitespace() {
        let length = |text: &str| text.chars().count();
        if !line.is_empty() && length(&begin) + length(&line) + 1 + length(word) > WIDTH {
            writeln!(text, "{begin}{line}").expect("writing to a string does not fail");
            begin.clone_from(&further);
            line.clear();
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(text, "{begin}{line}").expect("writing to a string does not fail");
}

/// Lines of a key with its default, or with examples.
fn value(key: &Entry, name: &str, indent: &str) -> String {
    let (default, inner) = (key.default, format!("{indent}  "));
    let elements = || elements(default.unwrap_or_default());
    let lines: Vec<String> = match &key.shape {
        // Brackets around host:port would look like a pair.
        Shape::List(..) if default.is_some_and(|it| it.contains(':')) => {
            vec![format!("{indent}{name}: {}", elements().join(","))]
        }
        Shape::List(..) if default.is_some() => {
            let inline = format!("{indent}{name}: [{}]", elements().join(", "));
            if inline.len() <= WIDTH {
                vec![inline]
            } else {
                let elements = elements().into_iter().map(|it| format!("{inner}- {it}"));
                [format!("{indent}{name}:")]
                    .into_iter()
                    .chain(elements)
                    .collect()
            }
        }
        Shape::Names(_) if default == Some("") => vec![format!("{indent}{name}: {{}}")],
        Shape::Names(_) => {
            let pairs = elements().into_iter().map(|it| format!("{inner}{it}"));
            [format!("{indent}{name}:")]
                .into_iter()
                .chain(pairs)
                .collect()
        }
        Shape::Sections => vec![format!("{indent}{name}: []")],
        Shape::NamedSections => vec![format!("{indent}{name}: {{}}")],
        _ => match default {
            Some(default) => vec![format!("{indent}{name}: {default}")],
            None => return format!("{indent}#{name}: {}\n", key.examples[0]),
        },
    };
    let examples = key.examples.iter().map(|example| match key.shape {
        Shape::Sections => format!("{inner}#- {example}"),
        _ => format!("{inner}#{example}"),
    });
    let lines = lines.into_iter().chain(examples);
    lines.map(|line| line + "\n").collect()
}

/// Elements of the default of a list, with quotation marks where YAML needs them.
fn elements(default: &str) -> Vec<String> {
    let elements = default.split(", ").filter(|element| !element.is_empty());
    let quoted = elements.map(|element| match element.strip_prefix('*') {
        Some(_) => format!("\"{element}\""),
        None => element.to_owned(),
    });
    quoted.collect()
}

#[test]
fn the_schemas_follow_from_the_keys() {
    let mut schema = object("", &config::keys());
    let parts = [
        ("$schema", "http://json-schema.org/draft-07/schema#"),
        ("title", "Configuration of rankgauge"),
    ];
    for (name, text) in parts {
        schema[name] = text.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    assert_is_written(&root.join("schemas/config.schema.json"), &pretty(&schema));

    let path = root.join("deploy/helm/rankgauge/values.schema.json");
    let text = fs::read_to_string(&path).expect("the schema can be read");
    let mut values: Value = serde_json::from_str(&text).expect("JSON");
    let mut config = object("", &config::keys());
    config["description"] = "Keys of config/rankgauge.yaml.".into();
    values["properties"]["config"] = config;
    assert_is_written(&path, &pretty(&values));
}

fn pretty(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("JSON");
    text + "\n"
}

/// Schema of the section at `path`.
fn object(path: &str, keys: &[Entry]) -> Value {
    let beginning = if path.is_empty() {
        String::new()
    } else {
        format!("{path}.")
    };
    let mut properties = Map::new();
    for key in keys {
        let Some(rest) = key.path.strip_prefix(&beginning) else {
            continue;
        };
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let name = &rest[..end];
        if !properties.contains_key(name) {
            let schema = node(&format!("{beginning}{name}"), keys);
            properties.insert(name.to_owned(), schema);
        }
    }
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// Schema of the key or section at `path`.
fn node(path: &str, keys: &[Entry]) -> Value {
    let Some(key) = keys.iter().find(|key| key.path == path) else {
        return object(path, keys);
    };
    let holds_keys = keys
        .iter()
        .any(|key| key.path.starts_with(&format!("{path}.")));
    let mut schema = match &key.shape {
        Shape::Section => object(path, keys),
        Shape::Sections => json!({"type": "array", "items": object(&format!("{path}[]"), keys)}),
        Shape::NamedSections => {
            let section = object(&format!("{path}.{NAME}"), keys);
            json!({"type": "object", "additionalProperties": section})
        }
        Shape::Free => json!({"type": "object"}),
        Shape::Names(value) => {
            json!({"type": "object", "additionalProperties": value_or_list(value)})
        }
        list @ Shape::List(..) => value_or_list(list),
        shape if holds_keys => json!({"anyOf": [scalar(shape), object(path, keys)]}),
        shape => scalar(shape),
    };
    let help = key.help.concat();
    if !help.is_empty() {
        schema["description"] = help.trim().into();
    }
    if let Some(default) = key.default {
        let elements = default.split(", ").filter(|element| !element.is_empty());
        schema["default"] = match &key.shape {
            Shape::List(..) => elements.map(typed).collect(),
            Shape::Names(_) => {
                let pairs = elements.filter_map(|pair| pair.split_once(": "));
                pairs
                    .map(|(name, value)| (name.to_owned(), typed(value)))
                    .collect()
            }
            _ => typed(default),
        };
    }
    schema
}

/// Schema of a scalar, or of a list of them.
fn value_or_list(shape: &Shape) -> Value {
    match shape {
        Shape::List(element, min, max) => json!({"anyOf": [
            {"type": "array", "items": scalar(element), "minItems": min, "maxItems": max},
            {"type": "string"},
        ]}),
        shape => scalar(shape),
    }
}

/// A scalar as a YAML parser reads it.
fn typed(text: &str) -> Value {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let value = value.filter(|value| value.is_number() || value.is_boolean());
    value.unwrap_or_else(|| text.into())
}

fn scalar(shape: &Shape) -> Value {
    match shape {
        Shape::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Number(min, max) => {
            let mut schema = json!({"type": "number"});
            for (bound, inclusive, exclusive) in [
                (min, "minimum", "exclusiveMinimum"),
                (max, "maximum", "exclusiveMaximum"),
            ] {
                match bound {
                    Bound::Included(bound) => schema[inclusive] = (*bound).into(),
                    Bound::Excluded(bound) => schema[exclusive] = (*bound).into(),
                    Bound::Unbounded => {}
                }
            }
            schema
        }
        Shape::Bytes(..) => {
            json!({"type": ["string", "integer"], "pattern": "^[0-9]+((Ki|Mi|Gi)B?)?$"})
        }
        Shape::Duration(..) => json!({"type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"}),
        Shape::Words(words) => {
            let others = words.iter().map(|word| typed(word));
            let others = others.filter(|value| !value.is_string());
            let texts = words.iter().map(|word| Value::from(*word));
            json!({"enum": texts.chain(others).collect::<Vec<_>>()})
        }
        // A YAML parser takes some texts for numbers and truth values.
        _ => json!({"type": ["string", "number", "boolean"]}),
    }
}

#[test]
fn shipped_files_are_valid_by_the_schema_and_broken_ones_are_not() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/config.schema.json");
    let schema = fs::read_to_string(path).expect("the schema can be read");
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a JSON schema");
    let problems = |text: &str| {
        let value = json(&marked_yaml::parse_yaml(0, text).expect("YAML"));
        let problems = validator.iter_errors(&value).map(|it| it.to_string());
        problems.collect::<Vec<_>>()
    };
    for name in [
        "rankgauge.yaml",
        "law-search.yaml",
        "shop-search.yaml",
        "demo.yaml",
        "demo-shop.yaml",
    ] {
        let text = fs::read_to_string(shipped(name)).expect("a file");
        assert_eq!(problems(&text), Vec::<String>::new(), "{name}");
    }
    let enabled = super::shipped::reference_with_examples();
    assert_eq!(problems(&enabled), Vec::<String>::new());
    for broken in [
        "workers: 257",
        "worker: 1",
        "kafka: {start: now}",
        "engine: {memory: 1MB}",
        "commit_interval: 5",
        "targets: [{measure: P@5, teir: good}]",
        "windows: []",
        "detection: {alpha: 0}",
    ] {
        assert_eq!(problems(broken).len(), 1, "{broken}");
    }
}

/// A YAML document as JSON.
pub(crate) fn json(node: &Node) -> Value {
    match node {
        Node::Scalar(scalar) if scalar.may_coerce() => match scalar.as_bool() {
            Some(flag) => flag.into(),
            None => typed(scalar.as_str()),
        },
        Node::Scalar(scalar) => scalar.as_str().into(),
        Node::Sequence(elements) => elements.iter().map(json).collect(),
        Node::Mapping(pairs) => {
            let pairs = pairs.iter();
            pairs
                .map(|(key, value)| (key.as_str().to_owned(), json(value)))
                .collect()
        }
    }
}
