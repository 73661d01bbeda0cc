//! Records of a topic with searches and feedback.

use std::sync::Arc;

use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Term};
use rankgauge_core::decode::{EventRef, Format, Formats};
use rankgauge_core::event::{Acceptance, Kind, Rejection};

use super::LIMITS;

/// Kinds of the events of a record, and the number of ignored ones.
fn decoded(formats: &Formats, record: &str) -> Result<(Vec<Kind>, u64), Rejection> {
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: false,
    };
    let mut kinds = Vec::new();
    let counts = formats.events(Kind::Search, record.as_bytes(), &acceptance, &mut |event| {
        kinds.push(match event.expect("a valid event") {
            EventRef::Search(_) => Kind::Search,
            EventRef::Feedback(_) => Kind::Feedback,
        });
    })?;
    Ok((kinds, counts.ignored))
}

#[test]
fn native_records_are_told_apart_by_their_members() {
    let formats = Formats {
        is_shared: true,
        ..Formats::NATIVE
    };
    let search = r#"{"query_id":"q","ts":1763337600120,"query":"a","results":[]}"#;
    let feedback = r#"{"event_id":"e","ts":1763337600120,"query_id":"q","type":"conversion"}"#;
    let named = r#"{"event_id":"e","ts":1763337600120,"query_id":"q","type":"conversion","attrs":{"results":"3"}}"#;
    assert_eq!(decoded(&formats, search), Ok((vec![Kind::Search], 0)));
    assert_eq!(decoded(&formats, feedback), Ok((vec![Kind::Feedback], 0)));
    assert_eq!(decoded(&formats, named), Ok((vec![Kind::Feedback], 0)));
    // The reason is that of the kind that the record seems to be.
    let without_time = r#"{"event_id":"e","query_id":"q","type":"conversion"}"#;
    let rejection = decoded(&formats, without_time).expect_err("no time");
    assert!(rejection.to_string().contains("ts"), "{rejection}");
    let without_query = r#"{"query_id":"q","ts":1763337600120,"results":[]}"#;
    let rejection = decoded(&formats, without_query).expect_err("no query");
    assert!(rejection.to_string().contains("query_key"), "{rejection}");
    assert_eq!(
        formats.probable_kind(Kind::Search, without_time.as_bytes()),
        Kind::Feedback
    );
    assert_eq!(
        formats.probable_kind(Kind::Search, without_query.as_bytes()),
        Kind::Search
    );
}

#[test]
fn records_of_user_behavior_insights_are_told_apart() {
    let formats = Formats {
        search: Format::Ubi,
        feedback: Format::Ubi,
        is_shared: true,
        ..Formats::NATIVE
    };
    let query = r#"{"query_id":"q","client_id":"c","user_query":"a","timestamp":"2025-11-17T09:00:00Z","query_response_hit_ids":["d1"]}"#;
    let event = r#"{"query_id":"q","client_id":"c","action_name":"click","timestamp":"2025-11-17T09:00:00Z","event_attributes":{"object":{"object_id":"d1"}}}"#;
    assert_eq!(decoded(&formats, query), Ok((vec![Kind::Search], 0)));
    assert_eq!(decoded(&formats, event), Ok((vec![Kind::Feedback], 0)));
}

fn section(pairs: Vec<(&str, Term)>) -> Term {
    Term::Section(
        pairs
            .into_iter()
            .map(|(key, term)| (key.to_owned(), term))
            .collect(),
    )
}

fn text(text: &str) -> Term {
    Term::Text(text.to_owned())
}

/// Records of a tracker with an event, or a list of events of both kinds. The conditions select searches,
/// and feedback if `selects_feedback`.
fn mapped(each: Option<&str>, selects_feedback: bool) -> Formats {
    let each = || each.map(|pointer| ("each", text(pointer)));
    let mut search = vec![
        ("when", section(vec![("/event", text("searched"))])),
        (
            "fields",
            section(vec![
                ("query_id", text("/id")),
                ("ts", text("/at")),
                ("query", text("/q")),
            ]),
        ),
        ("hits", section(vec![("list", text("/ids"))])),
    ];
    search.extend(each());
    let mut feedback = vec![(
        "fields",
        section(vec![
            ("event_id", text("/id")),
            ("query_id", text("/of")),
            ("ts", text("/at")),
            ("type", text("=click")),
            ("object_id", text("/doc")),
        ]),
    )];
    if selects_feedback {
        feedback.push(("when", section(vec![("/event", text("clicked"))])));
    }
    feedback.extend(each());
    let mapping = section(vec![
        ("search", section(search)),
        ("feedback", section(feedback)),
    ]);
    let form = Form {
        encoding: Encoding::Json,
        framing: Framing::None,
        compression: Compression::None,
    };
    let mapped = Arc::new(Mapped::compile("tracker", form, mapping).expect("a valid mapping"));
    Formats {
        search: Format::Mapped,
        feedback: Format::Mapped,
        mapped: [Some(Arc::clone(&mapped)), Some(mapped)],
        is_shared: true,
        ..Formats::NATIVE
    }
}

const SEARCHED: &str = r#"{"event":"searched","id":"q","at":1763337600120,"q":"a","ids":["d1"]}"#;
const CLICKED: &str = r#"{"event":"clicked","id":"e","of":"q","at":1763337600120,"doc":"d1"}"#;
const VIEWED: &str = r#"{"event":"viewed","id":"v","at":1763337600120}"#;

#[test]
fn a_mapping_selects_each_kind_by_its_condition() {
    let formats = mapped(None, true);
    assert_eq!(decoded(&formats, SEARCHED), Ok((vec![Kind::Search], 0)));
    assert_eq!(decoded(&formats, CLICKED), Ok((vec![Kind::Feedback], 0)));
    assert_eq!(decoded(&formats, VIEWED), Ok((vec![], 1)));
    assert!(decoded(&formats, "{").is_err());
    let list = mapped(Some("/events"), true);
    let record = format!(r#"{{"events":[{CLICKED},{VIEWED},{SEARCHED}]}}"#);
    let (kinds, ignored) = decoded(&list, &record).expect("a valid record");
    assert_eq!(kinds, [Kind::Search, Kind::Feedback]);
    assert!(ignored > 0);
}

#[test]
fn a_search_that_fills_its_record_is_not_read_as_feedback() {
    let formats = mapped(None, false);
    assert_eq!(decoded(&formats, SEARCHED), Ok((vec![Kind::Search], 0)));
    assert_eq!(decoded(&formats, CLICKED), Ok((vec![Kind::Feedback], 0)));
}
