//! The files in `config/` are complete, valid and as documented.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rankgauge::config::Config;
use rankgauge_core::engine::money::Money;
use rankgauge_core::ranking::{Component, Difference, SearchField};
use rankgauge_core::time::EventTime;

use super::{Files, load};

pub(super) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("config")
        .join(name)
}

/// Reference configuration with its examples in place of the empty lists and sections above them.
pub(super) fn reference_with_examples() -> String {
    let text = std::fs::read_to_string(shipped("rankgauge.yaml")).unwrap();
    let is_example = |line: &str| {
        line.trim_start()
            .strip_prefix('#')
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(' '))
    };
    let lines: Vec<&str> = text.lines().collect();
    let has_example = |mut following: std::slice::Iter<'_, &str>| {
        let next = following.find(|line| !line.trim_start().starts_with("# "));
        next.is_some_and(|line| is_example(line))
    };
    let mut enabled = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if is_example(line) {
            line.replacen('#', "", 1)
        } else if has_example(lines[index + 1..].iter()) {
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
