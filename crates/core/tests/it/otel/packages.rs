//! Spans of real instrumentation packages give the same searches in both encodings.

use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::event::{Acceptance, Reason};

use super::fixtures::{COMPLETE, bytes};
use super::{ACCEPTANCE, Decoded, json, proto};

/// The other fixtures.
const INCOMPLETE: [(&str, [u64; 5]); 3] = [
    ("langchain", [2, 4, 0, 0, 0]),
    ("haystack_cut", [0, 1, 0, 0, 2]),
    ("haystack_both_cut", [0, 1, 0, 0, 2]),
];

/// Decodes a fixture in both encodings.
#[track_caller]
fn decoded(name: &str, acceptance: &Acceptance, mapping: &Mapping) -> Decoded {
    let from_proto = proto(&bytes(&format!("{name}.pb")), acceptance, mapping).expect("a message");
    let from_json = json(&bytes(&format!("{name}.json")), acceptance, mapping).expect("JSON");
    assert_eq!(from_proto, from_json, "{name}");
    from_proto
}

#[test]
fn spans_of_real_packages_are_searches_in_both_encodings() {
    for (name, outcomes) in COMPLETE.iter().chain(&INCOMPLETE) {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        assert_eq!(
            decoded.outcomes(),
            *outcomes,
            "{name}: {:#?}",
            decoded.searches
        );
    }
}

#[test]
fn failed_searches_have_no_results_and_the_type_of_their_exception() {
    for (name, is_failing) in [
        ("llama_index", true),
        ("langchain", true),
        ("haystack", true),
        ("gen_ai", false),
    ] {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        let searches = decoded.searches.iter().flatten();
        let failed: Vec<_> = searches
            .filter(|it| it.get("error_type").is_some())
            .collect();
        assert_eq!(failed.len(), usize::from(is_failing), "{name}");
        for search in failed {
            assert_eq!(search["error_type"], "RuntimeError", "{name}");
            assert_eq!(search["results"], serde_json::json!([]), "{name}");
        }
    }
}

#[test]
fn missing_ids_and_truncated_lists_have_their_reasons() {
    for (name, reason, detail) in [
        ("langchain", Reason::MissingField, "document 0 has no id"),
        (
            "haystack_cut",
            Reason::BadValue,
            "retrieval.documents.0: this document is missing",
        ),
        (
            "haystack_both_cut",
            Reason::BadValue,
            "retrieval.documents.0: this document is missing",
        ),
    ] {
        let decoded = decoded(name, &ACCEPTANCE, &Mapping::default());
        let rejections: Vec<_> = decoded
            .searches
            .iter()
            .filter_map(|it| it.as_ref().err())
            .collect();
        assert!(!rejections.is_empty(), "{name}");
        for rejection in rejections {
            assert_eq!(rejection.reason, reason, "{name}: {rejection}");
            assert!(rejection.detail.contains(detail), "{name}: {rejection}");
        }
    }
    let cut = decoded("haystack_cut", &ACCEPTANCE, &Mapping::default());
    assert!(cut.counts.dropped_attributes > 0);
    let langchain = decoded("langchain", &ACCEPTANCE, &Mapping::default());
    assert_eq!(langchain.counts.documents_without_id, 13);
}
