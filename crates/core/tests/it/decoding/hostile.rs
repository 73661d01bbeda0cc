//! Hostile records.

use proptest::collection::vec;
use proptest::prelude::*;
use rankgauge_core::decode::native::{feedback, search};
use rankgauge_core::event::Reason;

use super::{FULL_SEARCH, LIMITS, TOKENS, assert_refused, event, search_of, search_with};

const FULL_FEEDBACK: &str = r#"{"event_id": "e", "query_id": "q", "session_id": 1, "client_id": "c",
    "user_id": "u", "ts": "2025-11-17T09:00:00+09:00", "type": "rating", "value": 4, "min": 1, "max": 5,
    "object_id": "d", "position": 2, "dwell_ms": 1.5, "name": "n", "comment": "\ud55c\uae00", "labels": {"a": [1]}}"#;

/// Decodes `payload` as both kinds; any result is fine, a panic is not.
fn survives(payload: &[u8]) -> Result<(), TestCaseError> {
    for rejection in [
        search(payload, &LIMITS).err(),
        feedback(payload, &LIMITS).err(),
    ]
    .into_iter()
    .flatten()
    {
        prop_assert!(rejection.detail.len() <= 300, "{rejection}");
        prop_assert!(!rejection.detail.is_empty());
    }
    Ok(())
}

/// JSON tokens, and field names of events.
fn fragment() -> impl Strategy<Value = &'static str> {
    let names = [
        "NaN",
        "\"ts\"",
        "\"results\"",
        "\"query\"",
        "\"type\"",
        "\"event_id\"",
        "\"id\"",
        "\"value\"",
        "\"labels\"",
    ];
    prop::sample::select([&TOKENS[..], &names].concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(payload in vec(any::<u8>(), 0..300)) {
        survives(&payload)?;
    }

    #[test]
    fn arbitrary_json_like_text_never_panics(fragments in vec(fragment(), 0..60)) {
        survives(fragments.concat().as_bytes())?;
    }

    #[test]
    fn a_valid_event_cut_short_is_not_json(cut in any::<prop::sample::Index>(), of_search in any::<bool>()) {
        let text = if of_search { FULL_SEARCH } else { FULL_FEEDBACK };
        let payload = &text.as_bytes()[..cut.index(text.len())];
        survives(payload)?;
        let reason = if of_search {
            search(payload, &LIMITS).err()
        } else {
            feedback(payload, &LIMITS).err()
        };
        let reason = reason.map(|rejection| rejection.reason);
        prop_assert!(
            matches!(reason, Some(Reason::Empty | Reason::NotJson | Reason::NotUtf8)),
            "{reason:?}"
        );
    }

    #[test]
    fn a_valid_event_with_flipped_bytes_never_panics(
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        of_search in any::<bool>(),
    ) {
        let mut payload = if of_search { FULL_SEARCH } else { FULL_FEEDBACK }.as_bytes().to_vec();
        for (place, byte) in flips {
            let place = place.index(payload.len());
            payload[place] = byte;
        }
        survives(&payload)?;
    }
}

#[test]
fn deep_nesting_in_unknown_fields_and_attributes_is_ignored_or_rejected() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let depth = 100_000;
        let middle = if open == "[" { "" } else { "1" };
        let nested = format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
        for field in [
            format!(r#""unknown": {nested}"#),
            format!(r#""labels": {{"x": {nested}}}"#),
            format!(r#""attrs": {nested}"#),
            format!(r#""results": {nested}"#),
            format!(r#""query_id": {nested}"#),
            format!(r#""unknown": {}"#, open.repeat(depth)),
        ] {
            let text = search_with(&field);
            // Either is fine; a stack overflow is not.
            drop(search(text.as_bytes(), &LIMITS));
        }
        let text = event("rating", &format!(r#""value": {nested}"#));
        assert!(feedback(text.as_bytes(), &LIMITS).is_err());
        assert!(search(nested.as_bytes(), &LIMITS).is_err());
    }
}

#[test]
fn malformed_numbers_are_rejected() {
    for written in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-1e999",
        "0x10",
        "+1",
        ".5",
        "1.",
    ] {
        // A byte that cannot end a number is detected one step after the field.
        let known = if written == "0x10" { "" } else { "_ms" };
        let text = search_with(&format!(r#""latency_ms": {written}"#));
        assert_refused(search(text.as_bytes(), &LIMITS), Reason::NotJson, known);
        let text = event("dwell", &format!(r#""dwell_ms": {written}"#));
        assert_refused(feedback(text.as_bytes(), &LIMITS), Reason::NotJson, known);
    }
}

#[test]
fn a_record_over_the_size_limit_by_one_byte_is_rejected() {
    let text = search_with(&format!(r#""query": "{}""#, "가".repeat(300_000)));
    assert_eq!(
        search_of(&text).query.as_ref().map(|query| query.len()),
        Some(900_000)
    );
    let padding = " ".repeat(LIMITS.record_bytes - text.len());
    let full = text + &padding;
    assert!(search(full.as_bytes(), &LIMITS).is_ok());
    assert_refused(
        search((full + " ").as_bytes(), &LIMITS),
        Reason::TooLarge,
        "1048577 bytes",
    );
}

#[test]
fn quoted_parts_of_a_record_are_truncated() {
    let text = event(&"뷁".repeat(100_000), "");
    let refused = feedback(text.as_bytes(), &LIMITS).expect_err("no such type");
    assert!(refused.detail.len() <= 300);
    assert!(refused.detail.contains("type"));
}

#[test]
fn half_a_character_is_replaced_in_texts_and_rejected_in_ids() {
    let cut = r#"{"query_id": "x", "ts": 1763337600120, "query": "zoning \ud83d", "results": [{"id": "a", "text": "\ude00b"}],
        "attrs": {"ua": "\ud83d!", "\ud83d": 1, "list": ["\ud83d"]}}"#;
    let found = search(cut.as_bytes(), &LIMITS).expect("an event");
    assert_eq!(found.query.as_deref(), Some("zoning \u{fffd}"));
    assert_eq!(
        found.results[0].details().text.as_deref(),
        Some("\u{fffd}b")
    );
    let attributes = found.attrs.as_ref().expect("attributes");
    assert_eq!(attributes.label("ua").as_deref(), Some("\u{fffd}!"));
    assert_eq!(attributes.label("\u{fffd}").as_deref(), Some("1"));

    let whole = r#"{"query_id": "x", "ts": 1763337600120, "query": "\ud83d\ude00", "results": []}"#;
    let found = search(whole.as_bytes(), &LIMITS).expect("an event");
    assert_eq!(found.query.as_deref(), Some("\u{1f600}"));

    let id = cut.replace(r#""id": "a""#, r#""id": "\ud83d""#);
    let rejection = search(id.as_bytes(), &LIMITS).expect_err("an id that nothing can match");
    assert_eq!(rejection.reason, Reason::NotJson);
    let said = &rejection.detail;
    assert!(
        said.starts_with("results[0].id: half a character"),
        "{said}"
    );
    assert!(said.contains("text.toWellFormed()"), "{said}");
}
