//! Mappings, schemas, and records under them. An input has two parts around a line `---`.

use std::sync::{Arc, OnceLock};

use rankgauge::registry::{FetchError, schema_of_answers};
use rankgauge_core::decode::framing::{Compression, Framing};
use rankgauge_core::decode::mapped::{Encoding, Form, Mapped, Term};
use rankgauge_core::decode::schema::{Schema, Schemas, Source};
use rankgauge_core::decode::{Format, Formats};
use serde_json::Value;

use super::records::decode;
use super::{assert_explained, choice};

/// Longest explanation of a schema or a mapping in bytes. It quotes names of the schema.
const MAX_EXPLANATION: usize = 1 << 20;

/// Mapping of all schemas.
const MAPPING: &str = r#"{
    "search": {"when": {"/meta/type": ["EXECUTED", "1", null]}, "time": "micros", "fields": {
        "query_id": "/meta/event_id", "ts": "/meta/ts", "query": "/request/text",
        "session_id": ["/meta/session", "/meta/client"], "page": "/request/page",
        "filters": "/request/filters", "routing": "/request/routing", "total_hits": "/response/total"},
        "labels": {"shop": "/labels/shop"},
        "hits": {"list": ["/response/hits", "/meta"], "id": "/doc/id", "score": "/score", "rank": "/rank",
        "attributes": {"kind": "/doc/kind"}}},
    "feedback": {"each": "/response/hits", "fields": {"query_id": "^/meta/event_id", "ts": "^/meta/ts",
        "type": "=click", "object_id": "/doc/id", "position": "/rank", "value": "/score"}}}"#;

fn parts(input: &[u8]) -> (&[u8], &[u8]) {
    let line = b"\n---\n";
    match input.windows(line.len()).position(|it| it == line) {
        Some(at) => (&input[..at], &input[at + line.len()..]),
        None => (input, &[]),
    }
}

fn term(value: &Value) -> Term {
    match value {
        Value::Null => Term::Nothing,
        Value::Array(values) => Term::List(values.iter().map(term).collect()),
        Value::Object(values) => {
            let keys = values.iter().map(|(key, value)| (key.clone(), term(value)));
            Term::Section(keys.collect())
        }
        Value::String(text) => Term::Text(text.clone()),
        other => Term::Text(other.to_string()),
    }
}

fn formats(form: Form, mapping: &Value, schemas: Schemas) -> Option<Formats> {
    let mapped = Mapped::compile("own", form, term(mapping)).map_err(|problems| {
        for problem in problems {
            assert_explained(&problem.text, MAX_EXPLANATION);
        }
    });
    let mapped = Some(Arc::new(mapped.ok()?.with_schemas(schemas)));
    Some(Formats {
        search: Format::Mapped,
        feedback: Format::Mapped,
        mapped: [mapped.clone(), mapped],
        ..Formats::NATIVE
    })
}

/// A mapping as JSON, and a record.
pub(super) fn mapping(input: &[u8]) {
    let (mapping, record) = parts(input);
    let Ok(mapping) = serde_json::from_slice(mapping) else {
        return;
    };
    let form = Form {
        encoding: Encoding::Json,
        framing: choice(record, &[Framing::None, Framing::Confluent]),
        compression: choice(
            record,
            &[Compression::None, Compression::Gzip, Compression::Zstd],
        ),
    };
    if let Some(formats) = formats(form, &mapping, Schemas::default()) {
        decode(&formats, record);
    }
}

/// Reads a record of a schema under the mapping.
fn read(
    encoding: Encoding,
    framing: Framing,
    schema: Schema,
    message: Option<&str>,
    record: &[u8],
) {
    static MAPPED: OnceLock<Value> = OnceLock::new();
    let mapping = MAPPED.get_or_init(|| serde_json::from_str(MAPPING).expect("a mapping"));
    let form = Form {
        encoding,
        framing,
        compression: Compression::None,
    };
    let schemas = Schemas {
        source: Source::File(Arc::new(schema)),
        message: message.map(str::to_owned),
    };
    decode(&formats(form, mapping, schemas).expect("a mapping"), record);
}

/// A schema of Avro, and a record.
pub(super) fn avro(input: &[u8]) {
    let (schema, record) = parts(input);
    let Ok(text) = std::str::from_utf8(schema) else {
        return;
    };
    let framing = choice(
        schema,
        &[Framing::None, Framing::Confluent, Framing::SingleObject],
    );
    match Schema::avro(text, &[], None) {
        Ok(schema) => read(Encoding::Avro, framing, schema, None, record),
        Err(problem) => assert_explained(&problem, MAX_EXPLANATION),
    }
}

/// A schema of Protocol Buffers as text, descriptor or descriptor set, and a record.
pub(super) fn protobuf(input: &[u8]) {
    let (file, record) = parts(input);
    let framing = choice(file, &[Framing::None, Framing::Confluent]);
    for schema in [Schema::protobuf(file, &[]), Schema::descriptor_set(file)] {
        match schema {
            Ok(schema) => {
                let message = schema.check_message(None).is_err().then_some("shop.Search");
                read(Encoding::Protobuf, framing, schema, message, record);
            }
            Err(problem) => assert_explained(&problem, MAX_EXPLANATION),
        }
    }
}

/// Answers of a registry, one a line: of a schema, then of what it refers to.
pub(super) fn registry(input: &[u8]) {
    let mut answers = input.split(|byte| *byte == b'\n');
    let main = answers.next().unwrap_or_default();
    let schema = schema_of_answers(main, &mut |_| {
        let answer = answers.next().ok_or(FetchError::Missing)?;
        Ok(answer.to_vec())
    });
    match schema {
        Ok(schema) => read(Encoding::Avro, Framing::Confluent, schema, None, input),
        Err(problem) => assert_explained(&problem.to_string(), MAX_EXPLANATION),
    }
}
