//! OpenTelemetry traces as searches: spans in both encodings, from real instrumentation packages and
//! made by hand, through the decoder.

mod agreement;
mod answers;
mod feedback;
mod fixtures;
mod hostile;
mod mapping;
pub(crate) mod messages;
mod packages;

use prost::Message as _;
use rankgauge_core::decode::otlp::Mapping;
use rankgauge_core::decode::{EventRef, Format, Formats};
use rankgauge_core::event::{
    Acceptance, Attributes, Feedback, Kind, Limits, RecordCounts, Rejection, Search, SpanOutcome,
    Value,
};
use serde_json::{Map, json};

use messages::Traces;

const ACCEPTANCE: Acceptance = Acceptance {
    limits: Limits {
        record_bytes: 1 << 20,
        results_per_search: 100,
    },
    has_gold_texts: false,
};

/// Events of a record.
#[derive(Clone, Debug, PartialEq)]
struct Decoded {
    searches: Vec<Result<serde_json::Value, Rejection>>,
    counts: RecordCounts,
}

impl Decoded {
    /// The only search.
    #[track_caller]
    fn search(&self) -> &serde_json::Value {
        assert_eq!(self.searches.len(), 1, "{self:?}");
        self.searches[0].as_ref().expect("a valid search")
    }

    /// The only rejection, as its reason and detail.
    #[track_caller]
    fn rejection(&self) -> String {
        assert_eq!(self.searches.len(), 1, "{self:?}");
        let rejection = self.searches[0].as_ref().expect_err("an invalid search");
        rejection.to_string()
    }

    /// Number of spans by outcome: search, invalid, without documents, ignored, other.
    fn outcomes(&self) -> [u64; 5] {
        SpanOutcome::ALL.map(|outcome| self.counts[outcome])
    }
}

/// Passes the searches of a record in `format` to `visit`.
fn each_search(
    format: Format,
    record: &[u8],
    (acceptance, mapping): (&Acceptance, &Mapping),
    mut visit: impl FnMut(Result<&Search<'_>, Rejection>),
) -> Result<RecordCounts, Rejection> {
    let formats = Formats {
        search: format,
        otlp: mapping.clone(),
        ..Formats::NATIVE
    };
    formats.events(Kind::Search, record, acceptance, &mut |event| match event {
        Ok(EventRef::Search(search)) => visit(Ok(search)),
        Ok(EventRef::Feedback(feedback)) => panic!("{feedback:?}"),
        Err(rejection) => visit(Err(rejection)),
    })
}

/// Passes the feedback of a record in `format` to `visit`.
fn each_feedback(
    format: Format,
    record: &[u8],
    (acceptance, mapping): (&Acceptance, &Mapping),
    mut visit: impl FnMut(Result<&Feedback<'_>, Rejection>),
) -> Result<RecordCounts, Rejection> {
    let formats = Formats {
        feedback: format,
        otlp: mapping.clone(),
        ..Formats::NATIVE
    };
    formats.events(
        Kind::Feedback,
        record,
        acceptance,
        &mut |event| match event {
            Ok(EventRef::Feedback(feedback)) => visit(Ok(feedback)),
            Ok(EventRef::Search(search)) => panic!("{search:?}"),
            Err(rejection) => visit(Err(rejection)),
        },
    )
}

fn decode(
    format: Format,
    record: &[u8],
    acceptance: &Acceptance,
    mapping: &Mapping,
) -> Result<Decoded, Rejection> {
    let mut searches = Vec::new();
    let counts = each_search(format, record, (acceptance, mapping), |search| {
        searches.push(search.map(shown));
    });
    // A record that cannot be decoded gives no events.
    assert!(counts.is_ok() || searches.is_empty());
    let counts = counts?;
    Ok(Decoded { searches, counts })
}

fn proto(record: &[u8], acceptance: &Acceptance, mapping: &Mapping) -> Result<Decoded, Rejection> {
    decode(Format::OtlpProto, record, acceptance, mapping)
}

fn json(record: &[u8], acceptance: &Acceptance, mapping: &Mapping) -> Result<Decoded, Rejection> {
    decode(Format::OtlpJson, record, acceptance, mapping)
}

/// Decodes a record in both encodings, which must give the same events.
#[track_caller]
fn both(traces: &serde_json::Value, acceptance: &Acceptance, mapping: &Mapping) -> Decoded {
    let from_json = json(traces.to_string().as_bytes(), acceptance, mapping).expect("JSON");
    let bytes = Traces::parse(traces).encode_to_vec();
    let from_proto = proto(&bytes, acceptance, mapping).expect("a message");
    assert_eq!(from_json, from_proto, "{traces:#}");
    from_json
}

/// Fields that a search has, as in `docs/events.md`.
fn shown(search: &Search<'_>) -> serde_json::Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: serde_json::Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    let object = |attributes: &Option<Attributes<'_>>| {
        let Some(attributes) = attributes else {
            return serde_json::Value::Null;
        };
        let value = |value: &Value<'_>| match value {
            Value::Text(text) => json!(&**text),
            Value::Number(number) => json!(number),
            Value::Bool(flag) => json!(flag),
            Value::Other => json!(null),
        };
        let members = attributes.0.iter();
        members
            .map(|(key, it)| (key.to_string(), value(it)))
            .collect::<Map<_, _>>()
            .into()
    };
    set("query_id", json!(&*search.query_id));
    set("ts", json!(search.ts.0));
    set("latency_ms", json!(search.latency_ms));
    set("query", json!(search.query.as_deref()));
    set("query_key", json!(search.query_key.as_deref()));
    set("trace_id", json!(search.trace_id.as_deref()));
    set("session_id", json!(search.session_id.as_deref()));
    set("user_id", json!(search.user_id.as_deref()));
    set("application", json!(search.application.as_deref()));
    set("variant", json!(search.variant.as_deref()));
    set("error_type", json!(search.error_type.as_deref()));
    set("labels", object(&search.labels));
    set("cost", json!(search.cost.as_ref().map(|cost| cost.amount)));
    let usage = search.usage.iter().flatten().map(|usage| {
        json!({
            "operation": usage.operation.as_deref(),
            "provider": usage.provider.as_deref(),
            "model": usage.model.as_deref(),
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
            "reasoning_output_tokens": usage.reasoning_output_tokens,
        })
    });
    let usage: Vec<_> = usage.collect();
    set(
        "usage",
        if usage.is_empty() {
            json!(null)
        } else {
            json!(usage)
        },
    );
    let results = search.results.iter().map(|hit| {
        let mut fields = Map::new();
        fields.insert("id".into(), json!(&*hit.id));
        for (name, value) in [
            ("score", json!(hit.score.map(|score| score.get()))),
            ("group_id", json!(hit.details().group_id.as_deref())),
            ("text", json!(hit.details().text.as_deref())),
            ("attrs", object(&hit.details().attrs)),
        ] {
            if !value.is_null() {
                fields.insert(name.into(), value);
            }
        }
        serde_json::Value::Object(fields)
    });
    set("results", results.collect());
    let text = search.answer.as_ref().and_then(|it| it.text.as_deref());
    set("answer", text.map_or(json!(null), |it| json!({"text": it})));
    fields.into()
}
