//! The catalogue of metric families follows the conventions of Prometheus, and the documentation
//! lists exactly its content.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;

use rankgauge_core::engine::family::{self, Family, Type};

/// Markers around the table in the documentation.
const BEGIN: &str = "<!-- families: begin -->\n";
const END: &str = "<!-- families: end -->\n";

/// The table of all families, in Markdown.
fn table() -> String {
    let mut table = String::from("| name | type | labels | meaning |\n|---|---|---|---|\n");
    for family in family::ALL {
        let labels: Vec<String> = family
            .label_names()
            .into_iter()
            .map(|label| format!("`{label}`"))
            .collect();
        // In Markdown a bar ends a cell, and two underscores make bold type.
        let help = family.help.replace('|', "\\|").replace("__", "\\_\\_");
        writeln!(
            table,
            "| `{}` | {} | {} | {help} |",
            family.full_name(),
            family.kind.name(),
            labels.join(", "),
        )
        .expect("writing to a string does not fail");
    }
    table
}

fn snake_case(name: &str) -> bool {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit())
    };
    name.split('_').all(word)
}

/// Words of a family's name.
fn words(family: &Family) -> Vec<&'static str> {
    family.name.split('_').collect()
}

#[test]
fn the_documentation_lists_every_family() {
    let path = crate::repository("docs/metrics.md");
    let text = fs::read_to_string(&path).expect("docs/metrics.md is there");
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("the table's beginning is marked");
    let (written, after) = rest.split_once(END).expect("the table's end is marked");
    let expected = table();
    if env::var_os("UPDATE").is_some_and(|update| update == "1") {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}"))
            .expect("docs/metrics.md can be written");
    } else {
        assert!(
            written == expected,
            "docs/metrics.md does not list what engine/family/catalogue.rs declares. `UPDATE=1 cargo test -p rankgauge-core catalogue` \
             writes the table, which should be\n\n{expected}"
        );
    }
}

#[test]
fn names_are_unique_and_in_snake_case() {
    let mut seen = BTreeSet::new();
    for family in family::ALL {
        assert!(
            seen.insert(family.name),
            "{} is declared twice",
            family.name
        );
        for name in family.label_names().iter().chain([&family.name]) {
            assert!(snake_case(name), "{name} is not snake_case");
        }
    }
}

#[test]
fn counters_and_no_other_families_end_in_total() {
    for family in family::ALL {
        let last = words(family).pop();
        assert_eq!(
            last == Some("total"),
            family.kind == Type::Counter,
            "{} is a {}",
            family.name,
            family.kind.name()
        );
        // These endings are reserved for the parts of a histogram.
        assert!(
            !matches!(last, Some("sum" | "count" | "bucket")),
            "{} reads like a part of a histogram",
            family.name
        );
    }
}

#[test]
fn units_are_base_units_at_the_end_of_the_name() {
    for family in family::ALL {
        let mut words = words(family);
        for unit in [
            "ms",
            "millis",
            "milliseconds",
            "minutes",
            "hours",
            "kb",
            "mb",
            "percent",
        ] {
            assert!(
                !words.contains(&unit),
                "{} is not in base units",
                family.name
            );
        }
        words.retain(|word| *word != "total");
        let timed = ["latency", "delay", "age", "duration", "timestamp"];
        if timed.iter().any(|word| words.contains(word)) || family.kind == Type::Histogram {
            assert_eq!(
                words.last(),
                Some(&"seconds"),
                "{} has no unit",
                family.name
            );
        }
        let elsewhere = words.iter().rev().skip(1);
        assert!(
            !elsewhere.into_iter().any(|word| *word == "seconds"),
            "the unit of {} does not stand at its end",
            family.name
        );
    }
}

#[test]
fn help_text_is_one_line_of_sentences() {
    for family in family::ALL {
        let help = family.help;
        assert!(
            help.ends_with('.'),
            "the help of {} has no end",
            family.name
        );
        assert!(
            !help.contains('\n'),
            "the help of {} has a line feed",
            family.name
        );
        assert_eq!(
            help,
            help.trim(),
            "the help of {} is not trimmed",
            family.name
        );
    }
}

#[test]
fn labels_are_distinct_and_exclude_reserved_names() {
    for family in family::ALL {
        let names = family.label_names();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{}", family.name);
        for reserved in ["le", "job", "instance"] {
            assert!(
                !distinct.contains(reserved),
                "{} has {reserved}",
                family.name
            );
        }
        // Only a summary has quantiles.
        assert_eq!(
            distinct.contains("quantile"),
            family.kind == Type::Summary,
            "{}",
            family.name
        );
    }
}
