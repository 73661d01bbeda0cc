//! The files in `config/` are complete, valid and as documented.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rankgauge::config::{self, Config};
use rankgauge_core::engine::money::Money;
use rankgauge_core::ranking::{Component, Difference, SearchField};
use rankgauge_core::time::EventTime;

use super::{Files, load};

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("config")
        .join(name)
}

/// Reference configuration with its examples in place of the empty lists and sections above them.
fn reference_with_examples() -> String {
    let text = std::fs::read_to_string(shipped("rankgauge.yaml")).unwrap();
    let is_example = |line: &str| {
        line.trim_start()
            .strip_prefix('#')
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(' '))
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut enabled = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if is_example(line) {
            line.replacen('#', "", 1)
        } else if lines.get(index + 1).is_some_and(|next| is_example(next)) {
            line.trim_end_matches(" {}")
                .trim_end_matches(" []")
                .to_owned()
        } else {
            (*line).to_owned()
        };
        enabled.push_str(&line);
        enabled.push('\n');
    }
    enabled
}

#[test]
fn the_reference_equals_the_defaults() {
    let reference = Files::new()
        .load_files(&[shipped("rankgauge.yaml")], &[], &[])
        .unwrap();
    assert_eq!(reference, Config::default());
    assert_eq!(reference, load(&[], &[], &[]).unwrap());
}

#[test]
fn every_example_in_the_reference_is_valid() {
    let config = load(&[&reference_with_examples()], &[], &[]).unwrap();
    assert_eq!(config.engine.judging.components.len(), 3);
    assert_eq!(config.targets.len(), 1);
    assert!(config.gold.options.relevance_level.is_some());
    assert!(!config.kafka.properties.is_empty());
    let prices = &config.engine.prices;
    let price = prices
        .find("gpt-4o-mini", EventTime(1_721_260_800_000))
        .expect("midnight UTC");
    assert_eq!(Some(price.cache_read), Money::from_decimal("0.075"));
    assert!(
        prices
            .find("gpt-4o-mini", EventTime(1_721_260_799_999))
            .is_none()
    );
}

#[test]
fn the_reference_contains_exactly_the_known_keys() {
    let reference = marked_yaml::parse_yaml(0, reference_with_examples()).unwrap();
    let mut named = BTreeSet::new();
    collect_keys("", &reference, &mut named);
    let known: BTreeSet<String> = config::known_keys().into_iter().collect();
    assert_eq!(named, known);
}

/// Paths of all values, in the notation of [`config::known_keys`].
fn collect_keys(path: &str, node: &marked_yaml::Node, keys: &mut BTreeSet<String>) {
    let holds_chosen_names = ["kafka.properties", "otlp.feedback", "ubi.actions"].contains(&path)
        || matches!(
            path.rsplit('.').next(),
            Some("attrs" | "attributes" | "headers")
        );
    match node {
        marked_yaml::Node::Mapping(mapping) if !holds_chosen_names => {
            for (key, child) in mapping.iter() {
                let key = if path == "components" {
                    "NAME"
                } else {
                    key.as_str()
                };
                let child_path = if path.is_empty() {
                    key.to_owned()
                } else {
                    format!("{path}.{key}")
                };
                collect_keys(&child_path, child, keys);
            }
            if path == "components" {
                keys.insert(path.to_owned());
            }
        }
        marked_yaml::Node::Sequence(elements) => {
            keys.insert(path.to_owned());
            for element in elements
                .iter()
                .filter(|element| element.as_mapping().is_some())
            {
                collect_keys(&format!("{path}[0]"), element, keys);
            }
        }
        marked_yaml::Node::Mapping(_) | marked_yaml::Node::Scalar(_) => {
            keys.insert(path.to_owned());
        }
    }
}

#[test]
fn known_keys_include_those_in_lists_and_named_sections() {
    let keys = config::known_keys();
    let expected = [
        "engine.feedback_window",
        "kafka.brokers",
        "workers",
        "targets[0].measure",
        "prices[0].valid_from",
        "components.NAME.stages",
        "components.NAME.differs.field",
    ];
    for key in expected {
        assert!(
            keys.iter().any(|known| known == key),
            "{key} is missing in {keys:?}"
        );
    }
}

#[test]
fn the_law_search_profile_overrides_the_reference() {
    let files = [shipped("rankgauge.yaml"), shipped("law-search.yaml")];
    let config = Files::new().load_files(&files, &[], &[]).unwrap();
    assert_eq!(
        config.engine.slices,
        [
            "query_type",
            "difficulty",
            "primary_domain",
            "category",
            "synthetic"
        ]
    );
    let part = |name: &str| Component {
        name: name.to_owned(),
        stages: Vec::new(),
        attributes: BTreeMap::new(),
        differs: None,
    };
    let expected = [
        Component {
            attributes: [("source".to_owned(), "a2a".to_owned())].into(),
            ..part("a2a")
        },
        Component {
            differs: Some(Difference {
                attribute: "domain".to_owned(),
                field: SearchField::Domain,
            }),
            ..part("cross_domain")
        },
        Component {
            stages: vec!["rne_".to_owned()],
            ..part("rne")
        },
    ];
    assert_eq!(config.engine.judging.components, expected);
    let targets: Vec<String> = config
        .targets
        .iter()
        .map(|target| format!("{} {} {}", target.measure, target.tier, target.value))
        .collect();
    for expected in [
        "P@1 excellent 0.9",
        "AP good 0.6",
        "nDCG@10 acceptable 0.65",
        "RR excellent 0.8",
    ] {
        assert!(
            targets.iter().any(|target| target == expected),
            "{expected}: {targets:?}"
        );
    }
}
