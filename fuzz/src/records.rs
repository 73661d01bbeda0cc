//! Decoders of Kafka records.

use std::sync::OnceLock;

use rankgauge_core::decode::{EventRef, Formats, native};
use rankgauge_core::event::{Acceptance, Kind, Limits, Rejection, Search};

use super::{assert_explained, choice};

/// Limits on a record.
const LIMITS: Limits = Limits {
    record_bytes: 1 << 16,
    results_per_search: 100,
};

/// Formats of a configuration whose topics have the format `name`.
fn formats(name: &str) -> Formats {
    let overrides = ["kafka.search_format", "kafka.feedback_format"];
    let overrides = overrides.map(|key| (key.to_owned(), name.to_owned()));
    let config = rankgauge::config::load(&[], std::iter::empty(), &overrides);
    config.expect("a valid configuration").formats
}

/// Reads a record of both topics.
pub(super) fn decode(formats: &Formats, record: &[u8]) {
    let check = |rejection: &Rejection| assert_explained(&rejection.detail, 300);
    let acceptance = Acceptance {
        limits: LIMITS,
        has_gold_texts: choice(record, &[false, true]),
    };
    for kind in Kind::ALL {
        let mut events = 0_u64;
        let counts = formats.events(kind, record, &acceptance, &mut |event| {
            events += 1;
            match event {
                Ok(EventRef::Search(search)) => {
                    assert!(search.results.len() <= LIMITS.results_per_search);
                }
                Ok(EventRef::Feedback(_)) => {}
                Err(rejection) => check(&rejection),
            }
        });
        if let Err(rejection) = counts {
            assert_eq!(events, 0, "a damaged record has no events");
            check(&rejection);
        }
    }
}

macro_rules! target {
    ($name:ident) => {
        pub(super) fn $name(record: &[u8]) {
            static FORMATS: OnceLock<Formats> = OnceLock::new();
            decode(FORMATS.get_or_init(|| formats(stringify!($name))), record);
        }
    };
}

pub(super) fn native(record: &[u8]) {
    static FORMATS: OnceLock<Formats> = OnceLock::new();
    decode(FORMATS.get_or_init(|| formats("native")), record);
    // Whatever the fast parser accepts, it reads as `serde_json` does.
    let Ok(found) = native::search(record, &LIMITS) else {
        return;
    };
    let expected: Search<'_> = serde_json::from_slice(record).expect("a valid search");
    // By rank, results are sorted.
    if found.results.iter().any(|hit| hit.rank.is_none()) {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
}

target!(ubi);
target!(otlp_proto);
target!(otlp_json);
