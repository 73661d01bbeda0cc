//! Record formats: the formats of both topics, and the settings that UBI leaves open.

use rankgauge_core::decode::ubi::{Dialect, Meaning};
use rankgauge_core::decode::{ActionName, Format, Formats};

use super::{Config, assert_problem, load};

#[test]
fn records_are_native_events_by_default() {
    let formats = Config::default().formats;
    let Formats {
        search,
        feedback,
        ubi,
    } = formats;
    assert_eq!((search, feedback), (Format::Native, Format::Native));
    assert_eq!(ubi, Dialect::default());
    assert_eq!(ubi.ordinal_base, 1);
    assert!(!Config::default().summary().contains("formats"));
}

#[test]
fn each_topic_has_its_own_format() {
    let config = load(
        &["kafka: {search_format: ubi}\nubi: {ordinal_base: 0}"],
        &[],
        &[],
    );
    let config = config.expect("valid");
    assert_eq!(config.formats.search, Format::Ubi);
    assert_eq!(config.formats.feedback, Format::Native);
    assert_eq!(config.formats.ubi.ordinal_base, 0);
    let summary = config.summary();
    let line = "formats     searches ubi, feedback native, ordinals from 0\n";
    assert!(summary.contains(line), "{summary}");
    let feedback = load(
        &[],
        &[("RANKGAUGE__KAFKA__FEEDBACK_FORMAT", "ubi")],
        &[("ubi.ordinal_base", "0")],
    );
    let formats = feedback.expect("valid").formats;
    assert_eq!(formats.feedback, Format::Ubi);
    assert_eq!(formats.ubi.ordinal_base, 0);
}

#[test]
fn configured_actions_extend_or_replace_the_default_ones() {
    let file = "ubi:\n  actions: {cite: conversion, view: custom, page.exit: dwell, up: thumbs_up}";
    let variable = ("RANKGAUGE__UBI__ACTIONS__OPEN_DOCUMENT", "click");
    let ubi = load(&[file], &[variable], &[]).expect("valid").formats.ubi;
    for (action, meaning) in [
        ("cite", Meaning::Type(ActionName::Conversion)),
        ("view", Meaning::Type(ActionName::Custom)),
        ("page.exit", Meaning::Type(ActionName::Dwell)),
        ("up", Meaning::Thumb { up: true }),
        ("open_document", Meaning::Type(ActionName::Click)),
        ("click", Meaning::Type(ActionName::Click)),
        ("purchase", Meaning::Type(ActionName::Conversion)),
        ("unheard_of", Meaning::Type(ActionName::Custom)),
    ] {
        assert_eq!(ubi.meaning(action), meaning, "{action}");
    }
}

#[test]
fn invalid_formats_ordinal_bases_and_meanings_are_rejected() {
    assert_problem(
        "kafka:\n  search_format: avro",
        "0.yaml:2: kafka.search_format: \"avro\" is none of native, ubi",
    );
    assert_problem(
        "ubi:\n  ordinal_base: 2",
        "0.yaml:2: ubi.ordinal_base: \"2\" is none of 0, 1",
    );
    assert_problem(
        "ubi:\n  actions:\n    cite: converted",
        "0.yaml:3: ubi.actions.cite: \"converted\" is none of impression, click, dwell, conversion, \
         thumbs, rating, judgment, reformulation, comment, custom, thumbs_up, thumbs_down",
    );
    assert_problem(
        "ubi:\n  actions: [click]",
        "0.yaml:2: ubi.actions: a section of keys with values is expected",
    );
    assert_problem("ubi:\n  base: 0", "0.yaml:2: ubi.base: unknown key");
}
